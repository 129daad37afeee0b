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
OFF, PROVEN = "off", "proven"


def reduction_options(command: Decorated) -> Decorated:
    """The options `--symmetry` and `--reduce`."""
    command = click.option(
        "--reduce", type=click.Choice([NONE, ORDERS]), default=NONE, show_default=True,
        help="orders: leave out orders of independent steps; traces may be longer than the shortest.",
    )(command)  # fmt: skip
    return click.option(
        "--symmetry", type=click.Choice(["on", "proven", "off"]), default="off", show_default=True,
        help="Explore states that differ by names alone once; proven: by what Z3 proves of the rules.",
    )(command)  # fmt: skip


def traced_for(chosen: Subject, engine: str, symmetry: str, reduce: str, find: str | None) -> Program:
    """The subject traced, to be explored with these reductions.

    Raises:
        Refusal: where it has no symmetry at this setting, for what cannot be judged in some orders only, for another
            engine, and for two reductions.
    """
    if reduce == ORDERS:
        _check_orders(engine, symmetry, find)
        try:
            return by_orders(program(chosen))
        except OrdersError as error:
            raise Refusal(f"--reduce orders: {error}") from error
    return _by_symmetry(chosen, engine, symmetry) if symmetry != OFF else program(chosen)


def _check_orders(engine: str, symmetry: str, find: str | None) -> None:
    if engine != "native":
        raise Refusal(f"--reduce orders works with --engine native, not with {engine}")
    if symmetry != OFF:
        raise Refusal(f"--reduce orders cannot be combined with --symmetry {symmetry}; take one of the two")
    if find:
        raise Refusal("--find asks for the shortest way, which --reduce orders may leave out; leave out one of the two")


def _by_symmetry(chosen: Subject, engine: str, symmetry: str) -> Program:
    if engine != "native":
        raise Refusal(f"--symmetry {symmetry} works with --engine native, not with {engine}")
    try:
        return by_proven_symmetry(program(chosen)) if symmetry == PROVEN else reduced(program(chosen))
    except SymmetryError as error:
        raise Refusal(f"--symmetry {symmetry}: {error}") from error
