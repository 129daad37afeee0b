"""`kraftcheck replay` and `whatif`: a real cluster's log, read and reported; `kraftcheck.solvers.logs` explains it."""
