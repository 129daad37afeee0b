"""Documents of a dataset: the run, and the table that decodes its states."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from attrs import asdict, fields, frozen

from kraftcheck.ci.dataset.values import (
    INT64,
    NAME,
    SHA256,
    TOKEN,
    Reader,
    as_it_is,
    attribute,
    listed,
    mapped,
    matching,
    one_of,
    optional,
    read_fields,
    record,
    text,
    whole,
)
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.language.layout import MAX_WORDS, WORD_BITS, Layout, leaves
from kraftcheck.solvers.program.columns import NUMBER, ONE, SET, SLOT, TRUTH, spellings
from kraftcheck.solvers.program.premises import without_premises
from kraftcheck.solvers.program.program import Program

FORMAT = 6
MOST_FIELDS, MOST_CLAIMS, MOST_ACTIONS = 1 << 13, 1 << 12, 1 << 16
MOST_BUCKETS = 1 << 16
_BOUND = "bound "
_CLAIM = re.compile(rf"[a-z_]{{1,20}} {NAME.pattern}")


@frozen
class FieldColumn:
    """A field of a state, as a column."""

    name: str = attribute(matching(), "name")  # its path
    # word, shift, bits: where it is packed
    word: int = attribute(whole(0, MAX_WORDS - 1), "word")
    shift: int = attribute(whole(0, WORD_BITS - 1), "shift")
    bits: int = attribute(whole(0, WORD_BITS - 1), "bits")
    lo: int = attribute(whole(*INT64), "lo")  # its smallest value
    # kind, names, none: see `kraftcheck.solvers.program.columns.ColumnSpelling`
    kind: str = attribute(one_of(NUMBER, TRUTH, SET, SLOT, ONE), "kind")
    names: tuple[str, ...] = attribute(listed(matching(), MOST_ACTIONS), "names")
    none: int | None = attribute(optional(whole(*INT64)), "none")

    def __attrs_post_init__(self) -> None:
        """It lies within one word, and its names are of its values."""
        if self.shift + self.bits > WORD_BITS:
            raise ValueError(f"bits: {self.bits} from {self.shift} on are not within a word")
        if self.kind == TRUTH and (self.bits > 1 or self.lo not in (0, 1)):
            raise ValueError("kind: a truth has other values than 0 and 1")
        if self.kind == SET and (self.lo < 0 or self.lo + (1 << self.bits) >> WORD_BITS - 1):
            raise ValueError("kind: a set has other masks than of 62 members")
        if (self.names and self.kind != NUMBER) or (self.none is None and self.kind in (SLOT, ONE)):
            raise ValueError(f"names, none: they are not those of a {self.kind}")
        if len(self.names) > 1 << self.bits:
            raise ValueError(f"names: {len(self.names)} of {1 << self.bits} values")


@frozen
class ActionRow:
    """An action instance: name, and arguments by path."""

    name: str = attribute(matching(), "name")
    arguments: Mapping[str, int] = attribute(mapped(matching(), whole(*INT64), 1 << 8), "arguments")


@frozen
class ClaimColumn:
    """A claim about states, as a column."""

    id: str = attribute(matching(), "id")
    kind: str = attribute(matching(re.compile("[a-z_]{1,20}")), "kind")
    sentence: str = attribute(text(4096), "sentence")


Column = FieldColumn | Mapping[int, "Column"]
"""A column of states: a field, or by their places the columns that a list is made of."""

OWN_COLUMNS = ("depth", "id", "parent", "action", "arguments", "instance")  # columns of states that are no fields

_PLACES = re.compile(r"(?:\[\d+\])*$")


def columns_of(fields: Iterable[FieldColumn]) -> dict[str, Column]:
    """The columns of a state, lists as in traces, names told apart; raises ValueError for one in another."""
    columns: dict[str, Any] = {}
    for one in fields:
        places = _PLACES.search(one.name)[0]  # type: ignore[index]
        at: dict[Any, Any] = columns
        key: str | int = one.name.removesuffix(places)
        for place in re.findall(r"\d+", places):
            at, key = at.setdefault(key, {}), int(place)
            if isinstance(at, FieldColumn):
                raise ValueError(f"fields: {one.name} is within {at.name}")
        if key in at:
            raise ValueError(f"fields: {one.name} is there before")
        at[key] = {0: one} if one.kind == ONE else one
    lower, named = {*OWN_COLUMNS}, {}
    for path, column in columns.items():
        name = column_name(path)
        while {name.lower(), f"after_{name}".lower()} & lower:
            name += "_"
        lower |= {name.lower(), f"after_{name}".lower()}
        named[name] = column
    return named


def slots_of(column: Column) -> list[FieldColumn]:
    """The slots of a column that is a list of ids, some of which may be vacant; of another column none."""
    parts = [] if isinstance(column, FieldColumn) else [*column.values()]
    slots = [one for one in parts if isinstance(one, FieldColumn) and one.kind in (SLOT, ONE)]
    return slots if len(slots) == len(parts) else []


def claim_columns(table: DecodingTable) -> list[str]:
    """The names of the columns of claims; one that a field has ends in an underscore."""
    names, lower = [], {name.lower() for name in columns_of(table.fields)}
    for claim in table.claims:
        verb, name = "breaks" if claim.kind == "always" else "shows", claim.id.replace("-", "_").replace(".", "_")
        name = name if name.startswith("shows_") and verb == "shows" else f"{verb}_{name}"
        names.append(f"{name}_" if name.lower() in lower else name)
    return names


@frozen
class DecodingTable:
    """The table by which packed states are decoded."""

    words: int = attribute(whole(1, MAX_WORDS), "words")
    fields: tuple[FieldColumn, ...] = attribute(listed(record(FieldColumn), MOST_FIELDS), "fields")
    # by number of the instance
    actions: tuple[ActionRow, ...] = attribute(listed(record(ActionRow), MOST_ACTIONS), "actions")
    # about states, in the order of their bits
    claims: tuple[ClaimColumn, ...] = attribute(listed(record(ClaimColumn), MOST_CLAIMS), "claims")

    def __attrs_post_init__(self) -> None:
        """No field is in a word that there is not."""
        for one in self.fields:
            if one.word >= self.words:
                raise ValueError(f"fields: {one.name} is in word {one.word} of {self.words}")
        columns_of(self.fields)

    def document(self) -> dict[str, Any]:
        """For a file."""
        return asdict(self)


@frozen
class RunDocument:
    """The content of run.json."""

    identity: Mapping[str, Any]  # what was explored, by name
    run: str  # drawn when it was begun; nobody else's
    table: DecodingTable

    @classmethod
    def of(cls, document: Any) -> RunDocument:
        """The content of a document; raises ValueError, naming the place of what is not as it is written."""
        table = dict.fromkeys((one.name for one in fields(DecodingTable)), as_it_is)
        parts = read_fields(document, {"identity": _identity, "run": matching(TOKEN), **table})
        return cls(parts.pop("identity"), parts.pop("run"), DecodingTable(**parts))

    @classmethod
    def written(cls, identity: Mapping[str, Any], run: str, table: DecodingTable) -> dict[str, Any]:
        """The document that is read as this again; raises Refusal for a name that would not be read."""
        document = {"identity": dict(identity), "run": run, **table.document()}
        try:
            cls.of(document)
        except ValueError as error:
            raise Refusal(f"{identity['system']}: a dataset does not take it: {error}; rename it") from error
        return document


def _identity(document: Any) -> dict[str, Any]:
    """What was explored: names, a number for each bound, and what the program was."""
    bounds = [word for word in document if word.startswith(_BOUND)] if isinstance(document, dict) else []
    for word in bounds:
        matching()(word)
    values = read_fields(document, {**_IDENTITY, **dict.fromkeys(bounds, whole(*INT64))})
    return {word: [*value] if isinstance(value, tuple) else value for word, value in values.items()}


def _buckets(value: Any) -> int:
    number = whole(2, MOST_BUCKETS)(value)
    if number & (number - 1):
        raise ValueError(f"takes a power of two, not {number}")
    return number


_LINES = listed(text(4096), MOST_FIELDS)
_IDENTITY: Mapping[str, Reader[Any]] = {
    "format": one_of(FORMAT),
    "system": text(1000),
    "scope": text(300),
    "rules": optional(text(4096)),
    "buckets": _buckets,
    "properties": listed(matching(_CLAIM), MOST_CLAIMS),
    "actions": _LINES,
    "fields": _LINES,
    "model (digest of the term graph)": matching(SHA256),
}


def decoding(traced: Program) -> DecodingTable:
    """The decoding table of a run; raises Refusal for a name that engines of SQL would read more into."""
    try:
        actions = tuple(
            ActionRow(kind.action.name, {path: int(v) for n, value in row.items() for path, v in leaves(value, n)})
            for kind in traced.kinds
            for row in kind.instances
        )
        shown = without_premises(traced)
        stated = (*shown.always, *shown.sometimes)
        claims = tuple(ClaimColumn(p.id, p.kind, " ".join(p.sentence.split())) for p in stated)
        return DecodingTable(traced.layout.words, fields_of(traced.layout), actions, claims)
    except ValueError as error:
        raise Refusal(f"{traced.system.name}: a dataset does not take it: {error}; rename it") from error


def fields_of(layout: Layout) -> tuple[FieldColumn, ...]:
    """The fields of states as columns; raises ValueError for a name that a dataset does not take."""
    told = spellings(layout)
    return tuple(
        FieldColumn(slot.path or "state", slot.word, slot.shift, slot.domain.bits, slot.domain.lo,
                    **asdict(told[slot.path]))
        for slot in layout.slots
    )  # fmt: skip


def column_name(path: str) -> str:
    """A field's path as a column name: `brokers[1].isr` becomes `brokers_1_isr`."""
    return path.replace("[", "_").replace("]", "").replace(".", "_").strip("_")
