"""Every operator mutant of a system: refused, the same, or explored until a property breaks.

Outcomes are told as they are found, with the meaning of the mutant's program,
so that a campaign that was stopped goes on with what is known.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from attrs import define, evolve, field, frozen

from kraftcheck.model.language.layout import LayoutError
from kraftcheck.model.language.symbolic import UntraceableRule
from kraftcheck.model.language.system import Action, Conjuncts, Outcome, Setting, System
from kraftcheck.model.language.terms import Graph
from kraftcheck.solvers.exploration.explore import SearchBudget
from kraftcheck.solvers.machine_code.compile import Kernel, load_kernel
from kraftcheck.solvers.machine_code.lower import LoweringError
from kraftcheck.solvers.machine_code.objectcode import effort_for
from kraftcheck.solvers.mutants.explore import Baseline, MutantOutcome, Refused, Same, Undecided, baseline, explore_each
from kraftcheck.solvers.mutants.mutate import (
    GUARD,
    OPERATOR,
    Mutant,
    Mutated,
    MutatingGraph,
    Mutations,
    compared,
    numbered,
)
from kraftcheck.solvers.mutants.source import ROOT, Joined, SourceMutant, applied
from kraftcheck.solvers.program.fingerprint import Meaning
from kraftcheck.solvers.program.parts import SystemFault
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.stop import STOPPED
from kraftcheck.solvers.program.trace import trace

FAULTS = (SystemFault, UntraceableRule, LayoutError)  # what is raised where the rules of a mutant cannot be traced


@frozen
class MutantReport:
    """What a mutant makes of a system, before anything is explored."""

    mutant: SourceMutant  # the mutant
    meaning: Meaning | None  # of the system with it; None where its rules cannot be traced
    refused: str = ""  # why they cannot; empty where they can


def reached(system: System, setting: Setting, mutants: Sequence[SourceMutant]) -> list[SourceMutant]:
    """The mutants whose expressions are computed when a system is traced, among its properties too."""
    joined = Joined(dict(enumerate(mutants, start=1)))
    with joined.installed(), joined.none():
        trace(system, setting, graph=Graph())
    return [one for one in mutants if (one.module, one.place) in joined.reached]


def told(system: System, setting: Setting, mutant: SourceMutant) -> MutantReport:
    """What a mutant makes of a system."""
    with applied(mutant):
        try:
            return MutantReport(mutant, Meaning.of(trace(system, setting, graph=Graph())))
        except Exception as error:  # a changed rule may raise whatever there is; the outcome tells it
            return MutantReport(mutant, None, f"{type(error).__name__}: {error}")


def join(
    system: System, setting: Setting, sources: Mapping[int, SourceMutant], limit: int
) -> tuple[Mutations, frozenset[int]]:
    """A system traced with operator mutants, each chosen by its number, and the numbers of those that are not in it.

    Args:
        sources: the mutants by number.
        limit: the highest number of any mutant of the system, for which its states have room.

    Raises:
        SystemFault, UntraceableRule, LayoutError: where the mutants cannot be traced together.
    """
    joined = Joined(sources)
    with joined.installed():
        program = trace(_with_joined(system, limit, joined), setting, graph=MutatingGraph())
    left = frozenset(number for number, source in sources.items() if source in joined.apart)
    return _mutations(program, system, {n: one for n, one in sources.items() if n not in left}), left


def apart(system: System, setting: Setting, number: int, source: SourceMutant, limit: int) -> Mutations:
    """A system traced with one operator mutant, whatever the number in its state; arguments as of `join`."""
    with applied(source):
        program = trace(_with_joined(system, limit, Joined({})), setting, graph=MutatingGraph())
    return _mutations(program, system, {number: source})


def _mutations(program: Program, system: System, sources: Mapping[int, SourceMutant]) -> Mutations:
    mutants = tuple(
        Mutant(number, f"{one.module}:{one.function}", OPERATOR, one.before, one.after, one.name, one.line)
        for number, one in sources.items()
    )
    return Mutations(program, system, mutants, sources=sources)


def _with_joined(system: System, limit: int, joined: Joined) -> System:
    return numbered(system, limit, joined.state_of, lambda action: _joined(action, joined))


def _joined(action: Action, joined: Joined) -> Action:
    """An action whose rules are traced with operator mutants."""

    def guard(mutated: Mutated, **arguments: Any) -> Conjuncts:
        return action.guards(joined.state_of(mutated), arguments)

    def effect(mutated: Mutated, **arguments: Any) -> Outcome:
        state = joined.state_of(mutated)
        outcome = action.outcome(state, arguments)
        with joined.none():
            right, enabled = action.outcome(state, arguments), action.enabled(state, arguments)
        return compared(mutated.mutant, outcome, right, enabled)

    return evolve(action, guard=guard, effect=effect)


TOGETHER = 200  # mutants in one kernel: with more of them each state takes longer, with fewer more is compiled

Progress = Callable[[int, int, str], None]


@frozen
class ConditionMutant:
    """A mutant that drops a condition, as a score names it; `before` and `after` are its part and its change."""

    name: str
    before: str
    after: str

    @classmethod
    def of(cls, system: System, mutant: Mutant) -> ConditionMutant:
        """A mutant of a system; guards of actions are its own, other systems have other actions of their names."""
        digest = hashlib.sha256(repr(mutant.key).encode()).hexdigest()[:8]
        group = f"{system.name} {mutant.group}" if mutant.kind == GUARD else mutant.group.removeprefix(ROOT)
        return cls(f"{group}:{mutant.kind}:{digest}", mutant.part, mutant.change)


@frozen
class Campaign:
    """The mutants of a system that it meets, and what became of each."""

    right: Meaning  # the program without a mutant
    distinct: int  # its states
    # by mutant, in the order in which they were given
    outcomes: tuple[tuple[SourceMutant | ConditionMutant, MutantOutcome], ...]


class Memory(Protocol):
    """What an earlier campaign found, and where to leave what this one finds; a mutant goes by its meaning."""

    def recall(self, right: Meaning, mutant: Meaning) -> MutantOutcome | None:
        """The outcome of a mutant beside the right rules, where it is known."""

    def note(self, right: Meaning, mutant: Meaning, outcome: MutantOutcome) -> None:
        """Keep an outcome that was found."""


@define
class _Run:
    system: System
    setting: Setting
    budget: SearchBudget
    right: Meaning
    memory: Memory | None
    progress: Progress
    stop: threading.Event
    total: int = 0
    base: Baseline | None = None
    results: dict[str, MutantOutcome] = field(factory=dict)
    waiting: list[MutantReport] = field(factory=list)

    def explore_together(self, chunk: Sequence[MutantReport]) -> None:
        """Explore mutants in one kernel; those that are not in it wait."""
        if not chunk or self.stop.is_set():
            return
        effort = effort_for(self.measure().generated * len(chunk))
        try:
            sources = {number: one.mutant for number, one in enumerate(chunk, start=1)}
            mutations, left = join(self.system, self.setting, sources, TOGETHER)
            kernel = load_kernel(mutations.program, self.budget.cache_dir, effort=effort)
        except (*FAULTS, LoweringError):
            half = len(chunk) // 2
            if half == 0:
                self.waiting += chunk
            else:
                self.explore_together(chunk[:half])
                self.explore_together(chunk[half:])
            return
        self.waiting += [one for number, one in enumerate(chunk, start=1) if number in left]
        self._explore(mutations, kernel, [one for number, one in enumerate(chunk, start=1) if number not in left])

    def explore_alone(self, one: MutantReport) -> None:
        """Explore one mutant in a kernel of its own."""
        if self.stop.is_set():
            return
        try:
            mutations = apart(self.system, self.setting, 1, one.mutant, TOGETHER)
            kernel = load_kernel(mutations.program, None)
        except (*FAULTS, LoweringError) as error:
            self._tell(one, Refused(str(error)))
            return
        self._explore(mutations, kernel, [one])

    def measure(self) -> Baseline:
        """The exploration without a mutant."""
        if self.base is None:
            mutations, _ = join(self.system, self.setting, {}, TOGETHER)
            kernel = load_kernel(mutations.program, self.budget.cache_dir)
            self.base = baseline(mutations, kernel, self.budget, self.stop)
        return self.base

    def _explore(self, mutations: Mutations, kernel: Kernel, members: Sequence[MutantReport]) -> None:
        def told(job: int, result: MutantOutcome) -> None:
            self._tell(members[job], result)

        base = self.measure()
        explore_each(mutations, kernel, mutations.mutants, base, self.budget, self.stop, told, any_kill=True)

    def _tell(self, one: MutantReport, result: MutantOutcome) -> None:
        assert one.meaning is not None
        self.results[one.meaning.whole] = result
        if result != Undecided(STOPPED) and self.memory is not None:
            self.memory.note(self.right, one.meaning, result)
        self.progress(len(self.results), self.total, f"{one.mutant.name} of {self.system.name}")


def campaign(
    system: System, setting: Setting, budget: SearchBudget, mutants: Sequence[SourceMutant], *,
    memory: Memory | None = None, progress: Progress = lambda finished, of, what: None,
    stop: threading.Event | None = None,
) -> Campaign:  # fmt: skip
    """Judge the operator mutants that a system meets.

    Args:
        budget: what the exploration of a mutant may use.
        mutants: those to judge; the rest of them, which the system does not meet, are left out.
        memory: what is known already, and where to leave what is found.
        progress, stop: as of `kraftcheck.solvers.mutants.explore.explain`.

    Raises:
        BaselineFault: when the rules as they are exceed the budget.
        EngineDisagreement: when ints do not confirm a counterexample.
    """
    stopping = stop or threading.Event()
    right = Meaning.of(trace(system, setting, graph=Graph()))
    run = _Run(system, setting, budget, right, memory, progress, stopping)
    every = _all_told(run, reached(system, setting, mutants))
    new: dict[str, MutantReport] = {}
    for one in every:
        if one.meaning is not None and one.meaning.whole != right.whole:
            remembered = None if memory is None else memory.recall(right, one.meaning)
            if remembered is None:
                new.setdefault(one.meaning.whole, one)
            else:
                run.results[one.meaning.whole] = remembered
    run.total = len(run.results) + len(new)
    members = list(new.values())
    for at in range(0, len(members), TOGETHER):
        run.explore_together(members[at : at + TOGETHER])
    for one in run.waiting:
        run.explore_alone(one)
    return Campaign(right, run.measure().distinct, tuple((one.mutant, _outcome(run, one)) for one in every))


def _all_told(run: _Run, met: Sequence[SourceMutant]) -> list[MutantReport]:
    every: list[MutantReport] = []
    for mutant in met:
        if run.stop.is_set():
            every.append(MutantReport(mutant, None, STOPPED))
            continue
        run.progress(len(every), len(met), f"traced of {run.system.name}")
        every.append(told(run.system, run.setting, mutant))
    return every


def _outcome(run: _Run, one: MutantReport) -> MutantOutcome:
    if one.meaning is None:
        return Undecided(STOPPED) if one.refused == STOPPED else Refused(one.refused)
    if one.meaning.whole == run.right.whole:
        return Same()
    return run.results.get(one.meaning.whole, Undecided(STOPPED))
