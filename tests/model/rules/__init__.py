"""Tests of `model/rules`."""
