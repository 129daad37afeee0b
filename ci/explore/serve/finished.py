"""Finished runs: the folder that `explore --out` wrote, with its counterexamples and its report."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import field, frozen

from kraftcheck.ci.explore.serve.numbering import step_of
from kraftcheck.ci.explore.trace import load, replayed
from kraftcheck.ci.run.result import REPORT, TRACE
from kraftcheck.ci.systems.subject import Subject, subject
from kraftcheck.ci.terminal.files import check_named, read_json
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.stepping.session import Session, StepRefused
from kraftcheck.solvers.traces import itf
from kraftcheck.solvers.traces.render import BrokenTrace, fairness_texts, repeated_text


@frozen
class Opened:
    """What the command line names.

    Attributes:
        chosen: the subject.
        traces: the files of its counterexamples.
        document: the report of a finished run; None without one.
    """

    chosen: Subject
    traces: tuple[Path, ...] = ()
    document: Mapping[str, Any] | None = field(default=None, repr=False)


def opened_trace(path: Path, system: str | None) -> Opened:
    """The subject of a trace file; raises Refusal as `trace` does."""
    return Opened(load(path, system)[0], (path,))


def opened_run(place: Path, system: str | None) -> Opened:
    """The subject of the folder that `explore --out` wrote.

    Raises:
        Refusal: for a folder without traces and report, or with those of several subjects.
    """
    traces = tuple(sorted(place.glob(f"*{TRACE}")))
    report = read_json(place / REPORT) if (place / REPORT).is_file() else None
    if report is not None:
        chosen = _subject_of(place / REPORT, report, system)
    elif traces:
        chosen = load(traces[0], system)[0]
    else:
        raise Refusal(f"{place} holds neither a trace nor {REPORT}; give the folder of explore --out")
    for path in traces:
        of = load(path, system)[0]
        if of.title() != chosen.title():
            raise Refusal(f"{path}: of {of.title()}, not of {chosen.title()}; serve one run at a time")
    return Opened(chosen, traces, report)


def _subject_of(path: Path, report: Any, system: str | None) -> Subject:
    """The subject that a report names; the keys are those of `explore --json`."""
    if not isinstance(report, dict) or report.get("command") != "explore":
        raise Refusal(f"{path}: no report of explore")
    name, scope, bounds, rules = (report.get(key) for key in ("system", "scope", "bounds", "rules"))
    fits = isinstance(name, str) and isinstance(scope, str) and isinstance(rules, str | None)
    if not fits or not isinstance(bounds, dict) or not all(type(value) is int for value in bounds.values()):
        raise Refusal(f"{path}: keys system, scope, bounds, rules: not those of a report of explore")
    check_named(path, str(name), system)
    try:
        return subject(str(name), scope, bounds, rules)
    except Refusal as error:
        raise Refusal(f"{path}: {error.message}") from error


def counterexample(path: Path, program: Program) -> dict[str, Any]:
    """A trace file as the page lists it: its property and its steps, or in one line why it does not fit.

    Of a lasso there are the state where its cycle begins, what is repeated, and how it is fair.
    """
    name = path.name.removesuffix(TRACE)
    try:
        recipe = itf.recipe(read_json(path))
        session = Session.of_recipe(program, recipe)
        cycle = _cycle(program, recipe)
    except (Refusal, itf.TraceError, StepRefused, BrokenTrace) as error:
        return {"name": name, "property": name, "fault": f"{path}: {error}"}
    steps = [step_of(program, instance) for instance in session.instances]
    return {
        "name": name, "property": recipe.property, "shortest": recipe.shortest, "cycle": cycle,
        "start": session.start, "steps": steps,
    }  # fmt: skip


def _cycle(program: Program, recipe: itf.Recipe) -> dict[str, Any] | None:
    """The cycle of a lasso; None for another trace.

    Raises:
        TraceError, BrokenTrace: for a lasso that is none.
    """
    trace = replayed(recipe, program)[1] if recipe.loop is not None else None
    if trace is None or trace.loop is None:
        return None
    text = repeated_text(trace.loop.start, len(trace.steps))
    return {"start": trace.loop.start, "text": text, "fairness": fairness_texts(trace.loop)}
