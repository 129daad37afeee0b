"""Vectors that are scenarios: a controller starts, steps are run, the end is compared."""
