"""The reductions of `kraftcheck explore`: states that differ by names alone, and orders of independent steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import click

from kraftcheck.ci.systems.subject import Subject, program
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.language.symmetry import SymmetryError
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.search.orders.independence import OrdersError, by_orders
from kraftcheck.solvers.search.symmetries.derived import by_proven_symmetry
from kraftcheck.solvers.search.symmetry import reduced

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


def traced_for(chosen: Subject, engine: str, symmetry: str, reduce: str, find: str | None) -> Program:
    """The subject traced, to be explored with these options.

    Raises:
        Refusal: as `reduced_program`; for another engine; for a reduction that may leave out the shortest way.
    """
    for name, value, without in (("reduce", reduce, NONE), ("symmetry", symmetry, OFF)):
        if value != without and engine != "native":
            raise Refusal(f"{option(name, value)} works with --engine native, not with {engine}")
    if reduce == ORDERS and find:
        raise Refusal("--find asks for the shortest way, which --reduce orders may leave out; leave out one of the two")
    return reduced_program(chosen, symmetry, reduce, option)


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
