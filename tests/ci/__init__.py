"""Tests of `ci`."""
