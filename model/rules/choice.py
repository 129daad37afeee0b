"""The declaration of a choice of a rule set, and the entries of Kafka's choices: TOML files beside this module.

An entry is all that is known of a choice: its `source`, what it `says` is so when it is on, its `kind` where that is
not the file's, the presets that it `has`, and what it refutes (`kraftcheck.properties.register.defects`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import attrs
from attrs import field, frozen

from kraftcheck.model.register import RegisterError, content, record


@frozen
class ChoiceEntry:
    """An entry of a choice."""

    source: str  # where the rule, or the defect, comes from
    says: str  # what is so when the choice is on
    kind: str  # which kind of choice it is (`kraftcheck.model.rules.ruleset.RuleSet`)
    has: tuple[str, ...] = ()  # presets that have it on: `kip`, `fixed`, a release, or `FIRST to LAST`
    # why it is no finding (`kraftcheck.properties.register.findings`) that the newest release has it; empty where it is
    # one
    reason: str = ""
    against: tuple[str, ...] = ()  # choices of the same rule that say otherwise: no rule set has both
    # breaks, also: rows of the matrix of defects, and sightings beside it. Each has `at` (system, scope, bounds) and
    # `properties` with steps; `of`, citations; `variant`, where it is not this choice alone; `base`, not `fixed`.
    breaks: tuple[Mapping[str, Any], ...] = field(default=())
    also: tuple[Mapping[str, Any], ...] = field(default=())


def choice(group: str, source: str, text: str, default: bool = False) -> Any:
    """A choice of a rule set: a truth that is False for the right rule, or for the older feature level.

    Args:
        group: which kind of choice it is (`kraftcheck.model.rules.ruleset.RuleSet`).
        source: where the rule, or the defect, comes from.
        text: what is so when the choice is on.
    """
    return field(default=default, metadata={"group": group, "source": source, "text": text})


@functools.cache
def entries_of(group: str) -> Mapping[str, ChoiceEntry]:
    """The entries of a group by the command-line name of the choice, in the order of its file."""
    file, found = f"{group}.toml", {}
    tables = content(__package__, file)
    kind = tables.pop("kind", None)
    for name, table in tables.items():
        own = table if isinstance(table, dict) else {name: table}
        rows = {key: tuple(own.pop(key, ())) for key in ("breaks", "also")}
        found[name] = record(ChoiceEntry, {"kind": kind} | own, f"{file}: [{name}]", **rows)
    return found


def described(group: str) -> Callable[[type, list[attrs.Attribute[Any]]], list[attrs.Attribute[Any]]]:
    """Gives the choices of a record what their entries say.

    Raises:
        RegisterError: when the record has other choices than the file.
    """

    def with_entries(cls: type, fields: list[attrs.Attribute[Any]]) -> list[attrs.Attribute[Any]]:
        entries = entries_of(group)
        names = {one.name.replace("_", "-"): one for one in fields}
        if odd := sorted(names.keys() ^ entries.keys()):
            raise RegisterError(f"{group}.toml and {cls.__name__} of groups.py: only one has {odd[0]}; give it to both")
        return [one.evolve(metadata=_metadata(entries[name])) for name, one in names.items()]

    return with_entries


def _metadata(entry: ChoiceEntry) -> dict[str, Any]:
    return {
        "group": entry.kind, "source": entry.source, "text": entry.says, "has": entry.has, "reason": entry.reason,
        "against": entry.against,
    }  # fmt: skip
