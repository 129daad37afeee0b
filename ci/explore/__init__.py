"""`kraftcheck explore` and `kraftcheck simulate`: exhaustive search and random walks; the page of scopes."""
