"""The engine with levels in files."""
