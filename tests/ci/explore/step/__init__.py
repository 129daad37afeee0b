"""Tests of `ci/explore/step`."""
