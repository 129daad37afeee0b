"""Tests of `ci/conformance`."""
