"""Tests of `model/triggers`."""
