"""Witnesses of the links between rules and properties: a variant of the rule that refutes the property.

A link says that a property checks a rule. It is a claim like any other, and each is shown by an exploration.
"""
