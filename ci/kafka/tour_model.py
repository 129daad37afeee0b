"""The explored system's own answer to each step: guards, changes written, state after; traced and compiled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import frozen

from ci.kafka.columns import KEEP_LEADER, KEEP_RECOVERY, NO_LAST_KNOWN, Columns, Rows
from ci.kafka.tour_columns import MOST_RECORDS, RESIGNED, answer_columns, step_columns
from model.directories import FIRST_LOCAL, UNASSIGNED
from model.layout import Flag, leaves, rebuild
from model.partition import PartitionChange
from model.system import Action
from model.terms import Graph, Word
from model.words import choose, negate, word
from solvers.arguments import listed_arguments
from solvers.native import RowFunction
from solvers.program import Program
from solvers.trace import call

VACANT = -1

ARGUMENTS = {
    "broker": ("broker",), "failed": ("first",), "directory": ("first",), "clean": ("first",), "recovering": ("first",),
    "minimum": ("first",), "isr": ("second",), "dirs": ("second",), "target": ("target",),
}  # fmt: skip
"""The column of each argument of an action."""

ELSEWHERE = ("set_min_isr",)
"""Actions whose change of the partition Kafka does not write as one: only states are compared."""


@frozen
class Kind:
    """One action kind.

    Attributes:
        name: of the action.
        calls: for each instance its name with its arguments.
        table: for each instance the values of the arguments' leaves.
        asked: for each instance the columns of a question, but for the state.
        enabled: state and leaves to the truth of the guard.
        decided: state and leaves to the columns of an answer.
    """

    name: str
    calls: tuple[str, ...]
    table: npt.NDArray[np.int64]
    asked: Rows
    enabled: RowFunction
    decided: RowFunction


class TourModel:
    """The action kinds of a program as functions on rows."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.brokers = program.setting["brokers"]
        self.inputs = step_columns(program.layout, self.brokers)
        self.outputs = answer_columns(program.layout, self.brokers)
        self.width = len(program.layout.slots)
        actions = program.system.actions(program.setting)
        self.kinds = tuple(self._kind(number, action) for number, action in enumerate(actions))

    @property
    def actions(self) -> tuple[str, ...]:
        """The names of the action kinds, by number."""
        return tuple(kind.name for kind in self.kinds)

    def unpacked(self, packed: npt.NDArray[np.uint64]) -> npt.NDArray[np.int64]:
        """The leaves of packed states, one row each."""
        rows = np.empty((len(packed), self.width), dtype=np.int64)
        for column, slot in enumerate(self.program.layout.slots):
            field = packed[:, slot.word] >> np.uint64(slot.shift) & np.uint64((1 << slot.domain.bits) - 1)
            rows[:, column] = field.astype(np.int64) + slot.domain.lo
        return rows

    def steps(self, states: npt.NDArray[np.int64], kind: Kind, instance: int) -> npt.NDArray[np.bool_]:
        """Which of the states enable an instance of an action."""
        found: npt.NDArray[np.bool_] = kind.enabled(self._fed(states, kind, instance))[:, 0] != 0
        return found

    def answers(self, states: npt.NDArray[np.int64], kind: Kind, instance: int) -> npt.NDArray[np.int64]:
        """The model's answers to a step in each state."""
        found = _compact(self.outputs, kind.decided(self._fed(states, kind, instance)))
        return as_listed(self, states, found)

    def _fed(self, states: npt.NDArray[np.int64], kind: Kind, instance: int) -> npt.NDArray[np.int64]:
        row = np.broadcast_to(kind.table[instance], (len(states), kind.table.shape[1]))
        return np.concatenate([states, row], axis=1)

    def _kind(self, number: int, action: Action) -> Kind:
        graph, slots = Graph(), self.program.layout.slots
        variables = [
            graph.truth_variable(s.path) if isinstance(s.domain, Flag)
            else graph.variable(s.path, s.domain.lo, s.domain.hi)
            for s in slots
        ]  # fmt: skip
        feed = iter(variables)
        state = rebuild(self.program.layout.shape, lambda: next(feed))
        choices = listed_arguments(action, graph)
        outcome = action.outcome(state, choices.arguments)
        roots = [outcome.event.resigned, *self._records(action, outcome), *(v for _, v in leaves(outcome.state))]
        roots += [outcome.event.leader_epoch_bumps, outcome.event.partition_epoch_bumps]
        given = [*variables, *choices.variables]
        return Kind(
            action.name, tuple(call(action.name, row) for row in choices.instances),
            np.array(choices.table, dtype=np.int64).reshape(len(choices.table), len(choices.variables)),
            self._asked(number, choices.instances),
            RowFunction(graph, given, [graph.lift(action.enabled(state, choices.arguments))]),
            RowFunction(graph, given, [graph.lift(root) for root in roots]),
        )  # fmt: skip

    def _asked(self, number: int, instances: Sequence[Any]) -> Rows:
        columns = self.inputs
        rows = columns.put(columns.empty(len(instances)), action=number, target=np.full(self.brokers, VACANT))
        for row, arguments in zip(rows, instances, strict=True):
            for name, value in arguments.items():
                for column in ARGUMENTS[name]:
                    row[columns.slice(column)] = [int(leaf) for _, leaf in leaves(value)]
        return rows[:, self.width :]

    def _records(self, action: Action, outcome: Any) -> list[Word]:
        written = () if action.name in ELSEWHERE else outcome.records
        if len(written) > MOST_RECORDS:
            raise ValueError(f"{action.name} writes up to {len(written)} changes of one partition")
        roots = [root for change in written for root in _change_roots(change)]
        blank = _blank(self.brokers)
        return [*roots, *((MOST_RECORDS - len(written)) * [0, *blank])]


def _blank(brokers: int) -> list[int]:
    """The columns of a record that is not written."""
    lists = [0, 0, 0, *([VACANT] * brokers), 0, *([UNASSIGNED] * brokers)]
    return [KEEP_LEADER, KEEP_RECOVERY, *lists, 0, 0, 0, NO_LAST_KNOWN, 0, 0, 0, 0]


def _change_roots(change: PartitionChange) -> list[Word]:
    """Whether a change is written, then its columns."""

    def chosen(field: Any, absent: int) -> list[Word]:
        return [word(field.present), *(choose(field.present, leaf, absent) for _, leaf in leaves(field.value))]

    recovery = choose(change.recovering.present, word(change.recovering.value), KEEP_RECOVERY)
    return [
        word(negate(change.is_noop())), choose(change.leader.present, change.leader.value, KEEP_LEADER), recovery,
        *chosen(change.isr, 0), *chosen(change.replicas, VACANT), *chosen(change.directories, UNASSIGNED),
        *chosen(change.elr, 0), *chosen(change.last_known_elr, NO_LAST_KNOWN), *chosen(change.removing, 0),
        *chosen(change.adding, 0),
    ]  # fmt: skip


def _compact(outputs: Columns, raw: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Answers: records that were written first, none where the controller resigned."""
    wide = (outputs.places["record1.leader"][0] - outputs.places["record0.leader"][0]) + 1
    brokers = outputs.places["record0.replicas"][1]
    resigned, records, rest = raw[:, 0] != 0, raw[:, 1 : 1 + MOST_RECORDS * wide], raw[:, 1 + MOST_RECORDS * wide :]
    first, second = records[:, :wide].copy(), records[:, wide:].copy()
    empty = np.array([0, *_blank(brokers)])
    late = (first[:, 0] == 0) & (second[:, 0] != 0)
    first[late], second[late] = second[late], empty
    for record in (first, second):
        record[resigned | (record[:, 0] == 0)] = empty
    count = np.where(resigned, RESIGNED, first[:, 0] + second[:, 0])
    head = np.stack([count, np.zeros_like(count), np.zeros_like(count)], axis=1)
    return np.concatenate([head, first[:, 1:], second[:, 1:], rest], axis=1)


def as_listed(model: TourModel, states: npt.NDArray[np.int64], answers: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The answers with directories as records list them: another order of replicas is another list.

    The explored system knows the directory of each broker, not the order in which records list them.
    """
    inputs, outputs = model.inputs, model.outputs
    before = states[:, inputs.slice("directories")]
    old = _ids(states[:, inputs.slice("replicas")], before)
    for n in range(MOST_RECORDS):
        moved = answers[:, outputs.places[f"record{n}.replicas?"][0]] != 0
        flag, place = outputs.places[f"record{n}.directories?"][0], outputs.slice(f"record{n}.directories")
        by_broker = np.where((answers[:, flag] != 0)[:, None], answers[:, place], before)
        replicas = answers[:, outputs.slice(f"record{n}.replicas")]
        reordered = moved & (_ids(replicas, by_broker) != old).any(axis=1)
        held = np.stack([(replicas == broker).any(axis=1) for broker in range(model.brokers)], axis=1)
        answers[reordered, flag] = 1
        answers[:, place] = np.where(reordered[:, None], np.where(held, by_broker, UNASSIGNED), answers[:, place])
    return answers


def _ids(replicas: npt.NDArray[np.int64], by_broker: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """For each position of the replicas an id of its directory, distinct for those of two brokers."""
    local = np.take_along_axis(by_broker, np.maximum(replicas, 0), axis=1)
    ids: npt.NDArray[np.int64] = np.where(local < FIRST_LOCAL, local, FIRST_LOCAL + 100 * replicas + local)
    return np.where(replicas == VACANT, VACANT, ids)
