"""Tests of `solvers/tla`."""
