"""Tests of `solvers/smt/reading`."""
