"""Tests of `kraftcheck.solvers.smt.goals`."""
