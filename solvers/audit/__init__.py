"""The audit: a sample of a search, compared with the rules on Python ints.

A search that disagrees with the rules ends with the verdict `engine disagrees`, whatever its properties say.
"""
