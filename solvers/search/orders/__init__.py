"""Which orders of independent steps a search may leave out: derived from the traced rules, never declared."""
