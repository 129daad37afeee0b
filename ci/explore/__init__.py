"""`kraftcheck explore`, `simulate`, `trace`: exhaustive search, random walks, counterexamples; the page of scopes."""
