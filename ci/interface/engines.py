"""The engines as Python functions: `kraftcheck.explore`, `kraftcheck.simulate` and `kraftcheck.prove`."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from kraftcheck.ci.explore.simulate import WalkPlan, walks_of
from kraftcheck.ci.interface.arguments import (
    Invariants,
    bounds_of,
    check_choice,
    check_numbers,
    expressions_of,
    threads_of,
)
from kraftcheck.ci.prove import report as proof_report
from kraftcheck.ci.prove.command import check_only
from kraftcheck.ci.prove.evidence import search_evidence
from kraftcheck.ci.prove.request import ProofRequest
from kraftcheck.ci.prove.second_solver import check_endless, check_solver
from kraftcheck.ci.run import walk_report
from kraftcheck.ci.run.result import Result
from kraftcheck.ci.run.search import NONE, SearchBudget, argument, reduced_program, search, symmetry_of
from kraftcheck.ci.systems import report
from kraftcheck.ci.systems.liveness import refuse_liveness
from kraftcheck.ci.systems.subject import Subject, faults_refused, program, subject
from kraftcheck.ci.systems.switches import check_switches
from kraftcheck.ci.terminal.interrupts import Stop
from kraftcheck.ci.terminal.machine import default_memory
from kraftcheck.ci.terminal.progress import run_interruptibly
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.language.fairness import LIVENESS
from kraftcheck.model.language.system import System
from kraftcheck.solvers.audit.sampling import DEFAULT, Sampling
from kraftcheck.solvers.program.premises.cases import checks_nothing
from kraftcheck.solvers.program.verdict import (
    DEADLOCK,
    Holds,
    Incomplete,
    PropertyVerdict,
    Refuted,
    Unknown,
    Vacuous,
    Verdict,
    worst_exit_code,
)
from kraftcheck.solvers.search.explore import Exploration, SearchProgress
from kraftcheck.solvers.smt import induction
from kraftcheck.solvers.smt.queries import SOLVERS, Effort
from kraftcheck.solvers.smt.theory import theory
from kraftcheck.solvers.smt.verdicts import judge
from kraftcheck.solvers.walks.findings import confirm_findings, witnesses
from kraftcheck.solvers.walks.suspects import unknown_text, with_suspects
from kraftcheck.solvers.walks.walker import SCHEDULES

Answer = TypeVar("Answer")

def _interruptible(work: Callable[[Stop], Answer]) -> Answer:
    """The result of work on a thread of its own; Ctrl-C in the caller's stops it, and is raised there."""
    stop, begun = Stop(awaits_report=False), threading.Event()
    begun.set()
    return run_interruptibly(lambda: work(stop), stop, begun)


def explore(
    system: str | System, *, scope: str | None = None, rules: str | None = None, properties: Sequence[str] = (),
    threads: int | None = None, memory: int | None = None, max_depth: int | None = None,
    max_states: int | None = None, stop_at_first: bool = False, strict: bool = False, symmetry: bool | str = False,
    reduce: str = NONE, sampling: Sampling = DEFAULT, keep: bool = True, cache: bool = True,
    progress: Callable[[SearchProgress], None] | None = None, invariants: Invariants = (), when: str = "",
    **bounds: int,
) -> Result:  # fmt: skip
    """Explore every reachable state.

    Args:
        system: a name from `kraftcheck list`, `module:attribute`, or a system of your own.
        scope: preset bounds; the first by default.
        rules: rule set, `PRESET[+VARIANT|-VARIANT...]`, of systems that take one.
        properties: ids of those to judge, beside `deadlock`; all by default.
        threads: how many; every processor by default. Results do not depend on it.
        memory: bytes to use at most; by default what the command uses.
        max_depth, max_states: limits, in steps and states; past them verdicts are incomplete.
        stop_at_first: end at the first violation.
        strict: whether what a declared cap cuts is incomplete too.
        symmetry: explore states that differ by names alone once; "proven": by what Z3 proves of the rules.
        reduce: "orders" leaves out orders of independent steps.
        sampling: how much is audited on ints.
        keep: whether the result keeps the states.
        cache: whether compiled code is kept between runs.
        progress: called now and then, on another thread, with how far the search is.
        invariants: expressions to judge too, by the names that they get as properties, or a list.
        when: an expression; each of `invariants` has to hold only in states that satisfy it.
        bounds: single bounds by name, with `_` for `-`.

    Returns:
        The verdicts. A counterexample was replayed on ints, and is shortest, but with `reduce`.

    Raises:
        Refusal: in one line, for what cannot be asked.
        EngineDisagreement: when ints do not confirm what compiled code says.
    """
    check_numbers(1, threads=threads, memory=memory, max_states=max_states)
    check_numbers(0, max_depth=max_depth)
    chosen = subject(system, scope, bounds_of(bounds), rules, properties, expressions=expressions_of(invariants, when))
    check_switches(chosen)
    asked = symmetry_of(symmetry)
    traced = reduced_program(chosen, asked, reduce, argument)
    budget = SearchBudget(threads_of(threads), memory or default_memory(), max_depth, max_states, stop_at_first, cache,
                          keep, strict, sampling)  # fmt: skip
    return _result(chosen, _interruptible(
        lambda stop: search(traced, budget, stop, progress, symmetry=argument("symmetry", asked))
    ))  # fmt: skip


def _result(chosen: Subject, found: Exploration) -> Result:
    notes = (*(f"warning: {warning}" for warning in found.warnings), *report.summary(found))
    code, document = worst_exit_code(one.verdict for one in found.verdicts), report.document(chosen, found)
    return Result(chosen, "explore", found.verdicts, found.program.claims, notes, code, document, found)


def simulate(
    system: str | System, *, scope: str | None = None, rules: str | None = None, properties: Sequence[str] = (),
    runs: int = 1000, steps: int = 1000, seed: int = 1, schedule: str = "both", threads: int | None = None,
    strict: bool = False, cache: bool = True, invariants: Invariants = (), when: str = "", **bounds: int,
) -> Result:  # fmt: skip
    """Walk at random, where every state is too many.

    Walks prove nothing: what they do not refute is `Incomplete`, so that only `Result.refuted` tells of them. The
    other arguments are those of `explore`.

    Args:
        runs, steps, seed: how many walks, the longest walk, and what decides all that is drawn.
        schedule: draw steps by weight (`weighted`), by changing priorities (`priority`), or `both` in turn.

    Raises:
        Refusal: in one line, for what cannot be asked.
        EngineDisagreement: when ints do not confirm what compiled code says.
    """
    check_numbers(1, runs=runs, steps=steps, threads=threads)
    check_numbers(0, seed=seed)
    check_choice("schedule", schedule, SCHEDULES)
    chosen = subject(system, scope, bounds_of(bounds), rules, properties, expressions=expressions_of(invariants, when))
    check_switches(chosen)
    traced = program(chosen)

    plan = WalkPlan(runs, steps, seed, schedule, workers=threads_of(threads), cache=cache, strict=strict)
    walks = with_suspects(_interruptible(lambda stop: walks_of(traced, plan, stop)))
    suspects = {one.trace.claim: one for one in walks.suspects}
    broken = confirm_findings(walks)
    traces = {one.trace.claim: one.trace for one in (*broken, *witnesses(walks))}
    code, notes = walk_report.exit_code(walks, broken), walk_report.lines(chosen, walks, broken, steps, schedule, 0)
    document = walk_report.document(chosen, walks, broken, steps, schedule, code)
    size = f"{walks.runs:,} random walks"
    judged, empty = [], checks_nothing(walks.program)
    for claim, kind in [*((one.id, one.kind) for one in traced.claims), (DEADLOCK, DEADLOCK)]:
        goal = kind in ("sometimes", "happens")
        trace = None if goal and claim in empty else traces.get(claim)
        verdict: Verdict = Vacuous(size, f"not reached in {size}") if goal else Incomplete(f"not refuted in {size}")
        if kind in LIVENESS:
            verdict = Unknown(unknown_text(suspects.get(claim), size))
        if trace is not None:
            verdict = Holds(size, trace) if goal else Refuted(trace)
        elif claim in empty:
            verdict = Vacuous(claim, empty[claim])
        judged.append(PropertyVerdict(claim, kind, verdict, None if trace is None else len(trace.steps)))
    return Result(chosen, "simulate", tuple(judged), traced.claims, tuple(notes)[1:], code, document)


def prove(
    system: str | System, *, scope: str | None = None, rules: str | None = None, properties: Sequence[str] = (),
    solver: str = "z3", timeout: float = 30.0, seed: int = 1, search_states: int = 5_000_000, cache: bool = True,
    invariants: Invariants = (), **bounds: int | str,
) -> Result:  # fmt: skip
    """Prove invariants and step properties for any number of steps, by induction.

    What is not proven is `Unknown`, with the reason. The other arguments are those of `explore`.

    Args:
        solver: `z3` or `bitwuzla`.
        bounds: numbers by name, or "any" for a bound of which the system says that it may be any.
        timeout: seconds for one query.
        seed: of the solver.
        search_states: states explored to tell whether a counterexample to induction is reachable; 0: none.

    Raises:
        Refusal: in one line, for what cannot be asked.
        EngineDisagreement: when ints do not confirm what compiled code or a solver says.
    """
    check_numbers(0, seed=seed, search_states=search_states)
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not 0 < timeout < math.inf:
        raise Refusal(f"timeout takes seconds above 0, not {timeout!r}")
    check_choice("solver", solver, SOLVERS)
    check_solver(solver, None, False)
    added = expressions_of(invariants)
    request = ProofRequest(system, scope, bounds_of(bounds), rules, added.invariants, added.names)
    chosen, few = request.subject(), request.builders()
    refuse_liveness(chosen, "prove judges", properties, "; ask for other properties here")
    check_switches(chosen, theory)
    subject_ = request.build()
    only = check_only(chosen.name, subject_, properties, added.names or added.invariants)
    check_endless(subject_, (solver, None), False)
    effort, begun = Effort(timeout, seed, False, solver), time.monotonic()

    def proven(stop: Stop) -> induction.Proof:
        return induction.prove(request.build, effort=effort, clock=time.monotonic, only=only, stop=stop, few=few)

    with faults_refused(chosen.name):
        proof = _interruptible(proven)
    budget = SearchBudget(threads_of(None), default_memory(), max_states=search_states, cache=cache, keep=True)
    evidence = search_evidence(
        request, proof, search_states, lambda traced: _interruptible(lambda stop: search(traced, budget, stop))
    )
    judged = judge(proof, evidence)
    verdicts, seconds = tuple(one.verdict for one in judged), time.monotonic() - begun
    code = worst_exit_code(one.verdict for one in verdicts)
    document = proof_report.document(chosen, proof, judged, seconds, effort, code, only)
    notes = [line.strip() for line in proof_report.notes(chosen, proof, seconds, (solver, None), only)]
    return Result(chosen, "prove", verdicts, tuple(subject_.claims), tuple(notes), code, document)
