"""Proofs: terms as Z3 expressions and SMT-LIB text, induction, bounded model checking, Spacer, and second solvers.

Nothing here compiles or searches. A counterexample is believed only once it was replayed on Python ints.
"""
