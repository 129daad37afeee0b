"""Tests of `ci/spark`."""
