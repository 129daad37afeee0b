"""Tests of `ci/terminal`."""
