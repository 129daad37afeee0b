"""Tests of `solvers/search/symmetries`."""
