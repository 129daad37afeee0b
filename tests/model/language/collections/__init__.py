"""Tests of `model/language/collections`."""
