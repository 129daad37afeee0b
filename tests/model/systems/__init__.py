"""Tests of `model/systems`."""
