"""The load-bearing table as one page of HTML that needs nothing from elsewhere, with filters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape

from kraftcheck.ci.explore.page_file import page
from kraftcheck.ci.mutants.table import MutantRow, TablePart, groups_of, place
from kraftcheck.solvers.mutants.explore import Survived, Undecided
from kraftcheck.solvers.mutants.mutate import GUARD

COLUMNS = ("system", "rule", "condition", "mutant", "verdict", "properties", "what breaks")

TITLE = "The load-bearing table"


def html(parts: Sequence[TablePart]) -> str:
    """The page: a row for each mutant, by system, then in the order of the rules."""
    rows = [row for part in parts for _, members in groups_of(part.rows) for row in members]
    heads = "".join(f'<th scope="col">{name}</th>' for name in COLUMNS)
    body = f"""<h1>{TITLE}</h1>
<p>Every condition of the rules is dropped, one at a time. A row says which property needs it.</p>
{_systems(parts)}
<form id="filters">
{_filters(rows)}
{_labelled("words", '<input id="words" name="words" type="search" placeholder="press / to type">')}
<button type="reset">all</button>
</form>
<noscript><p>The filters need JavaScript; every row is below.</p></noscript>
<p id="count" role="status">{len(rows):,} mutants</p>
<div class="scroll" tabindex="0" role="region" aria-label="mutants">
<table>
<thead><tr>{heads}</tr></thead>
<tbody>
"""
    end = "\n</tbody>\n</table>\n</div>\n"
    return page(TITLE, body + "\n".join(map(_row, rows)) + end, "null", ("page.css", "table.css"), ("table.js",))


def _systems(parts: Iterable[TablePart]) -> str:
    items = "".join(f"<li><code>{escape(part.title)}</code>: {part.distinct:,} states</li>" for part in parts)
    return f"<details><summary>scopes</summary><ul>{items}</ul></details>"


def _filters(rows: Sequence[MutantRow]) -> str:
    verdicts = sorted({verdict(row) for row in rows})
    kinds = [word for word in dict.fromkeys(one.partition(":")[0] for one in verdicts) if word not in verdicts]
    choices = {
        "system": list(dict.fromkeys(row.system for row in rows)),
        "rule": sorted({place(row.mutant) for row in rows}),
        "property": sorted({name for row in rows for name in row.properties()}),
        "verdict": sorted([*kinds, *verdicts]),
    }
    return "\n".join(_select(name, values) for name, values in choices.items())


def _select(name: str, values: Iterable[str]) -> str:
    options = "".join(f"<option>{escape(value)}</option>" for value in values)
    return _labelled(name, f'<select id="{name}" name="{name}"><option value="">any</option>{options}</select>')


def _labelled(name: str, control: str) -> str:
    return f'<div class="filter"><label for="{name}">{name}</label>{control}</div>'


def verdict(row: MutantRow) -> str:
    """The outcome in a word; of a mutant that nothing kills also what that means."""
    return f"{row.word}: {row.judged[0]}" if isinstance(row.outcome, Survived) else row.word


def _row(row: MutantRow) -> str:
    mutant = row.mutant
    condition = mutant.part if mutant.kind == GUARD or mutant.call == mutant.part else f"{mutant.part} in {mutant.call}"
    where = f" (scope {row.scope})" if " " in row.scope and not isinstance(row.outcome, Survived) else ""
    colour = "open" if isinstance(row.outcome, Survived | Undecided) else "killed"
    attributes = {
        "system": row.system, "rule": place(mutant), "verdict": verdict(row), "properties": " ".join(row.properties()),
    }  # fmt: skip
    data = "".join(f' data-{name}="{escape(value)}"' for name, value in attributes.items())
    return f"<tr{data}>{''.join(_cells(row, condition, colour, row.breaks_text() + where))}</tr>"


def _cells(row: MutantRow, condition: str, colour: str, breaks: str) -> Iterator[str]:
    texts = (row.system, place(row.mutant), condition, row.change(), verdict(row), ", ".join(row.properties()), breaks)
    for name, text in zip(COLUMNS, texts, strict=True):
        yield f'<td class="{colour}">{escape(text)}</td>' if name == "verdict" else f"<td>{escape(text)}</td>"
