"""The page of a replayed log: its batches along the lanes of controller and brokers, with what explains each."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Sequence
from html import escape

from kraftcheck.ci.explore.page_file import page
from kraftcheck.ci.logs.format.read import LogFiles
from kraftcheck.ci.logs.summary import Summary
from kraftcheck.ci.logs.summary_lines import lines, unexplained_lines
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.solvers.drawings.log import LogDrawing
from kraftcheck.solvers.drawings.svg import STYLE
from kraftcheck.solvers.logs.explain.replay import ReplayedBatch
from kraftcheck.solvers.logs.memo.lookup import MemoisedBatch

REPORTED = 200
"""Lines of the command's report that the page holds; the page shows every violation at its batch."""

BODY = """<h1>{name}</h1>
<p>{summary}</p>
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


def html(drawing: LogDrawing, summary: Summary) -> str:
    """The log as one page that needs nothing from elsewhere; its data are compressed."""
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
    body = BODY.format(name=escape(summary.name), summary=escape(head), lines=escape("\n".join(report)))
    scripts = ("log.js", "log_view.js", "log_walk.js")
    return page(summary.name, body, json.dumps(packed), ("page.css", "log.css"), scripts, STYLE)
