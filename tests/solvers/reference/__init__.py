"""Tests of `solvers/reference`."""
