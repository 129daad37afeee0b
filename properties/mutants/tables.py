"""The coverage of the load-bearing table: the scopes explored, and the functions that are no rules of Kafka."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import field, frozen

LEFT: Mapping[str, str] = {
    "kraftcheck.model.language.anynumber.maps:with_record": "how records are kept by broker",
    "kraftcheck.model.partition.directories:DirectoryMap": "how directories are kept by broker",
    "kraftcheck.model.triggers.leadership:lookup_failed": "what an event reports",
    "kraftcheck.model.systems.elections.passes:_note": "what an event reports",
    "kraftcheck.model.systems.elections.passes:_stale": "what an event reports",
    "kraftcheck.model.systems.elections.passes:gate": "whether a pass happens at all",
    "kraftcheck.model.systems.elections.triggers:finish": "a controller that resigned wrote nothing",
    "kraftcheck.model.systems.replication.history": "how the history of leader epochs is kept, and a ghost of it",
    "kraftcheck.model.systems.replication.log": "how logs are kept by offset",
    "kraftcheck.model.systems.replication.settle": "what nothing reads any more is given one value",
    "kraftcheck.model.systems.replication.state:Broker.fetchers": "how log ends are kept by follower",
    "kraftcheck.model.systems.replication.state:decided": "how the history of leader epochs is kept",
}
"""Code of the model that is no rule of Kafka, and is not mutated: modules, functions or classes, with what they are."""


NAMESAKES: Mapping[str, tuple[str, ...]] = {"directories": ("apply_metadata",)}
"""By system the actions that have another guard than those of the same name in other systems."""


@frozen
class Table:
    """One part of the page.

    Attributes:
        system: the system, under the right rules.
        scope, bounds: where every mutant is explored; bounds override the scope.
        further: scopes and bounds where those that nothing kills are tried again, in this order.
    """

    system: str
    scope: str
    further: tuple[tuple[str, Mapping[str, int]], ...] = ()
    bounds: Mapping[str, int] = field(factory=dict)


TABLES: tuple[Table, ...] = (
    Table("elections", "tiny"),
    Table("replication", "tiny"),
    Table("broker-ids", "tiny"),
    Table("directories", "tiny", (
        ("migration", {}), ("upgrade", {}),
        ("tiny", {"brokers": 2, "reassignments": 1, "moves": 0, "failures": 0, "crashes": 0, "records": 0}),
    )),
    Table("kraft", "tiny"),
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
