"""The change builder asked with any broker ids, on ordered lists: the orders that Kafka's hash sets give are compared.

The compiled rules of `change.model` keep ids below the number of slots, whose hash order is ascending. Here the rules
run on lists of ints, case by case, with ids up to 2^31 - 1, and also in the mode without a last known leader.
"""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt

from kraftcheck.ci.conformance.kafka.change.cases import random_changes
from kraftcheck.ci.conformance.kafka.change.model import LATEST, MetadataFeatures
from kraftcheck.ci.conformance.kafka.columns import (
    CHANGE_INPUTS,
    DEFAULT_DIRECTORY,
    KEEP_LEADER,
    KEEP_RECOVERY,
    NO_LAST_KNOWN,
    NO_LEADER,
    NO_RECORD,
    ORDERED_INPUTS,
    ORDERED_OUTPUTS,
    OWN_DIRECTORY,
    PREFERRED,
    RECORD,
    SET_DIRECTORY,
    UNCLEAN,
    VACANT,
    Columns,
    Rows,
)
from kraftcheck.model.language.idlists import IdList
from kraftcheck.model.language.words import absent, present
from kraftcheck.model.partition.change import Target, build_change
from kraftcheck.model.partition.election import BuildContext
from kraftcheck.model.partition.registration import DirectoryList, Partition, PartitionChange
from kraftcheck.model.rules.ruleset import RuleSet

LARGEST_ID = (1 << 31) - 1

_RANGES = ((0, 16, 1), (16, 64, 1), (0, 1 << 6, 16), (0, 1 << 20, 64), (0, 1 << 15, 1 << 16), (0, LARGEST_ID, 1))
"""Where ids are drawn, as the first, how many, and how far apart: small ones, many of one slot, all."""


class OrderedModel:
    """`build_change` on rows, see `ORDERED_INPUTS` and `ORDERED_OUTPUTS`."""

    def __init__(self, slots: int, rules: RuleSet, features: MetadataFeatures = LATEST) -> None:
        self.inputs = Columns.of(ORDERED_INPUTS, slots)
        self.outputs = Columns.of(ORDERED_OUTPUTS, slots)
        self._slots, self._rules, self._features = slots, rules.partition, features

    def answer(self, rows: Rows) -> npt.NDArray[np.int64]:
        """One row of answers for each row of questions."""
        return np.array([self._row(row) for row in rows], dtype=np.int64).reshape(len(rows), self.outputs.width)

    def _row(self, row: npt.NDArray[np.int32]) -> list[int]:
        case = _Case(self.inputs.read(row))
        change = build_change(case.partition(), case.target(), case.context(self._features), self._rules)
        return case.record(change, self._slots)


class _Case:
    """One question, its brokers named by their ids."""

    def __init__(self, values: dict[str, Any]) -> None:
        self._values = values
        self._ids: dict[int, int] = dict(enumerate(values["ids"])) | {NO_LAST_KNOWN: NO_LEADER}
        self._places = {broker: place for place, broker in self._ids.items()}

    def _list(self, name: str) -> IdList:
        return IdList(tuple(self._ids[place] for place in self._values[name]))

    def _set(self, name: str) -> IdList:
        mask = self._values[name]
        return IdList(tuple(broker for place, broker in self._ids.items() if place >= 0 and mask >> place & 1))

    def partition(self) -> Partition:
        """The partition before the event."""
        values, replicas = self._values, self._list("replicas")
        own = tuple(place + OWN_DIRECTORY if values["placed"] else 0 for place in values["replicas"])
        leader = self._ids.get(values["leader"], NO_LEADER)
        return Partition(
            replicas, DirectoryList(replicas.ids, own), self._list("isr"), self._list("elr"), self._list("last_known"),
            self._set("removing"), self._set("adding"), leader, bool(values["recovering"]), 0, 0,
        )  # fmt: skip

    def target(self) -> Target:
        """What the event wants of it."""
        assigned = self._ids.get(self._values["assigned"], VACANT)
        return Target(
            self._list("target_isr"), self._list("target_replicas"), self._set("target_removing"),
            self._set("target_adding"), bool(self._values["target_recovering"]),
            lambda broker: present(SET_DIRECTORY) if broker == assigned else absent(SET_DIRECTORY),
        )  # fmt: skip

    def context(self, features: MetadataFeatures) -> BuildContext:
        """Who may lead, and how leaders are elected."""
        values = self._values
        return BuildContext(
            acceptable=self._set("acceptable"), min_isr=values["min_isr"], preferred=values["election"] == PREFERRED,
            unclean=values["election"] == UNCLEAN, elr=bool(values["elr_on"]),
            use_last_known_leader=bool(values["balanced"]), unclean_shutdown=self._set("unclean_shutdown"),
            directory_assignment=features.directory_assignment, leader_recovery=features.leader_recovery,
            bump_on_isr_shrink=features.bump_on_isr_shrink,
            default_directory=lambda broker: self._places[int(broker)] + DEFAULT_DIRECTORY,
        )  # fmt: skip

    def record(self, change: PartitionChange, slots: int) -> list[int]:
        """The columns of the record."""
        leader, recovering = change.leader, change.recovering
        answer = [
            NO_RECORD if change.is_noop() else RECORD,
            self._places.get(int(leader.value), NO_LEADER) if leader.present else KEEP_LEADER,
            int(recovering.value) if recovering.present else KEEP_RECOVERY,
        ]
        if leader.present and leader.value == NO_LEADER:
            answer[1] = NO_LEADER
        directories: Any = change.directories
        for field in (change.isr, change.replicas):
            answer += self._columns(field, slots)
        answer += [int(directories.present), *_padded(directories.value.ids if directories.present else (), slots)]
        for field in (change.elr, change.last_known_elr):
            answer += self._columns(field, slots)
        for field in (change.removing, change.adding):
            listed = [self._places[b] for b in field.value] if field.present else []  # type: ignore[attr-defined]
            answer += [int(bool(field.present)), sum(1 << place for place in listed)]
        return answer

    def _columns(self, field: Any, slots: int) -> list[int]:
        listed = [self._places[broker] for broker in field.value] if field.present else []
        return [int(bool(field.present)), *_padded(listed, slots)]


def _padded(values: Any, slots: int) -> list[int]:
    return [*values, *[VACANT] * (slots - len(values))]


def random_ordered(seed: int, slots: int, rows: int, factor: int) -> Rows:
    """The cases of `random_changes` with drawn ids, in both modes; the ELR in any order, members that left among it."""
    draw = Random(f"{seed} {slots} {factor}")
    changes, columns = Columns.of(CHANGE_INPUTS, slots), Columns.of(ORDERED_INPUTS, slots)
    drawn = random_changes(seed, slots, rows, factor)
    ids, balanced, elrs, last_knowns = [], [], [], []
    isrs, leaders_before = changes.get(drawn, "isr").tolist(), changes.get(drawn, "last_known").tolist()
    for isr, last in zip(isrs, leaders_before, strict=True):
        ids.append(_ids(draw, slots))
        balanced.append(draw.randrange(2))
        elr = [broker for broker in range(slots) if broker not in isr]
        elrs.append(_padded(draw.sample(elr, draw.randint(0, len(elr))), slots))
        known = [] if last == NO_LAST_KNOWN else [NO_LAST_KNOWN if last == NO_LEADER else last]
        others = [broker for broker in range(slots) if broker not in known]
        if known and not balanced[-1]:
            known += draw.sample(others, draw.randint(0, 2))
        last_knowns.append(_padded(known, slots))
    table = columns.empty(rows)
    for name in changes:
        if name != "last_known":
            table[:, columns.slice(name)] = drawn[:, changes.slice(name)]
    return columns.put(table, ids=ids, balanced=balanced, elr=elrs, last_known=last_knowns)


def _ids(draw: Random, count: int) -> list[int]:
    """Distinct ids in ascending order; half of all draws take them from one range, half from several."""
    ranges = draw.choices(_RANGES, k=draw.choice((1, 3)))
    ids: set[int] = {LARGEST_ID} if draw.randrange(16) == 0 else set()
    while len(ids) < count:
        first, number, step = draw.choice(ranges)
        ids.add(first + step * draw.randrange(number))
    return sorted(ids)
