"""`kraftcheck prove`: induction, bounded model checking and Spacer, their reports, and second solvers."""
