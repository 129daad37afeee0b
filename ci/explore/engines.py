"""The engines of `kraftcheck explore`, by name."""

from __future__ import annotations

from kraftcheck.ci.dataset.part import DatasetPart
from kraftcheck.ci.dataset.search.bounds import Bounds
from kraftcheck.ci.dataset.store.objects import AnyPath
from kraftcheck.ci.run.search import SearchBudget, run
from kraftcheck.ci.spark.options import ClusterOptions, default_handover
from kraftcheck.ci.spark.session import check_packages
from kraftcheck.ci.systems.subject import Subject
from kraftcheck.ci.terminal.cache import cache_folder
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.solvers.machine_code.lower import LoweringError
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.search.explore import Exploration

OF_DISK = {"--handover", "--buckets", "--resume", "--repair"}
"""Options of a run with a dataset; the others are of a cluster."""


def explore_with_engine(
    chosen: Subject, traced: Program, budget: SearchBudget, engine: str, cluster: ClusterOptions, out: AnyPath | None,
    quiet: bool,
) -> tuple[Exploration, DatasetPart | None]:
    """Explore with the chosen engine.

    Raises:
        Refusal: for options of another engine, and what `run`, `explore_on_disk` and `explore_with_spark` refuse.
    """
    _check_flags(engine, cluster.used_flags())
    if engine == "native":
        return run(traced, budget, quiet), None
    bounds = Bounds(
        default_handover(cluster), budget.memory, budget.workers, budget.max_depth, budget.max_states,
        budget.stop_at_first, budget.strict,
    )  # fmt: skip
    place, cache = None if out is None else str(out), cache_folder() if budget.cache else None
    check_packages(engine)
    # What the modules below import is there only with an extra.
    try:
        if engine == "disk":
            from kraftcheck.ci.explore.disk.explore import explore_on_disk

            return explore_on_disk(chosen, traced, bounds, cluster, place, cache, quiet, budget.sampling)
        from kraftcheck.ci.spark.explore import explore_with_spark

        return explore_with_spark(chosen, traced, bounds, cluster, place, cache, quiet, budget.sampling)
    except LoweringError as error:
        raise Refusal(f"{traced.system.name}: {error}") from error


def _check_flags(engine: str, used: list[str]) -> None:
    foreign = [flag for flag in used if engine == "native" or (engine == "disk" and flag not in OF_DISK)]
    if foreign:
        engines = "disk or spark" if foreign[0] in OF_DISK else "spark"
        raise Refusal(f"{foreign[0]} is an option of --engine {engines}")
