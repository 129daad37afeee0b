"""What the page shows of a system and of a path, as plain values."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import attrs
from attrs import define, evolve, field, frozen

from kraftcheck.ci.explore.serve.finished import QuestionRefused, step_of, system_key
from kraftcheck.ci.systems.lookup import words_of
from kraftcheck.ci.systems.subject import Subject, program, subject
from kraftcheck.model.language.system import UNNAMED, Legend
from kraftcheck.solvers.audit.comparison import NativeEngine
from kraftcheck.solvers.drawings import drawing
from kraftcheck.solvers.drawings.drawing import columns
from kraftcheck.solvers.drawings.svg import STYLE, folded, svg
from kraftcheck.solvers.machine_code.compile import load_kernel
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.verdict import TraceStep
from kraftcheck.solvers.stepping.neighbourhood import Grouped, GroupPlace, Neighbourhood, field_names, neighbourhood
from kraftcheck.solvers.stepping.session import EnabledInstance, Session, StepRefused
from kraftcheck.solvers.traces.render import fields, repeated_text, show

MOST_STEPS_KEPT = 4096  # memoized steps; the oldest is dropped first

Key = TypeVar("Key")
Value = TypeVar("Value")

Walked = tuple[int, tuple[int, ...]]  # number of the initial state, and the action instances from there


@define
class Paths:
    """Paths of a program."""

    traced: Program  # the program
    legend: Legend = field(init=False)
    lanes: tuple[str, ...] = field(init=False)
    _lock: threading.RLock = field(factory=threading.RLock)
    _sessions: dict[Walked, Session] = field(factory=dict)
    _columns: dict[Walked, drawing.StateColumn] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        """Read the legend once."""
        self.legend = drawing.legend_of(self.traced)
        self.lanes = self.legend.lanes(self.traced.setting.bounds)

    def sessions(self, start: int, instances: Sequence[int]) -> tuple[Session, ...]:
        """The session at first and after each step of a path; raises QuestionRefused, naming what cannot be taken."""
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

    def _session(self, place: Walked, before: Sequence[Session]) -> Session:
        start, instances = place
        return before[-1].take(instances[-1]) if instances else Session.begin(self.traced, start)

    def columns(self, sessions: Sequence[Session]) -> tuple[drawing.StateColumn, ...]:
        """The columns of a path as they are drawn, with every property that fails."""
        with self._lock:
            return tuple(self._column(session, number) for number, session in enumerate(sessions))

    def _column(self, session: Session, number: int) -> drawing.StateColumn:
        place = (session.start, session.instances)
        column = self._columns.get(place)
        if column is None:
            before = session.steps[-2].state if number > 1 else session.initial
            failing = {min(number, 1): tuple(broken_of(session))}
            drawn = columns(before, session.steps[number - 1 :], self.legend, self.lanes, failing)
            column = evolve(drawn[-1], number=number)
        _remember(self._columns, place, column)
        return column

    def follow(self, first: Any, steps: Sequence[TraceStep]) -> tuple[tuple[Session, ...], str]:
        """The same actions here, from the initial state most like the first one; and as `walk` why they stop."""
        start = self.traced.initial.index(self.traced.layout.pack(drawing.nearest_initial(first, self.traced)))
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


MOST_RULE_SETS = 6  # other rule sets that are kept traced; the oldest is dropped first


@frozen
class Other:
    """The subject under other rules, and its paths."""

    chosen: Subject
    paths: Paths


@define
class Subjects:
    """What the page is about. It holds nothing of any visitor: each question brings its whole path."""

    chosen: Subject  # the subject
    traced: Program  # the same, traced
    cache: Path | None  # folder for compiled code
    paths: Paths = field(init=False)  # of the subject
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
                self._others[rules] = Other(chosen, Paths(program(chosen, compared=False)))
                if len(self._others) > MOST_RULE_SETS:
                    del self._others[next(iter(self._others))]
            return self._others[rules]

    def around(self, packed: Sequence[int], limit: int) -> Neighbourhood:
        """The neighbourhood of a state; the first time, the system is compiled."""
        with self._lock:
            if self._engine is None:
                self._engine = NativeEngine(load_kernel(self.traced, self.cache))
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
    }


def _starts(program: Program) -> list[str]:
    """Each initial state in a line: the fields in which they differ."""
    states = [_texts(program.layout.unpack(packed)) for packed in program.initial]
    names = [name for name in states[0] if len({state[name] for state in states}) > 1]
    return [", ".join(f"{name} {state[name]}" for name in names) for state in states]


def _texts(state: Any) -> dict[str, str]:
    return {name: show(value) for name, value in fields(state).items()}


def path_document(subjects: Subjects, sessions: Sequence[Session], at: int, other: Other | None) -> dict[str, Any]:
    """A path with its sessions, and all that can be seen at one of its steps, other rules beside it."""
    last, here = sessions[-1], sessions[at]
    drawn = _drawing(subjects, sessions)
    if other is not None:
        followed, stopped = other.paths.follow(last.initial, last.steps)
        beside = drawing.OtherRules(other.chosen.rules or "", other.paths.columns(followed), stopped=stopped)
        drawn = drawing.set_beside(drawn, beside)
    column, shut = drawn.columns[at], folded(drawn, at)
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
        "folded": shut,
        "svg": svg(drawn, shut).replace(f"<style>{STYLE}</style>\n", ""),  # the page's policy allows no style inside
        "other": None if drawn.other is None else _other(drawn.other, at),
        "again": None if drawn.cycle is None else drawn.cycle.start,
    }


def _drawing(subjects: Subjects, sessions: Sequence[Session]) -> drawing.Drawing:
    """The path as it is drawn, with every property that fails at each step."""
    paths, strip = subjects.paths, tuple(subjects.paths.legend.strip)
    title, drawn = subjects.chosen.title(), paths.columns(sessions)
    path = drawing.Drawing(title, "path", "", paths.lanes, strip, drawn, cycle=_cycle(sessions))
    return path if strip else drawing.with_strip(path)


def _cycle(sessions: Sequence[Session]) -> drawing.DrawnCycle | None:
    """The cycle that a path may go round for ever: its last state is an earlier one. Nothing is said of fairness."""
    last = len(sessions) - 1
    again = next((n for n in range(last) if sessions[n].state == sessions[last].state), None)
    return None if again is None else drawing.DrawnCycle(again, f"perhaps for ever: {repeated_text(again, last)}")


def _column(column: drawing.StateColumn, session: Session) -> dict[str, Any]:
    return {
        "number": column.number,
        "action": column.action,
        "broken": list(column.failing),
        "shown": [status.claim.id for status in session.properties if status.finding == "shown"],
    }


def _state(column: drawing.StateColumn, other: drawing.OtherRules | None) -> list[dict[str, Any]]:
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


def _other(other: drawing.OtherRules, at: int) -> dict[str, Any]:
    return {"rules": other.rules, "divergence": other.divergence, "text": other.texts[at]}


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


def _choice(program: Program, choice: EnabledInstance) -> dict[str, Any]:
    return {"step": step_of(program, choice.instance), "text": str(choice)}


def _disabled(program: Program, choices: Sequence[EnabledInstance]) -> list[dict[str, Any]]:
    """The disabled instances, those together that the same conjuncts disable."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for choice in choices:
        if not choice.enabled:
            groups.setdefault(choice.failing, []).append(str(choice))
    return [
        {"failing": ["its guard" if name == UNNAMED else name for name in failing], "instances": instances}
        for failing, instances in groups.items()
    ]


def graph_document(around: Neighbourhood, drawn: Grouped, placed: Sequence[GroupPlace]) -> dict[str, Any]:
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
