"""Random systems with collections: several operations in one step, judged by Python's own collections."""
