"""Tests of `ci/verdicts/reports`."""
