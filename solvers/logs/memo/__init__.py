"""Memoised explanations of a metadata log: answers are kept by situation, so that each question is asked once."""
