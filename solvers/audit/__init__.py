"""The audit: a sample of what a search took for granted, asked again of the rules on Python ints.

A search that disagrees with the rules ends with the verdict `engine disagrees`, whatever its properties say.
"""
