"""Exhaustive exploration of a program by compiled code: states, counts, verdicts."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
from attrs import evolve, frozen

from kraftcheck.model.language.system import Property
from kraftcheck.solvers.audit.audit import Audit, VisitedSpace
from kraftcheck.solvers.audit.sampling import DEFAULT, Sampling
from kraftcheck.solvers.liveness.backward import NOT_SEARCHED, Recoverability, recoverability_verdicts, search_backward
from kraftcheck.solvers.liveness.judge import NO_LIVENESS_SEARCH, Liveness, liveness_verdicts, search_liveness
from kraftcheck.solvers.machine_code.compile import Compiler
from kraftcheck.solvers.machine_code.objectcode import CompileEffort
from kraftcheck.solvers.machine_code.transition import CONJUNCTS_PER_WORD, FramePlan, prunings
from kraftcheck.solvers.program.premises import checks_nothing, lenient_warnings, premises_shown, vacuous_without_case
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.trace import WITHIN, Pruning, by_field, outside_text, pruning_fault
from kraftcheck.solvers.program.verdict import (
    DEADLOCK,
    Holds,
    Incomplete,
    Origins,
    PropertyVerdict,
    Refuted,
    Vacuous,
    Verdict,
)
from kraftcheck.solvers.search.levels import Limits, Search
from kraftcheck.solvers.search.orders import OrdersFound
from kraftcheck.solvers.search.symmetry import check_after, check_before
from kraftcheck.solvers.search.visited import VisitedSet
from kraftcheck.solvers.search.witness import count_outside, start_witness, witness

Mark = TypeVar("Mark")  # what an engine notes of the first occurrence of a claim; only its own store can read it


class SearchResult(Protocol[Mark]):
    """The result of a search by any engine; the attributes are those of `Search`."""

    @property
    def levels(self) -> list[int]:
        """Distinct states by depth."""

    @property
    def claims(self) -> Mapping[int, Mark]:
        """For each claim that occurred, the mark of its first occurrence."""

    @property
    def cut(self) -> str | None:
        """Why it is not complete."""

    @property
    def distinct(self) -> int:
        """Distinct states."""

    @property
    def generated(self) -> int:
        """Transitions taken, and the initial states."""

    @property
    def store(self) -> Origins[Mark]:
        """Where states came from."""

    def counters(self) -> npt.NDArray[np.int64]:
        """All frames added up."""

    def bytes_in_use(self) -> int:
        """Bytes in use."""


class Planned(Protocol):
    """The part of a search's code that verdicts need; the attributes are those of `Kernel`."""

    @property
    def program(self) -> Program:
        """The compiled program."""

    @property
    def plan(self) -> FramePlan:
        """The places of its counters."""

    @property
    def cached(self) -> bool:
        """Whether the code came from the cache."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warnings for the user."""


class EnginePart(Protocol):
    """The part of a report that only one engine has."""

    def lines(self) -> list[str]:
        """For people."""

    def document(self) -> dict[str, Any]:
        """For machines."""


Names = tuple[tuple[str, str], ...]


def never_met(kernel: Planned, counters: npt.NDArray[np.int64]) -> tuple[Names, Names]:
    """The guard conjuncts that were never true, and those never false."""
    plan = kernel.plan
    if kernel.program.orders is not None:
        return (), ()  # a state that was left out may be the one that shows it
    never_true, never_false = [], []
    for number, kind in enumerate(kernel.program.kinds):
        if kind.action.guard is None or not kind.instances:
            continue
        words = plan.coverage_words(kind)
        for position, name in enumerate(kind.guard):
            if name == WITHIN:  # in every guard: how many states are outside is told once
                continue
            at = plan.covered[number] + position // CONJUNCTS_PER_WORD
            bit = position % CONJUNCTS_PER_WORD
            if not int(counters[at]) >> bit & 1:
                never_true.append((kind.action.name, name))
            if not int(counters[at + words]) >> bit & 1:
                never_false.append((kind.action.name, name))
    return tuple(never_true), tuple(never_false)


@frozen
class SearchBudget(Limits):
    """The resources and limits of a search; past its limits verdicts are incomplete."""

    threads: int = 1  # how many; results do not depend on it
    # folder for compiled code, and for a nameless file of what liveness has no room for in memory; None: keep none
    cache_dir: Path | None = None
    keep: bool = True  # whether the result holds the states, where they are in memory
    strict: bool = False  # whether a declared cap that cuts a transition makes it incomplete too
    sampling: Sampling = DEFAULT  # how much is audited

    @property
    def limited(self) -> bool:
        """Whether the search may end before the space is whole because it was asked to."""
        return self.stop_at_first or self.max_depth is not None or self.max_states is not None


@frozen
class SearchProgress:
    """How far an exploration is."""

    depth: int  # steps from the initial states to those being expanded
    # generated, distinct: transitions taken (and initial states), different states
    generated: int
    distinct: int
    queue: int  # states of this depth, or of this sweep, that wait
    seconds: float
    sweep: int = 0  # number of the backward sweep; 0 before the backward search


@frozen
class Exploration:
    """The result of an exploration."""

    program: Program
    verdicts: tuple[PropertyVerdict, ...]  # one for each property, deadlock last
    # distinct, generated, depth: size of the space; generated counts initial states and every transition taken
    distinct: int
    generated: int
    depth: int
    levels: tuple[int, ...]  # distinct states by depth
    # seconds, compile_seconds: time of the search and of making its code
    seconds: float
    compile_seconds: float
    # recoverability, liveness: what searches backward and for fair behaviours found, and what they took
    recoverability: Recoverability
    liveness: Liveness
    cached: bool  # whether the code came from the cache
    fired: Mapping[str, int]  # transitions taken, by action; 0: never fired
    # never_true, never_false: guard conjuncts as (action, conjunct)
    never_true: tuple[tuple[str, str], ...]
    never_false: tuple[tuple[str, str], ...]
    prunings: tuple[Pruning, ...]  # the transitions that a field's domain cut
    bytes_per_state: float  # memory in use per distinct state, buffers included
    cut: str | None  # why it is incomplete; None when it is complete
    warnings: tuple[str, ...]  # what the user should know
    store: VisitedSet | None  # the visited set, unless dropped
    audit: Audit  # what was compared with the rules on ints
    outside: int = 0  # states outside the system's constraint, which are judged and not followed; distinct counts them
    # what was left out as another order of independent steps; None where every order was followed
    orders: OrdersFound | None = None
    premises_shown: frozenset[str] = frozenset()  # ids of the properties of whose premises a state or step was reached
    answers: EnginePart | None = None  # what is to be said where Kafka's own classes answered

    @property
    def shortest(self) -> bool:
        """Whether no counterexample is shorter than those found."""
        return self.orders is None

    @property
    def pruned(self) -> Mapping[str, int]:
        """How many transitions the domain of each field cut; fields that cut none are absent."""
        return by_field(self.prunings)

    def verdict(self, claim: str) -> PropertyVerdict:
        """The verdict of a property by its id; raises KeyError for an unknown id."""
        return {verdict.claim: verdict for verdict in self.verdicts}[claim]

    def states(self) -> Iterator[tuple[int, ...]]:
        """All packed states, in an order that does not depend on the number of threads.

        Raises:
            ValueError: when the exploration did not keep them.
        """
        return iter(self._store())

    def packed(self) -> npt.NDArray[np.uint64]:
        """All packed states as an array, one row a state; raises as `states` does."""
        return np.concatenate([shard.states[: shard.count] for shard in self._store().shards])

    def _store(self) -> VisitedSet:
        if self.store is None:
            raise ValueError("the states were not kept; explore with keep=True")
        return self.store


def explore(
    program: Program, budget: SearchBudget = SearchBudget(), *, clock: Callable[[], float],
    progress: Callable[[SearchProgress], None] | None = None, stop: threading.Event | None = None,
    effort: CompileEffort = CompileEffort.LEAST, on_compile: Callable[[], None] | None = None,
) -> Exploration:  # fmt: skip
    """Explore every reachable state.

    Args:
        clock: seconds, from any origin.
        progress, stop: called every few hundred thousand transitions; once set, the search ends soon.
        effort: of the compiler for the first code; a long search goes over to better code.
        on_compile: called before code is compiled that the cache does not have.

    Raises:
        EngineDisagreement: when ints do not confirm a witness, or the audit finds a difference.
        LoweringError: when a term does not fit 64 bits.
        SymmetryError: when states are reduced by a symmetry that is none, or that a property names.
    """
    start, compiler = clock(), Compiler(program, budget.cache_dir, clock, on_compile)
    check_before(kernel := compiler.kernel(effort))

    def report(search: Search, sweep: int = 0, queue: int = 0) -> None:
        if progress is not None:
            depth, seconds = max(0, len(search.levels) - 1), clock() - start - compiler.seconds
            waiting = queue if sweep else search.queue
            progress(SearchProgress(depth, search.generated, search.distinct, waiting, seconds, sweep=sweep))

    search = Search(kernel, budget, max(1, budget.threads), stop or threading.Event(), report)
    space = VisitedSpace(search.store)
    search.recompile = compiler.kernel
    search.run()
    check_after(search.kernel, search.store)
    times = (clock() - start - compiler.seconds, compiler.seconds)
    audit = space.audit(search, compiler.kernels, budget.sampling, clock)
    recoverability = search_backward(search, report, clock, budget.cache_dir)
    liveness = search_liveness(search, report, clock, budget.cache_dir)
    found = conclude(search, search.kernel, *times, audit, recoverability, liveness, strict=budget.strict)
    store = search.store if budget.keep else None
    return evolve(found, store=store, orders=None if search.orders is None else search.orders.found())


def conclude(
    search: SearchResult[Mark], kernel: Planned, seconds: float, compile_seconds: float, audit: Audit,
    recoverability: Recoverability = NOT_SEARCHED, liveness: Liveness = NO_LIVENESS_SEARCH, *, strict: bool = False,
) -> Exploration:  # fmt: skip
    """The verdicts and numbers of a search that has ended, without its states; raises as `explore` does.

    Args:
        audit: what was compared with the rules on ints.
        recoverability: what a backward search found; without one, `recovers` properties are unknown.
        liveness: what a search for fair behaviours found; without one, liveness properties are unknown.
        strict: whether a declared cap that cut a transition makes it incomplete too.
    """
    program, plan = kernel.program, kernel.plan
    counters = search.counters()
    fired: dict[str, int] = {}
    for number, kind in enumerate(program.kinds):
        fired[kind.action.name] = fired.get(kind.action.name, 0) + int(counters[plan.fired + number])
    pruned = prunings(plan, counters)
    outside = count_outside(program, search.store) if isinstance(search.store, VisitedSet) else 0
    reason = _cut_text(search) if search.cut is not None else pruning_fault(pruned, strict)
    if outside and search.cut is None:
        reason = "; ".join(filter(None, (reason, outside_text(outside))))
    bound = _bound_text(search, kernel, pruned)
    judged, stepped = _judged(search, kernel, bound, reason), any(fired.values())
    return Exploration(
        program, _verdicts(search, kernel, judged, stepped, recoverability, liveness, bound, reason), search.distinct,
        search.generated, len(search.levels) - 1, tuple(search.levels), seconds, compile_seconds, recoverability,
        liveness, kernel.cached, fired, *never_met(kernel, counters), pruned,
        search.bytes_in_use() / max(1, search.distinct), search.cut or reason,
        (*kernel.warnings, *lenient_warnings(judged, program), *recoverability.warnings()),
        None, audit, outside, premises_shown=premises_shown(judged, program),
    )  # fmt: skip


def _bound_text(search: SearchResult[Mark], kernel: Planned, pruned: Sequence[Pruning]) -> str:
    program = kernel.program
    text, bounds = f"all {search.distinct:,} states of {program.system.name}", program.setting.text()
    text += f" with {bounds}" if bounds else ""
    text += " up to symmetry" if program.reduction is not None else ""
    text += " up to the order of independent steps" if program.orders is not None else ""
    return "; ".join([text, *(pruning.text() for pruning in pruned)])


def _judged(search: SearchResult[Mark], kernel: Planned, bound: str, reason: str | None) -> list[PropertyVerdict]:
    """What was found of each claim about states or steps, hidden goals among them."""
    program, plan = kernel.program, kernel.plan
    claims = list(enumerate((*program.always, *program.sometimes)))
    claims += list(enumerate((*program.steps, *program.happens), plan.first_step))
    return [_verdict(search, kernel, bound, reason, number, claim) for number, claim in claims]


def _verdicts(
    search: SearchResult[Mark], kernel: Planned, judged: Sequence[PropertyVerdict], stepped: bool,
    recoverability: Recoverability, liveness: Liveness, bound: str, reason: str | None,
) -> tuple[PropertyVerdict, ...]:  # fmt: skip
    """The verdict of each property: `bound` says what holds, `reason` why nothing does that is not shown."""
    plan = kernel.plan
    verdicts = vacuous_without_case(judged, kernel.program, stepped)
    verdicts += recoverability_verdicts(kernel.program, recoverability, bound, reason)
    verdicts += liveness_verdicts(kernel.program, liveness, bound, reason)
    deadlock = _verdict(search, kernel, bound, reason, plan.deadlock, None)
    idle = checks_nothing(kernel.program).get(DEADLOCK)
    if idle is not None and isinstance(deadlock.verdict, Holds):
        deadlock = evolve(deadlock, verdict=Vacuous(DEADLOCK, idle))
    return (*verdicts, deadlock)


def _verdict(
    search: SearchResult[Mark], kernel: Planned, bound: str, reason: str | None, number: int, claim: Property | None
) -> PropertyVerdict:
    kind, name = (claim.kind, claim.id) if claim is not None else (DEADLOCK, DEADLOCK)
    occurs = number in search.claims
    trace = start_witness(kernel.program, claim)
    if occurs and trace is None:
        trace = witness(kernel.program, claim, *search.store.occurrence(search.claims[number]))
    is_goal = number in kernel.plan.goals
    verdict: Verdict
    if trace is not None:
        verdict = Holds(bound, trace) if is_goal else Refuted(trace)
    elif reason is not None:
        verdict = Incomplete(reason)
    else:
        verdict = Vacuous(name) if is_goal else Holds(bound)
    return PropertyVerdict(name, kind, verdict, len(trace.steps) if trace is not None else None)


def _cut_text(search: SearchResult[Mark]) -> str:
    return f"{search.cut}, after {search.distinct:,} states to depth {len(search.levels) - 1}"
