"""Proofs: terms as Z3 expressions and SMT-LIB text, induction, bounded model checking, Spacer, and second solvers."""
