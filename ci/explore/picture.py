"""Pictures of traces as files: one page of HTML, SVG, Mermaid, and a graph for Graphviz."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping
from html import escape
from pathlib import Path
from typing import Any

import attrs
import click
from attrs import frozen

from kraftcheck.ci.explore.page_file import check_drawable, page
from kraftcheck.ci.systems.subject import Subject, program, subject
from kraftcheck.ci.terminal.commands import check_idle
from kraftcheck.ci.terminal.console import console
from kraftcheck.ci.terminal.files import check_apart, read_json, write
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.solvers.drawings.drawing import Drawing, dot, drawing, mermaid, with_other_rules
from kraftcheck.solvers.drawings.foreign import foreign_drawing
from kraftcheck.solvers.drawings.svg import svg
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.verdict import Trace
from kraftcheck.solvers.traces.itf import TraceError

BODY = """<h1>{claim}</h1>
<p>{sentence}</p>
<p><code>{title}</code></p>
<div class="scroll" tabindex="0" role="region" aria-label="steps">
{picture}</div>
<nav aria-label="walk"><button id="back">← back</button>
<button id="forward">forward →</button> <span id="place"></span></nav>
<div aria-live="polite">
<h2 id="action"></h2>
<p id="event"></p>
<p class="fails" id="failing"></p>
<p class="same" id="other"></p>
</div>
<div class="panels">
<section><h2>What changed</h2><table><tbody id="changes"></tbody></table></section>
<section><h2>State</h2><table><tbody id="state"></tbody></table></section>
{cycle}</div>
"""


def html(drawing: Drawing) -> str:
    """The drawing as one page that needs nothing from elsewhere: pictures, states, and a script to step through it."""
    texts = {"claim": drawing.claim, "sentence": drawing.sentence, "title": drawing.title}
    written = {name: escape(text) for name, text in texts.items()}
    body = BODY.format(**written, picture=svg(drawing), cycle=_cycle(drawing))
    data = json.dumps(attrs.asdict(drawing), ensure_ascii=True)
    return page(drawing.claim, body, data, ("page.css",), ("page.js",))


def _cycle(drawing: Drawing) -> str:
    """What is repeated for ever at the end of a lasso, and how that is fair; empty where nothing is."""
    if drawing.cycle is None:
        return ""
    fair = "".join(f"<li>{escape(text)}</li>" for text in drawing.cycle.fairness)
    told = f"<p>{escape(drawing.cycle.text)}</p>\n" + (f"<p>It is fair:</p>\n<ul>{fair}</ul>\n" if fair else "")
    return f'<section id="cycle"><h2>The cycle</h2>\n{told}</section>\n'


FORMATS: Mapping[str, Callable[[Drawing], str]] = {"html": html, "svg": svg, "mermaid": mermaid, "dot": dot}
"""By name of the option, what writes the drawing."""


@frozen
class PictureOptions:
    """The pictures that are wanted.

    Attributes:
        targets: file by format.
        beside: the rule set that is shown beside the trace's own; None: `fixed`, where the system has it.
    """

    targets: Mapping[str, Path]
    beside: str | None


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
    """Draw the trace of another checker, a JSON document that says nothing of kraftcheck; whether the file is one.

    Raises:
        Refusal: naming what is no ITF.
    """
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
    """The same system and bounds under the rules to compare with; None where nothing is compared.

    Raises:
        Refusal: for an unknown rule set.
    """
    default = "fixed" if isinstance(chosen.system.rules, tuple) and chosen.system.rules else None
    beside = pictures.beside or default
    if "html" not in pictures.targets or beside is None or beside == chosen.rules:
        return None
    return subject(chosen.system, chosen.setting.scope, chosen.setting.bounds, beside)


def draw(
    trace: Trace, traced: Program, chosen: Subject, other: Subject | None, pictures: PictureOptions
) -> list[Path]:  # fmt: skip
    """Draw a trace in the formats that are wanted; the files written."""
    if not pictures.targets:
        return []
    drawn = drawing(trace, traced, chosen.title())
    if other is not None:
        drawn = with_other_rules(drawn, trace, program(other), other.rules or "")
    return _write(drawn, pictures)


def _write(drawn: Drawing, pictures: PictureOptions) -> list[Path]:
    for name, path in pictures.targets.items():
        write(path, FORMATS[name](drawn))
    return list(pictures.targets.values())
