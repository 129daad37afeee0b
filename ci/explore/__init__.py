"""`kraftcheck explore`, `simulate`, `trace`: exhaustive search, random walks, counterexamples; the page of scopes.

The search itself is in `kraftcheck.solvers.search`, the walks in `kraftcheck.solvers.walks`.
"""
