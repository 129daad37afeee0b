"""The columns of the rows that the driver of Kafka's classes and the model exchange.

A row is 32-bit ints. A list takes `slots` columns, vacant ones last and -1; a
set is one bit mask; a truth is 0 or 1; directories are small numbers. The
driver reads and writes the same columns in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import frozen

from kraftcheck.model.language.terms import Word
from kraftcheck.model.language.words import choose, word
from kraftcheck.model.partition.registration import PartitionChange

Rows = npt.NDArray[np.int32]  # rows of a table, one a case

VACANT = -1
NO_LEADER = -1
NO_LAST_KNOWN = -2  # the column of the last known leader where the list is empty; -1 is a member there (defect B5)
KEEP_LEADER, KEEP_RECOVERY = -2, -1  # the columns of a record's leader and recovery state where the record has none
NO_RECORD, RECORD, THROWN = 0, 1, 2  # the column `status`: whether there is a record, or Kafka's class threw
ONLINE, PREFERRED, UNCLEAN = 0, 1, 2  # the column `election`

OWN_DIRECTORY, DEFAULT_DIRECTORY, SET_DIRECTORY = 3, 10, 20
"""Directories: of broker b where it holds a replica (3 + b), by default (10 + b), as assigned."""

PARTITION = (
    ("replicas", True), ("isr", True), ("elr", True), ("last_known", False), ("removing", False), ("adding", False),
    ("leader", False), ("recovering", False), ("placed", False),
)  # fmt: skip
"""A partition, before the event: names, and whether it is a list. `placed`: its directories are known."""

CHANGE_INPUTS = (
    *PARTITION, ("acceptable", False), ("min_isr", False), ("election", False), ("elr_on", False),
    ("target_isr", True), ("target_replicas", True), ("target_removing", False), ("target_adding", False),
    ("target_recovering", False), ("unclean_shutdown", False), ("assigned", False),
)  # fmt: skip
"""A question to the change builder; `assigned`: the broker whose directory is assigned, or -1."""

CHANGE_OUTPUTS = (
    ("status", False), ("leader", False), ("recovery", False), ("isr?", False), ("isr", True), ("replicas?", False),
    ("replicas", True), ("directories?", False), ("directories", True), ("elr?", False), ("elr", True),
    ("last_known?", False), ("last_known", False), ("removing?", False), ("removing", False), ("adding?", False),
    ("adding", False), ("after.leader", False), ("after.leader_epoch", False), ("after.partition_epoch", False),
    ("after.recovering", False), ("after.isr", True), ("after.replicas", True), ("after.directories", True),
    ("after.elr", True), ("after.last_known", False), ("after.removing", False), ("after.adding", False),
)  # fmt: skip
"""The record (a `?` column says whether it has the field), then the partition once it is replayed."""

ORDERED_INPUTS = (
    ("ids", True), ("balanced", False),
    *((name, is_list or name == "last_known") for name, is_list in CHANGE_INPUTS),
)  # fmt: skip
"""A question to the change builder whose brokers are places among ascending `ids`; `balanced` is the mode with a last
known leader. Lists of the last known have `NO_LAST_KNOWN` in the place of -1."""

RECORD_AT, AFTER_AT = 1, next(n for n, (name, _) in enumerate(CHANGE_OUTPUTS) if name.startswith("after."))
"""Where the record's columns begin, and those of the partition after it."""

ORDERED_OUTPUTS = tuple((name, is_list or name == "last_known") for name, is_list in CHANGE_OUTPUTS[:AFTER_AT])
"""The record, its last known as a list."""

MERGE_INPUTS = (*PARTITION, *((f"record.{name}", is_list) for name, is_list in CHANGE_OUTPUTS[RECORD_AT:AFTER_AT]))
"""A partition and a record of any fields; the columns of a field that is absent are not read."""

MERGE_OUTPUTS = (("status", False), *CHANGE_OUTPUTS[AFTER_AT:])
"""The partition once the record is replayed; status THROWN and zeros where Kafka's class refuses the record."""

REASSIGNMENT_INPUTS = (*PARTITION, ("target", True))  # a question about planning, ending and reverting a reassignment

REASSIGNMENT_OUTPUTS = (
    ("plan.removing", False), ("plan.adding", False), ("plan.replicas", True), ("in_progress", False),
    ("completed", False), ("completed.replicas", True), ("completed.isr", True), ("original", True),
    ("revertible", False), ("reverted.replicas", True), ("reverted.isr", True), ("reverted.unclean", False),
)  # fmt: skip

REGISTRATION_INPUTS = (
    ("dirs", False), ("fenced", False), ("leaving", False), ("fencing", False), ("leaves", False), ("changed", False),
    ("others", False), ("asked", False),
)  # fmt: skip
"""A registration, a record that changes it (`changed`: its directories, or -1), and what is asked of it then."""

REGISTRATION_OUTPUTS = (
    ("after.fenced", False), ("after.leaving", False), ("after.dirs", False), ("online", False),
    ("intersection", False), ("difference", False),
)  # fmt: skip

RECORD_FIELDS = ("isr", "replicas", "directories", "elr", "last_known_elr", "removing", "adding")
"""The fields of a record behind leader and recovery state, in the order of the columns."""


def record_columns(
    change: PartitionChange, leaves: Callable[[str, Any], Sequence[Word]], absent: Mapping[str, int]
) -> list[Word]:
    """The columns of a record: leader, recovery state, then of each field whether it is there, and its `leaves`."""
    leader, recovering = change.leader, change.recovering
    columns = [
        choose(leader.present, leaves("leader", leader.value)[0], KEEP_LEADER),
        choose(recovering.present, word(recovering.value), KEEP_RECOVERY),
    ]
    for name in RECORD_FIELDS:
        field = getattr(change, name)
        values = leaves(name, field.value)
        columns += [word(field.present), *(choose(field.present, leaf, absent.get(name, 0)) for leaf in values)]
    return columns


@frozen
class Columns:
    """Named columns of a table with lists of some number of slots."""

    places: Mapping[str, tuple[int, int]]  # for each name, in order, its first column and how many it takes
    width: int  # number of columns

    @classmethod
    def of(cls, names: Iterable[tuple[str, int]], slots: int) -> Columns:
        """The columns with these names; true marks a list, a number how many columns a name takes."""
        places, at = {}, 0
        for name, width in names:
            places[name] = (at, slots if width is True else max(width, 1))
            at += places[name][1]
        return cls(places, at)

    def __iter__(self) -> Iterator[str]:
        """The names in order."""
        return iter(self.places)

    def slice(self, name: str) -> slice:
        """The columns of a name."""
        first, width = self.places[name]
        return slice(first, first + width)

    def is_list(self, name: str) -> bool:
        """Whether the name takes several columns."""
        return self.places[name][1] > 1

    def empty(self, rows: int) -> Rows:
        """A table of zeros."""
        return np.zeros((rows, self.width), dtype=np.int32)

    def table(self, cases: Sequence[Mapping[str, Any]]) -> Rows:
        """The table of cases by name, all with the same names; 0 where they have none."""
        table = self.empty(len(cases))
        for name in cases[0] if cases else ():
            values, width = [case[name] for case in cases], self.places[name][1]
            self.put(table, **{name: [pad(value, width) for value in values] if self.is_list(name) else values})
        return table

    def put(self, table: Rows, **values: Any) -> Rows:
        """The table, with values written to columns; each of one row, or as many rows as the table has."""
        for name, value in values.items():
            array = np.asarray(value, dtype=np.int32)
            first, width = self.places[name]
            table[:, first : first + width] = array[:, None] if width == 1 and array.ndim == 1 else array
        return table

    def get(self, table: Rows, name: str) -> Rows:
        """The columns of a name; of one column a flat array."""
        values: Rows = table[:, self.slice(name)]
        return values if self.is_list(name) else values[:, 0]

    def read(self, row: npt.NDArray[Any]) -> dict[str, Any]:
        """A row by name: lists without their vacant slots, the rest as ints."""
        by_name = {}
        for name in self:
            values = row[self.slice(name)].tolist()
            by_name[name] = [v for v in values if v != VACANT] if self.is_list(name) else values[0]
        return by_name


def pad(members: Sequence[int], slots: int) -> list[int]:
    """A list in its slots."""
    return [*members, *[VACANT] * (slots - len(members))]


MASKS = frozenset({"removing", "adding", "acceptable", "target_removing", "target_adding", "dirs", "online"})
"""Columns that are sets of brokers or directories, whatever partition or record they are of."""

SAID = {("leader", NO_LEADER): "none", ("leader", KEEP_LEADER): "unchanged", ("recovery", KEEP_RECOVERY): "unchanged",
        ("last_known", NO_LAST_KNOWN): "none", ("assigned", VACANT): "none",
        ("election", ONLINE): "ordinary", ("election", PREFERRED): "preferred", ("election", UNCLEAN): "unclean",
        **{(name, truth): ("no", "yes")[truth] for name in ("recovering", "placed", "elr_on", "balanced",
                                                             "target_recovering") for truth in (0, 1)}}  # fmt: skip
"""Numbers that stand for no number, for a truth, or for a kind of election."""

SPELLED = {"placed": "directories_known", "acceptable": "may_lead", "assigned": "directory_assigned_to"}
"""Names of columns that a reader would not understand."""


def named(values: Mapping[str, Any]) -> str:
    """Columns by name, for a reader: a set in braces, its mask is not shown."""
    shown = ((SPELLED.get(name, name), _text(name.rpartition(".")[2], value)) for name, value in values.items())
    return " ".join(map("=".join, shown))


def _text(name: str, value: Any) -> str:
    if name in MASKS and isinstance(value, int) and value >= 0:
        return f"{{{','.join(str(one) for one in range(value.bit_length()) if value >> one & 1)}}}"
    said = SAID.get((name, value)) if isinstance(value, int) else None
    return said or str(value).replace(" ", "")


def answer_lines(classes: str, rules: str) -> list[str]:
    """Two answers that differ, for a reader: that of the classes which are asked, and that of the rules."""
    return [f"    the classes answer: {classes}", f"    the rules answer:   {rules}"]
