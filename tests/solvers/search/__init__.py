"""Tests of `solvers/search`."""
