"""Vectors that are scenarios: a controller starts, steps are run, the end is compared.

Vectors about one function each are in the folder above.
"""
