"""Mutants of the engines as data, each with the test that kills it: `python -m tests.engine_mutants` prints them."""
