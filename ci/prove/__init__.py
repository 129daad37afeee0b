"""`kraftcheck prove`: induction, bounded model checking, Spacer, second solvers; `kraftcheck.solvers.smt` proves."""
