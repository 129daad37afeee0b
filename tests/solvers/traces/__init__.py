"""Tests of `solvers/traces`."""
