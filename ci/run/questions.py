"""Questions to engines about one subject, as every door asks them: a search of all states, or for one; random walks."""

from __future__ import annotations

import hashlib
import json
import shlex
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click
from attrs import evolve, field, frozen

from kraftcheck.ci.dataset.options import ClusterOptions, DatasetPart
from kraftcheck.ci.dataset.store.objects import AnyPath
from kraftcheck.ci.run.judged import judged, judged_by_walks
from kraftcheck.ci.run.result import Result
from kraftcheck.ci.run.walks import Walked, flags_of
from kraftcheck.ci.spark.session import check_packages
from kraftcheck.ci.systems import report
from kraftcheck.ci.systems.lookup import at_fault
from kraftcheck.ci.systems.subject import Subject, program
from kraftcheck.ci.terminal.files import folder, read_json, replace
from kraftcheck.ci.terminal.interrupts import Interrupted
from kraftcheck.ci.terminal.machine import cache_folder, cache_of
from kraftcheck.ci.terminal.progress import WholeSize, progress_meter, run_interruptibly, stop_flag
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.language.layout import LayoutError
from kraftcheck.model.language.symmetry import SymmetryError
from kraftcheck.solvers.exploration.explore import Exploration, SearchBudget, SearchProgress, explore
from kraftcheck.solvers.expressions.checking import ExpressionError
from kraftcheck.solvers.expressions.expression import search_for
from kraftcheck.solvers.machine_code.lower import LoweringError
from kraftcheck.solvers.program.fingerprint import fingerprint
from kraftcheck.solvers.program.parts import SystemFault, ask
from kraftcheck.solvers.program.premises import NO_CONTENT_OF_GOALS, is_valid
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.stop import is_stop
from kraftcheck.solvers.program.verdict import Holds, PropertyVerdict, Refuted, Vacuous, worst_exit_code
from kraftcheck.solvers.search.levels import DEFAULT_MEMORY, FIRST_VIOLATION
from kraftcheck.solvers.search.orders import OrdersError, by_orders
from kraftcheck.solvers.search.symmetry import reduced
from kraftcheck.solvers.walks.walker import WalkPlan
from kraftcheck.solvers.walks.walks import Walks

MOST_BYTES = 1 << 12
WORTH_SECONDS = 1.0  # sizes of searches that took less are not kept: nobody waits for them


def size_file(traced: Program) -> Path:
    """Where the size of a program's space is kept; one that is reduced, by symmetry or in its orders, is another."""
    reduced = (traced.reduction is not None, traced.orders is not None)
    key = hashlib.sha256(f"{fingerprint(traced)} {reduced}".encode()).hexdigest()
    return cache_folder() / "sizes" / f"{key}.json"


def earlier_size(traced: Program) -> WholeSize | None:
    """The size that an earlier run found; None where there was none, or its file is damaged."""
    try:
        content = read_json(size_file(traced), MOST_BYTES, follow=False)
        distinct, generated = content["distinct"], content["generated"]
    except (Refusal, KeyError, TypeError):  # an estimate is lost, and the next whole run writes it again
        return None
    whole = type(distinct) is int and type(generated) is int and 0 < distinct <= generated
    return WholeSize(distinct, generated) if whole else None


def keep_size(traced: Program, result: Exploration) -> str | None:
    """Keep the size of a space that was explored whole and took a while; returns what went wrong, if anything."""
    if result.cut is not None or result.seconds < WORTH_SECONDS:
        return None
    place, size = size_file(traced), {"distinct": result.distinct, "generated": result.generated}
    try:
        replace(folder(place.parent) / place.name, json.dumps(size))
    except (Refusal, OSError) as error:
        return f"the size of this space is not kept for estimates: {error}"
    return None


def search_budget(
    threads: int = 1, memory: int = DEFAULT_MEMORY, *, cache: bool = True, keep: bool = False, **limits: Any
) -> SearchBudget:
    """A budget as every door has it: compiled code is kept, and states are not, unless they are asked for."""
    return SearchBudget(memory, threads=threads, cache_dir=cache_of(cache), keep=keep, **limits)


def search(
    traced: Program, budget: SearchBudget, stop: threading.Event | None = None,
    progress: Callable[[SearchProgress], None] | None = None, on_compile: Callable[[], None] | None = None,
    symmetry: str = "--symmetry on",
) -> Exploration:  # fmt: skip
    """The search of a program within a budget, and by `symmetry`; raises Refusal, and EngineDisagreement."""
    try:
        return explore(traced, budget, clock=time.monotonic, progress=progress, stop=stop, on_compile=on_compile)
    except (LoweringError, SystemFault) as error:
        raise at_fault(traced.system.name, traced.system, traced.setting, error) from error
    except SymmetryError as error:
        raise Refusal(f"{symmetry}: {error}") from error


def run(traced: Program, budget: SearchBudget, quiet: bool, search: Callable[..., Exploration] = search) -> Exploration:
    """Explore, with progress and the time that an earlier run took; signals cut it; raises as `search`, Interrupted."""
    begin_event = threading.Event()
    expected = earlier_size(traced) if not quiet and budget.cache_dir and not budget.limited else None
    with stop_flag(awaits_report=True) as stop, progress_meter(quiet, expected) as meter:

        def note(progress: SearchProgress) -> None:
            begin_event.set()
            if meter is not None:
                meter(progress)

        compiling = None if meter is None else meter.compiling
        result = run_interruptibly(lambda: search(traced, budget, stop, note, compiling), stop, begin_event)
    keeps = budget.cache_dir and not budget.limited and result.answers is None  # another's steps are another space
    warning = keep_size(traced, result) if keeps else None
    if warning is not None:
        click.echo(f"warning: {warning}", err=True)
    return result


def run_to_end(traced: Program, budget: SearchBudget, quiet: bool, title: str) -> Exploration:
    """Explore as `run` does; where a signal stops the search, raise Interrupted with its title."""
    result = run(traced, budget, quiet)
    if is_stop(result.cut):
        raise Interrupted(f"stopped in the search of {title}")
    return result


Decorated = TypeVar("Decorated", bound=Callable[..., object])

NONE, ORDERS = "none", "orders"
OFF, ON, PROVEN = "off", "on", "proven"


def reduction_options(command: Decorated) -> Decorated:
    """The options `--symmetry` and `--reduce`."""
    command = click.option(
        "--reduce", type=click.Choice([NONE, ORDERS]), default=NONE, show_default=True,
        help="orders: leave out orders of independent steps; traces may be longer than the shortest.",
    )(command)  # fmt: skip
    return click.option(
        "--symmetry", type=click.Choice([ON, PROVEN, OFF]), default=OFF, show_default=True,
        help="Explore states that differ by names alone once; proven: by what Z3 proves of the rules.",
    )(command)  # fmt: skip


def option(name: str, value: str) -> str:
    """A reduction as the command line spells it."""
    return f"--{name} {value}"


def argument(name: str, value: str) -> str:
    """A reduction as Python spells it."""
    return f"{name}={True if value == ON else value!r}"


def symmetry_of(value: bool | str) -> str:
    """The symmetry of an argument in Python, as the option has it; refuses what is none."""
    for one, spelled in ((False, OFF), (True, ON), (PROVEN, PROVEN)):
        if value == one:
            return spelled
    raise Refusal(f"symmetry takes False, True or {PROVEN!r}, not {value!r}")


def reduced_program(chosen: Subject, symmetry: str, reduce: str, spelled: Callable[[str, str], str]) -> Program:
    """The subject traced, to be explored with these reductions, `spelled` so; raises Refusal where they do not fit."""
    if reduce not in (NONE, ORDERS):
        raise Refusal(f"reduce is {reduce!r}, none of {NONE}, {ORDERS}")
    if reduce == ORDERS and symmetry != OFF:
        both = f"{spelled('reduce', reduce)} cannot be combined with {spelled('symmetry', symmetry)}"
        raise Refusal(f"{both}; take one of the two")
    traced = program(chosen)
    try:
        if reduce == ORDERS:
            return by_orders(traced)
        if symmetry == PROVEN:
            from kraftcheck.solvers.smt.symmetry_proof import by_proven_symmetry

            return by_proven_symmetry(traced)
        return reduced(traced) if symmetry == ON else traced
    except OrdersError as error:
        raise Refusal(f"{spelled('reduce', reduce)}: {error}") from error
    except SymmetryError as error:
        raise Refusal(f"{spelled('symmetry', symmetry)}: {error}") from error


FOUND = "the search ended where it was found"  # why a search for a state is not complete


def searched(chosen: Subject, text: str) -> Subject:
    """The subject whose search ends at the first state of an expression; raises Refusal where that does not fit."""
    listing = f"kraftcheck step {shlex.quote(chosen.name)}"
    try:
        shape = ask("layout", lambda: chosen.system.layout(chosen.setting))
        return evolve(chosen, system=search_for(chosen.system, text, shape, listing))
    except (ExpressionError, SystemFault, LayoutError) as error:
        raise chosen.at_fault(error) from error


def located(result: Exploration) -> Exploration:
    """The search for a state, with its one verdict said of the goal: shown, not reachable (vacuous), or incomplete."""
    (claim,) = result.program.always
    one = result.verdict(claim.id)
    verdict = one.verdict
    if is_valid(result.program.graph.lift(result.program.graph.negate(result.program.always_terms[0]))):
        verdict = Vacuous(claim.id, NO_CONTENT_OF_GOALS)
    elif isinstance(verdict, Refuted):
        trace = evolve(verdict.trace, kind="sometimes", failing=())
        verdict = Holds("a state that satisfies it is reachable", trace)
    elif isinstance(verdict, Holds):
        verdict = Vacuous(claim.id, f"not reachable: none of {verdict.bound} satisfies it")
    elif isinstance(verdict, Vacuous):  # the domains exclude it already
        verdict = Vacuous(claim.id, f"not reachable: none of all {result.distinct:,} states satisfies it")
    ended = FOUND if result.cut == FIRST_VIOLATION else result.cut
    return evolve(result, verdicts=(PropertyVerdict(claim.id, "sometimes", verdict, one.depth),), cut=ended)


def last_line(result: Exploration, code: int) -> str:
    """The outcome, with the exit code."""
    (verdict,) = result.verdicts
    words = {Holds: f"found in {report.steps_text(verdict.depth or 0)}", Vacuous: "not reachable"}
    if isinstance(verdict.verdict, Vacuous) and verdict.verdict.reason == NO_CONTENT_OF_GOALS:
        return f"nothing is shown (exit {code})"
    return f"{words.get(type(verdict.verdict), 'incomplete')} (exit {code})"


ENGINES = ("native", "disk", "spark")
OF_DISK = {"--handover", "--buckets", "--resume", "--repair"}
"""Options of a run with a dataset; the others are of a cluster."""

NativeSearch = Callable[[Program, SearchBudget], Exploration]
"""A search in memory: with progress and stopped by signals, or as Python asks for it."""


@frozen
class SearchQuestion:
    """The question for an explorer: which properties hold in every reachable state."""

    chosen: Subject  # the subject; for `find` the one whose search ends at a state that satisfies the expression
    budget: SearchBudget  # resources and limits
    engine: str = "native"  # native, disk or spark
    # symmetry, reduce: as the options have them
    symmetry: str = OFF
    reduce: str = NONE
    find: str | None = None  # the expression of the state that is looked for, if one is
    cluster: ClusterOptions = field(factory=ClusterOptions)  # options of disk and spark
    out: AnyPath | None = None  # where these commit their levels
    session: Any = None  # of Spark, a caller's; None: one of its own
    spelled: Callable[[str, str], str] = option  # how the user has written a reduction, for refusals

    def traced(self) -> Program:
        """The subject traced, to be explored with these options; raises Refusal where engine or reduction misfit."""
        for name, value, without in (("reduce", self.reduce, NONE), ("symmetry", self.symmetry, OFF)):
            if value != without and self.chosen.kafka:
                raise Refusal(f"{self.spelled(name, value)} is of the rules; Kafka's classes are explored without it")
            if value != without and self.engine != "native":
                works = self.spelled(name, value)
                raise Refusal(f"{works} works with {self.spelled('engine', 'native')}, not with {self.engine}")
        if self.reduce == ORDERS and self.find:
            orders, find = self.spelled("reduce", ORDERS), self.spelled("find", "").removesuffix("=''").strip()
            raise Refusal(f"{find} asks for the shortest way, which {orders} may leave out; leave out one of the two")
        return reduced_program(self.chosen, self.symmetry, self.reduce, self.spelled)

    def flags(self) -> tuple[str, ...]:
        """The options of the command that asks again."""
        reductions = [f"--symmetry={self.symmetry}"] * (self.symmetry != OFF)
        return (*["--strict"] * self.budget.strict, *reductions, *[f"--reduce={self.reduce}"] * (self.reduce != NONE))

    def result(self, traced: Program, native: NativeSearch, quiet: bool = True) -> Result:
        """The answer, of other engines `quiet` if so; raises Refusal for options, EngineDisagreement."""
        _check_flags(self.engine, self.cluster.used_flags() + ["session"] * (self.session is not None))
        if self.engine == "native":
            return self._result(native(traced, self.budget), None)
        return self._result(*self._committed(traced, quiet))

    def _committed(self, traced: Program, quiet: bool) -> tuple[Exploration, DatasetPart]:
        check_packages(self.engine)
        # The modules below import packages that are there only with an extra.
        from kraftcheck.ci.dataset.search.committed import DiskEngine, LevelEngine, explore_committed

        engine: LevelEngine[Any]
        if self.engine == "disk":
            engine = DiskEngine(self.budget.threads, self.budget.memory)
        else:
            from kraftcheck.ci.spark.explore import SparkEngine

            engine = SparkEngine.of(self.cluster, self.budget, self.session)
        kept = None if self.out is None else str(self.out)
        try:
            return explore_committed(self.chosen, traced, self.budget, self.cluster, engine, kept, quiet)
        except LoweringError as error:
            raise self.chosen.at_fault(error) from error

    def _result(self, found: Exploration, dataset: DatasetPart | None) -> Result:
        if self.find:
            found = located(found)
        code = worst_exit_code(one.verdict for one in found.verdicts)
        part, more = (None, []) if dataset is None else (dataset.document(), dataset.lines())
        whole = evolve(found, cut=None) if found.cut == FOUND else found
        return Result(
            self.chosen, "explore", found.verdicts, found.program.claims,
            (*(f"warning: {warning}" for warning in found.warnings), *report.summary(whole), *more), exit_code=code,
            document=report.document(self.chosen, found, part, self.engine), program=found.program,
            rows=judged(self.chosen, found.verdicts, shortest=found.shortest),
            last_line=last_line(found, code) if self.find else report.last_line(found.verdicts, code),
            size=f"{found.distinct:,} distinct states, depth {found.depth}",
            seconds=found.seconds, options=self.flags(), exploration=found, shortest=found.shortest,
        )  # fmt: skip


@frozen
class WalkQuestion:
    """The question for random walks: which properties some of them break, and which goals they reach."""

    chosen: Subject
    plan: WalkPlan
    files: Sequence[Path] = ()  # the traces at whose ends the walks start, as the command line names them
    long_searches: int = 3  # counterexamples that are worth a long search for a shorter run

    def result(self, traced: Program, walk: Callable[[Program, WalkPlan], Walks]) -> Result:
        """The answer; raises Refusal as `walks_of`, and EngineDisagreement where ints differ from the code."""
        walked = Walked.of(self.chosen, self.plan, walk(traced, self.plan), self.long_searches)
        return Result(
            self.chosen, "simulate", walked.verdicts(), traced.claims, tuple(walked.summary()),
            exit_code=walked.exit_code(),
            document=walked.document(), program=traced, rows=judged_by_walks(walked), last_line=walked.last_line(),
            size=f"{walked.walks.runs:,} random walks, {walked.walks.steps:,} steps",
            seconds=walked.walks.seconds, options=flags_of(self.plan, self.files), walked=walked, shortest=False,
        )  # fmt: skip


def _check_flags(engine: str, used: list[str]) -> None:
    foreign = [flag for flag in used if engine == "native" or (engine == "disk" and flag not in OF_DISK)]
    if foreign:
        engines = "disk or spark" if foreign[0] in OF_DISK else "spark"
        raise Refusal(f"{foreign[0]} is an option of --engine {engines}")
