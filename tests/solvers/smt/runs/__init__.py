"""Tests of `kraftcheck.solvers.smt.runs`."""
