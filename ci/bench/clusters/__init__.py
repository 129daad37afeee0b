"""Clusters of Spark in the benchmark: standalone ones on this machine, and larger ones that are simulated."""
