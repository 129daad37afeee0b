"""Memoised explanations of a metadata log: a result is kept by situation, so that each one is computed once."""
