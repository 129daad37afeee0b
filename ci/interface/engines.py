"""The engines as Python functions: `kraftcheck.explore`, `kraftcheck.simulate` and `kraftcheck.prove`."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import signature
from typing import Any, TypeVar

from attrs import evolve, fields

from kraftcheck.ci.conformance.kafka.build import Build
from kraftcheck.ci.conformance.kafka.tour.explore import explore_classes, rules_of
from kraftcheck.ci.dataset.options import ClusterOptions, dataset_place
from kraftcheck.ci.prove.command import check_endless, check_solver
from kraftcheck.ci.prove.question import MOST_STATES, ProofQuestion, check_only
from kraftcheck.ci.prove.request import ProofRequest
from kraftcheck.ci.run.questions import (
    ENGINES,
    NONE,
    SearchQuestion,
    WalkQuestion,
    argument,
    search,
    search_budget,
    searched,
    symmetry_of,
)
from kraftcheck.ci.run.result import Result, check_out, keep_traces
from kraftcheck.ci.run.walks import walks_of
from kraftcheck.ci.systems.subject import Subject, bounds_of, program, refuse_liveness, subject
from kraftcheck.ci.systems.switches import check_switches
from kraftcheck.ci.terminal import machine
from kraftcheck.ci.terminal.interrupts import limited, within
from kraftcheck.ci.terminal.machine import cache_of, default_memory
from kraftcheck.ci.terminal.progress import interruptible
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.language.system import System
from kraftcheck.model.nearest import nearest
from kraftcheck.solvers.audit.sampling import DEFAULT, Sampling
from kraftcheck.solvers.exploration.explore import Exploration, SearchBudget, SearchProgress
from kraftcheck.solvers.expressions.expression import Expressions
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.smt.queries import SOLVERS, Effort
from kraftcheck.solvers.smt.theory import theory
from kraftcheck.solvers.walks.walker import SCHEDULES, WalkPlan
from kraftcheck.solvers.walks.walks import Walks

R = TypeVar("R")

FilePath = str | os.PathLike[str]
"""Where something is: a path, or a name for one."""

Invariants = Mapping[str, str] | Iterable[str]
"""Expressions by the names that they get as properties, or expressions that are named by their texts."""


def check_bounds(of: System, engine: Callable[..., Any]) -> None:
    """Refuse a system with a bound that an argument of an engine hides: what is given would be that argument's."""
    for name in (bound.name for bound in of.bounds):
        if name.replace("-", "_") in signature(engine).parameters:
            raise Refusal(f"{of.name}: {name} is an argument of {engine.__name__}(); give bound {name!r} another name")


def check_numbers(least: int, **numbers: int | None) -> None:
    """Refuse what is no int, and ints below the least that makes sense; None stands for a default."""
    for name, value in numbers.items():
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < least):
            raise Refusal(f"{name} takes an int of at least {least}, not {value!r}")


def expressions_of(invariants: Invariants, when: str = "", invariant: str = "") -> Expressions:
    """Expressions as the command line takes them, with the names that they have; refuses what are none."""
    named = dict(invariants) if isinstance(invariants, Mapping) else {}
    texts, names = list(named.values() or invariants), list(named)
    if isinstance(invariants, str) or not all(isinstance(text, str) and text.strip() for text in (*texts, *names)):
        raise Refusal(f"invariants takes expressions by name, {{'led': 'a in b'}}, or a list, not {invariants!r}")
    if not isinstance(invariant, str) or (invariant and named):
        raise Refusal(f"invariant takes one expression, beside no named invariants, not {invariant!r}")
    texts += [invariant] * bool(invariant)
    if when and not texts:
        raise Refusal("when says where invariants have to hold; give one")
    return Expressions(tuple(texts), when, names=tuple(name.strip() for name in names))


def record_of(kind: type[R], name: str, values: Mapping[str, Any] | None) -> R:
    """A record of options from a mapping of their names; refuses a name that it does not have."""
    offered = [one.name for one in fields(kind)]  # type: ignore[arg-type]
    for key in values or {}:
        if key not in offered:
            raise Refusal(f"{name} has no option {key!r}; {nearest(key, offered)}")
    return kind(**(values or {}))


def check_choice(name: str, value: str, choices: Iterable[str]) -> None:
    """Refuse a value that is not one of some."""
    if value not in choices:
        raise Refusal(f"{name} is {value!r}, none of {', '.join(choices)}")


def threads_of(threads: int | None) -> int:
    """How many threads: every processor that this process may use by default."""
    return threads if threads is not None else machine.cores()


def explore(
    system: str | System, *, scope: str | None = None, rules: str | None = None, properties: Sequence[str] = (),
    threads: int | None = None, memory: int | None = None, max_depth: int | None = None,
    max_states: int | None = None, stop_at_first: bool = False, strict: bool = False, symmetry: bool | str = False,
    reduce: str = NONE, sampling: Sampling = DEFAULT, keep: bool = True, cache: bool = True,
    progress: Callable[[SearchProgress], None] | None = None, invariants: Invariants = (), invariant: str = "",
    when: str = "", find: str | None = None, engine: str = "native", out: str | os.PathLike[str] | None = None,
    cluster: Mapping[str, Any] | None = None, session: Any = None, time_limit: str | None = None,
    kafka: FilePath | None = None, like: str | None = None, **bounds: int,
) -> Result:  # fmt: skip
    """Explore every reachable state.

    Args:
        system: a name from `kraftcheck list`, `module:attribute`, or a system of your own.
        scope, rules: preset bounds, the first by default; rule set, `PRESET[+VARIANT|-VARIANT...]`.
        properties: ids of those to judge, beside `deadlock`; all by default.
        threads, memory: what to use at most, in bytes; by default every processor, and what the command uses.
        max_depth, max_states, time_limit: limits, in steps, states, time ("1h30m"); past them verdicts are incomplete.
        stop_at_first, strict: end at the first violation; what a declared cap cuts is incomplete too.
        symmetry, reduce: explore states that differ by names alone once, "proven" by what Z3 proves of the rules;
            "orders" leaves out orders of independent steps, so that traces may be longer.
        sampling, keep, cache: how much is audited on ints; whether states, and compiled code, are kept.
        progress: called now and then, on another thread, with how far the search is; of the engine native.
        invariants, invariant: expressions to judge too, by the names that they get as properties, or a list; or one.
        when: an expression; each of these has to hold only in states that satisfy it.
        find, engine: judge nothing, and search the shortest way to such a state; "native", "disk" or "spark".
        out: the folder for counterexamples and the report; of disk and spark the dataset, which may be a URL.
        cluster, session: options by name, as `{"resume": True}`; the `SparkSession` that spark uses and never stops.
        kafka, like: explore this build's own controller in place of the rules; the release that completes it.
        bounds: single bounds by name, with `_` for `-`.

    Raises:
        Refusal: in one line, for what cannot be asked.
        EngineDisagreement: when ints do not confirm what compiled code says.
    """
    check_numbers(1, threads=threads, memory=memory, max_states=max_states)
    check_numbers(0, max_depth=max_depth)
    build, rules = _build_of(kafka, like, rules, engine, sampling)
    added = expressions_of(invariants, when, invariant)
    words = () if kafka is None else tuple(filter(None, (os.fspath(kafka), like or "")))
    chosen = evolve(subject(system, scope, bounds_of(bounds), rules, properties, expressions=added), kafka=words)
    budget = search_budget(threads_of(threads), memory or default_memory(), cache=cache, keep=keep, max_depth=max_depth,
                           max_states=max_states, stop_at_first=stop_at_first or find is not None, strict=strict,
                           sampling=sampling)  # fmt: skip
    chosen = _located(chosen, find, bool(added.invariants or properties or stop_at_first))
    question = SearchQuestion(chosen, budget, engine, symmetry_of(symmetry), reduce, find=find, spelled=argument,
                              out=None if out is None else dataset_place(os.fspath(out)),
                              cluster=record_of(ClusterOptions, "cluster", cluster), session=session)  # fmt: skip
    with limited(time_limit):
        return _explored(question, progress, build)


def _build_of(
    kafka: FilePath | None, like: str | None, rules: str | None, engine: str, sampling: Sampling
) -> tuple[Build | None, str | None]:
    """The build whose classes are explored, and the rules beside it; None where the rules themselves are."""
    if kafka is None:
        if like is not None:
            raise Refusal("like completes a build of Kafka; name one with kafka")
        return None, rules
    if engine != "native" or sampling != DEFAULT:
        raise Refusal("engine and sampling are of engines that run the rules, not of kafka; leave them out")
    build = Build.of(os.fspath(kafka), like)
    return build, rules_of(build, rules)


def _located(chosen: Subject, find: str | None, judges: bool) -> Subject:
    """The subject whose search ends at a state that satisfies an expression; itself where none is looked for."""
    if find is None:
        return chosen
    if judges:
        raise Refusal("find judges no property; leave out invariants, properties and stop_at_first")
    return searched(chosen, find)


def _explored(
    question: SearchQuestion, progress: Callable[[SearchProgress], None] | None, build: Build | None
) -> Result:
    """The answer to a search, of a build's classes where one is given; what it leaves in its folder is written."""
    check_bounds(question.chosen.system, explore)
    check_choice("engine", question.engine, ENGINES)
    check_out(question.out, question.engine)
    traced = question.traced()
    check_switches(question.chosen)
    spelled = argument("symmetry", question.symmetry)

    def native(traced: Program, budget: SearchBudget) -> Exploration:
        if build is not None:
            return interruptible(lambda stop: explore_classes(build, traced, budget, stop, progress))
        return interruptible(lambda stop: search(traced, budget, stop, progress, symmetry=spelled))

    result = question.result(traced, native)
    if question.out is not None:
        keep_traces(question.out, result, question.engine, question.find is not None)
    return result


def simulate(
    system: str | System, *, scope: str | None = None, rules: str | None = None, properties: Sequence[str] = (),
    runs: int = 1000, steps: int = 1000, seed: int = 1, schedule: str = "both", threads: int | None = None,
    strict: bool = False, cache: bool = True, invariants: Invariants = (), invariant: str = "", when: str = "",
    time_limit: str | None = None, **bounds: int,
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
    added = expressions_of(invariants, when, invariant)
    chosen = subject(system, scope, bounds_of(bounds), rules, properties, expressions=added)
    check_bounds(chosen.system, simulate)
    check_switches(chosen)
    plan = WalkPlan(runs, steps, seed, schedule, threads=threads_of(threads), cache_dir=cache_of(cache), strict=strict)

    def walk(traced: Program, plan: WalkPlan) -> Walks:
        return interruptible(lambda stop: walks_of(traced, plan, stop))

    with limited(time_limit):
        return WalkQuestion(chosen, plan).result(program(chosen), walk)


def prove(
    system: str | System, *, scope: str | None = None, rules: str | None = None, properties: Sequence[str] = (),
    solver: str = "z3", timeout: float = 30.0, seed: int = 1, search_states: int = MOST_STATES, cache: bool = True,
    invariants: Invariants = (), invariant: str = "", time_limit: str | None = None, **bounds: int | str,
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
    added = expressions_of(invariants, "", invariant)
    request = ProofRequest(system, scope, bounds_of(bounds), rules, added.invariants, names=added.names)
    chosen = request.subject()
    check_bounds(chosen.system, prove)
    refuse_liveness(chosen, "prove judges", properties, "; ask for other properties here")
    check_switches(chosen, theory)
    built = request.build()
    only = check_only(chosen.name, built, properties, added.names or added.invariants)
    check_endless(built, (solver, None), False)
    budget = search_budget(threads_of(None), default_memory(), max_states=search_states, cache=cache, keep=True)
    with limited(time_limit):
        return ProofQuestion(request, Effort(within(timeout), seed, False, solver), only, 1, budget).answer().result()
