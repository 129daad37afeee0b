"""Tests of `model/controller`."""
