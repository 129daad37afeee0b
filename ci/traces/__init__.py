"""`kraftcheck trace`: counterexamples shown, shortened and exported."""
