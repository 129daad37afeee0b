"""Tests of `ci/testing`."""
