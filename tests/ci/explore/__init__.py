"""Tests of `ci/explore`."""
