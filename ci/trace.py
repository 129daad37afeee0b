"""`kraftcheck trace`: show, and shorten, a counterexample."""

from __future__ import annotations

from pathlib import Path

import click

from ci.files import read_json, write
from ci.refusal import Refusal
from ci.screen import console
from ci.settings import Subject, program, subject
from model.system import Property
from solvers import itf
from solvers.program import Program
from solvers.replay import EngineDisagreement, confirm
from solvers.trace import lines, minimise
from solvers.verdict import DEADLOCK, Trace


def load(path: Path) -> tuple[Subject, itf.Recipe]:
    """The subject and recipe in a trace file.

    Raises:
        Refusal: naming file and key of what is malformed or unknown.
    """
    document = read_json(path)
    try:
        told = itf.recipe(document)
        return subject(told.system, told.scope, told.bounds, told.rules), told
    except itf.TraceError as error:
        raise Refusal(f"{path}: {error}") from error
    except Refusal as error:
        raise Refusal(f"{path}: {error.message}") from error


def claim_of(told: itf.Recipe, traced: Program) -> Property | None:
    """The property a recipe is about; None for deadlock.

    Raises:
        TraceError: when the system has no such property.
    """
    if told.property == DEADLOCK:
        return None
    for claim in (*traced.always, *traced.steps, *traced.sometimes, *traced.happens):
        if claim.id == told.property:
            return claim
    raise itf.TraceError(f"key #meta.kraftcheck.property: the system has no property {told.property!r}")


@click.command("trace", short_help="Show or shorten a counterexample.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--full", is_flag=True, help="Whole states instead of what changed.")
@click.option("--minimise", "shorten", is_flag=True, help="Drop steps while the property still fails.")
@click.option("--out", type=click.Path(path_type=Path), help="Write the (minimised) trace there as ITF JSON.")
def trace_command(file: Path, full: bool, shorten: bool, out: Path | None) -> None:
    """Replay the counterexample in FILE (ITF JSON, as `explore --out` writes) on the rules, and show it.

    A trace that the rules no longer follow is refused.

    \b
    Examples:
      kraftcheck trace out/leader-active.itf.json
      kraftcheck trace out/leader-active.itf.json --full
      kraftcheck trace long.itf.json --minimise --out short.itf.json
    """
    chosen, told = load(file)
    traced = program(chosen)
    try:
        claim = claim_of(told, traced)
        initial, instances = itf.instances(told, traced)
        make = minimise if shorten else _as_told
        trace = make(traced, claim, initial, instances)
    except (itf.TraceError, EngineDisagreement) as error:
        raise Refusal(f"{file}: {error}") from error
    screen = console()
    sentence = claim.sentence if claim is not None else "a state without successors is quiescent"
    screen.print(f"{trace.claim}: {sentence}")
    screen.print(chosen.title())
    screen.print("\n".join(lines(trace, full)), markup=False, soft_wrap=True)
    dropped = len(told.steps) - len(trace.steps)
    shortest = told.shortest and not dropped
    told_length = "shortest" if shortest else "no single step can be dropped" if shorten else "not minimised"
    screen.print(f"{len(trace.steps)} steps, {told_length}" + (f", {dropped} dropped" if dropped else ""))
    if out is not None:
        write(out, itf.text(itf.document(trace, traced, told.system, told.rules, shortest)))
        screen.print(f"wrote {out}")


def _as_told(traced: Program, claim: Property | None, initial: tuple[int, ...], instances: tuple[int, ...]) -> Trace:
    return confirm(traced, claim, initial, instances, None)
