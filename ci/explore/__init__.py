"""`kraftcheck explore`, `simulate`, `trace` and the page of scopes; `kraftcheck.solvers.search` and `walks` search."""
