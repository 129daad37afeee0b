"""Tests of `model/records`."""
