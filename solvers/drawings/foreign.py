"""Traces of other checkers, which have states and no system: drawn as a table of their variables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kraftcheck.model.visible import visible
from kraftcheck.solvers.drawings.drawing import Column, Drawing, DrawnCycle, changes
from kraftcheck.solvers.traces.itf import ACTION, PICKS, TraceError, normal, spelled
from kraftcheck.solvers.traces.render import repeated_text


def foreign_drawing(document: Any, title: str) -> Drawing:
    """The drawing of an ITF document that does not say which system it is of.

    Args:
        document: the JSON document.
        title: of the drawing, such as the name of its file.

    Raises:
        TraceError: naming the key that is missing or malformed.
    """
    states = document.get("states") if isinstance(document, dict) else None
    if not isinstance(states, list) or not states:
        raise TraceError("key states: missing, or no list of states")
    texts = [_texts(state, number) for number, state in enumerate(states)]
    names = tuple(dict.fromkeys(name for values in texts for name in values))
    columns = []
    for number, (state, values) in enumerate(zip(states, texts, strict=True)):
        before = texts[number - 1] if number else values
        action = "initial state" if number == 0 else visible(str(state.get(ACTION) or f"state {number}"))
        strip = tuple(values.get(name, "") for name in names)
        columns.append(Column(number, action, (), strip, changes(names, before, values), state=values))
    meta = document.get("#meta")
    about = visible(str(meta.get("description", ""))) if isinstance(meta, dict) else ""
    return Drawing(title, about or title, "", (), names, columns=tuple(columns),
                   cycle=_cycle(document, len(states) - 1))


def _cycle(document: Mapping[str, Any], last: int) -> DrawnCycle | None:
    """The cycle of a lasso: ITF's `loop` is the number of the state that the last one is again."""
    if "loop" not in document:
        return None
    start = document["loop"]
    if type(start) is not int or not 0 <= start <= last:
        raise TraceError(f"key loop: not the number of a state, 0 to {last}")
    return DrawnCycle(start, f"for ever: {repeated_text(start, last)}")


def _texts(state: Any, number: int) -> dict[str, str]:
    if not isinstance(state, dict):
        raise TraceError(f"key states[{number}]: not a record")
    try:
        return {
            visible(name): visible(spelled(normal(value)))
            for name, value in state.items()
            if name not in ("#meta", ACTION, PICKS)
        }
    except (ValueError, RecursionError) as error:
        raise TraceError(f"key states[{number}]: not ITF: {error}") from error

