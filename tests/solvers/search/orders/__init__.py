"""Tests of `solvers/search/orders`."""
