"""Tests of `model/partition`."""
