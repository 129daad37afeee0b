"""Tests of `solvers/logs`."""
