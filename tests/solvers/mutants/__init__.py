"""Tests of `solvers/mutants`."""
