"""Mutants of the rules: which tables are made, and the judgement of each mutant that no property kills.

Data only. `kraftcheck.solvers.mutants` makes the mutants.
"""
