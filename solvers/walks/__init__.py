"""Random walks in compiled code, for spaces that are too large to explore.

A walk refutes or shows; that a property holds it never says.
"""
