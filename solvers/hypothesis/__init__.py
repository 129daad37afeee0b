"""Property-based tests of systems: strategies from layouts, stateful machines, profiles.

Nothing else in the sources imports Hypothesis, which is an extra.
"""
