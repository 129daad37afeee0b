"""How terms are read as expressions of Z3."""
