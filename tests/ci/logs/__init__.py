"""Tests of `ci/logs`."""
