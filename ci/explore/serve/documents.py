"""What the page shows of a system and of a path, as plain values."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
from attrs import define, field, frozen

from kraftcheck.ci.explore.serve.finished import step_of, system_key
from kraftcheck.ci.explore.serve.paths import Paths
from kraftcheck.ci.systems.lookup import words_of
from kraftcheck.ci.systems.subject import Subject, program, subject
from kraftcheck.model.language.system import UNNAMED
from kraftcheck.solvers.audit.comparison import NativeEngine
from kraftcheck.solvers.drawings.drawing import Column, Drawing, DrawnCycle, OtherRules, set_beside
from kraftcheck.solvers.drawings.svg import STYLE, svg
from kraftcheck.solvers.machine_code.compile import load_kernel
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.stepping.neighbourhood import Grouped, Neighbourhood, Place, field_names, neighbourhood
from kraftcheck.solvers.stepping.session import Choice, Session
from kraftcheck.solvers.traces.render import fields, repeated_text, show

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


def system_document(subjects: Subjects) -> dict[str, Any]:
    """The system: what the page shows before any step is taken."""
    chosen, program = subjects.chosen, subjects.traced
    words = words_of(chosen.system)
    return {
        "key": system_key(chosen),
        "title": chosen.title(),
        "rules": chosen.rules,
        "presets": [] if words is None else list(words.presets),
        "fields": list(field_names(program.layout)),
        "starts": _starts(program),
        "actions": [
            {
                "name": kind.action.name,
                "source": kind.action.source,
                "conjuncts": [name for name in kind.guard if name != UNNAMED],
            }
            for kind in program.kinds
        ],
        "properties": [
            {"id": claim.id, "kind": claim.kind, "sentence": claim.sentence, "source": claim.source}
            for claim in program.claims
        ],
    }  # fmt: skip


def _starts(program: Program) -> list[str]:
    """Each initial state in a line: the fields in which they differ."""
    states = [_texts(program.layout.unpack(packed)) for packed in program.initial]
    names = [name for name in states[0] if len({state[name] for state in states}) > 1]
    return [", ".join(f"{name} {state[name]}" for name in names) for state in states]


def _texts(state: Any) -> dict[str, str]:
    return {name: show(value, name) for name, value in fields(state).items()}


def path_document(subjects: Subjects, sessions: Sequence[Session], at: int, other: Other | None) -> dict[str, Any]:
    """A path, and all that can be seen at one of its steps.

    Args:
        subjects: of the page.
        sessions: at each step of the path.
        at: number of the step that is looked at.
        other: the other rules that are shown beside it.
    """
    last, here = sessions[-1], sessions[at]
    drawn = _drawing(subjects, sessions)
    if other is not None:
        followed, stopped = other.paths.follow(last.initial, last.steps)
        drawn = set_beside(drawn, other.paths.columns(followed), stopped, other.chosen.rules or "")
    column = drawn.columns[at]
    return {
        "start": last.start,
        "steps": [step_of(last.program, instance) for instance in last.instances],
        "at": at,
        "columns": [_column(one, session) for one, session in zip(drawn.columns, sessions, strict=True)],
        "state": _state(column, drawn.other),
        "event": column.event,
        "properties": [
            {"id": status.claim.id, "finding": status.finding, "failing": list(status.failing)}
            for status in here.properties
        ],
        "deadlock": here.deadlock,
        "actions": _actions(here),
        "svg": svg(drawn).replace(f"<style>{STYLE}</style>\n", ""),  # the page's policy allows no style inside
        "other": None if drawn.other is None else _other(drawn.other, at),
        "again": None if drawn.cycle is None else drawn.cycle.start,
    }


def _drawing(subjects: Subjects, sessions: Sequence[Session]) -> Drawing:
    """The path as it is drawn, with every property that fails at each step."""
    paths, strip = subjects.paths, tuple(subjects.paths.legend.strip)
    title, drawn = subjects.chosen.title(), paths.columns(sessions)
    return Drawing(title, "path", "", paths.lanes, strip, drawn, cycle=_cycle(sessions))


def _cycle(sessions: Sequence[Session]) -> DrawnCycle | None:
    """The cycle that a path may go round for ever: its last state is an earlier one. Nothing is said of fairness."""
    last = len(sessions) - 1
    again = next((n for n in range(last) if sessions[n].state == sessions[last].state), None)
    return None if again is None else DrawnCycle(again, f"perhaps for ever: {repeated_text(again, last)}")


def _column(column: Column, session: Session) -> dict[str, Any]:
    return {
        "number": column.number,
        "action": column.action,
        "broken": list(column.failing),
        "shown": [status.claim.id for status in session.properties if status.finding == "shown"],
    }


def _state(column: Column, other: OtherRules | None) -> list[dict[str, Any]]:
    """The fields: the value, the one before where the step changed it, that under the other rules where it differs."""
    before = {change.name: change.before for change in column.changes}
    beside: Mapping[str, str] = {}
    if other is not None and column.number < len(other.columns):
        beside = other.columns[column.number].state
    return [
        {"name": name, "value": value, "before": before.get(name), "other": _differing(beside.get(name), value)}
        for name, value in column.state.items()
    ]


def _differing(other: str | None, value: str) -> str | None:
    return None if other == value else other


def _other(other: OtherRules, at: int) -> dict[str, Any]:
    reached = at < len(other.columns)
    return {
        "rules": other.rules,
        "divergence": other.divergence,
        "stopped": other.stopped,
        "steps": len(other.columns) - 1,
        "start": dict(other.start),
        "reached": reached,
    }


def _actions(session: Session) -> list[dict[str, Any]]:
    """The action kinds with their instances: enabled, and disabled by what fails."""
    program, choices = session.program, session.choices
    return [
        {
            "name": kind.action.name,
            "enabled": [_choice(program, one) for one in choices[kind.first : kind.first + len(kind.instances)]
                        if one.enabled],
            "disabled": _disabled(program, choices[kind.first : kind.first + len(kind.instances)]),
        }
        for kind in program.kinds
    ]  # fmt: skip


def _choice(program: Program, choice: Choice) -> dict[str, Any]:
    return {"step": step_of(program, choice.instance), "text": str(choice)}


def _disabled(program: Program, choices: Sequence[Choice]) -> list[dict[str, Any]]:
    """The disabled instances, those together that the same conjuncts disable."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for choice in choices:
        if not choice.enabled:
            groups.setdefault(choice.failing, []).append(str(choice))
    return [
        {"failing": ["its guard" if name == UNNAMED else name for name in failing], "instances": instances}
        for failing, instances in groups.items()
    ]


def graph_document(around: Neighbourhood, drawn: Grouped, placed: Sequence[Place]) -> dict[str, Any]:
    """A neighbourhood as it is drawn."""
    program = around.program
    return {
        "states": len(around.nodes),
        "complete": around.complete,
        "nodes": [
            {
                **attrs.asdict(group),
                "x": place.column,
                "y": place.row,
                "way": [step_of(program, instance) for instance in around.way(group.nearest)],
            }
            for group, place in zip(drawn.groups, placed, strict=True)
        ],
        "edges": [[edge.source, edge.target, ", ".join(edge.actions)] for edge in drawn.edges],
    }
