"""The systems of a page: one subject, under its own rules and under those that are set beside them."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from attrs import define, field, frozen

from kraftcheck.ci.explore.serve.questions import QuestionRefused
from kraftcheck.ci.systems.subject import Subject, program, subject
from kraftcheck.solvers.audit.single_state import NativeEngine
from kraftcheck.solvers.machine_code.compile import load_kernel
from kraftcheck.solvers.neighbourhood.states import Neighbourhood, neighbourhood
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.stepping.session import Session, StepRefused

MOST_SESSIONS, MOST_RULE_SETS = 4096, 6
"""Memoized results; the oldest is dropped first. They change no answer, only its time."""

Key = TypeVar("Key")
Value = TypeVar("Value")


@frozen
class Other:
    """The subject under other rules, traced."""

    chosen: Subject
    traced: Program


@define
class Subjects:
    """What the page is about. It holds nothing of any visitor: each question brings its whole path.

    Attributes:
        chosen: the subject.
        traced: the same, traced.
        cache: folder for compiled code.
    """

    chosen: Subject
    traced: Program
    cache: Path | None
    _lock: threading.RLock = field(factory=threading.RLock)
    _others: dict[str, Other] = field(factory=dict)
    _sessions: dict[tuple[int, tuple[int, ...]], Session] = field(factory=dict)
    _engine: NativeEngine | None = None

    def sessions(self, start: int, instances: Sequence[int]) -> tuple[Session, ...]:
        """The session in the initial state and after each step of a path.

        Raises:
            QuestionRefused: where there is no such initial state, or naming the step that cannot be taken.
        """
        with self._lock:
            sessions = list[Session]()
            for number in range(len(instances) + 1):
                path = tuple(instances[:number])
                try:
                    sessions.append(self._memoized(start, path, sessions[-1] if sessions else None))
                except StepRefused as error:
                    place = f"step {number}: " if number else ""
                    raise QuestionRefused(f"{place}{error}", 422) from error
            return tuple(sessions)

    def _memoized(self, start: int, path: tuple[int, ...], before: Session | None) -> Session:
        session = self._sessions.pop((start, path), None)
        if session is None:
            session = Session.begin(self.traced, start) if before is None else before.take(path[-1])
        _remember(self._sessions, (start, path), session, MOST_SESSIONS)
        return session

    def other(self, rules: str) -> Other:
        """The subject under other rules; raises Refusal for an unknown rule set."""
        with self._lock:
            other = self._others.pop(rules, None)
            if other is None:
                setting = self.chosen.setting
                chosen = subject(self.chosen.name, setting.scope, setting.bounds, rules)
                other = Other(chosen, program(chosen))
            _remember(self._others, rules, other, MOST_RULE_SETS)
            return other

    def around(self, packed: Sequence[int], limit: int) -> Neighbourhood:
        """The neighbourhood of a state; the first time, the system is compiled."""
        with self._lock:
            if self._engine is None:
                self._engine = NativeEngine(load_kernel(self.traced, self.cache, quick=True))
            return neighbourhood(self.traced, self._engine, packed, limit)


def clock() -> float:
    """Seconds, for engines."""
    return time.monotonic()


def _remember(memo: dict[Key, Value], key: Key, value: Value, most: int) -> None:
    """Keep a value as the newest; the oldest one goes where there are too many."""
    memo[key] = value
    if len(memo) > most:
        del memo[next(iter(memo))]
