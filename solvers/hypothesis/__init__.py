"""Property-based tests of systems: strategies from layouts, stateful machines, profiles."""
