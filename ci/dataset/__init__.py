"""`kraftcheck query` and `kraftcheck sweep`: questions to an explored space that Spark has stored."""
