"""The decoding table of a dataset: fields, actions and claims of the program."""

from __future__ import annotations

from kraftcheck.ci.dataset.documents.run import ActionRow, ClaimColumn, DecodingTable, FieldColumn
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.language.layout import Flag, leaves
from kraftcheck.solvers.program.columns import names_of
from kraftcheck.solvers.program.premises.cases import without_premises
from kraftcheck.solvers.program.program import Program


def decoding(traced: Program) -> DecodingTable:
    """The decoding table of a run.

    Raises:
        Refusal: for a name that a dataset does not take, since engines of SQL would read more into it.
    """
    try:
        fields = tuple(
            FieldColumn(slot.path or "state", slot.word, slot.shift, slot.domain.bits, slot.domain.lo,
                        isinstance(slot.domain, Flag), tuple(names_of(slot.domain)))
            for slot in traced.layout.slots
        )  # fmt: skip
        actions = tuple(
            ActionRow(kind.action.name, {path: int(v) for n, value in row.items() for path, v in leaves(value, n)})
            for kind in traced.kinds
            for row in kind.instances
        )
        shown = without_premises(traced)
        stated = (*shown.always, *shown.sometimes)
        claims = tuple(ClaimColumn(p.id, p.kind, " ".join(p.sentence.split())) for p in stated)
        return DecodingTable(traced.layout.words, fields, actions, claims)
    except ValueError as error:
        raise Refusal(f"{traced.system.name}: a dataset does not take it: {error}; rename it") from error


def column_name(path: str) -> str:
    """A field's path as a column name: `brokers[1].isr` becomes `brokers_1_isr`."""
    return path.replace("[", "_").replace("]", "").replace(".", "_").strip("_")
