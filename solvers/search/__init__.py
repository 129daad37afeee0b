"""Exhaustive search on one machine: levels, the visited set, witnesses, the backward search, symmetry.

Machine code is made in `kraftcheck.solvers.machine_code`; searches on Spark are in `kraftcheck.solvers.blocks`.
"""
