"""The transition systems."""
