"""Tests of `solvers`."""
