"""Liveness under Spark: regions, rounds and lassos of a committed run.

`region` makes the graph of a property's region, `rounds` keeps what finished rounds found, `fixpoint` takes marks
backward, `collected` shows a lasso, `search` judges.
"""
