"""The page of a replayed log: what is wrong at its end, then the cluster at any offset."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any, TypeAlias

from kraftcheck.ci.explore.trace import page
from kraftcheck.ci.logs import known
from kraftcheck.ci.logs.report import Summary, lines, unexplained_lines
from kraftcheck.ci.logs.status import head, parts
from kraftcheck.ci.terminal.console import Table
from kraftcheck.model.visible import visible
from kraftcheck.solvers.drawings.log import LogDrawing
from kraftcheck.solvers.logs.explain.explain import ReplayedBatch
from kraftcheck.solvers.logs.memo.ledger import MemoisedBatch

Row: TypeAlias = Mapping[str, Any]

REPORTED = 200  # lines of the command's report that the page holds; the page shows every violation at its batch

REVEALED = "This page has the names of topics and the ids of directories in it; --anonymise renames them."
RENAMED = "Topics, hosts, racks and directories are renamed in this page."

BODY = """<header>
{condition}
<p class="same">{summary}</p>
<p class="same">{reveals}</p>
</header>
{parts}
<form>
<label>Partition <input id="partition" type="search" placeholder="any part of a name"></label>
<label>Event or property <input id="words" type="search" placeholder="such as fence broker 1"></label>
<label class="short">Go to offset <input id="offset" type="number" min="0"></label>
<label class="inline"><input id="problems" type="checkbox"> only problems</label>
<nav aria-label="walk"><button id="back" aria-label="back" title="key ←">←</button>
<button id="forward" aria-label="forward" title="key →">→</button>
<button id="earlier" title="key p">← problem</button>
<button id="later" title="key n">problem →</button> <span id="place"></span></nav>
</form>
<div class="lanes" id="lanes" tabindex="0" role="slider" aria-label="place in the log" aria-valuemin="0"></div>
<p class="legend" aria-hidden="true"><i class="fenced"></i>fenced <i class="shut-down"></i>shut down
<i class="starting"></i>starting or shutting down <i class="live"></i>live, a tick for each event
<i class="fails"></i>a property fails <i class="unexplained"></i>not explained</p>
<div class="panes">
<section aria-labelledby="batch">
<div class="rows batches" id="batches" tabindex="0" role="listbox" aria-label="batches"></div>
<div aria-live="polite">
<h2 id="batch"></h2>
<p class="same" id="where"></p>
<div class="fails" id="wrong"></div>
<p id="ambiguous"></p>
</div>
<div class="wide" tabindex="0" role="region" aria-label="events"><table><tbody id="events"></tbody></table></div>
<div class="wide" id="changed" tabindex="0" role="region" aria-label="partitions changed"><table>
<thead><tr><th scope="col">partition</th><th scope="col">leader</th><th scope="col">ISR</th><th scope="col">ELR</th>
<th scope="col">replicas</th><th scope="col">leader epoch</th></tr></thead>
<tbody id="changes"></tbody></table></div>
</section>
<section aria-labelledby="state">
<h2 id="state"></h2>
<p id="counts"></p>
<div class="partitions" id="table" role="grid" aria-labelledby="state">
<div role="rowgroup"><div class="row names" role="row"><span role="columnheader">partition</span>
<span role="columnheader">state</span><span role="columnheader">leader</span><span role="columnheader">ISR</span>
<span role="columnheader">min</span><span role="columnheader">ELR</span><span role="columnheader">replicas</span>
<span role="columnheader">epoch</span><span role="columnheader">since</span></div></div>
<div class="rows" id="rows" tabindex="0" role="rowgroup" aria-label="rows"></div>
</div>
</section>
</div>
<p class="same">Keys: ← → batch, n p problem, / filter, Esc clears it, Home End.
A partition is chosen by a click on its row, or by ↑ ↓ Enter.</p>
<details><summary>Summary of the replay</summary><pre>{lines}</pre></details>
"""


def draw(drawing: LogDrawing, batch: ReplayedBatch | MemoisedBatch) -> None:
    """Add a batch to the drawing, with the reason where it is not explained."""
    explanation = None if isinstance(batch, MemoisedBatch) else batch.explanation
    drawing.add(batch, () if explanation is None or explanation.explained else unexplained_lines(explanation))


def html(drawing: LogDrawing, summary: Summary, found: Row | str, renamed: bool = False) -> str:
    """The log as one page of its own, with the condition at its end, or why none; `renamed`: under aliases."""
    data = drawing.document() | {"causes": [_cause(row) for row in summary.causes]}
    text = json.dumps(data, separators=(",", ":")).encode()
    packed = base64.b64encode(gzip.compress(text, compresslevel=6, mtime=0)).decode()
    violations, unexplained = len(summary.violations), len(summary.unexplained)
    counts = (
        f"{summary.batches} batches, {summary.records} records: {unexplained} not explained, {violations} violations"
    )
    report = lines(summary)
    if len(report) > REPORTED:
        report = [*report[:REPORTED], f"  and {len(report) - REPORTED} lines more, which the command prints"]
    body = BODY.format(
        condition="\n".join(_head(found)), parts="" if isinstance(found, str) else "\n".join(_parts(found)),
        summary=escape(counts), reveals=RENAMED if renamed else REVEALED, lines=escape("\n".join(report)),
    )  # fmt: skip
    scripts = ("log.js", "log_view.js", "log_walk.js")
    return page(visible(summary.name), body, json.dumps(packed), ("page.css", "log.css"), scripts)


def _cause(row: Row) -> dict[str, Any]:
    spells = [[spell["from"], spell["until"]] for spell in row["spells"]]
    return {"name": visible(known.label(row)), "title": visible(known.title(row)), "deliberate": row["deliberate"],
            "spells": spells}  # fmt: skip


def _head(found: Row | str) -> Iterator[str]:
    if isinstance(found, str):
        yield f'<h1 class="broken">{escape(visible(found))}</h1>'
        return
    headline, where, *doubts = (escape(visible(line)) for line in head(found))
    kind = {0: "well", 10: "danger"}.get(found["exit"], "broken")
    yield f'<h1 class="{kind}">{headline}</h1>'
    yield f"<p>{where}</p>"
    yield from (f'<p class="doubt">{doubt}</p>' for doubt in doubts)


def _parts(found: Row) -> Iterator[str]:
    """What to do, in view; the other parts in an element that opens, and is open where something is wrong."""
    told = [*parts(found)]
    now = [_part(lines) for lines in told if _title(lines).startswith("WHAT NOW")]
    others = [_part(lines) for lines in told if not _title(lines).startswith("WHAT NOW")]
    yield from ('<div class="parts">', *now, "</div>")
    if others:
        opened = " open" if found["exit"] else ""
        yield f'<details id="more"{opened}><summary>Partitions and brokers at the end of the log</summary>'
        yield from ('<div class="parts">', *others, "</div>", "</details>")


def _title(part: Sequence[Table | str]) -> str:
    first = part[0]
    return first.columns[0].title if isinstance(first, Table) else first


def _part(part: Sequence[Table | str]) -> str:
    """A part as a section; a table has its title in its first column."""
    title, told = _title(part), []
    for line in part if isinstance(part[0], Table) else part[1:]:
        if isinstance(line, Table):
            told.append(_table(line))
        else:
            grave = any(word in line for word in ("must NOT", "RESIGN", "LOSE", "with loss"))
            deep = " deep" if line.startswith("    ") else ""
            told.append(f'<p class="{"fails" if grave else "said"}{deep}">{escape(visible(line.strip()))}</p>')
    wide = ' class="wide" tabindex="0" role="region"' if isinstance(part[0], Table) else ""
    label = f' aria-label="{escape(title)}"' if wide else ""
    return f"<section{wide}{label}><h2>{escape(title)}</h2>{''.join(told)}</section>"


def _table(table: Table) -> str:
    kinds = [' class="prose"' if column.is_prose else "" for column in table.columns]
    titles = ["", *(column.title for column in table.columns[1:])]
    heads = "".join(f'<th scope="col">{escape(title)}</th>' for title in titles)
    rows = []
    for row in table.rows:
        texts = (escape(cell.plain).replace("\n", "<br>") for cell in row)
        rows.append("".join(f"<td{kind}>{text}</td>" for kind, text in zip(kinds, texts, strict=True)))
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"
