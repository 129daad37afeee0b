"""`kraftcheck trace`: show, and shorten, a counterexample."""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import attrs
import click
from attrs import evolve, frozen

from kraftcheck.ci.conformance.kafka.build import Build
from kraftcheck.ci.conformance.kafka.drivers import PASSES, DriverError, run_tests
from kraftcheck.ci.conformance.kafka.junit import junit, write_junit
from kraftcheck.ci.conformance.vectors.run import NON_CONFORMANT
from kraftcheck.ci.run.result import TRACE, write_traces
from kraftcheck.ci.systems.lookup import find_system
from kraftcheck.ci.systems.report import steps_text
from kraftcheck.ci.systems.subject import Subject, program, subject
from kraftcheck.ci.terminal import options
from kraftcheck.ci.terminal.commands import check_idle
from kraftcheck.ci.terminal.console import Screen, console
from kraftcheck.ci.terminal.files import check_apart, check_named, check_results, check_writable, read_json, write
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.language.system import LIVENESS, Property
from kraftcheck.model.rules.ruleset import parse, variants
from kraftcheck.properties.register.findings import SEARCHED
from kraftcheck.solvers.drawings.drawing import Drawing, dot, drawing, foreign_drawing, mermaid, with_other_rules
from kraftcheck.solvers.drawings.svg import folded, svg
from kraftcheck.solvers.expressions.expression import Expressions
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.verdict import DEADLOCK, RUN, Trace
from kraftcheck.solvers.stepping.session import Session, StepRefused
from kraftcheck.solvers.traces import itf
from kraftcheck.solvers.traces.itf import TraceError
from kraftcheck.solvers.traces.render import BrokenTrace, already_false, every_property, lines, minimise, replay_trace

FILES = Path(__file__).parent / "page"  # where styles and scripts of pages are

POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
"""What the browser is told to load: nothing that is not in the page."""


def check_drawable(option: str, path: Path | None) -> None:
    """Refuse a drawing's place before work is spent: standard output, or what cannot be written; None passes."""
    if path is None:
        return
    if str(path) == "-":
        raise Refusal(f"{option} takes the name of a file, since standard output has the report; give one")
    check_writable(str(path))


def page(title: str, body: str, data: str, styles: Sequence[str], scripts: Sequence[str], more_style: str = "") -> str:
    """The text of a page: body, JSON as `drawing`, which no text in it ends, and files of styles and scripts."""
    style = "".join((FILES / name).read_text(encoding="utf-8") for name in styles) + more_style
    script = "".join((FILES / name).read_text(encoding="utf-8") for name in scripts)
    closed = data.replace("<", "\\u003c")
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="viewport" content="width=device-width">
<title>{escape(title)}</title>
<style>
{style}</style>
</head>
<body>
<main>
{body}</main>
<script type="application/json" id="drawing">{closed}</script>
<script>
{script}</script>
</body>
</html>
"""


BODY = """<h1>{claim}</h1>
<p>{sentence}</p>
<p><code>{title}</code></p>
<nav aria-label="walk"><button id="back">← back</button>
<button id="forward" class="primary">forward →</button> <span id="place"></span></nav>
<div aria-live="polite" class="here">
<h2 id="action"></h2>
<p id="event"></p>
<p class="fails" id="failing"></p>
<p class="same" id="other"></p>
</div>
<div class="lanes">
<div class="scroll" tabindex="0" role="region" aria-label="steps">
{own}{picture}</div>
{beside}</div>
{whole}<div class="panels">
<section><h2>What changed</h2><table><tbody id="changes"></tbody></table></section>
<section><h2>State</h2><table><tbody id="state"></tbody></table></section>
{cycle}</div>
"""


def html(drawing: Drawing) -> str:
    """The drawing as one page that needs nothing from elsewhere: pictures, states, and a script to step through it."""
    texts = {"claim": drawing.claim, "sentence": drawing.sentence, "title": drawing.title}
    written = {name: escape(text) for name, text in texts.items()}
    parts = {"own": _own(drawing), "picture": svg(drawing), "beside": _beside(drawing), "cycle": _cycle(drawing),
             "whole": _whole(drawing)}  # fmt: skip
    body = BODY.format(**written, **parts)
    data = json.dumps(attrs.asdict(drawing), ensure_ascii=True)
    return page(drawing.claim, body, data, ("page.css",), ("page.js",))


def write_drawn(
    place: Path, chosen: Subject, program: Program, traces: Sequence[Trace], shortest: bool
) -> dict[str, dict[str, str]]:
    """Write counterexamples as ITF, and each as a page; returns the paths by property, and by `itf` and `html`."""
    files = {}
    for trace, name in zip(traces, write_traces(place, chosen, program, traces, shortest), strict=True):
        shown = place / f"{name.removesuffix(TRACE)}.html"
        write(shown, html(drawing(trace, program, chosen.title())))
        files[trace.claim] = {"itf": str(place / name), "html": str(shown)}
    return files


def _own(drawing: Drawing) -> str:
    """The name of the run's own rules, where lanes of others are beside it."""
    other = drawing.other
    named = other is not None and other.divergence is not None and other.own
    return f"<p>the run, by {escape(named)}</p>\n" if named else ""


def _beside(drawing: Drawing) -> str:
    """The lanes of the same actions under other rules; empty where they do not go otherwise."""
    other = drawing.other
    if other is None or other.divergence is None:
        return ""
    lanes = svg(evolve(drawing, columns=other.columns, other=None, cycle=None, title=other.rules))
    name = f"the same actions under {escape(other.rules)}"
    return f'<div class="scroll beside" tabindex="0" role="region" aria-label="{name}">\n<p>{name}</p>\n{lanes}</div>\n'


def _whole(drawing: Drawing) -> str:
    """All steps of a drawing whose middle is folded; empty where none is."""
    if not folded(drawing):
        return ""
    name = f"all {len(drawing.columns) - 1} steps"
    picture = f'<div class="scroll" tabindex="0" role="region" aria-label="{name}">\n{svg(drawing, {})}</div>'
    return f"<details><summary>{name}</summary>\n{picture}</details>\n"


def _cycle(drawing: Drawing) -> str:
    """What is repeated for ever at the end of a lasso, and how that is fair; empty where nothing is."""
    if drawing.cycle is None:
        return ""
    fair = "".join(f"<li>{escape(text)}</li>" for text in drawing.cycle.fairness)
    told = f"<p>{escape(drawing.cycle.text)}</p>\n" + (f"<p>It is fair:</p>\n<ul>{fair}</ul>\n" if fair else "")
    return f'<section id="cycle"><h2>The cycle</h2>\n{told}</section>\n'


FORMATS: Mapping[str, Callable[[Drawing], str]] = {
    "html": html, "svg": lambda drawing: svg(drawing, {}), "mermaid": mermaid, "dot": dot,
}  # fmt: skip
"""By name of the option, what writes the drawing."""


@frozen
class PictureOptions:
    """The pictures that are wanted."""

    targets: Mapping[str, Path]  # file by format
    beside: str | None  # the rule set that is shown beside the trace's own; None: `fixed`, where the system has it


def picture_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command an option for each format, and `--beside`; it takes them as `pictures`."""

    @functools.wraps(command)
    def with_pictures(*args: Any, beside: str | None, **options: Any) -> Any:
        targets = {name: options.pop(name) for name in FORMATS}
        wanted = {name: path for name, path in targets.items() if path is not None}
        return command(*args, pictures=PictureOptions(wanted, beside), **options)

    rules = click.option("--beside", metavar="RULES", help="The rule set to compare with in --html; default fixed.")
    decorated = rules(with_pictures)
    for name, text in reversed(_HELP.items()):
        decorated = click.option(f"--{name}", type=click.Path(path_type=Path), metavar="FILE", help=text)(decorated)
    return decorated


_HELP = {
    "html": "Draw it: one page to step through, without anything from elsewhere.",
    "svg": "Draw it as SVG.",
    "mermaid": "Draw it as a sequence diagram of Mermaid.",
    "dot": "Draw its states as a graph for Graphviz.",
}


def check_pictures(pictures: PictureOptions, out: Path | None) -> None:
    """Refuse places that cannot be written, two pictures in one file, and --beside without a page."""
    for name, path in pictures.targets.items():
        check_drawable(f"--{name}", path)
    check_apart(out=out, **pictures.targets)
    if "html" not in pictures.targets:
        check_idle("is of --html", "beside")


def draw_foreign(path: Path, pictures: PictureOptions) -> bool:
    """Draw another checker's trace, JSON without our marks; whether the file is one; raises Refusal for no ITF."""
    document = read_json(path)
    meta = document.get("#meta") if isinstance(document, dict) else None
    if isinstance(meta, dict) and "kraftcheck" in meta:
        return False
    check_idle(
        "needs the rules, and the file names no system",
        *("system", "full", "verbose", "shorten", "out", "export", "beside"),
    )
    try:
        drawn = foreign_drawing(document, path.name)
    except TraceError as error:
        raise Refusal(f"{path}: {error}") from error
    screen = console()
    for written in _write(drawn, pictures):
        screen.plain(f"wrote {written}")
    screen.plain(f"{len(drawn.columns) - 1} steps, of another checker: not replayed, nothing is judged")
    return True


def other_rules(chosen: Subject, pictures: PictureOptions) -> Subject | None:
    """The same system and bounds under the rules to compare with; None without; raises Refusal for unknown rules."""
    default = "fixed" if isinstance(chosen.system.rules, tuple) and chosen.system.rules else None
    beside = pictures.beside or default
    if "html" not in pictures.targets or beside is None or beside == chosen.rules:
        return None
    return subject(chosen.whole, chosen.setting.scope, chosen.setting.bounds, beside)


def draw(trace: Trace, traced: Program, chosen: Subject, other: Subject | None, pictures: PictureOptions) -> list[Path]:
    """Draw a trace in the formats that are wanted; the files written."""
    if not pictures.targets:
        return []
    drawn = drawing(trace, traced, chosen.title())
    if other is not None:
        drawn = with_other_rules(drawn, trace, program(other, compared=False), other.rules or "")
    return _write(drawn, pictures)


def _write(drawn: Drawing, pictures: PictureOptions) -> list[Path]:
    for name, path in pictures.targets.items():
        write(path, FORMATS[name](drawn))
    return list(pictures.targets.values())


def load(path: Path, system: str | None) -> tuple[Subject, itf.Recipe]:
    """The subject and recipe in a trace file, of the named system; raises Refusal, naming file and key."""
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
    """The property a recipe is about; None for deadlock; raises TraceError when the system has no such property."""
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
@click.option("--kafka", metavar="VERSION|PATH", help="--export: run the test on the classes of this build.")
@options.like
@picture_options
def trace_command(
    file: Path, system: str | None, shorten: bool, out: Path | None, export: str | None, pictures: PictureOptions,
    **flags: Any,
) -> None:  # fmt: skip
    """Replay the counterexample in FILE (ITF JSON, as `explore --out` writes) on the rules, and show it.

    --html, --svg, --mermaid and --dot draw it: requests and records between controller and brokers, the partition,
    the property where it fails, what other rules would have done. A file of another checker is drawn as a table.

    --export junit writes a JUnit 5 test that takes its steps on the managers of Kafka's controller, and passes on a
    release that has the defect; --kafka runs it on a build: exit code 23 where it fails.

    A trace that the rules no longer follow is refused. Steps at which the property is false too early are marked.

    \b
    Examples:
      kraftcheck trace out/leader-active.itf.json --full --verbose
      kraftcheck trace out/at-most-one-leader.itf.json --system lease:SYSTEM
      kraftcheck trace long.itf.json --minimise --out short.itf.json
      kraftcheck trace out/leader-active.itf.json --export junit --out kafka-test --kafka ~/kafka
      kraftcheck trace out/leader-active.itf.json --html leader-active.html
    """
    check_pictures(pictures, out)
    if pictures.targets and draw_foreign(file, pictures):
        return
    chosen, recipe = load(file, system)
    _check_out(out, export)
    build = _build_of(flags["kafka"], flags["like"])
    other = other_rules(chosen, pictures)
    traced = program(chosen)
    try:
        claim, trace = replayed(recipe, traced, shorten)
        _check_exported(trace, export)
    except (itf.TraceError, BrokenTrace) as error:
        raise Refusal(f"{file}: {error}{_of_classes(error, export, recipe, traced)}") from error
    if export is not None and out is not None:
        sys.exit(_exported(out, junit(trace, traced, chosen.title(), build), build))
    screen = console()
    screen.plain(f"{trace.claim}: {_sentence(claim, trace)}\n{chosen.title()}")
    screen.plain(_steps(traced, claim, trace, flags["full"], flags["verbose"]))
    if trace.kind != RUN:
        screen.plain(_afterwards(chosen, trace.claim))
    steps_dropped = len(recipe.steps) - len(trace.steps)
    shortest = recipe.shortest and not steps_dropped
    if out is not None:
        write(out, itf.text(itf.document(trace, traced, recipe.system, recipe.rules, shortest)))
        screen.plain(f"wrote {out}")
    for path in draw(trace, traced, chosen, other, pictures):
        screen.plain(f"wrote {path}")
    screen.plain(_length(trace, steps_dropped, shortest, shorten))


def _afterwards(chosen: Subject, claim: str) -> str:
    """The command that finds a trace again, and those that show what is known of its defect."""
    known = [f"   finding: kraftcheck findings {one}, and kraftcheck where {one} for its rules"
             for one in found_in(chosen, claim)]  # fmt: skip
    return "\n".join([f"     again: {chosen.again(claim)}", *known])


def found_in(chosen: Subject, claim: str) -> list[str]:
    """The findings that break a promise under the rules of a system that comes with kraftcheck."""
    if not chosen.shipped or chosen.rules is None:
        return []
    on, known = parse(chosen.rules), variants()
    return [
        one.id for one in SEARCHED if one.search is not None and one.search.property == claim and one.switches
        and all(on.value(known[name].name) for name in one.switches)
    ]  # fmt: skip


def _build_of(kafka: str | None, like: str | None) -> Build | None:
    """The build that a test is run on; None where it is run on none."""
    if kafka is None:
        check_idle("completes a build of Kafka; name one with --kafka", "like")
        return None
    return Build.of(kafka, like)


def _exported(out: Path, test: dict[str, str], build: Build | None) -> int:
    screen = console()
    screen.plain("\n".join(f"wrote {path}" for path in write_junit(out, test)))
    return 0 if build is None else _ran(build, next(iter(test.items())), screen)


def _ran(build: Build, test: tuple[str, str], screen: Screen) -> int:
    """Run a test on the classes of a build, say how it ends, and the exit code; raises Refusal where it cannot."""
    name = test[0].removesuffix(".java")
    try:
        said = run_tests(build, {name: test[1]})[name]
    except DriverError as reason:
        raise Refusal(str(reason)) from None
    code = 0 if said == PASSES else NON_CONFORMANT
    outcome = f"fails on Kafka {build}: {said}" if said else f"passes on Kafka {build}"
    screen.plain(f"{name} {outcome} (exit {code})")
    return code


def replayed(recipe: itf.Recipe, traced: Program, shorten: bool = False) -> tuple[Property | None, Trace]:
    """The property of a recipe, and its trace by the rules; raises TraceError, or BrokenTrace where they differ."""
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
    if claim is not None:
        return claim.sentence
    return "steps that somebody took" if trace.kind == RUN else "a state without successors is quiescent"


def _of_classes(error: Exception, export: str | None, recipe: itf.Recipe, traced: Program) -> str:
    """What to say besides where classes that differ from the rules break a promise that something can happen."""
    if export is None or not isinstance(error, BrokenTrace) or recipe.property == RUN:
        return ""
    claim = claim_of(recipe, traced)
    can = claim is not None and claim.kind == "recovers"
    return "; what classes can still do kraftcheck explore --kafka tells, and no test" * can


def _check_exported(trace: Trace, export: str | None) -> None:
    """Refuse a lasso as a test: what happens for ever cannot be run to its end."""
    if trace.loop is not None and export is not None:
        raise BrokenTrace("the trace is a lasso, which never ends, so no test can take all its steps; draw it instead")


def _steps(traced: Program, claim: Property | None, trace: Trace, full: bool, verbose: bool) -> str:
    marks = every_property(traced, trace) if verbose else already_false(claim, trace)
    return "\n".join(lines(trace, full, marks))


def _check_out(out: Path | None, export: str | None) -> None:
    """Refuse a place that cannot be written: of a test a folder, else a file."""
    if export is None:
        check_idle("runs what --export writes", "kafka", "like")
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
