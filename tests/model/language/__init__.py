"""Tests of `model/language`."""
