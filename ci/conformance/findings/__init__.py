"""Findings about released Kafka, and what was run to show each."""
