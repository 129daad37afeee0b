"""The paths of one program: sessions and columns at each of their steps, memoized.

The memo changes no answer, only its time: a question that adds a step to a path costs that step.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from attrs import define, evolve, field

from kraftcheck.ci.explore.serve.finished import QuestionRefused
from kraftcheck.model.language.system import Legend
from kraftcheck.solvers.drawings.drawing import Column, columns, legend_of, nearest_initial
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.verdict import TraceStep
from kraftcheck.solvers.stepping.session import Session, StepRefused

MOST_STEPS_KEPT = 4096
"""Memoized steps; the oldest is dropped first."""

Key = TypeVar("Key")
Value = TypeVar("Value")

Place = tuple[int, tuple[int, ...]]
"""Number of the initial state, and the action instances from there."""


@define
class Paths:
    """Paths of a program.

    Attributes:
        traced: the program.
        judged: whether columns say which properties fail.
    """

    traced: Program
    judged: bool = True
    legend: Legend = field(init=False)
    lanes: tuple[str, ...] = field(init=False)
    _lock: threading.RLock = field(factory=threading.RLock)
    _sessions: dict[Place, Session] = field(factory=dict)
    _columns: dict[Place, Column] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        """Read the legend once."""
        self.legend = legend_of(self.traced)
        self.lanes = self.legend.lanes(self.traced.setting.bounds)

    def sessions(self, start: int, instances: Sequence[int]) -> tuple[Session, ...]:
        """The session in the initial state and after each step of a path.

        Raises:
            QuestionRefused: where there is no such initial state, or naming the step that cannot be taken.
        """
        sessions, refusal = self.walk(start, instances)
        if refusal:
            place = f"step {len(sessions)}: " if sessions else ""
            raise QuestionRefused(f"{place}{refusal}", 422)
        return sessions

    def walk(self, start: int, instances: Sequence[int]) -> tuple[tuple[Session, ...], str]:
        """The sessions up to the first step that cannot be taken, and why it cannot; empty where all can."""
        sessions = list[Session]()
        with self._lock:
            for number in range(len(instances) + 1):
                place = (start, tuple(instances[:number]))
                try:
                    session = self._sessions.get(place) or self._session(place, sessions)
                except StepRefused as error:
                    return tuple(sessions), str(error)
                _remember(self._sessions, place, session)
                sessions.append(session)
        return tuple(sessions), ""

    def _session(self, place: Place, before: Sequence[Session]) -> Session:
        start, instances = place
        return before[-1].take(instances[-1]) if instances else Session.begin(self.traced, start)

    def columns(self, sessions: Sequence[Session]) -> tuple[Column, ...]:
        """The columns of a path as they are drawn, where they are judged with every property that fails."""
        with self._lock:
            return tuple(self._column(session, number) for number, session in enumerate(sessions))

    def _column(self, session: Session, number: int) -> Column:
        place = (session.start, session.instances)
        column = self._columns.get(place)
        if column is None:
            before = session.steps[-2].state if number > 1 else session.initial
            failing = {min(number, 1): tuple(broken_of(session) if self.judged else ())}
            drawn = columns(before, session.steps[number - 1 :], self.legend, self.lanes, failing)
            column = evolve(drawn[-1], number=number)
        _remember(self._columns, place, column)
        return column

    def follow(self, first: Any, steps: Sequence[TraceStep]) -> tuple[tuple[Session, ...], str]:
        """The same actions here, from the initial state most like the first one; and as `walk` why they stop."""
        start = self.traced.initial.index(self.traced.layout.pack(nearest_initial(first, self.traced)))
        instances = list[int]()
        for step in steps:
            instance = self._instance(step.action, step.arguments)
            if instance is None:
                return self.walk(start, instances)[0], f"there is no {step.action} with these arguments"
            instances.append(instance)
        return self.walk(start, instances)

    def _instance(self, action: str, arguments: Mapping[str, Any]) -> int | None:
        """The number of an action instance here; None where there is none."""
        for kind in self.traced.kinds:
            if kind.action.name == action and arguments in kind.instances:
                return kind.first + kind.instances.index(arguments)
        return None


def broken_of(session: Session) -> list[str]:
    """The properties that fail at the last step of a session, and `deadlock`."""
    broken = [status.claim.id for status in session.properties if status.finding == "fails"]
    return [*broken, *(["deadlock"] if session.deadlock else [])]


def _remember(memo: dict[Key, Value], key: Key, value: Value) -> None:
    """Keep a value as the newest; the oldest one goes where there are too many."""
    memo.pop(key, None)
    memo[key] = value
    if len(memo) > MOST_STEPS_KEPT:
        del memo[next(iter(memo))]
