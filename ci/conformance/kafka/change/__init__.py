"""Conformance of single decisions: the change build, merges and registrations, case by case."""
