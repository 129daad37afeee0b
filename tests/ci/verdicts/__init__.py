"""Tests of `ci/verdicts`."""
