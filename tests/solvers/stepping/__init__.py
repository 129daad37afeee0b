"""Tests of `solvers/stepping`."""
