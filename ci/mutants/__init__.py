"""`kraftcheck explain`: the table of load-bearing conditions, which `kraftcheck.solvers.mutants` finds."""
