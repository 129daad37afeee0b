"""`kraftcheck replay` and `kraftcheck whatif`: the metadata log of a real cluster, read and reported.

Which events explain a log is decided in `kraftcheck.solvers.logs`.
"""
