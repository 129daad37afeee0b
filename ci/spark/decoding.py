"""The decoding table of a dataset: fields, actions and claims of the program, and the SQL that decodes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kraftcheck.model.language.layout import Flag, leaves
from kraftcheck.solvers.program.columns import names_of
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
    claims = [{"id": p.id, "kind": p.kind, "sentence": p.sentence} for p in (*traced.always, *traced.sometimes)]
    return {"words": traced.layout.words, "fields": fields, "actions": actions, "claims": claims}


def column_name(path: str) -> str:
    """A field's path as a column name: `brokers[1].isr` becomes `brokers_1_isr`."""
    return path.replace("[", "_").replace("]", "").replace(".", "_").strip("_")


def field_sql(field: Mapping[str, Any], words: str = "w") -> str:
    """A field's value as SQL over the packed words, computed only for rows and columns that a query asks for."""
    if field.get("names"):
        texts = ", ".join(f"'{name}'" for name in field["names"])
        place = field_sql({**field, "names": [], "lo": 1}, words)
        return f"element_at(array({texts}), CAST({place} AS INT))"
    if not field["bits"]:
        value = str(field["lo"])
        return f"({value} = 1)" if field["truth"] else value
    raw = f"(shiftrightunsigned({words}{field['word']}, {field['shift']}) & {(1 << field['bits']) - 1}L)"
    if field["truth"]:
        return f"({raw} = 1)"
    return f"({raw} + {field['lo']}L)" if field["lo"] else raw
