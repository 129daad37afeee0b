"""Questions to engines about one subject, as every door asks them: a search of all states, and random walks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from attrs import evolve, field, frozen

from kraftcheck.ci.dataset.part import DatasetPart
from kraftcheck.ci.dataset.search.bounds import Bounds
from kraftcheck.ci.dataset.store.objects import AnyPath
from kraftcheck.ci.run.find import FOUND, located
from kraftcheck.ci.run.find import last_line as find_line
from kraftcheck.ci.run.judged import judged, judged_by_walks
from kraftcheck.ci.run.result import Result
from kraftcheck.ci.run.search import NONE, OFF, ORDERS, SearchBudget, option, reduced_program
from kraftcheck.ci.run.walks import Walked, WalkPlan
from kraftcheck.ci.spark.options import ClusterOptions, default_handover
from kraftcheck.ci.spark.session import check_packages
from kraftcheck.ci.systems import report
from kraftcheck.ci.systems.subject import Subject
from kraftcheck.ci.terminal.cache import cache_folder
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.solvers.machine_code.lower import LoweringError
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.verdict import worst_exit_code
from kraftcheck.solvers.search.explore import Exploration
from kraftcheck.solvers.walks.walks import Walks

ENGINES = ("native", "disk", "spark")
OF_DISK = {"--handover", "--buckets", "--resume", "--repair"}
"""Options of a run with a dataset; the others are of a cluster."""

NativeSearch = Callable[[Program, SearchBudget], Exploration]
"""A search in memory: with progress and stopped by signals, or as Python asks for it."""


@frozen
class SearchQuestion:
    """The question for an explorer: which properties hold in every reachable state.

    Attributes:
        chosen: the subject; for `find` the one whose search ends at a state that satisfies the expression.
        budget: resources and limits.
        engine: native, disk or spark.
        symmetry, reduce: as the options have them.
        find: the expression of the state that is looked for, if one is.
        cluster: options of disk and spark.
        out: where these commit their levels.
        spelled: how the user has written a reduction, for refusals.
    """

    chosen: Subject
    budget: SearchBudget
    engine: str = "native"
    symmetry: str = OFF
    reduce: str = NONE
    find: str | None = None
    cluster: ClusterOptions = field(factory=ClusterOptions)
    out: AnyPath | None = None
    spelled: Callable[[str, str], str] = option

    def traced(self) -> Program:
        """The subject traced, to be explored with these options.

        Raises:
            Refusal: as `reduced_program`; for another engine; for a reduction that may leave out the shortest way.
        """
        for name, value, without in (("reduce", self.reduce, NONE), ("symmetry", self.symmetry, OFF)):
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
        """The answer.

        Args:
            traced: as of `traced`.
            native: the search in memory.
            quiet: whether the other engines show no progress.

        Raises:
            Refusal: for options of another engine, and what the engine refuses.
            EngineDisagreement: when ints do not confirm what compiled code says.
        """
        _check_flags(self.engine, self.cluster.used_flags())
        if self.engine == "native":
            return self._result(native(traced, self.budget), None)
        return self._result(*self._committed(traced, quiet))

    def _committed(self, traced: Program, quiet: bool) -> tuple[Exploration, DatasetPart]:
        """The search whose levels are committed."""
        budget, place = self.budget, None if self.out is None else str(self.out)
        bounds = Bounds(
            default_handover(self.cluster), budget.memory, budget.workers, budget.max_depth, budget.max_states,
            budget.stop_at_first, budget.strict,
        )  # fmt: skip
        cache = cache_folder() if budget.cache else None
        check_packages(self.engine)
        # The modules below import packages that are there only with an extra.
        try:
            if self.engine == "disk":
                from kraftcheck.ci.dataset.disk.explore import explore_on_disk as explore
            else:
                from kraftcheck.ci.spark.explore import explore_with_spark as explore
            return explore(self.chosen, traced, bounds, self.cluster, place, cache, quiet, budget.sampling)
        except LoweringError as error:
            raise Refusal(f"{traced.system.name}: {error}") from error

    def _result(self, found: Exploration, dataset: DatasetPart | None) -> Result:
        if self.find:
            found = located(found)
        code = worst_exit_code(one.verdict for one in found.verdicts)
        part, more = (None, []) if dataset is None else (dataset.document(), dataset.lines())
        whole = evolve(found, cut=None) if found.cut == FOUND else found
        return Result(
            self.chosen, "explore", found.verdicts, found.program.claims,
            (*(f"warning: {warning}" for warning in found.warnings), *report.summary(whole), *more), code,
            report.document(self.chosen, found, part, self.engine), program=found.program,
            rows=judged(self.chosen, found.verdicts, shortest=found.shortest),
            last_line=find_line(found, code) if self.find else report.last_line(found.verdicts, code),
            size=f"{found.distinct:,} distinct states, depth {found.depth}",
            seconds=found.seconds, options=self.flags(), exploration=found, shortest=found.shortest,
        )  # fmt: skip


@frozen
class WalkQuestion:
    """The question for random walks: which properties some of them break, and which goals they reach.

    Attributes:
        chosen: the subject.
        plan: what is drawn.
        files: the traces at whose ends the walks start, as the command line names them.
        long_searches: counterexamples that are worth a long search for a shorter run.
    """

    chosen: Subject
    plan: WalkPlan
    files: Sequence[Path] = ()
    long_searches: int = 3

    def result(self, traced: Program, walk: Callable[[Program, WalkPlan], Walks]) -> Result:
        """The answer.

        Raises:
            Refusal: as `walks_of` does.
            EngineDisagreement: when ints do not confirm what compiled code says.
        """
        walked = Walked.of(self.chosen, self.plan, walk(traced, self.plan), self.long_searches)
        return Result(
            self.chosen, "simulate", walked.verdicts(), traced.claims, tuple(walked.summary()), walked.exit_code(),
            walked.document(), program=traced, rows=judged_by_walks(walked), last_line=walked.last_line(),
            size=f"{walked.walks.runs:,} random walks, {walked.walks.steps:,} steps",
            seconds=walked.walks.seconds, options=self.plan.flags(self.files), walked=walked, shortest=False,
        )  # fmt: skip


def _check_flags(engine: str, used: list[str]) -> None:
    foreign = [flag for flag in used if engine == "native" or (engine == "disk" and flag not in OF_DISK)]
    if foreign:
        engines = "disk or spark" if foreign[0] in OF_DISK else "spark"
        raise Refusal(f"{foreign[0]} is an option of --engine {engines}")
