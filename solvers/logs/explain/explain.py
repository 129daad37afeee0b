"""Which events of the controller explain the records of a batch.

A batch holds the records of one event or of several. The state before each
record follows from the log alone, so the explanations of a batch are the paths
from its first record to its end along events that the model says write exactly
the records between. The fewest events count; a batch is ambiguous when several
ways are equally short.
"""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from kraftcheck.model.controller.errors import RequestError, Resignation
from kraftcheck.model.partition.directories import DirectoryMismatch
from kraftcheck.model.records.replay import ReplayError
from kraftcheck.model.rules.ruleset import RuleSet
from kraftcheck.solvers.logs.explain.entries import Batch
from kraftcheck.solvers.logs.explain.guess import Guess
from kraftcheck.solvers.logs.explain.guesses import guesses
from kraftcheck.solvers.logs.explain.matching import Difference, Plain, differences, plain, same
from kraftcheck.solvers.logs.explain.state import EntryError, Known, State, known

REFUSED = 2
"""How far from an explanation an event is that the controller refuses, in differing fields a record."""


@frozen
class Step:
    """One event of an explanation: the guess that holds, and which records of the batch it wrote."""

    guess: Guess
    start: int
    end: int

    @property
    def name(self) -> str:
        """The event in words."""
        return self.guess.name


@frozen
class Miss:
    """The event that comes nearest where no event explains the records.

    Attributes:
        name: the event.
        refusal: why the controller refuses it; empty where it writes other records.
        differences: what it would write otherwise.
        span: how many records it is compared with.
    """

    name: str
    refusal: str
    differences: tuple[Difference, ...]
    span: int

    def distance(self) -> float:
        """In how many fields a record it differs."""
        return REFUSED if self.refusal else len(self.differences) / self.span


@frozen
class Explanation:
    """What became of one batch.

    Attributes:
        batch: the batch.
        records: its records as the model knows them.
        states: the state before each record, and after the last that can be replayed.
        steps: the events of the first of the shortest explanations, or of the longest explained prefix.
        count: how many shortest explanations there are; 0 where the batch is not explained.
        miss: the nearest event, where the batch is not explained and some event comes near.
        broken: why a record cannot be replayed; empty where all can.
    """

    batch: Batch
    records: tuple[Known, ...]
    states: tuple[State, ...]
    steps: tuple[Step, ...]
    count: int
    miss: Miss | None = None
    broken: str = ""

    @property
    def explained(self) -> bool:
        """Whether events explain every record."""
        return self.count > 0

    @property
    def prefix(self) -> int:
        """How many records are explained."""
        return self.steps[-1].end if self.steps else 0

    @property
    def after(self) -> State:
        """The state after the batch."""
        return self.states[-1]


def explain(before: State, batch: Batch, rules: RuleSet) -> Explanation:
    """The explanation of a batch.

    Args:
        before: the state before it.
        batch: what the log holds.
        rules: the rule set.

    Raises:
        EntryError: when a record's fields are not those of its kind.
    """
    return explain_records(before, batch, tuple(known(entry) for entry in batch.entries), rules)


def explain_records(before: State, batch: Batch, records: tuple[Known, ...], rules: RuleSet) -> Explanation:
    """The explanation of a batch whose records are decoded."""
    states, broken = _replayed(before.at(batch.base_offset), records, rules)
    shapes = [plain(record) for record in records]
    ways: list[_Way | None] = [_Way(0, 1, None, None), *([None] * len(records))]
    for start in range(len(states) if broken else len(records)):
        here = ways[start]
        if here is None:
            continue
        for step in _steps(states[start], records, shapes, start, rules):
            ways[step.end] = _better(ways[step.end], here, step)
        if start == 0 and ways[-1] is not None:
            break  # one event explains it all: nothing is shorter
    end = max(place for place, way in enumerate(ways) if way is not None)
    steps, way = _path(ways, end), ways[end]
    if end == len(records) and way is not None and not broken:
        return Explanation(batch, records, states, steps, way.count)
    miss = _nearest(states[end], records[end:], shapes[end:], rules) if end < len(records) else None
    return Explanation(batch, records, states, steps, 0, miss, broken)


@frozen
class _Way:
    """The shortest way to a place: its number of events, how many such ways there are, and its last event."""

    events: int
    count: int
    step: Step | None
    before: _Way | None


def _better(known_way: _Way | None, here: _Way, step: Step) -> _Way:
    events = here.events + 1
    if known_way is None or events < known_way.events:
        return _Way(events, here.count, step, here)
    if events == known_way.events:
        return _Way(events, known_way.count + here.count, known_way.step, known_way.before)
    return known_way


def _path(ways: Sequence[_Way | None], end: int) -> tuple[Step, ...]:
    steps: list[Step] = []
    way = ways[end]
    while way is not None and way.step is not None:
        steps.append(way.step)
        way = way.before
    return tuple(reversed(steps))


def _replayed(before: State, records: Sequence[Known], rules: RuleSet) -> tuple[tuple[State, ...], str]:
    states = [before]
    for record in records:
        try:
            states.append(states[-1].after(record, rules))
        except ReplayError as reason:
            return tuple(states), str(reason)
    return tuple(states), ""


def _steps(state: State, records: Sequence[Known], shapes: Sequence[Plain], start: int, rules: RuleSet) -> list[Step]:
    """Every event that writes exactly the records from `start` on, up to where it ends."""
    found = []
    for guess in guesses(state, records[start:], rules):
        wrote, refusal = predicted(guess)
        end = start + len(wrote)
        if not refusal and wrote and same([plain(record) for record in wrote], shapes[start:end]):
            found.append(Step(guess, start, end))
    return found


def predicted(guess: Guess) -> tuple[tuple[Known, ...], str]:
    """What the model says that an event writes, or why the controller refuses it."""
    try:
        return tuple(guess.records()), ""
    except (RequestError, Resignation, ReplayError, DirectoryMismatch) as reason:
        return (), str(reason) or type(reason).__name__


def _nearest(state: State, records: Sequence[Known], shapes: Sequence[Plain], rules: RuleSet) -> Miss | None:
    misses = []
    for guess in guesses(state, records, rules):
        wrote, refusal = predicted(guess)
        observed = shapes[: guess.length or max(1, len(wrote))]
        differing = () if refusal else tuple(differences([plain(record) for record in wrote], observed))
        misses.append(Miss(guess.name, refusal or ("" if wrote else "it writes nothing"), differing, len(observed)))
    return min(misses, key=Miss.distance, default=None)


__all__ = ["EntryError", "Explanation", "Miss", "Step", "explain", "explain_records", "predicted"]
