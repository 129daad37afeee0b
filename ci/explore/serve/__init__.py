"""`kraftcheck serve`: a local page on which a system is explored step by step."""
