"""Tests of `solvers/audit`."""
