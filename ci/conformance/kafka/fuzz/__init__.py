"""Differential fuzz: random request sequences on the managers of a release, and on the controller on ints.

Both sides answer each request with the records that it writes, or with an error; the first difference ends a sequence.
"""
