"""Traces of other checkers, which have states and no system: drawn as a table of their variables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from itf_py import value_from_json

from kraftcheck.solvers.drawings.drawing import Column, Drawing, DrawnCycle, changes
from kraftcheck.solvers.traces.cycles import repeated_text
from kraftcheck.solvers.traces.itf import ACTION, PICKS, TraceError


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
        action = "initial state" if number == 0 else str(state.get(ACTION) or f"state {number}")
        strip = tuple(values.get(name, "") for name in names)
        columns.append(Column(number, action, (), strip, changes(names, before, values), values))
    meta = document.get("#meta")
    about = str(meta.get("description", "")) if isinstance(meta, dict) else ""
    return Drawing(title, about or title, "", (), names, tuple(columns), cycle=_cycle(document, len(states) - 1))


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
            name: _show(value_from_json(value)) for name, value in state.items() if name not in ("#meta", ACTION, PICKS)
        }
    except (TypeError, ValueError, AttributeError, LookupError, RecursionError) as error:
        raise TraceError(f"key states[{number}]: not ITF: {error}") from error


def _show(value: Any) -> str:
    """A value in TLA+'s spelling, sets in the order of their texts."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, set | frozenset):
        return "{" + ", ".join(sorted(map(_show, value))) + "}"
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        return "<<" + ", ".join(map(_show, value)) + ">>"
    if isinstance(value, Mapping):
        return "(" + " @@ ".join(f"{_show(key)} :> {_show(item)}" for key, item in value.items()) + ")"
    inner = value._asdict() if hasattr(value, "_asdict") else getattr(value, "__dict__", None)
    if inner is not None:
        return "[" + ", ".join(f"{name} |-> {_show(item)}" for name, item in inner.items()) + "]"
    return str(value)
