"""A drawing as a graph for Graphviz: a node for each state, an edge for each step, a dashed one back to a cycle."""

from __future__ import annotations

from collections.abc import Iterator

from kraftcheck.solvers.drawings.drawing import Column, Drawing


def dot(drawing: Drawing) -> str:
    """The drawing as a directed graph: states with the values in view, what a step changed, what fails."""
    return "\n".join(("digraph trace {", "    node [shape=box, fontname=monospace];", *_lines(drawing), "}")) + "\n"


def _lines(drawing: Drawing) -> Iterator[str]:
    yield f"    label={_quoted(f'{drawing.claim}: {drawing.title}')};"
    for column in drawing.columns:
        colour = ", color=red" if column.failing else ""
        yield f"    s{column.number} [label={_quoted(_label(drawing, column))}{colour}];"
    for column in drawing.columns[1:]:
        yield f"    s{column.number - 1} -> s{column.number} [label={_quoted(column.action)}];"
    if drawing.cycle is not None:
        again = "\n".join([drawing.cycle.text, *(f"fair: {text}" for text in drawing.cycle.fairness)])
        yield f"    s{len(drawing.columns) - 1} -> s{drawing.cycle.start} [style=dashed, label={_quoted(again)}];"


def _label(drawing: Drawing, column: Column) -> str:
    values = [f"{label} = {value}" for label, value in zip(drawing.labels, column.strip, strict=True)]
    changes = [f"{change.name}: {change.before} → {change.after}" for change in column.changes]
    return "\n".join([str(column.number), *values, *changes, *(f"fails: {part}" for part in column.failing)])


def _quoted(text: str) -> str:
    """A string of Graphviz; its lines are left-justified."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\l") + '"'
