"""Tests of `solvers/hypothesis`."""
