"""Kafka's own classes: released jars, which Maven fetches, and drivers in Java that answer rows of ints."""
