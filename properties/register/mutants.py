"""Mutants of the rules: which tables are made, and the judgement of each that no property kills.

The judgements are from mutants.toml, those of operator mutants from operators.toml. Survivors that change no state of
the scope, or that another system kills, need none of their own; the table says so by itself. So do those that only
change steps between states. `kraftcheck.solvers.mutants` makes the mutants.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from attrs import field, frozen

from kraftcheck.model.register import RegisterError, content

REDUNDANT, SCOPE = "redundant", "scope"
KINDS = (REDUNDANT, SCOPE)


@frozen
class Judgement:
    """The meaning of surviving mutants."""

    # `redundant`: other checks or the model see to it; `scope`: this scope is too small to show it. Where something
    # observable is wrong and no property says so, a property is missing: there is no kind for that.
    kind: str
    system: str  # the system; empty: each whose rules have it
    group: str  # the action, or `module:rule`
    part: str  # the condition, as the table shows it; of an operator mutant the expression as it is written
    change: str  # `dropped`, `always` or `never`, empty: each; of an operator mutant the expression as it is changed
    why: str  # a sentence

    def about(self, system: str, group: str, part: str, change: str) -> bool:
        """Whether this judges the mutant."""
        wanted = (self.system or system, self.group, self.part or part, self.change or change)
        return wanted == (system, group, part, change)


def _judgements(file: str, name: str) -> Iterator[Judgement]:
    """A judgement for each place of each table."""
    for number, table in enumerate(content(__package__, file, name)[name], 1):
        kinds = [kind for kind in KINDS if kind in table]
        if len(kinds) != 1 or not table.keys() <= {*KINDS, "system", "places"} or not _are_places(table.get("places")):
            raise RegisterError(
                f"{file}: {name} {number}: write redundant or scope with a sentence, a system if it is of one, "
                "and places, each of three strings"
            )
        for group, part, change in table["places"]:
            place = f"kraftcheck.model.{group}" if ":" in group else group
            yield Judgement(kinds[0], table.get("system", ""), place, part, change, why=table[kinds[0]])


def _are_places(listed: Any) -> bool:
    return isinstance(listed, list) and all(isinstance(one, list) and len(one) == 3 for one in listed)


JUDGEMENTS: tuple[Judgement, ...] = tuple(_judgements("mutants.toml", "condition"))  # of the conditions of rules

OPERATOR_JUDGEMENTS: tuple[Judgement, ...] = tuple(_judgements("operators.toml", "operator"))
"""Of operator mutants; one without a judgement is open."""

LEFT: Mapping[str, str] = {
    "kraftcheck.model.language.anynumber:with_record": "how records are kept by broker",
    "kraftcheck.model.language.places:put": "how items are kept at their places",
    "kraftcheck.model.partition.registration:DirectoryMap": "how directories are kept by broker",
    "kraftcheck.model.triggers.leadership:lookup_failed": "what an event reports",
    "kraftcheck.model.systems.parts": "how budgets and sets are kept, and what an event reports",
    "kraftcheck.model.systems.elections.triggers:_note": "what an event reports",
    "kraftcheck.model.systems.elections.triggers:_stale": "what an event reports",
    "kraftcheck.model.systems.elections.triggers:gate": "whether a pass happens at all",
    "kraftcheck.model.systems.elections.triggers:finish": "a controller that resigned wrote nothing",
    "kraftcheck.model.systems.replication.log": "how logs and the history of leader epochs are kept, and a ghost of it",
    "kraftcheck.model.systems.replication.settle": "what nothing reads any more is given one value",
    "kraftcheck.model.systems.replication.state:Broker.fetchers": "how log ends are kept by follower",
    "kraftcheck.model.systems.replication.state:decided": "how the history of leader epochs is kept",
}
"""Code of the model that is no rule of Kafka, and is not mutated: modules, functions or classes, with what they are."""


NAMESAKES: Mapping[str, tuple[str, ...]] = {"directories": ("apply_metadata",)}
"""By system the actions that have another guard than those of the same name in other systems."""


@frozen
class MutantTable:
    """One part of the page.

    Attributes:
        scope, bounds: where every mutant is explored; bounds override the scope.
    """

    system: str  # the system, under the right rules
    scope: str
    # scopes and bounds where those that nothing kills are tried again, in this order, and that may have more of them
    further: tuple[tuple[str, Mapping[str, int]], ...] = ()
    bounds: Mapping[str, int] = field(factory=dict)


TABLES: tuple[MutantTable, ...] = (
    MutantTable("elections", "tiny"),
    MutantTable("takeovers", "tiny"),
    MutantTable("replication", "tiny", (("takeovers", {}),)),
    MutantTable("broker-ids", "tiny"),
    MutantTable(
        "directories",
        "tiny",
        (
            ("migration", {}),
            ("upgrade", {}),
            ("tiny", {"brokers": 2, "reassignments": 1, "moves": 0, "failures": 0, "crashes": 0, "records": 0}),
            ("cordons", {}),
            ("takeovers", {}),
        ),
    ),
    MutantTable("kraft", "tiny", (("tiny", {"repairs": 1}), ("restarts", {}))),
    MutantTable("heartbeats", "tiny"),
    MutantTable("future-logs", "tiny"),
    MutantTable("features", "tiny", (("bootstrap", {}),)),
    MutantTable("images", "tiny", (("crashes", {}),)),
)
"""The parts of the page, in order."""

CAMPAIGNS: Mapping[str, str] = {
    "elections": "tiny", "replication": "tiny", "directories": "tiny", "kraft": "tiny", "sessions": "tiny",
    "broker-ids": "small", "elr-index": "tiny", "zk-controller": "reassignment", "zk-jbod": "small",
    "unclean-recovery": "tiny",
}  # fmt: skip
"""The systems whose operator mutants are judged, each with its scope, under the right rules."""

FURTHER: tuple[tuple[str, str, Mapping[str, int]], ...] = (
    ("zk-controller", "tiny", {}), ("zk-controller", "sessions", {}), ("zk-controller", "deposed", {}),
    ("unclean-recovery", "requests", {}), ("fair-elections", "tiny", {}), ("healing-elections", "tiny", {}),
    ("fair-replication", "tiny", {}), ("fair-directories", "tiny", {}), ("healing-sessions", "tiny", {}),
    ("fair-broker-ids", "tiny", {}), ("fair-zk-controller", "tiny", {}), ("fair-zk-jbod", "writers", {}),
    ("fair-unclean-recovery", "tiny", {}),
)  # fmt: skip
"""Systems, with scope and bounds, where mutants that nothing kills are asked again; some are about fair behaviours."""
