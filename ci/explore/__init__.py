"""`kraftcheck explore`, `simulate` and `trace`: exhaustive search, random walks, counterexamples; the page of scopes."""
