"""docs/reference/coverage.md: the coverage table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from kraftcheck.properties.coverage.statement import CHECKED, LEFT_OUT, MODELLED, Document, Statement
from kraftcheck.properties.coverage.table import DOCUMENTS

HEAD = """# Coverage

What has become of each statement of the design documents, of each candidate property and of each defect that the
reference pages list.

| class | a statement is |
|---|---|
| a | modelled: a rule states it, or the named place of the sources has it |
| b | modelled, and checked by a property that a named variant refutes |
| c | left out, for the reason that is given |

The number behind a document's name is a line of its text. `kraftcheck where KIP-858 253` prints the statements of one
line, with the rules that state them. A test holds that everything that is named here exists, and that each property of
class b is refuted with a variant of its row.

{totals}
"""


def page() -> str:
    """The text of the page."""
    lines = ["| document | statements | a | b | c |", "|---|---|---|---|---|"]
    for document in DOCUMENTS:
        kinds = Counter(one.kind for one in document.statements)
        counts = " | ".join(str(kinds[kind]) for kind in (MODELLED, CHECKED, LEFT_OUT))
        lines.append(f"| [{document.title}](#{_anchor(document.title)}) | {len(document.statements)} | {counts} |")
    parts = [line for document in DOCUMENTS for line in _part(document)]
    return "\n".join([HEAD.format(totals="\n".join(lines)), *parts])


def figures() -> str:
    """The table, counted."""
    kinds = Counter(one.kind for document in DOCUMENTS for one in document.statements)
    told = f"{kinds.total()} statements: {kinds[MODELLED]} modelled, {kinds[CHECKED]} modelled and checked, "
    told += f"{kinds[LEFT_OUT]} left out for a reason"
    return told


def _anchor(name: str) -> str:
    return "".join(letter for letter in name.lower().replace(" ", "-") if letter.isalnum() or letter == "-")


def _part(document: Document) -> Iterator[str]:
    yield f"## {document.title}\n"
    yield "| where | says | class | rules | properties | refuted by | left out, or not said |"
    yield "|---|---|---|---|---|---|---|"
    yield from (_row(document.name, one) for one in document.statements)
    yield ""


def _row(name: str, one: Statement) -> str:
    cells = [
        one.id.removeprefix(f"{name} "), one.says, one.kind,
        _code(*one.rules, *one.places), _code(*one.properties), _code(*one.variants), one.reason,
    ]  # fmt: skip
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def _code(*names: str) -> str:
    return ", ".join(f"`{name}`" for name in names)
