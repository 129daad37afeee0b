"""Tests of `solvers/machine_code`."""
