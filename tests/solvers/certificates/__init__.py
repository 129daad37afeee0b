"""Tests of `solvers/certificates`."""
