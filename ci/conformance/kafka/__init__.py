"""Kafka's own classes: the released jars, and a driver in Java that answers rows of ints.

Jars are fetched by Maven into the cache folder and checked by digest. None is part of the repository.
"""
