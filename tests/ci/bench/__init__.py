"""Tests of `ci/bench`."""
