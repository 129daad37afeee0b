"""`kraftcheck prove`: induction, bounded model checking and Spacer, their reports, and second solvers.

The proofs themselves are in `kraftcheck.solvers.smt`.
"""
