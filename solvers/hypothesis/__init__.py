"""Property-based tests of systems: strategies from layouts, and stateful machines.

Nothing else in the sources imports Hypothesis, which is an extra.
"""
