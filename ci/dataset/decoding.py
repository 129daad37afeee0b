"""The decoding table of a dataset: fields, actions and claims of the program."""

from __future__ import annotations

from typing import Any

from kraftcheck.model.language.layout import Flag, leaves
from kraftcheck.solvers.program.columns import names_of
from kraftcheck.solvers.program.premises.hidden_goals import without_premises
from kraftcheck.solvers.program.program import Program


def decoding(traced: Program) -> dict[str, Any]:
    """The decoding table of a run, as plain values."""
    fields = [
        {
            "name": slot.path or "state",
            "word": slot.word,
            "shift": slot.shift,
            "bits": slot.domain.bits,
            "lo": slot.domain.lo,
            "truth": isinstance(slot.domain, Flag),
            "names": names_of(slot.domain),
        }
        for slot in traced.layout.slots
    ]
    actions = [
        {
            "name": kind.action.name,
            "arguments": {path: int(v) for n, value in row.items() for path, v in leaves(value, n)},
        }
        for kind in traced.kinds
        for row in kind.instances
    ]
    shown = without_premises(traced)
    claims = [{"id": p.id, "kind": p.kind, "sentence": p.sentence} for p in (*shown.always, *shown.sometimes)]
    return {"words": traced.layout.words, "fields": fields, "actions": actions, "claims": claims}


def column_name(path: str) -> str:
    """A field's path as a column name: `brokers[1].isr` becomes `brokers_1_isr`."""
    return path.replace("[", "_").replace("]", "").replace(".", "_").strip("_")
