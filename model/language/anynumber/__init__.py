"""Brokers of any number: collections, and records by broker, whose members are places of endless sequences."""
