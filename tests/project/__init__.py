"""Tests of the repository itself: house style, docs that run, docstrings that run, tests that stand alone."""
