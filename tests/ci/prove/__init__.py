"""Tests of `ci/prove`."""
