"""One run: an engine's question about a system, as every door asks it, and the record of its answer."""
