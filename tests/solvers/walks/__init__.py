"""Tests of `solvers/walks`."""
