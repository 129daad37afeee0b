"""Conformance of single decisions: the change build, merges and registrations, case by case.

Whole runs are in `kraftcheck.ci.conformance.kafka.tour`.
"""
