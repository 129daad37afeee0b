"""Searches of every reachable state: with which budget and reductions, with progress, and stopped by signals."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click
from attrs import frozen

from kraftcheck.ci.systems.subject import Subject, program
from kraftcheck.ci.terminal.cache import cache_folder
from kraftcheck.ci.terminal.files import folder, read_json, replace
from kraftcheck.ci.terminal.interrupts import Interrupted
from kraftcheck.ci.terminal.progress import WholeSize, progress_meter, run_interruptibly, stop_flag
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.language.symmetry import SymmetryError
from kraftcheck.solvers.audit.sampling import DEFAULT, Sampling
from kraftcheck.solvers.machine_code.lower import LoweringError
from kraftcheck.solvers.program.arguments import SystemFault
from kraftcheck.solvers.program.fingerprint import fingerprint
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.stop import is_stop
from kraftcheck.solvers.search.explore import DEFAULT_MEMORY, Exploration, SearchProgress, explore
from kraftcheck.solvers.search.orders.independence import OrdersError, by_orders
from kraftcheck.solvers.search.symmetries.derived import by_proven_symmetry
from kraftcheck.solvers.search.symmetry import reduced

MOST_BYTES = 1 << 12
WORTH_SECONDS = 1.0
"""Sizes of searches that took less are not kept: nobody waits for them."""


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
    """The subject traced, to be explored with these reductions.

    Args:
        chosen: the subject.
        symmetry, reduce: as the options have them.
        spelled: how the user has written one, for refusals.

    Raises:
        Refusal: where it has no symmetry at this setting, for what cannot be judged in some orders only, for two
            reductions, and for a reduction that there is not.
    """
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
            return by_proven_symmetry(traced)
        return reduced(traced) if symmetry == ON else traced
    except OrdersError as error:
        raise Refusal(f"{spelled('reduce', reduce)}: {error}") from error
    except SymmetryError as error:
        raise Refusal(f"{spelled('symmetry', symmetry)}: {error}") from error
