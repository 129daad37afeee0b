"""Liveness properties under Spark: for each one its region, the fixpoint, and a lasso or how far a wait may lead.

A region that the driver has memory for is judged there, by the native engine's sweeps; a larger one by rounds of jobs.
Rounds are kept beside the run until every property is judged, so that a run that was killed goes on after the last.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from attrs import define, evolve, field, frozen

from kraftcheck.ci.dataset.jobs.exchange import Batches
from kraftcheck.ci.dataset.search.levels import CommittedOrigins
from kraftcheck.ci.dataset.store.commits import CommitLog
from kraftcheck.ci.dataset.store.manifests import PLACE_BITS, Commit, StatePlace
from kraftcheck.ci.dataset.store.objects import on_disk
from kraftcheck.ci.spark.errors import job_error
from kraftcheck.ci.spark.jobs import SparkCluster, cancel_on
from kraftcheck.ci.spark.liveness.rounds import Round, RoundLog
from kraftcheck.ci.spark.session import for_sql, on_this_disk
from kraftcheck.solvers.blocks.regions import EVERYWHERE, RegionPart, RegionQuestion, region_part
from kraftcheck.solvers.blocks.tasks import BlockKernel, BlockSpec, Words, load_block_kernel
from kraftcheck.solvers.liveness.behaviours import Answer, Behaviours, Lasso, Question
from kraftcheck.solvers.liveness.constraints import GROUP, Constraint, classes_of, groups_of
from kraftcheck.solvers.liveness.fair import StoppedError, SweepControl, Sweeps
from kraftcheck.solvers.liveness.graph import MOST_STATES, Block, Numbers, Truths
from kraftcheck.solvers.liveness.judge import Liveness, LivenessFinding, constraints_of
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.verdict import Trace
from kraftcheck.solvers.reference.confirm import EngineDisagreement, confirm_lasso

STATE, COUNT = -1, -2
"""Instead of an action instance: the row is a state of the region; or it says of how many states the property is."""

STATES_AT_ONCE = 4096

NODES = "place bigint, enabled bigint, waiting boolean, cut boolean"
EDGES = "src bigint, instance int, taken bigint, dst bigint"


@frozen
class RegionFrames:
    """The graph.

    Attributes:
        nodes: `NODES`: what each state enables, whether it has to wait for the goal, whether a step leaves the bounds.
        edges: `EDGES`: the steps within the region, and the constraints that each is a step of.
        concerned: how many states the property is about.
    """

    nodes: Round
    edges: Round
    concerned: int


def region_task(shipped: Callable[[], BlockSpec], question: RegionQuestion) -> Callable[[Batches], Batches]:
    """For states (place, words) the rows of a region: its states, their steps, and how many states are concerned."""

    def compute_region(batches: Batches) -> Batches:
        kernel = load_block_kernel(shipped())
        for places, states in state_parts(batches, kernel):
            part = region_part(kernel, question, places >> PLACE_BITS == 0, states)
            own = places[part.chosen]
            words = [part.records[:, i].view(np.int64) for i in range(kernel.spec.words)]
            steps = (np.repeat(own, part.counts), part.records[:, -1].astype(np.int32), part.taken)
            yield _rows(kernel.spec.words, *steps, words=words)
            yield _rows(kernel.spec.words, own, _same(own, STATE), part.allowed, part=part)
            one = np.zeros(1, dtype=np.int64)
            yield _rows(kernel.spec.words, one, _same(one, COUNT), one + part.concerned)

    return compute_region


def state_parts(batches: Batches, kernel: BlockKernel) -> Iterator[tuple[Any, Words]]:
    """Rows (place, words) as arrays, a few thousand at once."""
    for batch in batches:
        for at in range(0, batch.num_rows, STATES_AT_ONCE):
            part = batch.slice(at, STATES_AT_ONCE)
            columns = [part.column(i).to_numpy(zero_copy_only=False) for i in range(1 + kernel.spec.words)]
            yield columns[0], np.ascontiguousarray(np.column_stack(columns[1:]).view(np.uint64))


def _same(like: Any, value: int) -> Any:
    return np.full(len(like), value, dtype=np.int32)


def _rows(count: int, src: Any, instance: Any, bits: Any, *, words: Any = None, part: RegionPart | None = None) -> Any:
    """Rows of `SCHEMA`; those of states have what a step has not, and the other way round."""
    nulls = [pa.nulls(len(src), kind) for kind in (pa.int64(), pa.bool_(), pa.bool_())]
    flags = nulls if part is None else [pa.array(part.hidden), pa.array(part.waiting), pa.array(part.cut)]
    absent = [pa.nulls(len(src), pa.int64())] * count
    columns = absent if words is None else [pa.array(np.ascontiguousarray(word)) for word in words]
    arrays = [pa.array(np.ascontiguousarray(a)) for a in (src, instance, bits)]
    names = ["src", "instance", "bits", "hidden", "waiting", "cut", *(f"w{i}" for i in range(count))]
    return pa.RecordBatch.from_arrays([*arrays, *flags, *columns], names=names)


def region_frames(
    log: RoundLog, name: str, states: Any, shipped: Callable[[], BlockSpec], question: RegionQuestion, words: int
) -> RegionFrames:
    """The graph of a region, of the committed states (place, words)."""
    names = [f"w{i}" for i in range(words)]
    schema = ", ".join(
        ["src bigint, instance int, bits bigint, hidden bigint, waiting boolean, cut boolean"]
        + [f"{word} bigint" for word in names]
    )
    rows = log.round(f"{name}-rows", schema, lambda: states.mapInArrow(region_task(shipped, question), schema)).frame
    raw = "src bigint, instance int, bits bigint, dst bigint"
    places = states.withColumnRenamed("place", "dst")
    steps = log.round(
        f"{name}-steps", raw,
        lambda: rows.where("instance >= 0").join(places, names, "left").select("src", "instance", "bits", "dst"),
    ).frame  # fmt: skip
    every = (1 << len(question.excuses)) - 1

    def nodes() -> Any:
        leaves = "coalesce(bool_or(dst IS NULL), false)"
        shown = steps.groupBy("src").agg(_expr("bit_or(bits) AS shown"), _expr(f"{leaves} AS lost"))
        own = rows.where(f"instance = {STATE}").join(shown, "src", "left")
        lost = "coalesce(lost, false)"
        enabled = f"bits & (hidden | coalesce(shown, 0L) | IF({lost}, {every}L, 0L))"
        return own.selectExpr("src AS place", f"{enabled} AS enabled", "waiting", f"cut OR {lost} AS cut")

    states_of = log.round(f"{name}-nodes", NODES, nodes)

    def edges() -> Any:
        sources = states_of.frame.selectExpr("place AS src", "enabled")
        inner = steps.join(sources, "src").join(states_of.frame.selectExpr("place AS dst"), "dst")
        return inner.selectExpr("src", "instance", "bits & enabled AS taken", "dst")

    inside = log.round(f"{name}-edges", EDGES, edges)
    total = rows.where(f"instance = {COUNT}").selectExpr("coalesce(sum(bits), 0L)").collect()[0][0]
    return RegionFrames(states_of, inside, int(total))


def _expr(text: str) -> Any:
    from pyspark.sql import functions

    return functions.expr(text)


STATE_BYTES, EDGE_BYTES = 64, 40
"""Bytes that a state and a step take at most while they are collected and searched."""


@define(eq=False)
class CollectedEdges:
    """The steps of a region in memory, as `kraftcheck.solvers.liveness.graph.Edges`.

    Attributes:
        places: of the states, ascending: so they are by depth.
        starts, targets, instances: the steps, sorted by source.
    """

    places: Numbers
    starts: Any
    targets: Any
    instances: Any
    levels: Sequence[int] = field(init=False)
    blocks: Sequence[int] = field(init=False)

    def __attrs_post_init__(self) -> None:
        """Find where each depth and each block begins."""
        self.blocks = range(0, self.count, MOST_STATES)
        deepest = int(self.places[-1]) >> PLACE_BITS
        self.levels = np.searchsorted(self.places, np.arange(deepest + 2) << PLACE_BITS).tolist()

    @property
    def count(self) -> int:
        """Number of states."""
        return len(self.places)

    def block(self, thread: int, number: int, wanted: Truths, *, inner: bool = True) -> Block:
        """The steps of the wanted states of a block; none leaves the region."""
        first = self.blocks[number]
        own = self.starts[first : first + len(wanted) + 1]
        lengths = np.diff(own)
        chosen = np.repeat(wanted, lengths)
        starts = np.concatenate([[0], np.cumsum(np.where(wanted, lengths, 0))]).astype(np.uint32)
        targets, instances = (steps[own[0] : own[-1]][chosen] for steps in (self.targets, self.instances))
        return Block(first, starts, targets, instances, np.zeros(len(wanted), dtype=np.uint64))

    def narrowed(self, states: Truths) -> CollectedEdges:
        """The region of some of its states, in the same order."""
        number = np.cumsum(states) - 1
        chosen = np.repeat(states, np.diff(self.starts)) & states[self.targets]
        sources = np.repeat(np.arange(self.count), np.diff(self.starts))[chosen]
        starts = np.searchsorted(number[sources], np.arange(np.count_nonzero(states) + 1)).astype(np.uint32)
        targets = number[self.targets[chosen]].astype(np.uint32)
        return CollectedEdges(self.places[states], starts, targets, self.instances[chosen])

    def enter(self) -> None:
        """Nothing has to be done to use it."""


def fits(nodes: Round, edges: Round, memory: int) -> bool:
    """Whether a region may be collected into so many bytes."""
    return nodes.count * STATE_BYTES + edges.count * EDGE_BYTES <= memory


@frozen
class Collected:
    """A region in memory.

    Attributes:
        places: of its states, ascending.
        behaviours: the native engine's judge of it.
        waiting: the states that have to wait for the goal.
    """

    places: Numbers
    behaviours: Behaviours
    waiting: Truths

    def among(self, states: Round) -> Truths:
        """Which of the states are among some that a round has."""
        found: Truths = np.isin(self.places, pq.read_table(states.files, columns=["place"])["place"].to_numpy())
        return found

    def depth(self, states: Truths) -> int | None:
        """The least depth of some states; None: there are none."""
        return int(self.places[np.argmax(states)]) >> PLACE_BITS if states.any() else None


def collected(nodes: Round, edges: Round, constraints: Sequence[Constraint], control: SweepControl) -> Collected:
    """A region, under what is fair, read into memory; it is not empty."""
    rows = pq.read_table(nodes.files)
    order = np.argsort(rows["place"].to_numpy())
    places = rows["place"].to_numpy()[order]
    steps = pq.read_table(edges.files, columns=["src", "instance", "dst"])
    source, target = (np.searchsorted(places, steps[name].to_numpy()) for name in ("src", "dst"))
    instance = steps["instance"].to_numpy()
    along = np.lexsort((target, instance, source))
    starts = np.searchsorted(source[along], np.arange(len(places) + 1)).astype(np.uint32)
    own = CollectedEdges(places, starts, target[along].astype(np.uint32), instance[along].astype(np.uint16))
    kinds, classes = classes_of(constraints)
    groups, enabled = groups_of(constraints, classes, len(places)), rows["enabled"].to_numpy()[order]
    for number, group in enumerate(groups):
        group.enabled[:] = (enabled >> GROUP * number & group.every).astype(group.enabled.dtype)
    waiting, cut = (rows[name].to_numpy(zero_copy_only=False)[order] for name in ("waiting", "cut"))
    sweeps = Sweeps(own, kinds, groups, control)
    sweeps.note_survey(cut)
    return Collected(places, Behaviours(own, sweeps), waiting)


MARKS = "place bigint, bits bigint"
KEPT = "place bigint, enabled bigint"


@frozen
class Fixpoints:
    """Fixpoints over a region.

    Attributes:
        log: keeps the rounds.
        name: what the names of rounds begin with.
        region: the graph.
        weak, strong: the bits of the constraints.
    """

    log: RoundLog
    name: str
    region: RegionFrames
    weak: int
    strong: int

    def fair(self) -> Round:
        """The states from which a behaviour stays in the region that satisfies all constraints (`KEPT`)."""
        nodes, edges = self.region.nodes.frame, self.region.edges.frame
        kept = self.log.round(f"{self.name}-kept-0", KEPT, lambda: nodes.select("place", "enabled"))
        number = 0
        while kept.count and self.weak | self.strong:
            number += 1
            good = self._satisfiable(kept.frame, edges, number)
            if good.count == kept.count:
                break
            kept = good
            edges = self.log.round(f"{self.name}-edges-{number}", EDGES, partial(_among, edges, kept.frame)).frame
        return kept

    def _satisfiable(self, kept: Any, edges: Any, number: int) -> Round:
        """The states kept that can satisfy all constraints among those kept."""

        def seeds() -> Any:
            taken = edges.groupBy("src").agg(_any("taken")).withColumnRenamed("src", "place")
            bits = f"coalesce(taken, 0L) | (~enabled & {self.weak}L) AS bits"
            return kept.join(taken, "place", "left").selectExpr("place", bits).where("bits <> 0")

        marks = self._closed(self.log.round(f"{self.name}-marks-{number}-0", MARKS, seeds), edges, f"marks-{number}")
        weak, strong = f"(bits & {self.weak}L) = {self.weak}L", f"((bits | ~enabled) & {self.strong}L) = {self.strong}L"

        def good() -> Any:
            known = kept.join(marks, "place", "left").selectExpr("place", "enabled", "coalesce(bits, 0L) AS bits")
            return known.where(f"{weak} AND {strong}").select("place", "enabled")

        return self.log.round(f"{self.name}-kept-{number}", KEPT, good)

    def reaching(self, goal: Any, name: str) -> Any:
        """The states of the region that reach some, given as places; as marks."""
        first = self.log.round(f"{self.name}-{name}-0", MARKS, lambda: goal.selectExpr("place", "1L AS bits"))
        return self._closed(first, self.region.edges.frame, name)

    def _closed(self, first: Round, edges: Any, name: str) -> Any:
        """All marks, once none rises any more: by place."""
        changed, every, number = first, [first.frame], 0
        while changed.count:
            number += 1

            risen = partial(_risen, changed.frame, every, edges)
            changed = self.log.round(f"{self.name}-{name}-{number}", MARKS, risen)
            every = [*every, changed.frame]
        return _joined(every)


def _among(edges: Any, kept: Any) -> Any:
    """The edges among the states kept."""
    within = edges.join(kept.selectExpr("place AS src"), "src").join(kept.selectExpr("place AS dst"), "dst")
    return within.select("src", "instance", "taken", "dst")


def _risen(changed: Any, every: list[Any], edges: Any) -> Any:
    """The bits that rise where edges lead to marks that rose."""
    frontier = changed.selectExpr("place AS dst", "bits AS got")
    flows = edges.select("src", "dst").join(frontier, "dst").groupBy("src").agg(_any("got"))
    joined = flows.selectExpr("src AS place", "got").join(_joined(every), "place", "left")
    return joined.selectExpr("place", "got & ~coalesce(bits, 0L) AS bits").where("bits <> 0")


def _joined(frames: list[Any]) -> Any:
    union = frames[0]
    for frame in frames[1:]:
        union = union.unionByName(frame)
    return union.groupBy("place").agg(_any("bits"))


def _any(column: str) -> Any:
    from pyspark.sql import functions

    return functions.bit_or(column).alias(column)


FOLDER = "liveness"
"""Below a run's folder, until every property is judged."""

MOST = 62
"""Most constraints of a property: bits of a number of SQL."""


class TooLargeError(Exception):
    """A lasso is there that the driver has no memory to show."""


@define
class SparkLiveness:
    """The search for fair behaviours in a committed run.

    Attributes:
        cluster: the session, with the kernel shipped.
        log, commits: the run.
        program: what was explored.
        memory: bytes that the driver may take for a region.
        report: called after each round with its number and how many rows it has.
        rounds: rounds so far.
        computed: those of them that were not there from a run before.
        collect: bytes up to which the driver judges a region by itself; None: `memory`.
    """

    cluster: SparkCluster
    log: CommitLog
    commits: Sequence[Commit]
    program: Program
    memory: int
    report: Callable[[int, int], None]
    rounds: int = 0
    computed: int = 0
    collect: int | None = None
    _log: RoundLog = field(init=False)

    def run(self, stop: threading.Event) -> Liveness:
        """The fair behaviours of the explored graph; without findings when it was stopped, or cannot be judged.

        Raises:
            JobFailedError: when a job fails on all attempts; finished rounds stay.
            EngineDisagreement: when ints do not confirm a lasso.
        """
        claims = range(len(self.program.liveness.claims))
        if max(len(constraints_of(self.program, number)) for number in claims) > MOST:
            return Liveness(None, f"under Spark a property is judged under at most {MOST} fairness constraints")
        start, states = time.monotonic(), sum(level.rows for level in self.commits)
        context, name = self.cluster.session.sparkContext, f"kraftcheck-{uuid.uuid4().hex}"
        context.setJobGroup(name, "liveness")
        claims_of = [f"{one.claim.kind} {one.claim.id}" for one in self.program.liveness.claims]
        of = [self.log.read_run().run, claims_of, *([level.depth, level.rows] for level in self.commits)]
        folder = on_disk(self.log.out) / FOLDER
        self._log = RoundLog(self.cluster.session, folder, of, stop, self.report, check=self.log.check_lease)
        try:
            with cancel_on(stop, context, name), for_sql(self.cluster.session, 4 * states):
                findings = tuple(self._finding(number, stop) for number in claims)
        except TooLargeError as error:
            self._log.remove()
            return Liveness(None, str(error))
        except EngineDisagreement:
            raise
        except StoppedError:
            return Liveness(None)
        except Exception as error:
            if not stop.is_set():
                raise job_error(error, self.cluster.log) from error
            return Liveness(None)
        finally:
            self.rounds, self.computed = self._log.rounds, self._log.computed
        self._log.remove()
        return Liveness(findings, "", self.rounds, time.monotonic() - start)

    def _finding(self, number: int, stop: threading.Event) -> LivenessFinding:
        """The result about one property."""
        constraints, memory = constraints_of(self.program, number), self.memory
        name, shipped, words = f"claim-{number}", self.cluster.shipped, self.cluster.spec.words
        region = region_frames(self._log, name, self._states(), shipped, self._question(number, constraints), words)
        if not region.nodes.count:
            return LivenessFinding(Answer(region.concerned, 0, None, np.zeros(0, dtype=np.bool_)), None, None)
        if not fits(region.nodes, region.edges, memory if self.collect is None else self.collect):
            return self._by_jobs(number, region, constraints)
        here = collected(region.nodes, region.edges, constraints, SweepControl(stop=stop, budget=memory))
        answer = here.behaviours.answer(Question(self._kind(number), region.concerned, here.waiting))
        trace = None if answer.lasso is None else self._trace(number, here, answer.lasso)
        return LivenessFinding(answer, trace, here.depth(answer.uncertain))

    def _kind(self, number: int) -> str:
        return self.program.liveness.claims[number].claim.kind

    def _by_jobs(self, number: int, region: RegionFrames, constraints: Sequence[Constraint]) -> LivenessFinding:
        """The result about a property whose region the driver has no room for; a lasso is shown if it has after all.

        Raises:
            TooLargeError: when it has not.
        """
        strong = sum(1 << bit for bit, one in enumerate(constraints) if one.strong)
        weak = (1 << len(constraints)) - 1 - strong
        fixpoints = Fixpoints(self._log, f"claim-{number}", region, weak, strong)
        nodes, by_wait = region.nodes.frame, self._kind(number) in ("eventually", "leads_to")
        waiting, fair = nodes.where("waiting").count(), fixpoints.fair()
        answer = Answer(region.concerned, waiting, None, np.zeros(0, dtype=np.bool_))
        begins = nodes.where("waiting") if by_wait else nodes
        if fair.count and fixpoints.reaching(fair.frame, "reach").join(begins, "place").limit(1).count():
            if not fits(region.nodes, region.edges, self.memory):
                reason = f"a fair behaviour breaks {self.program.liveness.claims[number].claim.id}, which --memory"
                raise TooLargeError(f"{reason} has no room to show: {region.edges.count:,} steps of its region")
            here = collected(region.nodes, region.edges, constraints, SweepControl())
            starts = here.waiting if by_wait else np.ones_like(here.waiting)
            lasso = here.behaviours.lasso(starts, here.among(fair))
            return LivenessFinding(evolve(answer, lasso=lasso), self._trace(number, here, lasso), None)
        cut = fixpoints.reaching(nodes.where("cut").select("place"), "cut")
        first = cut.join(nodes.where("waiting"), "place").selectExpr("min(place)").collect()[0][0]
        return LivenessFinding(answer, None, None if first is None else first >> PLACE_BITS)

    def _states(self) -> object:
        """Place and words of every committed state."""
        folders = [(self.log.folder(level.depth), level.files) for level in self.commits]
        files = [on_this_disk(folder / file.name) for folder, files in folders for file in files]
        words = [f"w{i}" for i in range(self.cluster.spec.words)]
        place = f"(shiftleft(CAST(depth AS BIGINT), {PLACE_BITS}) | id) AS place"
        return self.cluster.session.read.parquet(*files).selectExpr(place, *words)

    def _question(self, number: int, constraints: Sequence[Constraint]) -> RegionQuestion:
        """The property as workers take it."""
        claim, total = self.program.liveness.claims[number], len(self.program.liveness.claims)
        steps = [0] * self.program.instances
        for bit, one in enumerate(constraints):
            for instance in one.instances:
                steps[instance] |= 1 << bit
        excuses = [2 * total + constraint for constraint in claim.constraints]
        excuses += [-1] * (len(constraints) - len(excuses))
        return RegionQuestion(
            2 * number, 2 * number + 1, claim.claim.kind == "eventually_always", claim.claim.kind == "eventually",
            tuple(excuses), steps=tuple(steps),
            cuts=tuple(EVERYWHERE if one.visits else one.cuts for one in constraints),
        )  # fmt: skip

    def _trace(self, number: int, here: Collected, lasso: Lasso) -> Trace:
        """The lasso as a trace, confirmed on ints."""
        origins = CommittedOrigins(self.log, self.commits, self.cluster.spec.words)
        run = origins.run_to(StatePlace.of(int(here.places[lasso.entry])))
        instances = (*run.instances, *lasso.way, *lasso.cycle)
        claim = self.program.liveness.claims[number].claim
        return confirm_lasso(self.program, claim, run.initial, instances, len(instances) - len(lasso.cycle))
