"""Tests of `ci/conformance/findings`."""
