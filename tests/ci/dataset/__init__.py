"""Tests of `ci/dataset`."""
