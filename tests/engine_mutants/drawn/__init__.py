"""Mutants that nobody chose: drawn from the syntax trees of a folder, and run against the tests that reach them."""
