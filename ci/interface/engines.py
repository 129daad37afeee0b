"""The engines as functions: what the commands answer, as values; and runs that have finished, to be asked more."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import evolve, field, fields, frozen

from kraftcheck.ci.conformance.kafka.build import Build
from kraftcheck.ci.conformance.kafka.tour.explore import explore_classes, rules_of
from kraftcheck.ci.dataset.options import ClusterOptions, dataset_place
from kraftcheck.ci.explore.serve.finished import opened_run, opened_trace
from kraftcheck.ci.explore.trace import load, replayed
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
from kraftcheck.ci.run.result import Result, check_out, frame_of, keep_traces
from kraftcheck.ci.run.walks import walks_of
from kraftcheck.ci.systems.subject import Subject, bounds_of, program, refuse_liveness, subject
from kraftcheck.ci.systems.switches import check_switches
from kraftcheck.ci.terminal import machine
from kraftcheck.ci.terminal.files import check_named
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
from kraftcheck.solvers.program.verdict import Trace
from kraftcheck.solvers.smt.queries import SOLVERS, Effort
from kraftcheck.solvers.smt.theory import theory
from kraftcheck.solvers.traces.itf import TraceError
from kraftcheck.solvers.traces.render import BrokenTrace
from kraftcheck.solvers.walks.walker import SCHEDULES, WalkPlan
from kraftcheck.solvers.walks.walks import Walks

R = TypeVar("R")

FilePath = str | os.PathLike[str]  # where something is: a path, or a name for one

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
    request.ask_a_number()
    chosen = request.subject()
    check_bounds(chosen.system, prove)
    if properties:
        refuse_liveness(chosen, "prove judges", properties, "; ask for other properties here")
    check_switches(chosen, theory)
    built = request.build()
    only = check_only(chosen.name, built, properties, added.names or added.invariants)
    check_endless(built, (solver, None), False)
    budget = search_budget(threads_of(None), default_memory(), max_states=search_states, cache=cache, keep=True)
    with limited(time_limit):
        return ProofQuestion(request, Effort(within(timeout), seed, False, solver), only, 1, budget).answer().result()


if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from kraftcheck.ci.dataset.duckdb_engine import DuckDBEngine
    from kraftcheck.ci.dataset.engine import Answer
    from kraftcheck.ci.dataset.store.dataset import Dataset

Place = str | os.PathLike[str]

MOST_ROWS = 1_000_000  # rows of an answer, unless more are asked for
STATES = "SELECT * FROM states"  # the question that `FinishedRun.arrow` and `pandas` ask of themselves


@frozen
class FinishedRun:
    """A finished run in a folder, or a trace file."""

    subject: Subject = field(repr=False)  # the system at its setting
    traces: Mapping[str, Trace] = field(repr=False)  # counterexamples and witnesses by property, each replayed on ints
    # the report; None of a dataset, and of a trace file
    document: Mapping[str, Any] | None = field(default=None, repr=False)
    complete: bool | None = None  # whether a dataset holds the whole space; None without one
    _out: str = field(default="", repr=False)

    def __str__(self) -> str:
        """The subject, and how many traces there are."""
        return f"{self.subject.title()}: {len(self.traces)} trace{'s' * (len(self.traces) != 1)}"

    def sql(self, sql: str, limit: int = MOST_ROWS) -> Answer:
        """The answer to a question in SQL; raises Refusal for a run without a dataset, and as `kraftcheck.query`."""
        return query(self._dataset(), sql, limit=limit)

    def arrow(self, sql: str = STATES) -> Any:
        """Every row of a question as an Arrow table, by default each state; raises Refusal as `sql`."""
        with _asking(self._dataset(), "used", None) as engine:
            return engine.table(sql)

    def pandas(self, sql: str = STATES) -> Any:
        """The table of `arrow` as a pandas data frame, whose columns stay those of Arrow; raises Refusal as `sql`."""
        return frame_of(self.arrow(sql))

    def spark(self, session: Any) -> dict[str, Any]:
        """The views as data frames of your Spark session, which stays open: `states`, `transitions` and `levels`.

        They are temporary views of the session too, with the SQL function `has`. Files are compared with
        their digests first.

        Raises:
            Refusal: for a run without a dataset, and for a damaged file.
        """
        from kraftcheck.ci.dataset.store.dataset import check_files
        from kraftcheck.ci.spark.query_engine import register

        data = self._dataset()
        check_files(data.log, data.commits)
        register(session, data, computes=True)
        return {view: session.table(view) for view in ("states", "transitions", "levels")}

    def _dataset(self) -> Dataset:
        if self.complete is None:
            raise Refusal(f"{self._out} has no dataset; explore with engine='disk' or 'spark'")
        return _dataset(self._out, None if self.subject.shipped else self.subject.name)


def open_run(out: Place, *, system: str | None = None) -> FinishedRun:
    """The finished run in a folder `out`, or in a trace file; the traces are replayed on ints.

    Args:
        out: the folder, a trace file (ITF JSON), or the URL of a dataset.
        system: the system, `module:attribute`, where it is one of your own: its module is run.

    Raises:
        Refusal: in one line, for what cannot be read or does not fit.
        EngineDisagreement: when ints do not confirm a trace.
    """
    place = dataset_place(os.fspath(out))
    if not isinstance(place, Path) or (place / "run.json").exists():
        data = _dataset(out, system)
        chosen = data.traced()[0]
        paths = sorted(place.glob("*.itf.json")) if isinstance(place, Path) else []
        return FinishedRun(chosen, _traces(paths, system), None, data.complete, os.fspath(out))
    found = opened_run(place, system) if place.is_dir() else opened_trace(place, system)
    return FinishedRun(found.chosen, _traces(found.traces, system), found.document, None, os.fspath(out))


def _traces(paths: list[Path] | tuple[Path, ...], system: str | None) -> dict[str, Trace]:
    traces = [_trace(path, system) for path in paths]
    return {trace.claim: trace for trace in traces}


def _trace(path: Path, system: str | None) -> Trace:
    chosen, recipe = load(path, system)
    try:
        return replayed(recipe, program(chosen))[1]
    except (TraceError, BrokenTrace) as error:
        raise Refusal(f"{path}: {error}") from error


def query(
    out: Place | Dataset, sql: str, *, limit: int = MOST_ROWS, system: str | None = None, verify: str = "used",
    threads: int | None = None,
) -> Answer:  # fmt: skip
    """Ask the space that `explore` with the engine disk or spark left: DuckDB answers.

    Args:
        out: the dataset, a folder or a URL; or an open one.
        sql: one question about the views `states`, `transitions` and `levels`.
        limit: most rows.
        system: as of `open`.
        verify: `used`, `all` or `none`: the level files whose digests are compared before they are read.
        threads: of DuckDB; every processor by default.

    Raises:
        Refusal: in one line, for what is no question, is not understood, or reads a damaged file.
    """
    from kraftcheck.ci.explore.export import VERIFY

    check_choice("verify", verify, VERIFY)
    check_numbers(1, limit=limit, threads=threads)
    data = _dataset(out, system) if isinstance(out, str | os.PathLike) else out
    with _asking(data, verify, threads) as engine:
        return evolve(engine.ask(sql, limit), complete=data.complete)


def _asking(data: Dataset, verify: str, threads: int | None) -> AbstractContextManager[DuckDBEngine]:
    from kraftcheck.ci.dataset.duckdb_engine import duckdb_engine

    return duckdb_engine(data, threads_of(threads), verify)


def _dataset(out: Place, system: str | None) -> Dataset:
    from kraftcheck.ci.dataset.store.dataset import Dataset
    from kraftcheck.ci.spark.session import check_pyarrow

    check_pyarrow()
    data = Dataset.open(dataset_place(os.fspath(out)), verify=False)
    check_named(os.fspath(out), data.of["system"], system)
    return data
