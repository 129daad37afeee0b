"""Tests of `solvers/blocks`."""
