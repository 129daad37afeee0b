"""Exploration of the mutants of a system: one compiled kernel, and one search for each mutant.

A mutant's exploration ends with the level that refutes a property, so the
trace reported is among the shortest. Every counterexample is confirmed on
ints by `kraftcheck.solvers.reference.terms`; what is not confirmed is a fault of the engine.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

import numpy as np
from attrs import evolve, field, frozen

from kraftcheck.model.language.system import Setting, System
from kraftcheck.solvers.exploration.explore import SearchBudget
from kraftcheck.solvers.liveness.backward import BackwardSearch, RecoverabilityFinding
from kraftcheck.solvers.liveness.fair import SweepControl
from kraftcheck.solvers.liveness.judge import LivenessFinding, search_liveness
from kraftcheck.solvers.machine_code.compile import Kernel, load_kernel
from kraftcheck.solvers.machine_code.objectcode import effort_for
from kraftcheck.solvers.machine_code.threads import ThreadPool
from kraftcheck.solvers.mutants.counterexamples import Disproof, calls, confirm_on_rules, disproof, leave_domain, run
from kraftcheck.solvers.mutants.mutate import DIFFERS, Leave, Mutant, Mutations, mutate
from kraftcheck.solvers.program.program import Program, RecoversClaim
from kraftcheck.solvers.program.stop import STOPPED
from kraftcheck.solvers.program.verdict import DEADLOCK, PackedRun
from kraftcheck.solvers.reference import terms as interpret
from kraftcheck.solvers.reference.confirm import EngineDisagreement
from kraftcheck.solvers.search.levels import Search
from kraftcheck.solvers.traces.render import call

CLOSURE = 40  # states after a counterexample that ints look at; a state takes tens of milliseconds

Findings = tuple[RecoverabilityFinding, ...]
LivenessFindings = tuple[LivenessFinding, ...]


@frozen
class RecoverabilityChange:
    """The difference in recoverability, or in liveness, between a mutant and the unmutated rules."""

    # the properties it refutes, each with a trace to a state that never recovers, or a lasso
    disproofs: tuple[Disproof, ...]
    idle: tuple[str, ...]  # properties that no state has to recover, or to wait, for any more
    uncertain: tuple[str, ...]  # properties that may hold only beyond a bound


def graph_findings(search: Search, stop: threading.Event) -> Findings | None:
    """The findings of a complete search about each `recovers` property; None when stopped."""
    if not search.kernel.program.recovers:
        return ()
    return BackwardSearch(search.kernel, search.store, SweepControl(stop=stop)).run()


def fair_findings(search: Search, mutations: Mutations) -> LivenessFindings | None:
    """The findings of a complete search about each liveness property; None when stopped.

    The rules on ints have to be those of the mutant meanwhile.
    """
    if not search.kernel.program.liveness.claims:
        return ()
    search.kernel = evolve(search.kernel, program=mutations.on_ints(search.kernel.program))
    return search_liveness(search, lambda search, sweep, queue: None, lambda: 0.0).findings


def _change(rows: Iterable[tuple[str, Disproof | None, bool, bool]]) -> RecoverabilityChange:
    """Of claims that the rules as they are keep: how each is disproved, whether it is idle, and whether uncertain."""
    told = list(rows)
    return RecoverabilityChange(
        tuple(found for _, found, _, _ in told if found is not None),
        tuple(claim for claim, _, idle, _ in told if idle), tuple(claim for claim, _, _, open_ in told if open_),
    )  # fmt: skip


def compare_liveness(program: Program, findings: LivenessFindings, base: LivenessFindings) -> RecoverabilityChange:
    """Compare what fair behaviours of a mutant do with those of the rules as they are."""
    claims = [one.claim.id for one in program.liveness.claims]
    return _change(
        (claim, None if (trace := now.trace) is None else Disproof(
            claim, tuple(call(step.action, step.arguments) for step in trace.steps)),
         bool(before.answer.waiting and not now.answer.waiting),
         now.uncertain is not None and before.uncertain is None)
        for claim, now, before in zip(claims, findings, base, strict=True) if before.trace is None
    )  # fmt: skip


def compare_recoverability(
    search: Search, mutations: Mutations, mutant: Mutant, findings: Findings, base: Findings
) -> RecoverabilityChange:
    """Compare a mutant's findings with those of the rules as they are.

    Raises:
        EngineDisagreement: when ints do not confirm a counterexample.
    """
    return _change(
        (now.claim.id,
         None if (run_ := now.unrecoverable) is None else _disproof(search, mutations, mutant, number, run_),
         bool(before.failing and not now.failing), now.uncertain is not None and before.uncertain is None)
        for number, (now, before) in enumerate(zip(findings, base, strict=True)) if before.unrecoverable is None
    )  # fmt: skip


def _disproof(search: Search, mutations: Mutations, mutant: Mutant, number: int, path: PackedRun) -> Disproof:
    """The run to a state that never recovers, confirmed on ints."""
    program = search.kernel.program
    recovers = program.recovers[number]
    instances = [*path.instances]
    states = run(program, path.initial, instances)
    if program.layout.join(states[-1]) != path.end:
        raise EngineDisagreement(f"mutant {mutant.key}: the engine and ints reach different states")
    if not interpret.holds(recovers.when, program, states[-1]):
        raise EngineDisagreement(f"mutant {mutant.key}: {recovers.claim.id} does not concern the state on ints")
    _confirm_never(program, mutant, recovers, states[-1])
    confirm_on_rules(program, mutations, mutant, recovers.claim.id, states, instances)
    return Disproof(recovers.claim.id, calls(program, instances))


def _confirm_never(program: Program, mutant: Mutant, recovers: RecoversClaim, start: Sequence[int]) -> None:
    """Look, on ints, at the nearest states that the way out leads to: none satisfies the claim."""
    instances = [number for number in range(program.instances) if recovers.allowed[number]]
    visited, queue = {tuple(start)}, [tuple(start)]
    for state in queue:
        if interpret.holds(recovers.goal, program, state):
            raise EngineDisagreement(f"mutant {mutant.key}: {recovers.claim.id} recovers on ints")
        for number in instances:
            if not interpret.enabled(program, number, state):
                continue
            after = interpret.successor(program, number, state)
            if interpret.fields_outside(program, after):
                raise EngineDisagreement(f"{calls(program, [number])[0]} leaves a domain on ints")
            if after not in visited and len(visited) < CLOSURE:
                visited.add(after)
                queue.append(after)


@frozen
class Killed:
    """The mutant refutes properties."""

    by: tuple[str, ...]  # the properties that break first, all with traces of one length
    steps: tuple[str, ...]  # the actions of the first one's trace, as calls
    shortest: bool  # whether no shorter trace breaks anything; false where the exploration was cut within a level


@frozen
class LeavesDomain:
    """The mutant takes fields out of the values that the system gives them; attributes as of `Killed`."""

    by: tuple[str, ...]
    steps: tuple[str, ...]
    shortest: bool


@frozen
class GoalLost:
    """The mutant refutes nothing, but the whole scope does not show something any more."""

    goals: tuple[str, ...]  # the goals that it does not reach
    idle: tuple[str, ...] = ()  # the `recovers` properties that no state has to recover for


@frozen
class Survived:
    """Every property holds in the whole scope, and every goal is reached."""

    # `none` when states and transitions are those of the rules as they are (no step is another, and each action has as
    # many); `transitions` when only the states are; else `states`
    effect: str


@frozen
class Undecided:
    """Nothing was found before the exploration was cut."""

    cut: str


@frozen
class Refused:
    """There is nothing to explore: the rules cannot be traced."""

    why: str


@frozen
class Same:
    """The traced program is that of the rules as they are, so that no question tells them apart."""


MutantOutcome: TypeAlias = Killed | LeavesDomain | GoalLost | Survived | Undecided | Refused | Same


@frozen
class Baseline:
    """The exploration without a mutant, which the others are compared with."""

    # distinct, generated: its size
    distinct: int
    generated: int
    # numbers of the claims that it refutes or reaches, which mutants are not blamed or praised for
    claims: frozenset[int]
    pruned: frozenset[int]  # fields whose bound it meets
    fired: tuple[int, ...]  # transitions of each action kind
    states: bytes = field(repr=False)  # its packed states, sorted, without the number of the mutant
    # recoverability, liveness: what its graph says about the `recovers` properties and about fair behaviours
    recoverability: Findings
    liveness: LivenessFindings


class BaselineFault(ValueError):
    """The unmutated rules could not be explored to the end, so that mutants have nothing to be compared with."""


@frozen
class MutantExplanation:
    """The outcomes of all mutants of a system."""

    mutations: Mutations  # the system and its mutants
    base: Baseline  # the exploration without a mutant
    refuted: tuple[str, ...]  # properties that the rules as they are break: they say nothing about mutants
    outcomes: tuple[tuple[Mutant, MutantOutcome], ...]  # by mutant, in order of number


def explore_each(
    mutations: Mutations, kernel: Kernel, mutants: Sequence[Mutant], base: Baseline, budget: SearchBudget,
    stop: threading.Event, told: Callable[[int, MutantOutcome], None], any_kill: bool = False,
) -> None:  # fmt: skip
    """Explore mutants of one kernel, as many at a time as there are threads; `told` gets the place of each, and what
    became of it."""

    def explore_mutant(_: int, job: int) -> None:
        told(job, outcome(MutantRun(mutations, kernel, mutants[job], base, stop, any_kill=any_kill), budget))

    with ThreadPool(budget.threads) as pool:
        pool.run(len(mutants), explore_mutant)


Told = Callable[[int, MutantOutcome], None]
Each = Callable[[Mutations, Kernel, Sequence[Mutant], Baseline, SearchBudget, threading.Event, Told], None]
"""Explores mutants of one kernel, as `explore_each` does."""


def explain(
    system: System, setting: Setting, budget: SearchBudget, *, leave: Leave = (),
    selected: Callable[[Mutations, Mutant], bool] = lambda mutations, mutant: True,
    progress: Callable[[int, int, str], None] = lambda finished, of, what: None, stop: threading.Event | None = None,
    each: Each = explore_each,
) -> MutantExplanation:  # fmt: skip
    """Explore every mutant of a system.

    Args:
        budget: what it may use, as many mutants at a time as it has threads; a mutant cut by it is undecided.
        leave: rules to leave as they are.
        selected: which mutants to explore.
        progress: called with the number of mutants done and of all, and what is at work.
        stop: once set, the rest is undecided.
        each: explores the mutants.

    Raises:
        BaselineFault: when the rules as they are exceed the budget.
        EngineDisagreement: when ints do not confirm a counterexample.
    """
    stopping = stop or threading.Event()
    mutations = mutate(system, setting, leave)
    progress(0, 0, f"compiling {len(mutations.mutants)} mutants of {system.name}")
    kernel = load_kernel(mutations.program, budget.cache_dir)
    chosen = [mutant for mutant in mutations.mutants if selected(mutations, mutant)]
    base = baseline(mutations, kernel, budget, stopping)
    if (effort := effort_for(base.generated * len(chosen))) > kernel.effort:
        kernel = load_kernel(mutations.program, budget.cache_dir, effort=effort)
    results: dict[int, MutantOutcome] = {}

    def told(job: int, result: MutantOutcome) -> None:
        mutant = chosen[job]
        results[mutant.number] = result
        progress(len(results), len(chosen), f"{mutant.group}: {mutant.part} {mutant.change}")

    each(mutations, kernel, chosen, base, budget, stopping, told)
    outcomes = tuple((mutant, results[mutant.number]) for mutant in chosen)
    bad = [name for number, name in enumerate(claim_names(kernel))
           if number in base.claims and number not in kernel.plan.goals]  # fmt: skip
    bad += [finding.claim.id for finding in base.recoverability if finding.unrecoverable is not None]
    bad += [finding.trace.claim for finding in base.liveness if finding.trace is not None]
    return MutantExplanation(mutations, base, tuple(bad), outcomes)


def claim_names(kernel: Kernel) -> list[str]:
    """The claims of a kernel's plan by number; `recovers` properties have none."""
    p = kernel.program
    claims = [*p.always, *p.sometimes, None, *p.steps, *p.happens]
    return [DEADLOCK if claim is None else claim.id for claim in claims]


def baseline(mutations: Mutations, kernel: Kernel, budget: SearchBudget, stop: threading.Event) -> Baseline:
    """The exploration of the rules as they are; raises BaselineFault when they exceed the budget."""
    program = mutations.of(0)
    search = Search(evolve(kernel, program=program), budget, 1, stop, lambda search: None)
    search.run()
    if search.cut is not None:
        raise BaselineFault(f"the rules as they are have more than {search.distinct:,} states here ({search.cut})")
    recoverability = graph_findings(search, stop)
    if recoverability is None:
        raise BaselineFault(f"the rules as they are were not judged to the end ({STOPPED})")
    slots, states = kernel.plan.slots_left(search.counters()), _states(search)
    liveness = fair_findings(search, mutations)
    if liveness is None:
        raise BaselineFault(f"the rules as they are were not judged on fair behaviours to the end ({STOPPED})")
    return Baseline(
        search.distinct, search.generated, frozenset(search.claims), slots, _fired(search), states, recoverability,
        liveness,
    )  # fmt: skip


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
class MutantRun:
    """The exploration of one mutant; with `any_kill` the first property that breaks ends it, and no field does."""

    mutations: Mutations
    kernel: Kernel
    mutant: Mutant
    base: Baseline
    stop: threading.Event
    any_kill: bool = False
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
        return sorted(self.kernel.plan.slots_left(search.counters()) - self.base.pruned)


def outcome(run: MutantRun, budget: SearchBudget) -> MutantOutcome:
    """The outcome of one mutant; raises EngineDisagreement when ints do not confirm a counterexample."""
    if run.stop.is_set():
        return Undecided(STOPPED)
    program = run.mutations.of(run.mutant.number)
    enough = threading.Event()

    def check(search: Search) -> None:
        if run.stop.is_set() or (run.blamed(search) if run.any_kill else search.queue == 0 and run.decided(search)):
            enough.set()

    limits = evolve(budget, memory=budget.memory // budget.threads)
    search = Search(evolve(run.kernel, program=program), limits, 1, enough, check)
    search.run()
    blamed, pruned = run.blamed(search), run.pruned(search)
    if run.any_kill and blamed:
        return _kill(run, search, blamed[:1], ())
    if run.any_kill and search.cut is not None:
        return Undecided(search.cut)
    if blamed or pruned:
        return _kill(run, search, blamed, pruned)
    if search.cut is not None:
        return Undecided(search.cut)
    return _survival(run, search)


def _kill(run: MutantRun, search: Search, blamed: Sequence[int], pruned: Sequence[int]) -> MutantOutcome:
    refutations = [disproof(search, run.mutations, run.mutant, claim) for claim in blamed]
    exits = [leave_domain(search, slot) for slot in pruned]
    shortest = search.cut in (None, STOPPED)
    length = min(len(disproof_.steps) for disproof_ in (*refutations, *exits))
    if any(len(disproof_.steps) == length for disproof_ in refutations):
        return _first(Killed, refutations, shortest=shortest)
    return _first(LeavesDomain, exits, shortest=shortest)


def _first(kind: Callable[..., MutantOutcome], disproofs: Sequence[Disproof], *, shortest: bool) -> MutantOutcome:
    """The disproofs with the shortest traces."""
    length = min(len(disproof_.steps) for disproof_ in disproofs)
    first = [disproof_ for disproof_ in disproofs if len(disproof_.steps) == length]
    return kind(tuple(disproof_.claim for disproof_ in first), first[0].steps, shortest)


def _survival(run: MutantRun, search: Search) -> MutantOutcome:
    """The outcome of a mutant that no state and no step refutes."""
    plan, names = run.kernel.plan, claim_names(run.kernel)
    findings = graph_findings(search, run.stop)
    if findings is None:
        return Undecided(STOPPED)
    change = compare_recoverability(search, run.mutations, run.mutant, findings, run.base.recoverability)
    if change.disproofs:
        return _first(Killed, change.disproofs, shortest=True)
    with run.mutations.rules_of(run.mutant):
        fair = fair_findings(search, run.mutations)
    if fair is None:
        return Undecided(STOPPED)
    live = compare_liveness(run.kernel.program, fair, run.base.liveness)
    if live.disproofs:
        return _first(Killed, live.disproofs, shortest=False)
    uncertain, idle = (*change.uncertain, *live.uncertain), (*change.idle, *live.idle)
    if uncertain:
        return Undecided(f"{uncertain[0]} may hold only beyond a bound")
    goals = sorted((plan.goals & run.base.claims) - set(search.claims))
    if goals or idle:
        return GoalLost(tuple(names[goal] for goal in goals), idle)
    another = names.index(DIFFERS.id) in search.claims
    if not another and _fired(search) == run.base.fired:
        return Survived("none")
    same = search.distinct == run.base.distinct and _states(search) == run.base.states
    return Survived("transitions" if same else "states")
