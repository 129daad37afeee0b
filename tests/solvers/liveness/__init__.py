"""Tests of `solvers/liveness`."""
