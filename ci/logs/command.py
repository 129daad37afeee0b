"""`kraftcheck replay`: a real cluster's metadata log, explained by the model."""

from __future__ import annotations

import base64
import gzip
import json
import sys
from collections.abc import Sequence
from functools import partial
from html import escape
from pathlib import Path
from typing import Any

import click

from kraftcheck.ci.explore.trace import check_drawable, page
from kraftcheck.ci.logs.condition import condition_of
from kraftcheck.ci.logs.format.read import STDIN, LogFiles, find
from kraftcheck.ci.logs.report import (
    LogReport,
    ReplayOptions,
    Summary,
    document,
    event_kind,
    exit_code,
    lines,
    report_of,
    settings_of,
    total_line,
    unexplained_lines,
)
from kraftcheck.ci.logs.status import show
from kraftcheck.ci.spark.session import check_packages
from kraftcheck.ci.terminal import options as shared
from kraftcheck.ci.terminal.commands import check_idle
from kraftcheck.ci.terminal.console import console, plain_screen
from kraftcheck.ci.terminal.files import DatasetPath, check_apart, check_writable, write, write_json
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.language.system import ScopeError
from kraftcheck.model.rules.ruleset import parse
from kraftcheck.model.visible import visible
from kraftcheck.solvers.drawings.log import LogDrawing
from kraftcheck.solvers.drawings.svg import STYLE
from kraftcheck.solvers.logs.explain.explain import ReplayedBatch
from kraftcheck.solvers.logs.memo.ledger import MemoisedBatch

REPORTED = 200
"""Lines of the command's report that the page holds; the page shows every violation at its batch."""

BODY = """<h1>{name}</h1>
<p>{summary}</p>
{condition}
<details><summary>Summary of the replay</summary><pre>{lines}</pre></details>
<form>
<label>Partition <input id="partition" list="partitions" placeholder="all"></label>
<datalist id="partitions"></datalist>
<label>Events that say <input id="words" placeholder="such as fence broker 1"></label>
<label>Go to offset <input id="offset" type="number" min="0"></label>
<label class="inline"><input id="problems" type="checkbox"> only what is violated or not explained</label>
</form>
<div class="scroll" tabindex="0" role="region" aria-label="batches"><div id="spacer"><div id="window"></div></div></div>
<div id="marks" aria-hidden="true"></div>
<nav aria-label="walk"><button id="back">← back</button>
<button id="forward">forward →</button>
<button id="earlier">← problem</button>
<button id="later">problem →</button> <span id="place"></span></nav>
<div aria-live="polite">
<h2 id="batch"></h2>
<p class="same" id="where"></p>
<div class="fails" id="wrong"></div>
<p id="ambiguous"></p>
</div>
<div class="panels">
<section><h2>Events</h2><table><tbody id="events"></tbody></table></section>
<section id="changed"><h2>Partitions changed</h2><table>
<thead><tr><th scope="col">partition</th><th scope="col">leader</th><th scope="col">ISR</th><th scope="col">ELR</th>
<th scope="col">replicas</th><th scope="col">leader epoch</th></tr></thead>
<tbody id="changes"></tbody></table></section>
</div>
"""


def check_one(logs: Sequence[LogFiles]) -> None:
    """Refuse to draw several logs in one page."""
    if len(logs) > 1:
        raise Refusal(f"--html draws one log, and there are {len(logs)}; name one of them, such as {logs[0].name}")


def draw(drawing: LogDrawing, batch: ReplayedBatch | MemoisedBatch) -> None:
    """Add a batch to the drawing, with the reason where it is not explained."""
    explanation = None if isinstance(batch, MemoisedBatch) else batch.explanation
    drawing.add(batch, () if explanation is None or explanation.explained else unexplained_lines(explanation))


CONDITION = """<details id="condition"{opened}><summary>{headline}</summary>
<pre tabindex="0" role="region" aria-label="the cluster at the end of the log">{lines}</pre></details>"""


def _condition(log: LogFiles, chosen: ReplayOptions) -> str:
    """What `status` says of the end of a log: a page opens at what is wrong."""
    screen = plain_screen()
    try:
        found = condition_of(STDIN if STDIN in log.files else Path(log.name), chosen)
    except Refusal as reason:
        return f"<p>{escape(visible(str(reason)))}</p>"
    show(found, screen)
    headline, *lines = screen.text().splitlines()[:-1]
    opened = " open" if found["exit"] else ""
    return CONDITION.format(opened=opened, headline=escape(headline), lines=escape("\n".join(lines)))


def html(drawing: LogDrawing, summary: Summary, condition: str = "") -> str:
    """The log as one page that needs nothing from elsewhere; its data are compressed.

    Args:
        drawing: the log.
        summary: of its replay.
        condition: the part of the page on the end of the log.
    """
    data = json.dumps(drawing.document(), separators=(",", ":")).encode()
    packed = base64.b64encode(gzip.compress(data, compresslevel=6, mtime=0)).decode()
    violations, unexplained = len(summary.violations), len(summary.unexplained)
    head = (
        f"{summary.batches} batches, {summary.records} records, rules {summary.rules}: "
        f"{unexplained} not explained, {violations} violations"
    )
    report = lines(summary)
    if len(report) > REPORTED:
        report = [*report[:REPORTED], f"  and {len(report) - REPORTED} lines more, which the command prints"]
    body = BODY.format(
        name=escape(visible(summary.name)), summary=escape(head), condition=condition, lines=escape("\n".join(report))
    )
    scripts = ("log.js", "log_view.js", "log_walk.js")
    return page(visible(summary.name), body, json.dumps(packed), ("page.css", "log.css"), scripts, STYLE)


@click.command("replay")
@click.argument("logs", nargs=-1, required=True, metavar="LOG...")
@click.option("--rules", help="Rule set, PRESET[+VARIANT|-VARIANT...]; by default that of the metadata version.")
@click.option("--static", multiple=True, metavar="KEY=VALUE", help="A line of the controller's configuration file.")
@click.option("--allow-skipped", type=click.IntRange(0), default=0, help="Undecodable lines or batches to pass over.")
@click.option("--json", "target", metavar="FILE|-", help="Write one row per batch as a JSON document.")
@click.option("--html", "page", type=click.Path(path_type=Path), metavar="FILE", help="Draw the log: one page.")
@click.option(
    "--engine",
    type=click.Choice(["python", "spark"]),
    default="python",
    show_default=True,
    help="spark: a task for each log, results in --out.",
)
@click.option("--out", type=DatasetPath(), help="Folder for what Spark finds, as Parquet.")
@click.option("--conf", multiple=True, metavar="KEY=VALUE", help="A setting of Spark's; repeatable.")
@shared.processes
@click.option("--verbose", is_flag=True, help="Show every batch with its events.")
def replay_command(logs: tuple[str, ...], rules: str | None, **flags: Any) -> None:
    """Say which controller events wrote each batch of a metadata log, and check the properties on the way.

    A LOG is a segment or snapshot of __cluster_metadata-0, the output of
    kafka-dump-log --cluster-metadata-decoder, JSON lines of records, a folder, or - for
    standard input.

    Exit code 0: all is explained and every property holds; 12: all is explained, and a
    property does not hold; 23: a batch is not explained, whether or not the properties
    hold; 2: bad input, or nothing read.

    \b
    Examples:
      kraftcheck replay /var/kafka/__cluster_metadata-0
      kraftcheck replay decoded.txt --rules kafka-4.0 --json rows.json
      kraftcheck replay /var/kafka/__cluster_metadata-0 --html log.html
    """
    target, page, out = flags["target"], flags["page"], flags["out"]
    check_writable(target)
    check_drawable("--html", page)
    check_apart(json=target, html=page)
    _check_engine(flags["engine"], out)
    chosen = ReplayOptions(rules, flags["static"], flags["allow_skipped"])
    try:
        if rules is not None:
            parse(rules)
        settings_of(chosen.static)
        logs_found = find(tuple(Path(log) for log in logs))
        if page is not None:
            check_one(logs_found)
        if out is None:
            detailed = flags["verbose"] or target is not None
            reports = [_report(log, chosen, page, detailed, flags["verbose"]) for log in logs_found]
        else:
            from kraftcheck.ci.logs.spark import replay_with_spark  # Spark is an extra

            reports = replay_with_spark(logs_found, chosen, out, flags["conf"], flags["workers"])
    except ScopeError as reason:
        raise Refusal(str(reason)) from None
    if target is not None:
        write_json(target, document(reports))
    screen = console(to_stderr=target == "-")
    for report in reports:
        for line in report.lines:
            screen.plain(line)
    if page is not None:
        screen.plain(f"wrote {page}")
    screen.plain(total_line(reports))
    sys.exit(exit_code(reports))


def _report(log: LogFiles, chosen: ReplayOptions, page: Path | None, detailed: bool, verbose: bool) -> LogReport:
    """Replay one log in this process, and draw it where a page is wanted."""
    if page is None:
        return report_of(chosen.replay(log, detailed=detailed, diagnoses=True), verbose)
    drawing = LogDrawing(event_kind)
    summary = chosen.replay(log, partial(draw, drawing), detailed, diagnoses=True)
    write(page, html(drawing, summary, _condition(log, chosen)))
    return report_of(summary, verbose)


def _check_engine(engine: str, out: Path | None) -> None:
    """Refuse options of the other engine, and Spark where its packages are not installed."""
    if (engine == "spark") != (out is not None):
        raise Refusal("--engine spark needs --out, the folder for what it finds, and only it does")
    if engine == "spark":
        check_idle("shows batches with --engine python only", "verbose", "page")
        check_packages()
    else:
        check_idle("is an option of --engine spark", "conf")
