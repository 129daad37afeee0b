"""Random walks in compiled code, for spaces that are too large to explore."""
