"""Random walks: what is drawn, with progress, and stopped by signals; and their report, for people and machines."""

from __future__ import annotations

import functools
import itertools
import pickle
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, wait
from pathlib import Path
from typing import Any

from attrs import evolve, frozen

from kraftcheck.ci.run.fanout import Cluster, Shard, check_same
from kraftcheck.ci.systems import assurance
from kraftcheck.ci.systems.lookup import at_fault
from kraftcheck.ci.systems.report import DEADLOCK_FAILS, DOCUMENT_VERSION, pruning_rows, steps_text, versions
from kraftcheck.ci.systems.subject import Subject, program
from kraftcheck.ci.terminal.machine import cache_folder
from kraftcheck.ci.terminal.progress import progress_meter, run_interruptibly, stop_flag
from kraftcheck.model.language.system import LIVENESS
from kraftcheck.solvers.machine_code.lower import LoweringError
from kraftcheck.solvers.machine_code.threads import ThreadPool
from kraftcheck.solvers.program.parts import SystemFault
from kraftcheck.solvers.program.premises import checks_nothing, without_premises
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.verdict import (
    DEADLOCK,
    EXIT_DEADLOCK,
    EXIT_INCOMPLETE,
    EXIT_SAFETY,
    EXIT_UNKNOWN,
    EXIT_VACUOUS,
    Holds,
    Incomplete,
    PropertyVerdict,
    Refuted,
    Trace,
    Unknown,
    Vacuous,
    Verdict,
    worst_first,
)
from kraftcheck.solvers.traces.itf import trace_document
from kraftcheck.solvers.traces.render import lines
from kraftcheck.solvers.walks.walker import Walker, WalkPlan, walks_key
from kraftcheck.solvers.walks.walks import (
    Chunks,
    WalkedChunk,
    WalkFinding,
    WalkProgress,
    Walks,
    chunk_ranges,
    confirm_findings,
    simulate,
    threaded,
    unknown_text,
    walked_chunk,
    with_suspects,
    witnesses,
)

WALKED = ("always", "step", "sometimes", "happens", DEADLOCK)
"""Kinds of properties that random walks judge: the others are about all runs at once."""

POINTS = 8  # points of the curve that are printed


def flags_of(plan: WalkPlan, files: Sequence[Path] = ()) -> tuple[str, ...]:
    """The options of the command line that draw the same walks; `files` are the traces at whose ends they start."""
    drawn = (f"--runs={plan.runs}", f"--steps={plan.steps}", f"--seed={plan.seed}", f"--schedule={plan.schedule}")
    weights = (f"--weight={name}={weight}" for name, weight in plan.weights.items())
    shard = [f"--shard={plan.shard}/{plan.shards}"] * (plan.shards > 1)
    return (*drawn, *weights, *(f"--from={path}" for path in files), *["--strict"] * plan.strict, *shard)


def walks_of(
    traced: Program, plan: WalkPlan, stop: threading.Event | None = None,
    progress: Callable[[WalkProgress], None] | None = None, on_compile: Callable[[], None] | None = None,
    chunks: Chunks = threaded,
) -> Walks:  # fmt: skip
    """The walks of a plan, as every door asks for them; raises Refusal for a term too wide, or no initial state."""
    try:
        return simulate(
            traced, plan, clock=time.monotonic, progress=progress, stop=stop, on_compile=on_compile, chunks=chunks
        )
    except (LoweringError, SystemFault) as error:
        raise at_fault(traced.system.name, traced.system, traced.setting, error) from error


AHEAD = 4  # chunks that are asked of an executor before they are taken, for each core


def walked_by(cluster: Cluster, chosen: Subject, quiet: bool) -> Chunks:
    """The chunks by the workers of a cluster, a chunk a task; the runs are those of one machine."""

    def chunks(walker: Walker, stop: threading.Event) -> Iterator[WalkedChunk]:
        from kraftcheck.ci.spark.executor import pickled  # Spark is an extra

        with cluster.executor(quiet) as executor:
            ask = functools.partial(_chunk_of, pickled((chosen, walker.made)), walks_key(walker.program))
            waiting = deque[Future[WalkedChunk]]()
            for numbers in itertools.chain(chunk_ranges(walker.made), [None]):
                if numbers is not None:
                    waiting.append(executor.submit(ask, numbers))
                while waiting and (numbers is None or len(waiting) > AHEAD * executor.cores):
                    while not stop.is_set() and not waiting[0].done():
                        wait([waiting[0]], timeout=0.1)  # later ones may be there already
                    if stop.is_set():
                        return
                    yield waiting.popleft().result()

    return chunks


def _chunk_of(asked: bytes, key: str, numbers: range) -> WalkedChunk:
    """The runs with these numbers, on a worker."""
    walker = _walker(asked)
    check_same(walks_key(walker.program), key)
    with ThreadPool(1) as pool:
        chunk = walked_chunk(walker, numbers, pool, threading.Event())
    assert chunk is not None  # nothing stops it
    return chunk


@functools.lru_cache(maxsize=1)
def _walker(asked: bytes) -> Walker:
    chosen, plan = pickle.loads(asked)
    plan = evolve(plan, threads=1, cache_dir=cache_folder())
    return Walker(without_premises(program(chosen, compared=False)), plan)


def walk(traced: Program, plan: WalkPlan, quiet: bool, chunks: Chunks = threaded) -> Walks:
    """Walk with progress; signals cut it; raises Refusal as `walks_of`, and Interrupted before the walks began."""
    begin_event = threading.Event()
    with stop_flag(awaits_report=True) as stop, progress_meter(quiet) as meter:

        def note(point: WalkProgress) -> None:
            begin_event.set()
            if meter is not None:
                meter.write_when_due(
                    f"{point.runs:,} of {len(plan.numbers):,} runs: {point.steps:,} steps, "
                    f"{point.distinct:,} distinct, {point.goals} goals reached"
                )

        compiling = None if meter is None else meter.compiling
        return run_interruptibly(lambda: walks_of(traced, plan, stop, note, compiling, chunks), stop, begin_event)


@frozen
class Walked:
    """Random walks of a subject, with what came out."""

    subject: Subject
    plan: WalkPlan
    walks: Walks  # as the engine reports them, with the lassos that they seem to show
    findings: tuple[WalkFinding, ...]  # what breaks a property, confirmed on ints
    witnesses: tuple[WalkFinding, ...]  # what shows a goal, confirmed on ints

    @classmethod
    def of(cls, chosen: Subject, plan: WalkPlan, walks: Walks, long_searches: int = 3) -> Walked:
        """The walks of a plan, looked through on ints; raises EngineDisagreement where these differ from the code."""
        starts = plan.runs_to_starts
        walks = with_suspects(walks, starts)
        return cls(chosen, plan, walks, confirm_findings(walks, starts, long_searches), witnesses(walks, starts))

    def traces(self) -> list[Trace]:
        """Every counterexample, suspected lasso and witness."""
        return [one.trace for one in (*self.findings, *self.walks.suspects, *self.witnesses)]

    def exit_code(self) -> int:
        """The exit code.

        12 or 11 for what is refuted, 20 when stopped or a domain was left, 22 for liveness, which walks do not judge,
        and where nothing that is asked is judged by walks; else 21 for a goal never reached or a property that checks
        nothing, and 0.
        """
        walks = self.walks
        codes = [EXIT_DEADLOCK if found.trace.kind == DEADLOCK else EXIT_SAFETY for found in self.findings]
        codes += [EXIT_INCOMPLETE] * (walks.cut is not None or walks.fault is not None)
        codes += [EXIT_UNKNOWN] * bool(walks.program.liveness.claims or self._in_vain())
        codes += [EXIT_VACUOUS] * bool(walks.goals_missed or checks_nothing(walks.program))
        return worst_first(codes)

    def verdicts(self) -> tuple[PropertyVerdict, ...]:
        """The verdicts: walks refute, and show goals; they never say that a property holds."""
        walks, judged = self.walks, []
        suspects = {one.trace.claim: one for one in walks.suspects}
        traces = {one.trace.claim: one.trace for one in (*self.findings, *self.witnesses)}
        size, empty = f"{walks.runs:,} random walks", checks_nothing(walks.program)
        for claim, kind in [*((one.id, one.kind) for one in walks.program.claims), (DEADLOCK, DEADLOCK)]:
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
        return tuple(judged)

    def summary(self) -> Iterator[str]:
        """The coverage of the walks, in lines."""
        walks = self.walks
        yield from (f"warning: {warning}" for warning in walks.warnings)
        rate = walks.steps / max(walks.seconds, 1e-9)
        yield (
            f"{walks.runs:,} runs of at most {self.plan.steps:,} steps, seed {walks.seed}, "
            f"schedule {self.plan.schedule}: {walks.steps:,} steps, {walks.distinct:,} distinct states "
            f"(by fingerprint), in {walks.seconds:.1f} s ({rate:,.0f} steps/s); "
            f"compiled in {walks.compile_seconds:.1f} s" + (" (from cache)" if walks.cached else "")
        )
        yield from _curve(walks)
        yield f"{len(walks.goals_shown)} of {len(walks.goals_shown) + len(walks.goals_missed)} goals reached"
        yield from (f"never reached: {goal.id} ({goal.sentence})" for goal in walks.goals_missed)
        yield from (f"{claim} is vacuous: {reason}" for claim, reason in checks_nothing(walks.program).items())
        idle = [name for name, count in walks.steps_by_action.items() if not count]
        if idle:
            yield f"actions never taken: {', '.join(idle)}"
        yield from (pruning.text() for pruning in walks.prunings)
        if unjudged := self._unjudged():
            yield f"not judged by walks: {', '.join(unjudged)}"
        yield assurance.of_walks(len(self.findings) + len(walks.goals_shown), walks.prunings)

    def _unjudged(self) -> list[str]:
        claims = self.subject.system.properties(self.subject.setting)
        return [claim.id for claim in claims if claim.kind not in WALKED]

    def _in_vain(self) -> bool:
        """Whether properties are asked for, and walks judge none of them."""
        return 0 < len(self._unjudged()) == len(self.subject.system.properties(self.subject.setting))

    def examples(self, limit: int) -> Iterator[str]:
        """The counterexamples and suspected lassos, so many of each at most."""
        chosen, walks = self.subject, self.walks
        sentences = {claim.id: claim.sentence for claim in chosen.system.properties(chosen.setting)}
        for found in self.findings[:limit]:
            says = sentences.get(found.trace.claim, DEADLOCK_FAILS)
            yield from _example(found, f"is refuted: {says}", "shortest", chosen)
        yield from _others(self.findings, limit, "refuted")
        for suspect in walks.suspects[:limit]:
            yield from _example(suspect, "is unknown, and suspected to fail: a walk seems to show a lasso", "judged by",
                                chosen)  # fmt: skip
        yield from _others(walks.suspects, limit, "suspected")

    def last_line(self) -> str:
        """The result, the worst first; the absence of findings is no proof."""
        walks, found = self.walks, len(self.findings)
        parts = [f"{found} refuted"] if found else [f"nothing found in {walks.runs:,} runs, not a proof"]
        parts += ["incomplete: steps were left out"] * (walks.fault is not None)
        parts += [] if walks.cut is None else [walks.cut]
        live, suspects = len(walks.program.liveness.claims), len(walks.suspects)
        if live:
            suspected = f", of which {suspects} {'is' if suspects == 1 else 'are'} suspected to fail" * bool(suspects)
            parts.append(f"{live} liveness propert{'y' if live == 1 else 'ies'} unknown{suspected}")
        parts += ["no property is judged by walks"] * (self._in_vain() and not live)
        if empty := checks_nothing(walks.program):
            parts.append(f"{len(empty)} vacuous")
        if walks.goals_missed:
            parts.append(f"{len(walks.goals_missed)} goal{'' if len(walks.goals_missed) == 1 else 's'} never reached")
        return ", ".join(parts) + f" (exit {self.exit_code()})"

    def document(self) -> dict[str, Any]:
        """The walks as plain values; no property is said to hold."""
        walks = self.walks
        shown = {one.claim.id: one.run for one in walks.goals_shown if one.claim is not None}
        return {
            "version": DOCUMENT_VERSION,
            "command": "simulate",
            "engine": "walks",
            **self.subject.document(),
            "exit_code": self.exit_code(),
            **Shard(self.plan.shard, self.plan.shards).told,
            "runs": walks.runs,
            "longest": self.plan.steps,
            "steps": walks.steps,
            "seed": walks.seed,
            "schedule": self.plan.schedule,
            "cut": walks.cut,
            "distinct": walks.distinct,
            "refuted": [
                _found(one, shortened=len(one.trace.steps), failing=list(one.trace.failing)) for one in self.findings
            ],
            "goals": {**shown, **{goal.id: None for goal in walks.goals_missed}},
            "not_judged": self._unjudged(),
            "vacuous": checks_nothing(walks.program),
            "suspected": [_found(one) for one in walks.suspects],
            "fired": dict(walks.steps_by_action),
            "pruned": dict(walks.pruned),
            "prunings": pruning_rows(walks.prunings),
            "curve": [[point.runs, point.steps, point.distinct, point.goals] for point in walks.curve],
            "seconds": {"walk": walks.seconds, "compile": walks.compile_seconds, "cached": walks.cached},
            "warnings": list(walks.warnings),
            "digest": walks.program.digest(),
            "versions": versions(),
        }


def _found(one: WalkFinding, **more: Any) -> dict[str, Any]:
    about = {"id": one.trace.claim, "kind": one.trace.kind, "run": one.run, "steps": one.steps}
    return {**about, **more, "trace": trace_document(one.trace)}


def _example(one: WalkFinding, says: str, again: str, chosen: Subject) -> Iterator[str]:
    """A trace with what it is of, how it was found, and the command that judges its property."""
    claim = one.trace.claim
    yield f"\n{claim} {says}"
    yield f"  run {one.run}, {steps_text(one.steps)}, shortened to {steps_text(len(one.trace.steps))}"
    yield "\n".join(lines(one.trace))
    yield f"     {again}: {chosen.again(claim)}"


def _others(found: Sequence[WalkFinding], limit: int, word: str) -> Iterator[str]:
    if len(found) > limit:
        others = ", ".join(one.trace.claim for one in found[limit:])
        yield f"\nalso {word} (--traces {len(found)} shows all): {others}"


def _curve(walks: Walks) -> Iterator[str]:
    """Distinct states by steps, and how much of the end was new."""
    if not walks.curve:
        return
    last = len(walks.curve) - 1
    chosen = sorted({round(last * part / (POINTS - 1)) for part in range(POINTS)})
    points = [f"{walks.curve[n].steps:,}: {walks.curve[n].distinct:,}" for n in chosen]
    yield f"distinct states by steps: {'; '.join(points)}"
    before: WalkProgress = walks.curve[last * 9 // 10]
    steps = walks.steps - before.steps
    if steps:
        share = (walks.distinct - before.distinct) / steps
        yield f"of the last {steps:,} steps {share:.1%} led to a new state"
