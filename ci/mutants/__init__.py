"""`kraftcheck explain`: the table of load-bearing conditions, as text, as a document, and as pages.

How a condition is dropped and what that breaks is in `kraftcheck.solvers.mutants`.
"""
