"""Conformance of single decisions, case by case; `kraftcheck.ci.conformance.kafka.tour` has whole runs."""
