"""Every operator mutant of a system: refused, the same, or explored until a property breaks.

Outcomes are told as they are found, with the meaning of the mutant's program,
so that a campaign that was stopped goes on with what is known.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from attrs import define, field, frozen

from kraftcheck.model.language.system import Setting, System
from kraftcheck.model.language.terms import Graph
from kraftcheck.solvers.machine_code.compile import Kernel, load_kernel
from kraftcheck.solvers.machine_code.lower import LoweringError
from kraftcheck.solvers.machine_code.threads import ThreadPool
from kraftcheck.solvers.mutants.explore import Baseline, MutantBudget, MutantRun, baseline, outcome
from kraftcheck.solvers.mutants.mutate import GUARD, Mutant, Mutations
from kraftcheck.solvers.mutants.operators import FAULTS, Told, apart, join, reached, told
from kraftcheck.solvers.mutants.outcome import MutantOutcome, Refused, Same, Undecided
from kraftcheck.solvers.mutants.source.names import ROOT, SourceMutant
from kraftcheck.solvers.program.fingerprint import Meaning
from kraftcheck.solvers.program.stop import STOPPED
from kraftcheck.solvers.program.trace import trace

TOGETHER = 200
"""Mutants in one kernel: with more of them each state takes longer, with fewer more is compiled."""

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
    """The mutants of a system that it meets, and what became of each.

    Attributes:
        right: the program without a mutant.
        distinct: its states.
        outcomes: by mutant, in the order in which they were given.
    """

    right: Meaning
    distinct: int
    outcomes: tuple[tuple[SourceMutant | ConditionMutant, MutantOutcome], ...]


@frozen
class Memory:
    """What an earlier campaign found, and where to leave what this one finds.

    Attributes:
        recall: the outcome of a mutant's meaning, beside the right one, where it is known.
        note: called with both meanings and an outcome that was found.
    """

    recall: Callable[[Meaning, Meaning], MutantOutcome | None] = lambda right, mutant: None
    note: Callable[[Meaning, Meaning, MutantOutcome], None] = lambda right, mutant, outcome: None


@define
class _Run:
    system: System
    setting: Setting
    budget: MutantBudget
    right: Meaning
    memory: Memory
    cache_dir: Path | None
    progress: Progress
    stop: threading.Event
    total: int = 0
    base: Baseline | None = None
    results: dict[str, MutantOutcome] = field(factory=dict)
    waiting: list[Told] = field(factory=list)

    def explore_together(self, chunk: Sequence[Told]) -> None:
        """Explore mutants in one kernel; those that are not in it wait."""
        if not chunk or self.stop.is_set():
            return
        try:
            sources = {number: one.mutant for number, one in enumerate(chunk, start=1)}
            mutations, left = join(self.system, self.setting, sources, TOGETHER)
            kernel = load_kernel(mutations.program, self.cache_dir, quick=True)
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

    def explore_alone(self, one: Told) -> None:
        """Explore one mutant in a kernel of its own."""
        if self.stop.is_set():
            return
        try:
            mutations = apart(self.system, self.setting, 1, one.mutant, TOGETHER)
            kernel = load_kernel(mutations.program, None, quick=True)
        except (*FAULTS, LoweringError) as error:
            self._tell(one, Refused(str(error)))
            return
        self._explore(mutations, kernel, [one])

    def measure(self) -> Baseline:
        """The exploration without a mutant."""
        if self.base is None:
            mutations, _ = join(self.system, self.setting, {}, TOGETHER)
            kernel = load_kernel(mutations.program, self.cache_dir, quick=True)
            self.base = baseline(mutations, kernel, self.budget, self.stop)
        return self.base

    def _explore(self, mutations: Mutations, kernel: Kernel, members: Sequence[Told]) -> None:
        base = self.measure()

        def explore_mutant(_: int, job: int) -> None:
            run = MutantRun(mutations, kernel, mutations.mutants[job], base, self.stop, any_kill=True)
            self._tell(members[job], outcome(run, self.budget))

        with ThreadPool(self.budget.threads) as pool:
            pool.run(len(members), explore_mutant)

    def _tell(self, one: Told, result: MutantOutcome) -> None:
        assert one.meaning is not None
        self.results[one.meaning.whole] = result
        if result != Undecided(STOPPED):
            self.memory.note(self.right, one.meaning, result)
        self.progress(len(self.results), self.total, f"{one.mutant.name} of {self.system.name}")


def campaign(
    system: System, setting: Setting, budget: MutantBudget, mutants: Sequence[SourceMutant], *,
    memory: Memory = Memory(), cache_dir: Path | None = None,
    progress: Progress = lambda finished, of, what: None, stop: threading.Event | None = None,
) -> Campaign:  # fmt: skip
    """Judge the operator mutants that a system meets.

    Args:
        system, setting: what to mutate.
        budget: what the exploration of a mutant may use.
        mutants: those to judge; the rest of them, which the system does not meet, are left out.
        memory: what is known already, and where to leave what is found.
        cache_dir, progress, stop: as of `kraftcheck.solvers.mutants.explore.explain`.

    Raises:
        BaselineFault: when the rules as they are exceed the budget.
        EngineDisagreement: when ints do not confirm a counterexample.
    """
    stopping = stop or threading.Event()
    right = Meaning.of(trace(system, setting, graph=Graph()))
    run = _Run(system, setting, budget, right, memory, cache_dir, progress, stopping)
    every = _all_told(run, reached(system, setting, mutants))
    new: dict[str, Told] = {}
    for one in every:
        if one.meaning is not None and one.meaning.whole != right.whole:
            remembered = memory.recall(right, one.meaning)
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


def _all_told(run: _Run, met: Sequence[SourceMutant]) -> list[Told]:
    every: list[Told] = []
    for mutant in met:
        if run.stop.is_set():
            every.append(Told(mutant, None, STOPPED))
            continue
        run.progress(len(every), len(met), f"traced of {run.system.name}")
        every.append(told(run.system, run.setting, mutant))
    return every


def _outcome(run: _Run, one: Told) -> MutantOutcome:
    if one.meaning is None:
        return Undecided(STOPPED) if one.refused == STOPPED else Refused(one.refused)
    if one.meaning.whole == run.right.whole:
        return Same()
    return run.results.get(one.meaning.whole, Undecided(STOPPED))
