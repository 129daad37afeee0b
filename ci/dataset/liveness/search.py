"""Liveness properties of a committed run: of each its region, the fixpoint, and a lasso or how far a wait may lead.

A region that there is memory for is judged by the native engine's sweeps; a larger one by rounds of jobs, which are
kept beside the run until every property is judged, so that a run that was killed goes on after the last.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

import numpy as np
from attrs import define, evolve, field

from kraftcheck.ci.dataset.backward.arcs import WAITING, Numbering
from kraftcheck.ci.dataset.backward.kept import Round, RoundLog
from kraftcheck.ci.dataset.backward.listing import Listing, arcs_in
from kraftcheck.ci.dataset.backward.rounds import PartFiles, marks_of
from kraftcheck.ci.dataset.jobs.stages import JobRunner
from kraftcheck.ci.dataset.liveness.fixpoint import GOAL, MOST, TO_CUT, TO_FAIR, Fixpoints, nodes_of
from kraftcheck.ci.dataset.liveness.region import EDGE_BYTES, STATE_BYTES, Collected, collected
from kraftcheck.ci.dataset.search.levels import CommittedOrigins
from kraftcheck.ci.dataset.store.commits import CommitLog
from kraftcheck.ci.dataset.store.manifests import PLACE_BITS, Commit, StatePlace
from kraftcheck.solvers.blocks.regions import EVERYWHERE, RegionQuestion
from kraftcheck.solvers.liveness.behaviours import Answer, Lasso, Question
from kraftcheck.solvers.liveness.constraints import Constraint
from kraftcheck.solvers.liveness.fair import StoppedError, SweepControl
from kraftcheck.solvers.liveness.judge import Liveness, LivenessFinding, constraints_of
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.verdict import Trace
from kraftcheck.solvers.reference.confirm import confirm_lasso

FOLDER = "liveness"
"""Below a run's folder, until every property is judged."""


class TooLargeError(Exception):
    """A lasso is there that there is no memory to show."""


@define
class CommittedLiveness:
    """The search for fair behaviours in a committed run.

    Attributes:
        runner: runs the jobs.
        log, commits: the run.
        program: what was explored.
        memory: bytes that a region may take in this process.
        report: called after each round with its number and how many rows it has.
        rounds: rounds so far.
        computed: those of them that were not there from a run before.
        collect: bytes up to which a region is judged in memory; None: `memory`.
    """

    runner: JobRunner
    log: CommitLog
    commits: Sequence[Commit]
    program: Program
    memory: int
    report: Callable[[int, int], None]
    rounds: int = 0
    computed: int = 0
    collect: int | None = None
    _log: RoundLog = field(init=False)
    _listing: Listing = field(init=False)

    def run(self, stop: threading.Event) -> Liveness:
        """The fair behaviours of the explored graph; without findings when it was stopped, or cannot be judged.

        Raises:
            JobFailedError: when a job fails on all attempts; finished rounds stay.
            EngineDisagreement: when ints do not confirm a lasso.
        """
        claims = range(len(self.program.liveness.claims))
        if max(len(constraints_of(self.program, number)) for number in claims) > MOST:
            return Liveness(None, f"in files a property is judged under at most {MOST} fairness constraints")
        start = time.monotonic()
        claims_of = [f"{one.claim.kind} {one.claim.id}" for one in self.program.liveness.claims]
        of = [self.log.read_run().run, claims_of, *([level.depth, level.rows] for level in self.commits)]
        self._log = RoundLog(self.log.out / FOLDER, of, stop, self.report, check=self.log.check_lease)
        self._listing = Listing(self.runner, self.log, self.commits, self.program)
        try:
            findings = tuple(self._finding(number, stop) for number in claims)
        except TooLargeError as error:
            self._log.remove()
            return Liveness(None, str(error))
        except StoppedError:
            return Liveness(None)
        finally:
            self.rounds, self.computed = self._log.rounds, self._log.computed
        self._log.remove()
        return Liveness(findings, "", self.rounds, time.monotonic() - start)

    def _finding(self, number: int, stop: threading.Event) -> LivenessFinding:
        """The result about one property."""
        constraints, name = constraints_of(self.program, number), f"claim-{number}"
        question = self._question(number, constraints)

        def listed() -> Round | None:
            made = self._listing.listed(self._log.folder, f"region of {name}", stop, question)
            return None if made is None else Round(made[0], tuple(made[1][0]))

        region = self._log.round(f"{name}-region", listed)
        concerned, inside, _ = region.counts
        if not inside:
            return LivenessFinding(Answer(concerned, 0, None, np.zeros(0, dtype=np.bool_)), None, None)
        numbering = self._listing.numbering(len(region.parts))
        if not self._fits(region, self.memory if self.collect is None else self.collect):
            return self._by_jobs(number, region, constraints, question, numbering)
        control = SweepControl(stop=stop, budget=self.memory)
        here = collected(self._log.folder, region.parts, numbering, constraints, control)
        answer = here.behaviours.answer(Question(self._kind(number), concerned, here.waiting))
        trace = None if answer.lasso is None else self._trace(number, here, answer.lasso)
        return LivenessFinding(answer, trace, here.depth(answer.uncertain))

    def _fits(self, region: Round, memory: int) -> bool:
        """Whether a region may be read into so many bytes."""
        return region.counts[1] * STATE_BYTES + arcs_in(region.parts) * EDGE_BYTES <= memory

    def _kind(self, number: int) -> str:
        return self.program.liveness.claims[number].claim.kind

    def _by_jobs(
        self, number: int, region: Round, constraints: Sequence[Constraint], question: RegionQuestion,
        numbering: Numbering,
    ) -> LivenessFinding:  # fmt: skip
        """The result about a property whose region there is no room for; a lasso is shown if there is after all.

        Raises:
            TooLargeError: when there is not.
        """
        strong = sum(1 << bit for bit, one in enumerate(constraints) if one.strong)
        weak = (1 << len(constraints)) - 1 - strong
        name = f"claim-{number}"
        fixpoints = Fixpoints(self.runner, self._log, name, numbering, region.parts, question.steps, weak, strong)
        concerned, _, waits = region.counts
        fair, by_wait = fixpoints.fair(), self._kind(number) in ("eventually", "leads_to")
        answer = Answer(concerned, waits, None, np.zeros(0, dtype=np.bool_))
        if fair.counts[0]:
            reach = fixpoints.reaching(fair.parts, TO_FAIR)
            if self._first(reach.parts, numbering, by_wait=by_wait) is not None:
                if not self._fits(region, self.memory):
                    reason = f"a fair behaviour breaks {self.program.liveness.claims[number].claim.id}, which --memory"
                    raise TooLargeError(f"{reason} has no room to show: {arcs_in(region.parts):,} steps of its region")
                here = collected(self._log.folder, region.parts, numbering, constraints, SweepControl())
                starts = here.waiting if by_wait else np.ones_like(here.waiting)
                lasso = here.behaviours.lasso(starts, here.kept(self._log.folder, fair.parts, numbering))
                return LivenessFinding(evolve(answer, lasso=lasso), self._trace(number, here, lasso), None)
        cut = fixpoints.reaching(fair.parts, TO_CUT)
        first = self._first(cut.parts, numbering, by_wait=True)
        return LivenessFinding(answer, None, None if first is None else first >> PLACE_BITS)

    def _first(self, parts: Sequence[PartFiles], numbering: Numbering, *, by_wait: bool) -> int | None:
        """The least place of a state that reaches a goal and, if asked for, waits; None: there is none."""
        least: int | None = None
        for number, part in enumerate(parts):
            nodes, (first, last) = nodes_of(self._log.folder, part), numbering.states_of(number)
            if not len(nodes):
                continue
            bits = marks_of(self._log.folder, part, last - first)[nodes[:, 0] - first]
            found = nodes[(bits & GOAL != 0) & ((nodes[:, 3] & WAITING != 0) | (not by_wait)), 0]
            if len(found):
                place = int(numbering.places(found).min())
                least = place if least is None else min(least, place)
        return least

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
        origins = CommittedOrigins(self.log, self.commits, self.runner.spec.words)
        run = origins.run_to(StatePlace.of(int(here.places[lasso.entry])))
        instances = (*run.instances, *lasso.way, *lasso.cycle)
        claim = self.program.liveness.claims[number].claim
        return confirm_lasso(self.program, claim, run.initial, instances, len(instances) - len(lasso.cycle))
