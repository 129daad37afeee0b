"""Tests of `solvers/program`."""
