"""`kraftcheck trace`: show, and shorten, a counterexample."""

from __future__ import annotations

from pathlib import Path

import click

from kraftcheck.ci.conformance.kafka.junit import junit, write_junit
from kraftcheck.ci.explore.picture import (
    FORMATS,
    PictureOptions,
    check_pictures,
    draw,
    draw_foreign,
    other_rules,
    picture_options,
)
from kraftcheck.ci.systems.lookup import find_system
from kraftcheck.ci.systems.report import steps_text
from kraftcheck.ci.systems.subject import Subject, program, subject
from kraftcheck.ci.terminal.commands import check_idle
from kraftcheck.ci.terminal.console import console
from kraftcheck.ci.terminal.files import check_named, check_writable, read_json, write
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.ci.terminal.result_folders import check_results
from kraftcheck.model.language.fairness import LIVENESS
from kraftcheck.model.language.system import Property
from kraftcheck.solvers.expressions.expression import Expressions
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.verdict import DEADLOCK, RUN, Trace
from kraftcheck.solvers.stepping.session import Session, StepRefused
from kraftcheck.solvers.traces import itf
from kraftcheck.solvers.traces.failures import already_false, every_property
from kraftcheck.solvers.traces.render import BrokenTrace, lines, minimise, replay_trace


def load(path: Path, system: str | None) -> tuple[Subject, itf.Recipe]:
    """The subject and recipe in a trace file.

    Args:
        path: the file.
        system: the system that the command line names, if it does.

    Raises:
        Refusal: naming file and key of what is malformed or unknown.
    """
    document = read_json(path)
    try:
        recipe = itf.recipe(document)
    except itf.TraceError as error:
        raise Refusal(f"{path}: {error}") from error
    check_named(path, recipe.system, system)
    try:
        if recipe.rules is None and find_system(recipe.system).rules:
            raise Refusal(f"key #meta.kraftcheck.rules: missing; {recipe.system} has rule sets, say which it is of")
        added = Expressions.of_options(recipe.options)
        return subject(recipe.system, recipe.scope, recipe.bounds, recipe.rules, expressions=added), recipe
    except Refusal as error:
        raise Refusal(f"{path}: {error.message}") from error


def claim_of(recipe: itf.Recipe, traced: Program) -> Property | None:
    """The property a recipe is about; None for deadlock.

    Raises:
        TraceError: when the system has no such property.
    """
    if recipe.property == DEADLOCK:
        return None
    for claim in traced.claims:
        if claim.id == recipe.property:
            return claim
    raise itf.TraceError(f"key #meta.kraftcheck.property: the system has no property {recipe.property!r}")


@click.command("trace")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--system", help="The system of FILE, module:attribute, where it is one of your own: its module is run.")
@click.option("--full", is_flag=True, help="Whole states instead of what changed.")
@click.option("--verbose", is_flag=True, help="Below each step every property that fails there.")
@click.option("--minimise", "shorten", is_flag=True, help="Drop steps while the property still fails.")
@click.option("--out", type=click.Path(path_type=Path), help="Write the (minimised) trace there as ITF JSON.")
@click.option("--export", type=click.Choice(["junit"]), help="Write it as a test of Kafka's own classes, into --out.")
@picture_options
def trace_command(
    file: Path, system: str | None, full: bool, verbose: bool, shorten: bool, out: Path | None, export: str | None,
    pictures: PictureOptions,
) -> None:  # fmt: skip
    """Replay the counterexample in FILE (ITF JSON, as `explore --out` writes) on the rules, and show it.

    --html, --svg, --mermaid and --dot draw it: requests and records between controller and brokers, the partition,
    the property where it fails, what other rules would have done. A file of another checker is drawn as a table.

    --export junit writes a JUnit 5 test that takes its steps on the managers of Kafka's controller, and passes on a
    release that has the defect; the other files beside it stand between the two.

    A trace that the rules no longer follow is refused. Steps at which the property is false too early are marked.

    \b
    Examples:
      kraftcheck trace out/leader-active.itf.json --full --verbose
      kraftcheck trace out/at-most-one-leader.itf.json --system lease:SYSTEM
      kraftcheck trace long.itf.json --minimise --out short.itf.json
      kraftcheck trace out/leader-active.itf.json --export junit --out kafka-test
      kraftcheck trace out/leader-active.itf.json --html leader-active.html
    """
    check_pictures(pictures, out)
    if pictures.targets and draw_foreign(file, pictures):
        return
    chosen, recipe = load(file, system)
    _check_out(out, export)
    other = other_rules(chosen, pictures)
    traced = program(chosen)
    try:
        claim, trace = replayed(recipe, traced, shorten)
        _check_exported(trace, export)
    except (itf.TraceError, BrokenTrace) as error:
        raise Refusal(f"{file}: {error}") from error
    screen = console()
    if export is not None and out is not None:
        screen.plain("\n".join(f"wrote {path}" for path in write_junit(out, junit(trace, traced, chosen.title()))))
        return
    screen.plain(f"{trace.claim}: {_sentence(claim, trace)}\n{chosen.title()}")
    screen.plain(_steps(traced, claim, trace, full, verbose))
    if trace.kind != RUN:
        screen.plain(f"     again: {chosen.again(trace.claim)}")
    steps_dropped = len(recipe.steps) - len(trace.steps)
    shortest = recipe.shortest and not steps_dropped
    if out is not None:
        write(out, itf.text(itf.document(trace, traced, recipe.system, recipe.rules, shortest)))
        screen.plain(f"wrote {out}")
    for path in draw(trace, traced, chosen, other, pictures):
        screen.plain(f"wrote {path}")
    screen.plain(_length(trace, steps_dropped, shortest, shorten))


def replayed(recipe: itf.Recipe, traced: Program, shorten: bool = False) -> tuple[Property | None, Trace]:
    """The property that a recipe is about, and its trace as the rules run it.

    Raises:
        TraceError, BrokenTrace: where the rules do not follow it.
    """
    if recipe.property == RUN:
        return None, _run(recipe, traced, shorten)
    claim = claim_of(recipe, traced)
    live = claim is not None and claim.kind in LIVENESS
    if live != (recipe.loop is not None):
        fault = "missing: only a lasso breaks" if live else "there, but no lasso breaks"
        raise itf.TraceError(f"key loop: {fault} {recipe.property}")
    initial, instances = itf.instances(recipe, traced)
    trace = replay_trace(traced, claim, initial, instances, recipe.loop)
    itf.check_states(recipe, trace)
    return claim, minimise(traced, claim, initial, instances, recipe.loop) if shorten else trace


def _run(recipe: itf.Recipe, traced: Program, shorten: bool) -> Trace:
    """The run of a recipe that is about no property; raises as `replayed` does."""
    if shorten:
        raise BrokenTrace("a run that is about no property cannot be shortened; leave out --minimise")
    try:
        session = Session.of_recipe(traced, recipe)
    except StepRefused as error:
        raise BrokenTrace(str(error)) from error
    return Trace(session.initial, session.steps, RUN, RUN)


def _sentence(claim: Property | None, trace: Trace) -> str:
    """What the trace is about, in words."""
    if claim is not None:
        return claim.sentence
    return "steps that somebody took" if trace.kind == RUN else "a state without successors is quiescent"


def _check_exported(trace: Trace, export: str | None) -> None:
    """Refuse a lasso as a test: what happens for ever cannot be run to its end."""
    if trace.loop is not None and export is not None:
        raise BrokenTrace("the trace is a lasso, which never ends, so no test can take all its steps; draw it instead")


def _steps(traced: Program, claim: Property | None, trace: Trace, full: bool, verbose: bool) -> str:
    """The trace as text, with what fails at each step."""
    marks = every_property(traced, trace) if verbose else already_false(claim, trace)
    return "\n".join(lines(trace, full, marks))


def _check_out(out: Path | None, export: str | None) -> None:
    """Refuse a place that cannot be written: of a test a folder, else a file."""
    if export is None:
        check_writable(None if out is None else str(out))
        return
    check_idle("shows nothing with --export", "full", "verbose", *FORMATS, "beside")
    if out is None:
        raise Refusal("--export needs the folder to write to: --out FOLDER")
    check_results("--out", out)


def _length(trace: Trace, steps_dropped: int, shortest: bool, shorten: bool) -> str:
    """The length of the trace, and whether a shorter one may exist; of a lasso only the way into it is shortest."""
    length_text = "shortest as the file says" if shortest else "no step can be dropped" if shorten else "not minimised"
    if shortest and trace.loop is not None:
        around = len(trace.steps) - trace.loop.start
        if around:
            length_text = f"{trace.loop.start} into the cycle ({length_text}) and {around} around"
    dropped = f", {steps_dropped} dropped" if steps_dropped else ""
    return f"{steps_text(len(trace.steps))}, {length_text}{dropped}"
