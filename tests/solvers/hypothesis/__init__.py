"""Tests of `solvers/hypothesis`, and what property-based tests share: profiles, and strategies of records."""
