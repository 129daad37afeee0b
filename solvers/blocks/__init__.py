"""Tasks of a distributed search: they expand and sift blocks of states.

They know nothing of Spark, which is in `kraftcheck.ci.spark`.
"""
