"""The model of a tour: guards, changes and next states of the explored system, traced and compiled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import frozen

from kraftcheck.ci.conformance.kafka.columns import (
    AFTER_AT,
    CHANGE_OUTPUTS,
    KEEP_LEADER,
    KEEP_RECOVERY,
    NO_LAST_KNOWN,
    RECORD_AT,
    VACANT,
    Columns,
    Rows,
    record_columns,
)
from kraftcheck.ci.conformance.kafka.tour.requests import (
    ManagerRequest,
    TourError,
    managed_name,
    managed_part,
    request_of,
)
from kraftcheck.ci.terminal.machine import cache_folder
from kraftcheck.model.language.layout import Flag, Layout, leaves, rebuild
from kraftcheck.model.language.system import Action, Outcome
from kraftcheck.model.language.terms import Graph, Truth, Word
from kraftcheck.model.language.words import choose, negate, word
from kraftcheck.model.partition.registration import FIRST_LOCAL, UNASSIGNED, PartitionChange
from kraftcheck.model.systems.directories.state import Told
from kraftcheck.model.systems.elections.state import ElectionsEvent
from kraftcheck.solvers.machine_code.compile import RowFunction
from kraftcheck.solvers.program.columns import field_values
from kraftcheck.solvers.program.parts import listed_arguments
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.traces.render import call

MOST_RECORDS = 2  # changes of the partition that one event writes at most
NOT_COMPARED = ("error", "continued")  # columns of an answer that the model does not give

REFUSED, RESIGNED = -1, -2
"""The column `records` of an event that was answered with an error, or with an exception; else how many changes."""


def state_names(layout: Layout) -> tuple[tuple[str, int], ...]:
    """The fields of a state with how many columns each takes, in order."""
    widths: dict[str, int] = {}
    for path, _ in leaves(layout.shape):
        name = path.partition("[")[0]
        widths[name] = widths.get(name, 0) + 1
    return tuple(widths.items())


def step_columns(layout: Layout, brokers: int) -> Columns:
    """The columns of a question: the state before, the number of the action kind, and its arguments."""
    request = (("action", 1), ("broker", 1), ("first", 1), ("second", 1), ("target", brokers))
    return Columns.of((*state_names(layout), *request), 1)


def answer_columns(layout: Layout, brokers: int) -> Columns:
    """The columns of an answer: how many records, the error, each record, the state after, how the epochs rose."""
    head = (("records", 1), ("error", 1), ("continued", 1))
    records = [(f"record{n}.{name}", width) for n in range(MOST_RECORDS) for name, width in _record(brokers)]
    after = [(f"after.{name}", width) for name, width in state_names(layout)]
    return Columns.of((*head, *records, *after, ("after.leader_epoch", 1), ("after.partition_epoch", 1)), 1)


def _record(brokers: int) -> tuple[tuple[str, int], ...]:
    """The columns of a record: names and how many each takes; sets are bit masks here."""
    return tuple(
        (name, brokers if name in ("replicas", "directories") else 1) for name, _ in CHANGE_OUTPUTS[RECORD_AT:AFTER_AT]
    )


EMPTY = {"leader": KEEP_LEADER, "recovery": KEEP_RECOVERY, "replicas": VACANT, "directories": UNASSIGNED,
         "last_known": NO_LAST_KNOWN}  # fmt: skip
"""The columns of a record that is not written, or of a field that it has not; the others are 0."""


def blank(brokers: int) -> list[int]:
    """The columns of a record that is not written."""
    return [EMPTY.get(name, 0) for name, width in _record(brokers) for _ in range(width)]


def change_roots(change: PartitionChange) -> list[Word]:
    """Whether a change is written, then its columns."""
    absent = {**EMPTY, "last_known_elr": NO_LAST_KNOWN}
    return [
        word(negate(change.is_noop())),
        *record_columns(change, lambda _, value: [leaf for _, leaf in leaves(value)], absent),
    ]


def compact(outputs: Columns, raw: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Answers: records that were written first, none where the controller resigned or refused.

    Args:
        outputs: the columns of an answer.
        raw: whether it did (RESIGNED, REFUSED or 0), for each record whether it is written and its columns, the rest.
    """
    record_width = (outputs.places["record1.leader"][0] - outputs.places["record0.leader"][0]) + 1
    brokers = outputs.places["record0.replicas"][1]
    status, records, remainder = (
        raw[:, 0],
        raw[:, 1 : 1 + MOST_RECORDS * record_width],
        raw[:, 1 + MOST_RECORDS * record_width :],
    )
    first, second = records[:, :record_width].copy(), records[:, record_width:].copy()
    empty = np.array([0, *blank(brokers)])
    late = (first[:, 0] == 0) & (second[:, 0] != 0)
    first[late], second[late] = second[late], empty
    for record in (first, second):
        record[(status != 0) | (record[:, 0] == 0)] = empty
    count = np.where(status != 0, status, first[:, 0] + second[:, 0])
    head = np.stack([count, np.zeros_like(count), np.zeros_like(count)], axis=1)
    return np.concatenate([head, first[:, 1:], second[:, 1:], remainder], axis=1)


def as_listed(
    inputs: Columns, outputs: Columns, states: npt.NDArray[np.int8], answers: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """The answers with directories as records list them, by their order, which the explored system does not know."""
    before = states[:, inputs.slice("directories")]
    old = _ids(states[:, inputs.slice("replicas")], before)
    for n in range(MOST_RECORDS):
        replicas_changed = answers[:, outputs.places[f"record{n}.replicas?"][0]] != 0
        flag, place = outputs.places[f"record{n}.directories?"][0], outputs.slice(f"record{n}.directories")
        by_broker = np.where((answers[:, flag] != 0)[:, None], answers[:, place], before)
        replicas = answers[:, outputs.slice(f"record{n}.replicas")]
        reordered = replicas_changed & (_ids(replicas, by_broker) != old).any(axis=1)
        held = np.stack([(replicas == broker).any(axis=1) for broker in range(replicas.shape[1])], axis=1)
        answers[reordered, flag] = 1
        answers[:, place] = np.where(reordered[:, None], np.where(held, by_broker, UNASSIGNED), answers[:, place])
    return answers


def _ids(replicas: npt.NDArray[Any], by_broker: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """For each position of the replicas an id of its directory, distinct for those of two brokers."""
    replicas, by_broker = replicas.astype(np.int64), by_broker.astype(np.int64)
    local = np.take_along_axis(by_broker, np.maximum(replicas, 0), axis=1)
    ids: npt.NDArray[np.int64] = np.where(local < FIRST_LOCAL, local, FIRST_LOCAL + 100 * replicas + local)
    return np.where(replicas == VACANT, VACANT, ids)


States = npt.NDArray[np.int8]  # the leaves of states, one row each

STATE_ONLY = ("set_min_isr",)
"""Actions whose change of the partition Kafka does not write as one: only states are compared."""


@frozen
class CompiledRules:
    """Functions of rows that hold the leaves of a state, then those of the arguments."""

    enabled: RowFunction  # the truth of the guard
    request: RowFunction  # whether the request can be put to the managers, and its columns but for the state
    # how many records there are, the columns of an answer, the leaves after it that an answer lacks
    decision: RowFunction


@frozen
class TourKind:
    """One action kind."""

    name: str  # of the action
    calls: tuple[str, ...]  # for each instance its name with its arguments
    table: npt.NDArray[np.int64]  # for each instance the values of the arguments' leaves
    rules: CompiledRules | None  # compiled; None: the managers learn nothing of it, or refuse it before they are asked


class TourModel:
    """The action instances of a program as functions on rows; they are numbered as the explorer numbers them.

    Attributes:
        inputs, outputs: the columns of a question and of an answer.
        managed_width: how many leaves of a state, the first ones, the managers have.
        actions: the names that the driver knows requests by, by code.
        instances: the kind of each action instance and its number within it.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.brokers = program.setting["brokers"]
        layout = Layout(managed_part(managed_name(program.system.name), program.layout.shape))
        self.inputs = step_columns(layout, self.brokers)
        self.outputs = answer_columns(layout, self.brokers)
        self.width, self.managed_width = len(program.layout.slots), len(layout.slots)
        self._codes: dict[str, int] = {}
        self.kinds = tuple(self._kind(action) for action in program.system.actions(program.setting))
        self.actions = tuple(self._codes)
        self.instances = tuple((kind, within) for kind in self.kinds for within in range(len(kind.table)))

    def unpack(self, packed: npt.NDArray[np.uint64]) -> States:
        """The leaves of packed states, one row each."""
        rows = np.empty((len(packed), self.width), dtype=np.int8)
        for column, slot in enumerate(self.program.layout.slots):
            rows[:, column] = field_values(packed, slot)
        return rows

    def is_silent(self, number: int) -> bool:
        """Whether an action instance makes no request to the managers."""
        return self.instances[number][0].rules is None

    def call(self, number: int) -> str:
        """An action instance with its arguments."""
        kind, within = self.instances[number]
        return kind.calls[within]

    def enabled(self, states: States) -> Iterator[tuple[int, npt.NDArray[np.intp]]]:
        """Each action instance that asks something, with the numbers of those of the states that enable it."""
        rows = np.empty((0, 0), dtype=np.int64)
        for number, (kind, within) in enumerate(self.instances):
            if kind.rules is None:
                continue
            if within == 0:
                rows = _rule_rows(states, kind.table[0])
            rows[:, self.width :] = kind.table[within]
            yield number, np.flatnonzero(kind.rules.enabled(rows)[:, 0])

    def requests(self, states: States, number: int) -> tuple[npt.NDArray[np.bool_], Rows]:
        """A step's request in each state: whether there is one, its columns; raises TourError where it asks none."""
        kind, within = self.instances[number]
        answers = self._rules(kind).request(_rule_rows(states, kind.table[within]))
        rows = self.inputs.empty(len(states))
        rows[:, : self.managed_width] = states[:, : self.managed_width]
        rows[:, self.managed_width :] = answers[:, 1:]
        return answers[:, 0] != 0, rows

    def decide(self, states: States, number: int) -> tuple[npt.NDArray[np.int64], States]:
        """The model's answers to a step in each state, and states after; raises TourError where it has none."""
        kind, within = self.instances[number]
        values = self._rules(kind).decision(_rule_rows(states, kind.table[within]))
        answer_end = values.shape[1] - (self.width - self.managed_width)
        answers = as_listed(self.inputs, self.outputs, states, compact(self.outputs, values[:, 1:answer_end]))
        count = self.outputs.places["records"][0]
        if kind.name not in STATE_ONLY and (values[:, 0] != np.maximum(answers[:, count], 0)).any():
            raise TourError(f"{kind.name} writes records that the system does not tell")
        first = self.outputs.width - 2 - self.managed_width
        managed = answers[:, first : first + self.managed_width]
        return answers, np.concatenate([managed, values[:, answer_end:]], axis=1).astype(np.int8)

    @staticmethod
    def _rules(kind: TourKind) -> CompiledRules:
        if kind.rules is None:
            raise TourError(f"{kind.name} asks nothing of the managers")
        return kind.rules

    def _kind(self, action: Action) -> TourKind:
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
        inputs = [*variables, *choices.variables]

        def compile_roots(roots: Sequence[Any]) -> RowFunction:
            return RowFunction(graph, inputs, [graph.lift(root) for root in roots], cache_folder())

        make_request = request_of(managed_name(self.program.system.name), action, self.program.setting.rules)
        rules = None
        if make_request is not None:
            put = make_request(state, outcome.state, choices.arguments)
            enabled = [action.enabled(state, choices.arguments)]
            rules = CompiledRules(
                compile_roots(enabled),
                compile_roots(self._request_roots(put)),
                compile_roots(self._decision_roots(action, outcome if put.decision is None else put.decision)),
            )
        elif any(
            leaf is not old
            for old, (_, leaf) in zip(variables[: self.managed_width], leaves(outcome.state), strict=False)
        ):
            raise TourError(f"{action.name} asks nothing of the managers, but changes what they have")
        return TourKind(
            action.name, tuple(call(action.name, row) for row in choices.instances),
            np.array(choices.table, dtype=np.int64).reshape(len(choices.table), len(choices.variables)), rules,
        )  # fmt: skip

    def _request_roots(self, put: ManagerRequest) -> list[Any]:
        code = self._codes.setdefault(put.action, len(self._codes))
        target = [VACANT] * self.brokers if put.target is None else [leaf for _, leaf in leaves(put.target)]
        return [put.possible, code, put.broker, put.first, put.second, *target]

    def _decision_roots(self, action: Action, outcome: Outcome) -> list[Any]:
        changes = () if action.name in STATE_ONLY else outcome.records
        if len(changes) > MOST_RECORDS:
            raise TourError(f"{action.name} writes up to {len(changes)} changes of one partition")
        records = [root for change in changes for root in change_roots(change)]
        records += (MOST_RECORDS - len(changes)) * [0, *blank(self.brokers)]
        after = [leaf for _, leaf in leaves(outcome.state)]
        event, refused = _event(outcome)
        status: Word = choose(refused, REFUSED, 0)
        bumps: list[Word] = [0, 0]
        count: Word = 0
        if event is not None:
            status = choose(event.resigned, RESIGNED, status)
            count = event.records
            bumps = [event.leader_epoch_bumps, event.partition_epoch_bumps]
        return [count, status, *records, *after[: self.managed_width], *bumps, *after[self.managed_width :]]


def _event(outcome: Outcome) -> tuple[ElectionsEvent | None, Truth]:
    """The event of the controller, and whether it refused the request."""
    if isinstance(outcome.event, Told):
        return outcome.event.event, outcome.event.refused
    return outcome.event, False


def _rule_rows(states: States, arguments: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """States with the same arguments, as compiled rules take them."""
    rows = np.empty((len(states), states.shape[1] + len(arguments)), dtype=np.int64)
    rows[:, : states.shape[1]] = states
    rows[:, states.shape[1] :] = arguments
    return rows


def keys_of(rows: npt.NDArray[np.generic]) -> npt.NDArray[np.void]:
    """One key for each row; equal rows have equal keys."""
    rows = np.ascontiguousarray(rows)
    return rows.view(np.dtype((np.void, rows.shape[1] * rows.itemsize))).ravel()


def differs(outputs: Columns, answers: Rows, expected: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Of each answer the columns that are not those of the rules."""
    differing: npt.NDArray[np.bool_] = answers != expected
    for name in NOT_COMPARED:
        differing[:, outputs.slice(name)] = False
    return differing
