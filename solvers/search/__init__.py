"""Exhaustive search on one machine: levels, the visited set, witnesses, the backward search, symmetry."""
