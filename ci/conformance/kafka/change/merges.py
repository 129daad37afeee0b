"""Replay of change records: every combination of present and absent fields, also those that no builder writes."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from kraftcheck.ci.conformance.kafka.change.cases import pad
from kraftcheck.ci.conformance.kafka.columns import (
    KEEP_LEADER,
    KEEP_RECOVERY,
    MERGE_INPUTS,
    MERGE_OUTPUTS,
    NO_LAST_KNOWN,
    NO_LEADER,
    OWN_DIRECTORY,
    RECORD,
    SET_DIRECTORY,
    THROWN,
    Columns,
    Rows,
)
from kraftcheck.model.language.idlists import IdList
from kraftcheck.model.language.words import Maybe, absent, present
from kraftcheck.model.partition.registration import (
    MIGRATING,
    Directories,
    DirectoryList,
    DirectoryMismatch,
    Partition,
    PartitionChange,
    merge,
)
from kraftcheck.model.rules.ruleset import RuleSet

REPLICAS = 2
"""The most replicas that a partition or a record has."""

SLOTS = 4

NOTHING: dict[str, Any] = {"elr": (), "last_known": NO_LAST_KNOWN, "removing": 0, "adding": 0, "recovering": 0}

PARTITIONS: tuple[tuple[dict[str, Any], bool], ...] = (
    ({**NOTHING, "replicas": (0,), "isr": (0,), "leader": 0, "placed": 1}, False),
    ({**NOTHING, "replicas": (1, 0), "isr": (1,), "elr": (0,), "removing": 1, "leader": 1, "placed": 1}, True),
    ({**NOTHING, "replicas": (0, 1), "isr": (), "elr": (1,), "last_known": 0, "leader": NO_LEADER, "placed": 0}, False),
    ({**NOTHING, "replicas": (1, 0), "isr": (0, 1), "adding": 2, "leader": 0, "recovering": 1, "placed": 0}, True),
)
"""Partitions before the record, and whether ELR, last known leader, removing and adding of their records have a member:
otherwise they are empty lists."""

ABSENT = None

LEADERS, RECOVERIES = (KEEP_LEADER, NO_LEADER, 0), (KEEP_RECOVERY, 0, 1)
ISRS = (ABSENT, (), (1, 0))
LISTS = (ABSENT, (), (2,), (0, 1))
DIRECTORIES = (ABSENT, (), (SET_DIRECTORY,), (SET_DIRECTORY, SET_DIRECTORY + 1), (MIGRATING, MIGRATING))
"""What the fields of a record may be; directories also such as do not fit the replicas."""


def every_merge() -> Rows:
    """Every partition of `PARTITIONS` with every record: each field absent, or one of its values."""
    columns = Columns.of(MERGE_INPUTS, SLOTS)
    flags = itertools.product((0, 1), repeat=4)
    records = list(itertools.product(LEADERS, RECOVERIES, ISRS, LISTS, DIRECTORIES, flags))
    return np.concatenate([_records(columns, records, *entry) for entry in PARTITIONS])


def _records(columns: Columns, records: list[Any], partition: dict[str, Any], members: bool) -> Rows:
    leaders, recoveries, isrs, replicas, directories, flags = zip(*records, strict=True)
    elr, last_known, removing, adding = zip(*flags, strict=True)
    lists = {"isr": isrs, "replicas": replicas, "directories": directories, "elr": [(1,) if members else ()] * len(elr)}
    table = columns.put(
        columns.empty(len(records)),
        **{name: pad(v, SLOTS) if isinstance(v, tuple) else v for name, v in partition.items()},
    )
    fields: dict[str, Any] = {f"record.{name}": [pad(v or (), SLOTS) for v in all_] for name, all_ in lists.items()}
    for name in ("isr", "replicas", "directories"):
        fields[f"record.{name}?"] = [int(v is not ABSENT) for v in lists[name]]
    return columns.put(
        table, **fields,
        **{"record.leader": leaders, "record.recovery": recoveries, "record.elr?": elr,
           "record.last_known?": last_known,
           "record.last_known": 2 if members else NO_LAST_KNOWN, "record.removing?": removing,
           "record.removing": 2 if members else 0, "record.adding?": adding, "record.adding": 1 if members else 0},
    )  # fmt: skip


class MergeModel:
    """`merge` on rows, see `MERGE_INPUTS` and `MERGE_OUTPUTS`; on Kafka's ordered lists of ints."""

    def __init__(self, slots: int, rules: RuleSet) -> None:
        self.inputs = Columns.of(MERGE_INPUTS, slots)
        self.outputs = Columns.of(MERGE_OUTPUTS, slots)
        self._slots, self._rules = slots, rules

    def answer(self, rows: Rows) -> npt.NDArray[np.int64]:
        """One row of answers for each row of questions."""
        result = np.zeros((len(rows), self.outputs.width), dtype=np.int64)
        for place, row in enumerate(rows):
            result[place] = self._answer_row(self.inputs.read(row))
        return result

    def _answer_row(self, case: dict[str, Any]) -> list[Any]:
        try:
            p = merge(_partition(case), _change(case), self._rules.partition)
        except DirectoryMismatch:
            return [THROWN, *[0] * (self.outputs.width - 1)]
        if not isinstance(p.directories, DirectoryList):
            raise TypeError(f"directories in an order of their own: {p.directories!r}")
        lists = (p.isr, p.replicas, p.directories.ids, p.elr)
        return [
            RECORD, p.leader, p.leader_epoch, p.partition_epoch, int(p.recovering),
            *(member for members in lists for member in pad(tuple(members), self._slots)),  # type: ignore[arg-type]
            *(tuple(p.last_known_elr) or (NO_LAST_KNOWN,)), _mask(p.removing), _mask(p.adding),  # type: ignore[arg-type]
        ]  # fmt: skip


def _partition(case: dict[str, Any]) -> Partition:
    replicas = tuple(case["replicas"])
    own = tuple(OWN_DIRECTORY + broker if case["placed"] else MIGRATING for broker in replicas)
    return Partition(
        IdList(replicas), DirectoryList(replicas, own), IdList.of(case["isr"]), IdList.of(case["elr"]),
        _last_known(case["last_known"]), _set(case["removing"]), _set(case["adding"]), case["leader"],
        case["recovering"] == 1, 0, 0,
    )  # fmt: skip


def _change(case: dict[str, Any]) -> PartitionChange:
    def field(name: str, value: Any) -> Maybe[Any]:
        return present(value) if case[f"record.{name}?"] else absent(value)

    directories: Directories = DirectoryList((), tuple(case["record.directories"]))
    leader, recovery = case["record.leader"], case["record.recovery"]
    return PartitionChange(
        field("replicas", IdList.of(case["record.replicas"])), field("directories", directories),
        field("isr", IdList.of(case["record.isr"])), field("elr", IdList.of(case["record.elr"])),
        field("last_known", _last_known(case["record.last_known"])), field("removing", _set(case["record.removing"])),
        field("adding", _set(case["record.adding"])),
        absent(NO_LEADER) if leader == KEEP_LEADER else present(leader),
        absent(False) if recovery == KEEP_RECOVERY else present(recovery == 1),
    )  # fmt: skip


def _last_known(slot: int) -> IdList:
    return IdList() if slot == NO_LAST_KNOWN else IdList.of([slot])


def _set(mask: int) -> IdList:
    return IdList.of(broker for broker in range(mask.bit_length()) if mask >> broker & 1)


def _mask(members: Iterable[int]) -> int:
    return sum(1 << member for member in members)
