"""A drawing as a sequence diagram of Mermaid, for pages that render it, such as those of GitHub."""

from __future__ import annotations

from collections.abc import Iterator

from kraftcheck.solvers.drawings.drawing import Column, Drawing


def mermaid(drawing: Drawing) -> str:
    """The drawing as a sequence diagram: a participant for each lane, a note for each event and each failure.

    The steps of a cycle are in a `loop`.
    """
    return "\n".join(("sequenceDiagram", *_lines(drawing))) + "\n"


def _lines(drawing: Drawing) -> Iterator[str]:
    lanes = drawing.lanes or ("state",)
    for number, name in enumerate(lanes):
        yield f"    participant L{number} as {_escaped(name)}"
    cycle, end = drawing.cycle, len(drawing.columns) - 1
    for column in drawing.columns:
        if cycle is not None and column.number == cycle.start + 1:
            yield "    loop for ever"
        yield from _column(drawing, column, len(lanes) - 1)
    if cycle is not None:
        if cycle.start < end:
            yield "    end"
        parts = [cycle.text, *(f"fair: {text}" for text in cycle.fairness)]
        yield f"    Note over L0,L{len(lanes) - 1}: {_escaped('<br/>'.join(parts))}"


def _column(drawing: Drawing, column: Column, last: int) -> Iterator[str]:
    text = f"{column.number} {column.action}"
    if not column.arrows:
        values = [f"{label} {value}" for label, value in zip(drawing.labels, column.strip, strict=True)]
        yield f"    Note over L0,L{last}: {_escaped('<br/>'.join([text, ', '.join(values)]))}"
    for arrow in column.arrows:
        if arrow.source == arrow.target:
            yield f"    Note over L{arrow.source}: {_escaped(text)}"
        else:
            yield f"    L{arrow.source}->>L{arrow.target}: {_escaped(f'{text}: {arrow.label}')}"
    before = drawing.columns[column.number - 1].strip if column.number else column.strip
    pairs = zip(drawing.labels, before, column.strip, strict=True)
    changed = [f"{label} {old} → {new}" for label, old, new in pairs if old != new]
    if changed:
        yield f"    Note over L0,L{last}: {_escaped('<br/>'.join(changed))}"
    if column.failing:
        parts = [f"fails: {part}" for part in column.failing]
        yield f"    Note over L0,L{last}: {_escaped('<br/>'.join(parts))}"


def _escaped(text: str) -> str:
    """Text in which Mermaid sees no syntax of its own: `#` and `;` begin and end its entities.

    >>> _escaped("a;b#c")
    'a#59;b#35;c'
    """
    return "".join({"#": "#35;", ";": "#59;"}.get(character, character) for character in text)
