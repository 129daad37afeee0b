"""What each mutant of a system breaks: one compiled kernel, one exploration for each mutant.

A mutant's exploration ends with the level that refutes a property, so the
trace reported is among the shortest. Every counterexample is confirmed on
ints by `kraftcheck.solvers.reference.terms`; what is not confirmed is a fault of the engine.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from attrs import evolve, field, frozen

from kraftcheck.model.language.system import Setting, System
from kraftcheck.solvers.machine_code.compile import Kernel, load_kernel
from kraftcheck.solvers.machine_code.threads import Crew
from kraftcheck.solvers.mutants.counterexamples import Disproof, disproof, leaving
from kraftcheck.solvers.mutants.mutate import DIFFERS, Leave, Mutant, Mutations, mutate
from kraftcheck.solvers.mutants.outcome import GoalLost, Killed, LeavesDomain, Outcome, Survived, Undecided
from kraftcheck.solvers.mutants.recovery import Findings, graph_findings, judge_recovery
from kraftcheck.solvers.program.verdict import DEADLOCK
from kraftcheck.solvers.search.levels import STOPPED, Limits, Search


@frozen
class Base:
    """The exploration without a mutant, which the others are compared with.

    Attributes:
        distinct, generated: its size.
        claims: numbers of the claims that it refutes or reaches, which mutants are not blamed or praised for.
        pruned: fields whose bound it meets.
        fired: transitions of each action kind.
        states: its packed states, sorted, without the number of the mutant.
        recovery: what its graph says about the `recovers` properties.
    """

    distinct: int
    generated: int
    claims: frozenset[int]
    pruned: frozenset[int]
    fired: tuple[int, ...]
    states: bytes = field(repr=False)
    recovery: Findings


class BrokenBase(ValueError):
    """The rules as they are could not be explored to the end, so that nothing can be said of mutants."""


@frozen
class Explanation:
    """What became of the mutants.

    Attributes:
        mutations: the system and its mutants.
        base: the exploration without a mutant.
        refuted: properties that the rules as they are break: they say nothing about mutants.
        outcomes: by mutant, in order of number.
    """

    mutations: Mutations
    base: Base
    refuted: tuple[str, ...]
    outcomes: tuple[tuple[Mutant, Outcome], ...]


@frozen
class Budget:
    """What the explorations may use.

    Attributes:
        threads: mutants at work at a time.
        memory: bytes for all of them.
        max_states: states of one mutant.
    """

    threads: int
    memory: int
    max_states: int


def explain(
    system: System, setting: Setting, budget: Budget, *, leave: Leave = (),
    wanted: Callable[[Mutations, Mutant], bool] = lambda mutations, mutant: True, cache_dir: Path | None = None,
    progress: Callable[[int, int, str], None] = lambda done, of, what: None, stop: threading.Event | None = None,
) -> Explanation:  # fmt: skip
    """Explore every mutant of a system.

    Args:
        system, setting: what to mutate.
        budget: what it may use; a mutant cut by it is undecided.
        leave: rules to leave as they are.
        wanted: which mutants to explore.
        cache_dir: folder for compiled code; None: keep none.
        progress: called with the number of mutants done and of all, and what is at work.
        stop: once set, the rest is undecided.

    Raises:
        BrokenBase: when the rules as they are exceed the budget.
        EngineDisagreement: when ints do not confirm a counterexample.
    """
    stopping = stop or threading.Event()
    mutations = mutate(system, setting, leave)
    progress(0, 0, f"compiling {len(mutations.mutants)} mutants of {system.name}")
    kernel = load_kernel(mutations.program, cache_dir, quick=False)
    chosen = [mutant for mutant in mutations.mutants if wanted(mutations, mutant)]
    base = _base(mutations, kernel, budget, stopping)
    found: dict[int, Outcome] = {}

    def work(_: int, job: int) -> None:
        mutant = chosen[job]
        found[mutant.number] = _outcome(_Run(mutations, kernel, mutant, base, stopping), budget)
        progress(len(found), len(chosen), f"{mutant.group}: {mutant.part} {mutant.change}")

    with Crew(budget.threads) as crew:
        crew.run(len(chosen), work)
    outcomes = tuple((mutant, found[mutant.number]) for mutant in chosen)
    bad = [name for number, name in enumerate(claim_names(kernel))
           if number in base.claims and number not in kernel.plan.goals]  # fmt: skip
    bad += [one.claim.id for one in base.recovery if one.lost is not None]
    return Explanation(mutations, base, tuple(bad), outcomes)


def claim_names(kernel: Kernel) -> list[str]:
    """The claims of a kernel's plan by number; `recovers` properties have none."""
    p = kernel.program
    claims = [*p.always, *p.sometimes, None, *p.steps, *p.happens]
    return [DEADLOCK if claim is None else claim.id for claim in claims]


def _base(mutations: Mutations, kernel: Kernel, budget: Budget, stop: threading.Event) -> Base:
    program = mutations.of(0)
    search = Search(evolve(kernel, program=program), Limits(budget.memory, max_states=budget.max_states), 1, stop,
                    lambda search: None)  # fmt: skip
    search.run()
    if search.cut is not None:
        raise BrokenBase(f"the rules as they are have more than {search.distinct:,} states here ({search.cut})")
    recovery = graph_findings(search, stop)
    if recovery is None:
        raise BrokenBase(f"the rules as they are were not judged to the end ({STOPPED})")
    return Base(search.distinct, search.generated, frozenset(search.claims), kernel.plan.left(search.counters()),
                _fired(search), _states(search), recovery)  # fmt: skip


def _fired(search: Search) -> tuple[int, ...]:
    plan = search.kernel.plan
    return tuple(search.counters()[plan.fired : plan.pruned].tolist())


def _states(search: Search) -> bytes:
    """The packed states, sorted, with the number of the mutant taken out."""
    slot = search.kernel.program.layout.slots[-1]
    rows = np.concatenate([shard.states[: shard.count] for shard in search.store.shards])
    hole = ~(((1 << slot.domain.bits) - 1) << slot.shift) & (1 << 64) - 1
    rows[:, slot.word] &= np.uint64(hole)
    return rows[np.lexsort(rows.T)].tobytes()


@frozen
class _Run:
    """One mutant about to be explored."""

    mutations: Mutations
    kernel: Kernel
    mutant: Mutant
    base: Base
    stop: threading.Event
    _first: dict[str, int] = field(factory=dict)

    def blamed(self, search: Search) -> list[int]:
        """Claims that the mutant refutes, and the rules as they are do not."""
        goals = self.kernel.plan.goals
        return sorted(claim for claim in search.claims if claim not in goals and claim not in self.base.claims)

    def decided(self, search: Search) -> bool:
        """Whether every claim with a shortest trace is known, at the end of a level.

        The level of depth d decides the states of depth d, and the steps from there, whose traces
        are longer by one: where only a step is to blame, the states of the next level may be too.
        """
        blamed, depth = self.blamed(search), len(search.levels) - 1
        if any(claim <= self.kernel.plan.deadlock for claim in blamed):
            return True
        if blamed or self.pruned(search):
            first = self._first.setdefault("depth", depth)
            return depth > first
        return False

    def pruned(self, search: Search) -> list[int]:
        """Fields that the mutant takes out of their domain, and the rules as they are do not."""
        return sorted(self.kernel.plan.left(search.counters()) - self.base.pruned)


def _outcome(run: _Run, budget: Budget) -> Outcome:
    if run.stop.is_set():
        return Undecided(STOPPED)
    program = run.mutations.of(run.mutant.number)
    enough = threading.Event()

    def look(search: Search) -> None:
        if run.stop.is_set() or (search.queue == 0 and run.decided(search)):
            enough.set()

    limits = Limits(budget.memory // budget.threads, max_states=budget.max_states)
    search = Search(evolve(run.kernel, program=program), limits, 1, enough, look)
    search.run()
    blamed, pruned = run.blamed(search), run.pruned(search)
    if blamed or pruned:
        return _kill(run, search, blamed, pruned)
    if search.cut is not None:
        return Undecided(search.cut)
    return _survival(run, search)


def _kill(run: _Run, search: Search, blamed: Sequence[int], pruned: Sequence[int]) -> Outcome:
    found = [disproof(search, run.mutations, run.mutant, claim) for claim in blamed]
    left = [leaving(search, slot) for slot in pruned]
    shortest = search.cut in (None, STOPPED)
    length = min(len(one.steps) for one in (*found, *left))
    if any(len(one.steps) == length for one in found):
        return _first(Killed, found, shortest=shortest)
    return _first(LeavesDomain, left, shortest=shortest)


def _first(kind: Callable[..., Outcome], disproofs: Sequence[Disproof], *, shortest: bool) -> Outcome:
    """The disproofs with the shortest traces."""
    length = min(len(one.steps) for one in disproofs)
    first = [one for one in disproofs if len(one.steps) == length]
    return kind(tuple(one.claim for one in first), first[0].steps, shortest)


def _survival(run: _Run, search: Search) -> Outcome:
    """What becomes of a mutant that no state and no step refutes."""
    plan, names = run.kernel.plan, claim_names(run.kernel)
    found = graph_findings(search, run.stop)
    if found is None:
        return Undecided(STOPPED)
    judged = judge_recovery(search, run.mutations, run.mutant, found, run.base.recovery)
    if judged.disproofs:
        return _first(Killed, judged.disproofs, shortest=True)
    if judged.uncertain:
        return Undecided(f"{judged.uncertain[0]} may hold only beyond a bound")
    lost = sorted((plan.goals & run.base.claims) - set(search.claims))
    if lost or judged.idle:
        return GoalLost(tuple(names[goal] for goal in lost), judged.idle)
    another = names.index(DIFFERS.id) in search.claims
    if not another and _fired(search) == run.base.fired:
        return Survived("none")
    same = search.distinct == run.base.distinct and _states(search) == run.base.states
    return Survived("transitions" if same else "states")
