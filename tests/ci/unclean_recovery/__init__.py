"""Tests of `ci/unclean_recovery`."""
