"""The files of a distributed search: levels, manifests, digests, commits, and the lease of a dataset.

Workers import most of it, so it imports no command-line library.
"""
