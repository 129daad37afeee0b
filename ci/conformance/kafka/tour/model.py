"""The model of a tour: guards, changes and next states of the explored system, traced and compiled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import frozen

from kraftcheck.ci.conformance.kafka.columns import VACANT, Rows
from kraftcheck.ci.conformance.kafka.tour.answers import as_listed, blank, change_roots, compact
from kraftcheck.ci.conformance.kafka.tour.columns import MOST_RECORDS, REFUSED, RESIGNED, answer_columns, step_columns
from kraftcheck.ci.conformance.kafka.tour.requests import ManagerRequest, TourError, managed_part, request_of
from kraftcheck.ci.terminal.machine import cache_folder
from kraftcheck.model.language.layout import Flag, leaves, rebuild
from kraftcheck.model.language.packing import Layout
from kraftcheck.model.language.system import Action, Outcome
from kraftcheck.model.language.terms import Graph, Truth, Word
from kraftcheck.model.language.words import choose
from kraftcheck.model.systems.directories.state import Told
from kraftcheck.model.systems.elections.state import ElectionsEvent
from kraftcheck.solvers.machine_code.compile import RowFunction
from kraftcheck.solvers.program.columns import field_values
from kraftcheck.solvers.program.parts import listed_arguments
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.traces.render import call

States = npt.NDArray[np.int8]
"""The leaves of states, one row each."""

CHUNK = 1 << 16
"""How many states are asked at a time."""

STATE_ONLY = ("set_min_isr",)
"""Actions whose change of the partition Kafka does not write as one: only states are compared."""


@frozen
class CompiledRules:
    """Functions of rows that hold the leaves of a state, then those of the arguments.

    Attributes:
        enabled: the truth of the guard.
        request: whether the request can be put to the managers, and its columns but for the state.
        decision: how many records there are, the columns of an answer, the leaves after it that an answer lacks.
    """

    enabled: RowFunction
    request: RowFunction
    decision: RowFunction


@frozen
class TourKind:
    """One action kind.

    Attributes:
        name: of the action.
        calls: for each instance its name with its arguments.
        table: for each instance the values of the arguments' leaves.
        rules: compiled; None: the managers learn nothing of it, or refuse it before they are asked.
    """

    name: str
    calls: tuple[str, ...]
    table: npt.NDArray[np.int64]
    rules: CompiledRules | None


class TourModel:
    """The action instances of a program as functions on rows; they are numbered as the explorer numbers them.

    Attributes:
        inputs, outputs: the columns of a question and of an answer.
        managed_width: how many leaves of a state, the first ones, the managers have.
        actions: the names that the driver knows requests by, by code.
        kinds: the action kinds.
        instances: the kind of each action instance and its number within it.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.brokers = program.setting["brokers"]
        layout = Layout(managed_part(program.system.name, program.layout.shape))
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
        """The request of a step in each state: whether it is possible, and the columns of the question.

        Raises:
            TourError: for an instance that asks nothing.
        """
        kind, within = self.instances[number]
        answers = self._rules(kind).request(_rule_rows(states, kind.table[within]))
        rows = self.inputs.empty(len(states))
        rows[:, : self.managed_width] = states[:, : self.managed_width]
        rows[:, self.managed_width :] = answers[:, 1:]
        return answers[:, 0] != 0, rows

    def decide(self, states: States, number: int) -> tuple[npt.NDArray[np.int64], States]:
        """The model's answers to a step in each state, and the states after it.

        Raises:
            TourError: for an instance that asks nothing, or when the system does not tell the records that it counts.
        """
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
            return RowFunction(graph, inputs, [graph.lift(root) for root in roots], cache_folder(), quick=True)

        make_request = request_of(self.program.system.name, action, self.program.setting.rules)
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

    def _keeps(self, outcome: Outcome, before: Sequence[Any]) -> bool:
        """Whether what the managers have stays as it is: term by term the same."""
        after = [leaf for _, leaf in leaves(outcome.state)]
        return all(
            old is new for old, new in zip(before[: self.managed_width], after[: self.managed_width], strict=True)
        )

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
