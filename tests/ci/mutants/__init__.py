"""Tests of `ci/mutants`: pages and documents of the load-bearing table."""
