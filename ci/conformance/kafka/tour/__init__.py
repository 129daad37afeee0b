"""Conformance of whole runs on Kafka's own managers; `kraftcheck.ci.conformance.kafka.change` has single decisions."""
