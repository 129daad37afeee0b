"""Properties of the systems: invariants, action properties and goals, as data."""
