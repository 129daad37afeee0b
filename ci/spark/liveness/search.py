"""Liveness properties under Spark: for each one its region, the fixpoint, and a lasso or how far a wait may lead.

A region that the driver has memory for is judged there, by the native engine's sweeps; a larger one by rounds of jobs.
Rounds are kept beside the run until every property is judged, so that a run that was killed goes on after the last.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Sequence

import numpy as np
from attrs import define, evolve, field

from kraftcheck.ci.dataset.search.origins import CommittedOrigins
from kraftcheck.ci.dataset.store.commits import CommitLog
from kraftcheck.ci.dataset.store.manifests import Commit
from kraftcheck.ci.dataset.store.objects import on_disk
from kraftcheck.ci.dataset.store.places import PLACE_BITS, StatePlace
from kraftcheck.ci.spark.errors import job_error
from kraftcheck.ci.spark.jobs import SparkCluster, cancel_on
from kraftcheck.ci.spark.liveness.collected import Collected, collected, fits
from kraftcheck.ci.spark.liveness.fixpoint import Fixpoints
from kraftcheck.ci.spark.liveness.region import RegionFrames, region_frames
from kraftcheck.ci.spark.liveness.rounds import RoundLog
from kraftcheck.ci.spark.session import for_sql, on_this_disk
from kraftcheck.solvers.blocks.regions import EVERYWHERE, RegionQuestion
from kraftcheck.solvers.liveness.behaviours import Answer, Lasso, Question
from kraftcheck.solvers.liveness.constraints import Constraint
from kraftcheck.solvers.liveness.fair import StoppedError, SweepControl
from kraftcheck.solvers.liveness.judge import Liveness, LivenessFinding, constraints_of
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.verdict import Trace
from kraftcheck.solvers.reference.confirm import EngineDisagreement, confirm_lasso

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
        self._log = RoundLog(self.cluster.session, folder, of, stop, self.report, self.log.check_lease)
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
            tuple(excuses), tuple(steps), tuple(EVERYWHERE if one.visits else one.cuts for one in constraints),
        )  # fmt: skip

    def _trace(self, number: int, here: Collected, lasso: Lasso) -> Trace:
        """The lasso as a trace, confirmed on ints."""
        origins = CommittedOrigins(self.log, self.commits, self.cluster.spec.words)
        run = origins.run_to(StatePlace.of(int(here.places[lasso.entry])))
        instances = (*run.instances, *lasso.way, *lasso.cycle)
        claim = self.program.liveness.claims[number].claim
        return confirm_lasso(self.program, claim, run.initial, instances, len(instances) - len(lasso.cycle))
