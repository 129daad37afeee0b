"""`kraftcheck query` and `kraftcheck sweep`: questions to an explored space that Spark has stored.

They read a dataset and never change it. How it is written is in `kraftcheck.ci.dataset.store`.
"""
