"""The audit: a sample of what a search took for granted, asked again of the rules on Python ints.

A verdict rests on compiled code, and that on a traced rule. The rules on ints
are the definition. So guards, successors, cut transitions, properties and
deadlock of some states are compared, and whether the search visited every
successor. The size of the sample depends on the sizes of the space and of the
rules, never on a clock: it is the same on every machine.
"""

from __future__ import annotations

import hashlib
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from attrs import define, evolve, field, frozen

from kraftcheck.solvers.audit.comparison import Comparison
from kraftcheck.solvers.audit.sampling import Packed, Sampling, Space, hashed, order
from kraftcheck.solvers.audit.single_state import Engine, Noted
from kraftcheck.solvers.machine_code.frame import NO_ACTION, live_kinds
from kraftcheck.solvers.machine_code.lower import closure
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.reference.confirm import EngineDisagreement

FLOOR = 4
"""States that are audited in any case, where there are so many, besides one for each action that led to a new state."""

MOST = 1000
"""Most states of a small space that are audited; one more for each 2^20 transitions."""

BUDGET, BUDGET_OF_TERM = 16_000, 4
"""Terms that a sample may evaluate on ints in any case, and for each term of the traced rules, which the time of
compiling grows with. On ints a term takes about a microsecond."""

SEARCHED = 500
"""Transitions of a search for which the budget grows by a term: 1 to 3 hundredths of the time of the search."""

TAKEN, REFUSED = 4, 32
"""Instances of a state that are compared: of those that the engine takes, and of the others."""

REFUSED_AT_ENTRY, REFUSED_WHERE_CUT = 8, 512
"""Of the others where an instance is given, and where a domain cut a transition or none is taken: there all of them
are needed for the comparison."""

INITIAL = 64
"""Initial states that are compared."""

GUARD_TERMS, FIELD_TERMS = 16, 4
"""What it costs on ints to ask a guard, and to read or pack a field of a state."""


@frozen
class Audit:
    """What was compared, without a difference.

    Attributes:
        states, transitions: compared; a transition by guard, successor and properties of the step.
        refused: action instances that are enabled neither on ints nor compiled, or cut by both.
        seed: of the sample.
        whole: whether each state was compared in all of its action instances.
        sample: digest of the states and instances.
        seconds: what it took.
    """

    states: int
    transitions: int
    refused: int
    seed: int
    whole: bool
    sample: str
    seconds: float = 0.0


def audited(
    program: Program, engines: Sequence[Engine], space: Space, sampling: Sampling, generated: int, *,
    visited: Callable[[Packed], bool] | None = None, entries: Mapping[Packed, Collection[int]] | None = None,
    stop: threading.Event | None = None,
) -> Audit:  # fmt: skip
    """Compare a sample.

    Args:
        program: what was explored.
        engines: the compiled code that explored it.
        space: what was found.
        sampling: how much, and the seed.
        generated: transitions of the search, with which the sample grows.
        visited: whether a packed state is among those found; None where the search is not complete.
        entries: states to begin with, each with action instances to compare it in.
        stop: once set, no further state is begun.

    Raises:
        EngineDisagreement: naming what differs, and in which state.
    """
    known, total = entries or {}, sum(space.sizes)
    budget = BUDGET + BUDGET_OF_TERM * len(program.graph.nodes) + generated // SEARCHED
    costs = Costs.of(program)
    if sampling.states is None and total <= MOST and costs.of_space(total, program.instances, generated) <= budget:
        sampling = evolve(sampling, states=total)
    limit = Limit(sampling.states, FLOOR + len(known), MOST + (generated >> 20), budget)
    auditor = Auditor(program, engines, sampling, Comparison(program, visited), costs)
    auditor.comparison.initial(INITIAL)
    for packed in _sequence(space, sampling, known):
        if limit.reached(auditor.states, auditor.spent) or (auditor.states and stop is not None and stop.is_set()):
            break
        auditor.look(packed, known.get(packed, ()))
    if not auditor.states and any(space.sizes):
        raise EngineDisagreement("no state of those that the engine found could be read for the audit")
    return auditor.result()


def _sequence(space: Space, sampling: Sampling, entries: Mapping[Packed, Collection[int]]) -> Iterator[Packed]:
    """The entries and then the others; all as they were found where all are wanted."""
    if sampling.states is not None and sampling.states >= sum(space.sizes):
        yield from space.states()
        return
    yield from entries
    yield from (packed for packed in order(space, sampling.seed) if packed not in entries)


@frozen
class Costs:
    """What comparisons cost on ints, in terms.

    Attributes:
        state: the properties of a state, and reading it.
        kinds: by number of an action kind, a transition of it.
    """

    state: int
    kinds: Mapping[int, int]

    @classmethod
    def of(cls, program: Program) -> Costs:
        """Estimated from the terms that the rules were traced to."""
        width = FIELD_TERMS * len(program.layout.slots)
        claims = [*program.always_terms, *program.sometimes_terms, program.quiescent]
        claims += [term for one in program.recoveries for term in (one.when, one.goal)]
        kinds = {n: width + len(closure((*kind.after, *kind.steps))) for n, kind in live_kinds(program)}
        return cls(width + len(closure(claims)), kinds)

    def of_space(self, states: int, instances: int, generated: int) -> int:
        """At most that of all states in all of their instances."""
        return states * (self.state + GUARD_TERMS * instances) + generated * max(self.kinds.values(), default=0)


@frozen
class Limit:
    """Where a sample ends.

    Attributes:
        wanted: states; None: `floor` at least, `most` at most, and else as many as `budget` pays for.
    """

    wanted: int | None
    floor: int
    most: int
    budget: int

    def reached(self, states: int, spent: int) -> bool:
        """Whether so many states, at this cost, are enough."""
        if self.wanted is not None:
            return states >= self.wanted
        return states >= self.most or (states >= self.floor and spent >= self.budget)


@define
class Auditor:
    """Chooses action instances of states, compares them, and counts.

    Attributes:
        program, engines, sampling: as `audited` takes them.
        comparison: compares a state.
        costs: what that costs.
        states, transitions, refused, spent: counted so far.
    """

    program: Program
    engines: Sequence[Engine]
    sampling: Sampling
    comparison: Comparison
    costs: Costs
    states: int = 0
    transitions: int = 0
    refused: int = 0
    spent: int = 0
    _met: Counter[tuple[int, bool]] = field(factory=Counter)
    _digest: Any = field(factory=hashlib.sha256)

    @property
    def whole(self) -> bool:
        """Whether every action instance of a state is compared."""
        return self.sampling.states is not None

    def look(self, packed: Packed, forced: Collection[int]) -> None:
        """Compare a state, in these action instances at least; raises as `audited` does."""
        notes = [engine(packed) for engine in self.engines]
        chosen = self._chosen(packed, notes[0], forced)
        for noted in notes:
            taken = self.comparison.state(packed, noted, chosen)
        self.states += 1
        self.transitions += taken
        self.refused += len(chosen) - taken
        self.spent += self.costs.state + GUARD_TERMS * len(chosen)
        self.spent += sum(self.costs.kinds[self.comparison.owner[n]] for n, _ in notes[0].after if n in chosen)
        self._digest.update(f"{packed} {sorted(chosen)}\n".encode())

    def _chosen(self, packed: Packed, noted: Noted, forced: Collection[int]) -> set[int]:
        if self.whole:
            return set(range(self.program.instances))
        key = int(hashed(np.array([packed], dtype=np.uint64), self.sampling.seed)[0])
        numbers = np.array([number for number, _ in noted.after], dtype=np.uint64)
        taken: list[int] = numbers[np.argsort(hashed(numbers[:, None], key), kind="stable")].tolist()
        chosen = {*forced, *(n for n in noted.occasions.values() if n != NO_ACTION)}
        for _ in range(0 if forced else min(TAKEN, len(taken))):
            number = min(taken, key=lambda n: self._met[self.comparison.owner[n], True])
            taken.remove(number)
            self._met[self.comparison.owner[number], True] += 1
            chosen.add(number)
        open_ = noted.pruned or not noted.after
        most = REFUSED_WHERE_CUT if open_ else REFUSED_AT_ENTRY if forced else REFUSED
        return chosen | self._refused(key, {number for number, _ in noted.after}, most)

    def _refused(self, key: int, taken: Collection[int], most: int) -> set[int]:
        """Instances that the engine does not take, of the kinds first that were met least."""
        if self.program.instances - len(taken) <= most:
            return set(range(self.program.instances)).difference(taken)
        kinds = [number for number, _ in live_kinds(self.program)]
        chosen: set[int] = set()
        for drawn in hashed(np.arange(most, dtype=np.uint64)[:, None], key).tolist():
            number = min(kinds, key=lambda n: self._met[n, False])
            kind = self.program.kinds[number]
            self._met[number, False] += 1
            chosen.add(kind.first + drawn % len(kind.instances))
        return chosen.difference(taken)

    def result(self) -> Audit:
        """What was compared."""
        sample = self._digest.hexdigest()[:16]
        return Audit(self.states, self.transitions, self.refused, self.sampling.seed, self.whole, sample)
