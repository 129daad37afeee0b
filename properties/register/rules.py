"""Which rules have no property, and which code of the model properties share with them; from rules.toml."""

from __future__ import annotations

from collections.abc import Mapping

from kraftcheck.model.register import content

_TABLES = content(__package__, "rules.toml", "uncovered", "readings")

UNCOVERED: Mapping[str, str] = {rule: row["reason"] for row in _TABLES["uncovered"] for rule in row["rules"]}
"""Rules that no property checks, each with the reason."""

READINGS: Mapping[str, tuple[str, ...]] = {reason: tuple(names) for reason, names in _TABLES["readings"].items()}
"""Functions of the model that properties call, by reason, each as `module:name` below `kraftcheck.model`."""
