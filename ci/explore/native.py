"""The native search, as every door asks for it, and as commands run it: with progress, and stopped by signals."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import click
from attrs import frozen

from kraftcheck.ci.explore.earlier_runs import earlier_size, keep_size
from kraftcheck.ci.terminal.cache import cache_folder
from kraftcheck.ci.terminal.interrupts import Interrupted
from kraftcheck.ci.terminal.progress import progress_meter, run_interruptibly, stop_flag
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.language.symmetry import SymmetryError
from kraftcheck.solvers.audit.sampling import DEFAULT, Sampling
from kraftcheck.solvers.machine_code.lower import LoweringError
from kraftcheck.solvers.program.arguments import SystemFault
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.stop import is_stop
from kraftcheck.solvers.search.explore import DEFAULT_MEMORY, Exploration, SearchProgress, explore


@frozen
class SearchBudget:
    """The resources and limits of a search.

    Attributes:
        workers: threads.
        memory: bytes.
        max_depth, max_states, stop_at_first: limits, as `explore` takes them.
        cache: whether compiled code is kept.
        keep: whether the result keeps the states.
        strict: whether what a declared cap cuts is incomplete too.
        sampling: how much is audited.
    """

    workers: int = 1
    memory: int = DEFAULT_MEMORY
    max_depth: int | None = None
    max_states: int | None = None
    stop_at_first: bool = False
    cache: bool = True
    keep: bool = False
    strict: bool = False
    sampling: Sampling = DEFAULT

    @property
    def limited(self) -> bool:
        """Whether the search may end before the space is whole because it was asked to."""
        return self.stop_at_first or self.max_depth is not None or self.max_states is not None


def search(
    traced: Program, budget: SearchBudget, stop: threading.Event | None = None,
    progress: Callable[[SearchProgress], None] | None = None, on_compile: Callable[[], None] | None = None,
    symmetry: str = "--symmetry on",
) -> Exploration:  # fmt: skip
    """The search of a program within a budget.

    Args:
        traced, budget: what is explored, and how far.
        stop, progress, on_compile: as `explore` takes them.
        symmetry: how a symmetry was asked for.

    Raises:
        Refusal: when a term of the system is too wide for the engine, no state is initial, or a symmetry is none.
        EngineDisagreement: when ints do not confirm what compiled code says.
    """
    try:
        return explore(
            traced, clock=time.monotonic, threads=budget.workers, memory=budget.memory, max_depth=budget.max_depth,
            max_states=budget.max_states, stop_at_first=budget.stop_at_first,
            cache_dir=cache_folder() if budget.cache else None, progress=progress, stop=stop, keep=budget.keep,
            strict=budget.strict, sampling=budget.sampling, on_compile=on_compile,
        )  # fmt: skip
    except (LoweringError, SystemFault) as error:
        raise Refusal(f"{traced.system.name}: {error}") from error
    except SymmetryError as error:
        raise Refusal(f"{symmetry}: {error}") from error


def run(traced: Program, budget: SearchBudget, quiet: bool) -> Exploration:
    """Explore with progress on standard error; Ctrl-C and SIGTERM cut it.

    Where an earlier run explored the same space whole, progress says how much time is left.

    Raises:
        Refusal: as `search` does.
        Interrupted: when it was cut before the search began.
    """
    begin_event = threading.Event()
    expected = earlier_size(traced) if not quiet and budget.cache and not budget.limited else None
    with stop_flag(awaits_report=True) as stop, progress_meter(quiet, expected) as meter:

        def note(progress: SearchProgress) -> None:
            begin_event.set()
            if meter is not None:
                meter(progress)

        compiling = None if meter is None else meter.compiling
        result = run_interruptibly(lambda: search(traced, budget, stop, note, compiling), stop, begin_event)
    warning = keep_size(traced, result) if budget.cache and not budget.limited else None
    if warning is not None:
        click.echo(f"warning: {warning}", err=True)
    return result


def run_to_end(traced: Program, budget: SearchBudget, quiet: bool, title: str) -> Exploration:
    """Explore as `run` does; where a signal stops the search, raise Interrupted with its title."""
    result = run(traced, budget, quiet)
    if is_stop(result.cut):
        raise Interrupted(f"stopped in the search of {title}")
    return result
