"""Tests of `kraftcheck.solvers.smt.reading.goals`."""
