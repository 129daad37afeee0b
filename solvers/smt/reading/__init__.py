"""How terms are read as expressions of Z3, and what its models say of sets."""
