"""A random system as data: fields with domains, actions, claims; and its states as plain tuples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from attrs import frozen

from tests.random_systems.nodes import BEFORE, Node, Span, Variable

State = tuple[Any, ...]  # the plain values of all fields, in order


@frozen
class Crossed:
    """A bound of a leaf's domain that a value is beyond."""

    path: str  # of the leaf, as layouts name leaves
    declared: bool  # whether the domain says that this bound is meant


@frozen
class Field:
    """A part of a state, an argument, or a part of an event."""

    name: str  # what it is called
    kind: str  # `word`, `truth`, `id`, `set`, `list`, `one`, `record` or `tuple`
    # lo, hi: smallest and largest value of a word
    lo: int = 0
    hi: int = 0
    size: int = 0  # brokers that an id, a set, a list or a list of at most one may name; items of a tuple
    capacity: int = 0  # slots of a list
    parts: tuple[Field, ...] = ()  # fields of a record; of a tuple the one field that each item is
    capped: bool = False  # whether the upper bounds of its leaves are declared

    @property
    def sort(self) -> str:
        """The sort of expressions for it."""
        return (
            {"word": "words", "truth": "truths", "record": "records"}[self.parts[0].kind]
            if self.is_tuple
            else (self.kind)
        )

    @property
    def is_tuple(self) -> bool:
        """Whether it is a tuple."""
        return self.kind == "tuple"

    @property
    def span(self) -> Span:
        """The span of a word, or of the words of a tuple."""
        return self.parts[0].span if self.is_tuple else (self.lo, self.hi)

    def outside(self, value: Any, path: str) -> Iterator[Crossed]:
        """The bounds of domains that the leaves of a plain value are beyond."""
        above = below = False
        match self.kind:
            case "word":
                below, above = value < self.lo, value > self.hi
            case "id":
                below, above = value < -1, value >= self.size
            case "set":
                above = any(b >= self.size for b in value)
            case "one" if value:
                below, above = value[0] < -1, value[0] >= self.size
            case "list":
                for n, b in enumerate(value):
                    if not 0 <= b < self.size:
                        yield Crossed(f"{path}[{n}]", self.capped and b > 0)
                return
            case "tuple":
                for number, item in enumerate(value):
                    yield from self.parts[0].outside(item, f"{path}[{number}]")
                return
            case "record":
                yield from outside(self.parts, value, path)
                return
        if below or above:
            yield Crossed(path, self.capped and above)

    def told(self) -> str:
        """The field with its domain."""
        match self.kind:
            case "word":
                return f"{self.name}: {self.lo}..{self.hi}"
            case "tuple":
                return f"{self.name}: {self.size} x ({self.parts[0].told()})"
            case "record":
                return f"{self.name}: ({', '.join(part.told() for part in self.parts)})"
            case "list":
                return f"{self.name}: list of {self.size} in {self.capacity} slots"
        return f"{self.name}: {self.kind}" + (f" of {self.size}" if self.size else "")


def outside(fields: tuple[Field, ...], values: State, path: str = "") -> Iterator[Crossed]:
    """As `Field.outside`, for a record; one of a single field adds no name to paths."""
    for one, value in zip(fields, values, strict=True):
        if one.kind != "truth":
            below = path if len(fields) == 1 else f"{path}.{one.name}" if path else one.name
            yield from one.outside(value, below)


@frozen
class Assignment:
    """A part of a state that an action sets; of a tuple one item, where an index is given."""

    target: Variable
    value: Node
    index: Node | None = None


@frozen
class Event:
    """What effects report: a word, a truth and a broker."""

    amount: Node
    flag: Node
    who: Node


@frozen
class Move:
    """An action."""

    name: str  # what it is called
    parameters: tuple[tuple[Field, tuple[Any, ...]], ...]  # its arguments as fields, each with its plain values
    guard: Mapping[str, Node] | None  # named conjuncts; one truth where the only name is empty; None: always enabled
    assignments: tuple[Assignment, ...]  # what is set, all from the state before
    when: Node | None = None  # where this is false, the state stays as it is; None: never
    event: Event | None = None  # what the effect reports


@frozen
class Claim:
    """A property."""

    # id, kind: as of `kraftcheck.model.language.system.Property`
    id: str
    kind: str
    parts: Mapping[str, Node]  # named conjuncts; one truth where the only name is empty
    about: str = ""  # for claims about steps, the action that it is about; empty: every one
    when: Node | None = None  # for `recovers`, the states concerned; None: all
    # for `recovers`, the way out, with the plain values that arguments may have
    by: Mapping[str, Mapping[str, tuple[Any, ...]]] | None = None


@frozen
class Machine:
    """A random system."""

    name: str  # with the seed
    # fields, moves, claims, initial: what it is made of
    fields: tuple[Field, ...]
    moves: tuple[Move, ...]
    initial: tuple[State, ...]
    claims: tuple[Claim, ...] = ()
    brokers: int = 3  # how many brokers there are; those that symmetric systems rename
    symmetric: bool = False  # whether brokers can change places
    quiescent: Node | None = None  # states that may have no successor; None: no state may
    bounds: Mapping[str, int] | None = None  # budgets by name

    def nodes(self) -> Iterator[Node]:
        """Every expression."""
        for move in self.moves:
            yield from (move.guard or {}).values()
            for one in move.assignments:
                yield from (one.value,) if one.index is None else (one.value, one.index)
            yield from () if move.when is None else (move.when,)
            yield from () if move.event is None else (move.event.amount, move.event.flag, move.event.who)
        for claim in self.claims:
            yield from claim.parts.values()
            yield from () if claim.when is None else (claim.when,)
        yield from () if self.quiescent is None else (self.quiescent,)


def variables(fields: tuple[Field, ...], source: int = BEFORE, parts: bool = True) -> Iterator[Variable]:
    """The variables of fields: each field, and where `parts` the parts of records and tuples too."""
    return _below(fields, source, (), (), parts)


def _below(
    fields: tuple[Field, ...], source: int, names: tuple[str | int, ...], places: tuple[int, ...], parts: bool
) -> Iterator[Variable]:
    for place, one in enumerate(fields):
        yield from _of(one, source, (*names, one.name), (*places, place), parts)


def _of(
    one: Field, source: int, names: tuple[str | int, ...], places: tuple[int, ...], parts: bool
) -> Iterator[Variable]:
    yield Variable(one.sort, source, names, places, one.span)
    if one.kind == "record":
        yield from _below(one.parts, source, names, places, parts)
    if one.is_tuple and parts:
        for number in range(one.size):
            yield from _of(one.parts[0], source, (*names, number), (*places, number), parts)
