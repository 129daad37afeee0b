"""Kafka's own classes: the released jars, and a driver that asks them."""
