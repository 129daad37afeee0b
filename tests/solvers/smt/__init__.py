"""Tests of `solvers/smt`."""
