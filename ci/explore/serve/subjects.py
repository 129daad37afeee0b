"""The systems of a page: one subject, under its own rules and under those that are set beside them."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

from attrs import define, field, frozen

from kraftcheck.ci.explore.serve.paths import Paths
from kraftcheck.ci.systems.subject import Subject, program, subject
from kraftcheck.solvers.audit.comparison import NativeEngine
from kraftcheck.solvers.machine_code.compile import load_kernel
from kraftcheck.solvers.neighbourhood.states import Neighbourhood, neighbourhood
from kraftcheck.solvers.program.program import Program

MOST_RULE_SETS = 6
"""Other rule sets that are kept traced; the oldest is dropped first."""


@frozen
class Other:
    """The subject under other rules, and its paths."""

    chosen: Subject
    paths: Paths


@define
class Subjects:
    """What the page is about. It holds nothing of any visitor: each question brings its whole path.

    Attributes:
        chosen: the subject.
        traced: the same, traced.
        cache: folder for compiled code.
        paths: of the subject.
    """

    chosen: Subject
    traced: Program
    cache: Path | None
    paths: Paths = field(init=False)
    _lock: threading.RLock = field(factory=threading.RLock)
    _others: dict[str, Other] = field(factory=dict)
    _engine: NativeEngine | None = None

    def __attrs_post_init__(self) -> None:
        """No path is known yet."""
        self.paths = Paths(self.traced)

    def other(self, rules: str) -> Other:
        """The subject under other rules; raises Refusal for an unknown rule set."""
        with self._lock:
            if rules not in self._others:
                setting = self.chosen.setting
                chosen = subject(self.chosen.name, setting.scope, setting.bounds, rules)
                self._others[rules] = Other(chosen, Paths(program(chosen), judged=False))
                if len(self._others) > MOST_RULE_SETS:
                    del self._others[next(iter(self._others))]
            return self._others[rules]

    def around(self, packed: Sequence[int], limit: int) -> Neighbourhood:
        """The neighbourhood of a state; the first time, the system is compiled."""
        with self._lock:
            if self._engine is None:
                self._engine = NativeEngine(load_kernel(self.traced, self.cache, quick=True))
            return neighbourhood(self.traced, self._engine, packed, limit)
