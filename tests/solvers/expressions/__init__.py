"""Tests of `solvers/expressions`."""
