"""What is known of rules beside their properties: which have none, which links nothing shows, which code is shared.

From rules.toml.
"""

from __future__ import annotations

from collections.abc import Mapping

from kraftcheck.model.register import content

_TABLES = content(__package__, "rules.toml")

UNCOVERED: Mapping[str, str] = {rule: row["reason"] for row in _TABLES["uncovered"] for rule in row["rules"]}
"""Rules that no property checks, each with the reason."""

UNSHOWN: frozenset[tuple[str, str, str]] = frozenset(
    (rule, *link.split()) for link, rules in _TABLES["unshown"].items() for rule in rules
)
"""Links from a rule to a property that no variant tried so far shows: rule, system, property."""

READINGS: Mapping[str, tuple[str, ...]] = {reason: tuple(names) for reason, names in _TABLES["readings"].items()}
"""Functions of the model that properties call, by reason, each as `module:name` below `kraftcheck.model`."""
