"""Conformance of whole runs: action sequences that cover an explored graph, on Kafka's own managers.

Single decisions are in `kraftcheck.ci.conformance.kafka.change`.
"""
