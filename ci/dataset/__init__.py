"""`kraftcheck query` and `sweep`: questions to an explored space in files; `kraftcheck.ci.dataset.store` writes it."""
