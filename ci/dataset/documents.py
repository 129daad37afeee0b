"""Documents of a dataset: values and their readers, the run, and the table that decodes its states."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from attrs import asdict, field, fields, frozen

from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.language.layout import MAX_WORDS, WORD_BITS, Flag, leaves
from kraftcheck.solvers.program.columns import names_of
from kraftcheck.solvers.program.premises.cases import without_premises
from kraftcheck.solvers.program.program import Program

T = TypeVar("T")
K = TypeVar("K")

Reader = Callable[[Any], T]
"""What makes a value of a part of a document, or raises ValueError."""

NAME = re.compile(r"[\w .,:;=+*/<>()\[\]{}|&%#@!?~^-]{1,1200}")
"""A name: letters, digits and signs, none of which means anything in a quoted text of any engine of SQL.

No quotes, no backslash (an escape in Spark), no dollar (a variable in Spark), no line break, no control character.
"""

FILE_NAME = re.compile(r"[a-z]{1,20}-[0-9a-f-]{1,60}\.(parquet|states)", re.ASCII)
"""The name of a file of states, without a folder."""

SHA256 = re.compile(r"[0-9a-f]{64}", re.ASCII)
TOKEN = re.compile(r"[0-9a-f]{32}", re.ASCII)

INT64 = (-(1 << 63), (1 << 63) - 1)


def shown(value: Any) -> str:
    """A value of a stranger's in a message: short, and in ASCII."""
    if isinstance(value, int) and value.bit_length() > 256:  # Python writes no number of thousands of digits
        return f"a number of {value.bit_length():,} bits"
    text = ascii(value) if isinstance(value, str | int | float | bool | None) else type(value).__name__
    return text if len(text) <= 60 else f"{text[:57]}..."


def whole(least: int, most: int) -> Reader[int]:
    """Whole numbers of a range."""

    def read(value: Any) -> int:
        if type(value) is not int or not least <= value <= most:
            raise ValueError(f"takes a whole number {least}..{most}, not {shown(value)}")
        return value

    return read


def number(value: Any) -> float:
    """A number that is finite and not negative, as counts and seconds are."""
    if type(value) not in (int, float) or not (0 <= value <= 1e18 and math.isfinite(value)):
        raise ValueError(f"takes a number 0..10^18, not {shown(value)}")
    return value  # type: ignore[no-any-return]


def boolean(value: Any) -> bool:
    """True or false."""
    if type(value) is not bool:
        raise ValueError(f"takes true or false, not {shown(value)}")
    return value


def matching(pattern: re.Pattern[str] = NAME) -> Reader[str]:
    """Texts that match a pattern as a whole."""

    def read(value: Any) -> str:
        if type(value) is not str or not pattern.fullmatch(value):
            raise ValueError(f"takes a name of the pattern {pattern.pattern}, not {shown(value)}")
        return value

    return read


def text(most: int) -> Reader[str]:
    """Texts of a line, which are shown and never asked for by name."""

    def read(value: Any) -> str:
        if type(value) is not str or len(value) > most or not value.isprintable():
            raise ValueError(f"takes a line of at most {most} characters, not {shown(value)}")
        return value

    return read


def one_of(*words: T) -> Reader[T]:
    """Some values and no others."""

    def read(value: Any) -> T:
        for word in words:
            if type(value) is type(word) and value == word:
                return word
        raise ValueError(f"takes {' or '.join(map(repr, words))}, not {shown(value)}")

    return read


def optional(of: Reader[T]) -> Reader[T | None]:
    """A value or null."""
    return lambda value: None if value is None else of(value)


def listed(of: Reader[T], most: int) -> Reader[tuple[T, ...]]:
    """Lists of no more than so many values."""

    def read(value: Any) -> tuple[T, ...]:
        if not isinstance(value, list | tuple) or len(value) > most:
            raise ValueError(f"takes a list of at most {most:,}, not {_size(value)}")
        return tuple(_at(place, of, one) for place, one in enumerate(value))

    return read


def mapped(key: Reader[K], of: Reader[T], most: int) -> Reader[dict[K, T]]:
    """Objects of no more than so many keys."""

    def read(value: Any) -> dict[K, T]:
        if not isinstance(value, Mapping) or len(value) > most:
            raise ValueError(f"takes an object of at most {most:,} keys, not {_size(value)}")
        return {_at(shown(word), key, word): _at(shown(word), of, one) for word, one in value.items()}

    return read


def read_fields(value: Any, readers: Mapping[str, Reader[Any]]) -> dict[str, Any]:
    """The values of an object that has these keys, and no others."""
    if not isinstance(value, dict):
        raise ValueError(f"takes an object, not {_size(value)}")
    for word in readers:
        if word not in value:
            raise ValueError(f"has no {shown(word)}")
    for word in value:
        if word not in readers:
            raise ValueError(f"has an unknown key {shown(word)}")
    return {word: _at(word, read, value[word]) for word, read in readers.items()}


def record(cls: type[T]) -> Reader[T]:
    """Objects of a class of attrs whose fields have readers as converters, by its names."""
    names = [one.name for one in fields(cls)]  # type: ignore[arg-type]

    def read(value: Any) -> T:
        if isinstance(value, cls):  # made by this program, by the same readers
            return value
        made: T = cls(**read_fields(value, dict.fromkeys(names, as_it_is)))
        return made

    return read


def attribute(of: Reader[Any], place: str) -> Any:
    """A field of a class of attrs that takes what a reader takes; a fault says its place."""
    return field(converter=lambda value: _at(place, of, value))


def as_it_is(value: Any) -> Any:
    """Whatever it is: who takes it reads it."""
    return value


def _at(place: object, of: Reader[T], value: Any) -> T:
    try:
        return of(value)
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from error


def _size(value: Any) -> str:
    return f"{len(value):,} of them" if isinstance(value, list | tuple | dict) else shown(value)


FORMAT = 5
MOST_FIELDS, MOST_CLAIMS, MOST_ACTIONS = 1 << 13, 1 << 12, 1 << 16
MOST_BUCKETS = 1 << 16
_BOUND = "bound "
_CLAIM = re.compile(rf"[a-z_]{{1,20}} {NAME.pattern}")


@frozen
class FieldColumn:
    """A field of a state, as a column.

    Attributes:
        name: its path.
        word, shift, bits: where it is packed.
        lo: its smallest value.
        truth: whether it is one.
        names: of its values from the smallest on; none: they are numbers.
    """

    name: str = attribute(matching(), "name")
    word: int = attribute(whole(0, MAX_WORDS - 1), "word")
    shift: int = attribute(whole(0, WORD_BITS - 1), "shift")
    bits: int = attribute(whole(0, WORD_BITS - 1), "bits")
    lo: int = attribute(whole(*INT64), "lo")
    truth: bool = attribute(boolean, "truth")
    names: tuple[str, ...] = attribute(listed(matching(), MOST_ACTIONS), "names")

    def __attrs_post_init__(self) -> None:
        """It lies within one word, and its names are of its values."""
        if self.shift + self.bits > WORD_BITS:
            raise ValueError(f"bits: {self.bits} from {self.shift} on are not within a word")
        if self.truth and (self.bits > 1 or self.names or self.lo not in (0, 1)):
            raise ValueError("truth: it has other values than 0 and 1")
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


@frozen
class DecodingTable:
    """The table by which packed states are decoded.

    Attributes:
        words: of a packed state.
        fields: as columns.
        actions: by number of the instance.
        claims: about states, in the order of their bits.
    """

    words: int = attribute(whole(1, MAX_WORDS), "words")
    fields: tuple[FieldColumn, ...] = attribute(listed(record(FieldColumn), MOST_FIELDS), "fields")
    actions: tuple[ActionRow, ...] = attribute(listed(record(ActionRow), MOST_ACTIONS), "actions")
    claims: tuple[ClaimColumn, ...] = attribute(listed(record(ClaimColumn), MOST_CLAIMS), "claims")

    def __attrs_post_init__(self) -> None:
        """No field is in a word that there is not."""
        for one in self.fields:
            if one.word >= self.words:
                raise ValueError(f"fields: {one.name} is in word {one.word} of {self.words}")

    def document(self) -> dict[str, Any]:
        """For a file."""
        return asdict(self)


@frozen
class RunDocument:
    """The content of run.json.

    Attributes:
        identity: what was explored, by name.
        run: drawn when it was begun; nobody else's.
        table: the decoding table.
    """

    identity: Mapping[str, Any]
    run: str
    table: DecodingTable

    @classmethod
    def of(cls, document: Any) -> RunDocument:
        """The content of a document.

        Raises:
            ValueError: naming the place of what is not as it is written.
        """
        table = dict.fromkeys((one.name for one in fields(DecodingTable)), as_it_is)
        parts = read_fields(document, {"identity": _identity, "run": matching(TOKEN), **table})
        return cls(parts.pop("identity"), parts.pop("run"), DecodingTable(**parts))

    @classmethod
    def written(cls, identity: Mapping[str, Any], run: str, table: DecodingTable) -> dict[str, Any]:
        """The document that is read as this again.

        Raises:
            Refusal: for a name that would not be read.
        """
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
    """The decoding table of a run.

    Raises:
        Refusal: for a name that a dataset does not take, since engines of SQL would read more into it.
    """
    try:
        fields = tuple(
            FieldColumn(slot.path or "state", slot.word, slot.shift, bits=slot.domain.bits, lo=slot.domain.lo,
                        truth=isinstance(slot.domain, Flag), names=tuple(names_of(slot.domain)))
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
