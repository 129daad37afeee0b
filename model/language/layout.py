"""The domain of each field of a state, its place in 64-bit words, and what holds of fields at the start."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from attrs import field, frozen

from kraftcheck.model.language import symbolic
from kraftcheck.model.language.symbolic import Name, clash, class_of, described, enum_of, record_fields
from kraftcheck.model.language.terms import MASK_BITS, Term, Truth


@frozen
class Anything:
    """Any value of the domain, in an initial state; for fields without bound."""


@frozen
class Described:
    """All states of the layout of which a rule holds, as initial states."""

    rule: Callable[[Any], Truth | Mapping[str, Truth]]  # `state -> truth | named conjuncts`

    def __iter__(self) -> Iterator[Described]:
        """Itself alone: it stands where initial states are listed."""
        yield self

    def holds(self, state: Any) -> dict[str, Truth]:
        """What is described of a state, by name."""
        said = self.rule(state)
        return (dict(said) if isinstance(said, Mapping) else {"described": said}) or {"described": True}


@frozen
class Filled:
    """An endless sequence in an initial state: one word at place 0, and another everywhere else."""

    first: int
    rest: int


def all_where(rule: Callable[[Any], Truth | Mapping[str, Truth]]) -> Any:
    """All states of the layout of which a rule holds, typed so that they can stand where initial states are listed.

    The rule answers with a truth, or with named ones that must all hold. Explorers list the states by giving the
    fields values in the order of the layout; provers take the rule as it is.
    """
    return Described(rule)


def anything() -> Any:
    """Any value, typed so that it can stand where an initial state has a word without bound."""
    return Anything()


def filled(first: int, rest: int) -> Any:
    """A sequence that is almost everywhere the same, typed so that it can stand where an initial state has one."""
    return Filled(first, rest)


WORD_BITS, MAX_WORDS = 64, 8

UNBOUNDED = symbolic.UNBOUNDED  # stands for infinity in intervals: no rule compares with a number near it


class LayoutError(ValueError):
    """A layout that cannot be packed, or that does not describe its states."""


class TooWideError(LayoutError):
    """A state of more bits than engines pack."""


class NoStateError(LayoutError):
    """A layout with a field that can have no value, so that there is no state."""


class DomainError(ValueError):
    """A value outside the domain of its field; the message names the field."""


def _check_reason(_: Any, __: Any, cap: object) -> None:
    if not isinstance(cap, str) or cap.isspace():
        raise LayoutError(f"a domain's cap is {cap!r}; it takes the reason why the bound is meant, as a sentence")


def _check_none(_: Any, __: Any, none: int | None) -> None:
    if none not in (None, -1):
        raise LayoutError(f"a domain's none is {none!r}; it takes -1, as expressions do; an Enum names other numbers")


@frozen
class Range:
    """Domain of a word: the ints lo..hi, both included."""

    # lo, hi: smallest and largest value
    lo: int
    hi: int
    # why steps beyond `hi` may be left out; empty: one is a fault, as one below `lo` always is
    cap: str = field(default="", eq=False, repr=False, kw_only=True, validator=_check_reason)
    # the enumeration that names the values, if one does
    names: Callable[[int], int] | None = field(default=None, eq=False, repr=False, kw_only=True)
    # the value that stands for nothing, which is shown as `none`; None: each value is something
    none: int | None = field(default=None, eq=False, repr=False, kw_only=True, validator=_check_none)

    @property
    def bits(self) -> int:
        """Bits that distinguish the values."""
        return (self.hi - self.lo).bit_length()


@frozen
class Flag:
    """Domain of a truth: lo..hi of 0 for false and 1 for true."""

    lo: int = 0
    hi: int = 1

    @property
    def bits(self) -> int:
        """One bit, none where only one value can be."""
        return self.hi - self.lo


@frozen
class Counter:
    """Domain of a word without an end that is known: 0, 1, 2, ... Only provers take it."""

    # lo, hi: smallest word; a stand-in for infinity
    lo: int = 0
    hi: int = UNBOUNDED
    # the bound whose number the words are below, whatever that is; None where they are below none
    below: str | None = None
    none: int | None = field(default=None, eq=False, repr=False, kw_only=True, validator=_check_none)  # as in `Range`

    @property
    def bits(self) -> int:
        """As many as its stand-in for infinity needs."""
        return UNBOUNDED.bit_length()


@frozen
class Endless:
    """Domain of a `kraftcheck.model.language.sequences.Sequence` of words lo..hi. Only provers take it."""

    # lo, hi: smallest and largest word
    lo: int
    hi: int
    truths: bool = False  # whether it is one of truths, which are 0 for false and 1 for true
    places: int = 1  # how many places name a word: 2 for a sequence of sequences
    # for each of these the bound whose number there are of it; None where they have no end
    numbers: tuple[str | None, ...] = (None,)
    below: str | None = None  # of the words, as in `Counter`
    # why steps after which a word is beyond `hi` may be left out; as in `Range`
    cap: str = field(default="", eq=False, repr=False, kw_only=True, validator=_check_reason)

    @property
    def bits(self) -> int:
        """As many as a word without bound: no state with one can be packed."""
        return UNBOUNDED.bit_length()


@frozen
class EndlessSet(Endless):
    """Domain of a set: the truths say of the last place whether it is a member, and members are below its number."""


Domain = Range | Flag | Counter | Endless

DOMAINS = (Range, Flag, Counter, Endless)


def ints(lo: int, hi: int, *, cap: str = "", none: int | None = None) -> Any:
    """The domain lo..hi, typed so that it can stand where a state has a word; `cap` and `none` as in `Range`."""
    return Range(lo, hi, cap=cap, none=none)


def truth() -> Any:
    """The domain of a truth, typed so that it can stand where a state has one."""
    return Flag()


def counter(lo: int = 0, *, none: int | None = None) -> Any:
    """The domain of a word without bound from lo on, typed so that it can stand where a state has one."""
    return Counter(lo, none=none)


def endless(lo: int, hi: int, *, truths: bool = False) -> Any:
    """The domain of a sequence of words lo..hi, or of truths, typed so that it can stand where a state has one."""
    return Endless(lo, hi, truths)


def subset_of(count: int, *, cap: str = "") -> Any:
    """The domain of the mask of an `IntSet` over numbers 0..count-1; `cap` as in `Range`.

    Raises:
        LayoutError: for more brokers than a mask has bits for.
    """
    if not 0 <= count <= MASK_BITS:
        raise LayoutError(f"subset_of({count}): sets have 0..{MASK_BITS} members")
    return Range(0, (1 << count) - 1, cap=cap)


def cap_of(domain: Domain) -> str:
    """Why steps beyond the upper bound of a domain may be left out; empty where they may not."""
    return domain.cap if isinstance(domain, Range | Endless) else ""


def below(domain: Domain) -> str | None:
    """The bound whose number the words of a domain are below; None where there is none."""
    return domain.below if isinstance(domain, Counter | Endless) else None


_LEAVES = (*DOMAINS, Anything, Filled, Term)  # records that are leaves


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """The leaves of a nested value of records and tuples, with their paths.

    A record with one field adds no name of its own: the mask of a set named
    `isr` is the leaf `isr`.
    """
    found: list[tuple[str, Any]] = []
    _add_leaves(value, path, found)
    return iter(found)


def _add_leaves(value: Any, path: str, found: list[tuple[str, Any]]) -> None:
    names = () if isinstance(value, tuple) else record_fields(type(value))
    if isinstance(value, _LEAVES) or names is None:
        found.append((path, value))
    elif isinstance(value, tuple):
        for position, item in enumerate(value):
            _add_leaves(item, f"{path}[{position}]", found)
    else:
        for name in names:
            below = path if len(names) == 1 else f"{path}.{name}" if path else name
            _add_leaves(getattr(value, name), below, found)


def misshapen(value: Any, shape: Any, path: str) -> str:
    """The first part that is of another class or length than its layout, and what to write; empty where none is."""
    if isinstance(shape, _LEAVES) or [at for at, _ in leaves(value)] == [at for at, _ in leaves(shape)]:
        return ""
    if isinstance(shape, tuple) and isinstance(value, tuple):
        if len(value) != len(shape):
            return f"{path} has {len(value)} places, and its layout {len(shape)}"
        inner = [(f"{path}[{place}]", *pair) for place, pair in enumerate(zip(value, shape, strict=True))]
    elif type(value) is not type(shape):
        kind = type(shape).__name__
        mend = f"write {kind}.of(...)" if hasattr(shape, "of") else f"make it a {kind}"
        return f"{path or 'the state'} is {described(value)}, not a {kind}; {mend}"
    else:
        names = record_fields(type(shape)) or ()
        inner = [(f"{path}.{name}" if path else name, getattr(value, name), getattr(shape, name)) for name in names]
    return next(filter(None, (misshapen(one, of, where) for where, one, of in inner)), "")


def rebuild(shape: Any, take: Callable[[], Any], of: type[tuple[Any, ...]] = tuple) -> Any:
    """A value of the same shape whose leaves are drawn, in order, from `take`; its tuples are of a class."""
    if isinstance(shape, tuple):
        return of(rebuild(item, take, of) for item in shape)
    names = record_fields(type(shape))
    if names is not None and not isinstance(shape, _LEAVES):
        return type(shape)(**{name: rebuild(getattr(shape, name), take, of) for name in names})
    return take()


def bits_by_field(shape: Any) -> dict[str, int]:
    """Bits of each field of a layout, all parts of a top-level field together."""
    cost: dict[str, int] = {}
    for path, domain in leaves(shape):
        name = path.replace("[", ".").split(".")[0] or "(state)"
        cost[name] = cost.get(name, 0) + domain.bits
    return cost


def _typed(value: int, domain: Domain) -> int:
    """A value as rules see it on ints: a truth, a name, nothing, or a number."""
    if isinstance(domain, Flag):
        return bool(value)
    if isinstance(domain, Range | Counter) and isinstance(value, int) and value == domain.none:
        return Nothing(value)
    return domain.names(value) if isinstance(domain, Range) and domain.names else value


def _is_named(domain: Domain) -> bool:
    return isinstance(domain, Range | Counter) and (domain.none is not None or bool(getattr(domain, "names", None)))


class Nothing(int):
    """The number of a field that stands for nothing there.

    >>> Nothing(-1) == -1, str(Nothing(-1))
    (True, 'none')
    """

    def __str__(self) -> str:
        """Nothing, as traces show it."""
        return "none"


@frozen
class Slot:
    """Where a leaf lives: bits `shift`.. of word `word`, stored as value - domain.lo."""

    path: str
    domain: Domain
    word: int
    shift: int


@frozen
class Layout:
    """The packing of states of one shape."""

    shape: Any  # a state whose leaves are domains
    packed: bool = True  # whether states are packed; provers read leaves only, and have no limit of width
    slots: tuple[Slot, ...] = field(init=False)  # one place for each leaf, in order
    words: int = field(init=False)  # number of 64-bit words of a packed state, 1..8; 0 where none is packed
    has_names: bool = field(init=False)  # whether some field's values have names

    def __attrs_post_init__(self) -> None:
        """Assign places first-fit in order; refuse what is wider than 512 bits."""
        slots, used = [], 0
        for path, domain in leaves(self.shape):
            if not isinstance(domain, DOMAINS):
                mend = "write ints(lo, hi), truth(), or domain() of a class"
                raise LayoutError(f"layout field {self.name(path)} is {described(domain)}, no domain; {mend}")
            if domain.hi < domain.lo:
                where = f"layout field {self.name(path)} has the domain {domain.lo}..{domain.hi}; it is empty"
                raise NoStateError(f"{where}; give the smaller end first, or a larger bound that it depends on")
            if not self.packed:
                slots.append(Slot(path, domain, 0, 0))
                continue
            if isinstance(domain, Counter | Endless):
                raise LayoutError(f"layout field {self.name(path)} has no bound; only `kraftcheck prove` takes such")
            if domain.bits > WORD_BITS - 1:
                where = f"layout field {self.name(path)} has the domain {domain.lo}..{domain.hi}"
                raise LayoutError(f"{where}; use at most 63 bits")
            if used % WORD_BITS + domain.bits > WORD_BITS:
                used += WORD_BITS - used % WORD_BITS
            # a field of one value needs no bits, and must not be placed in a word beyond the last.
            slots.append(Slot(path, domain, *(divmod(used, WORD_BITS) if domain.bits else (0, 0))))
            used += domain.bits
        words = max(1, -(-used // WORD_BITS)) if self.packed else 0
        if words > MAX_WORDS:
            worst, cost = max(bits_by_field(self.shape).items(), key=lambda item: item[1])
            raise TooWideError(
                f"a state needs {used} bits and the limit is {WORD_BITS * MAX_WORDS}; "
                f"{worst} costs most with {cost} bits: lower a bound it depends on"
            )
        object.__setattr__(self, "slots", tuple(slots))
        object.__setattr__(self, "words", words)
        object.__setattr__(self, "has_names", any(_is_named(slot.domain) for slot in slots))

    def name(self, path: str) -> str:
        """A leaf's path for people: where a record of one field adds no name, that field's."""
        if path:
            return path
        return (record_fields(type(self.shape)) or ("state",))[0]

    @property
    def bits(self) -> int:
        """Bits that hold information."""
        return sum(slot.domain.bits for slot in self.slots)

    def values(self, state: Any) -> tuple[Any, ...]:
        """The leaves of a concrete state as ints, each checked against its domain; `Anything` stays where it may be.

        Raises:
            DomainError: naming the first field outside its domain.
            LayoutError: when the state has another shape.
        """
        entries = list(leaves(state))
        if [path for path, _ in entries] != [slot.path for slot in self.slots]:
            paths = sorted({path for path, _ in entries} ^ {slot.path for slot in self.slots}) or ["order of fields"]
            fields = f"the state does not have the fields of its layout: {', '.join(paths[:4])}"
            raise LayoutError(misshapen(state, self.shape, "") or fields)
        for (path, value), slot in zip(entries, self.slots, strict=True):
            if isinstance(value, Anything) and isinstance(slot.domain, Counter | Endless):
                continue
            filled = isinstance(value, Filled) and isinstance(slot.domain, Endless)
            for word in (value.first, value.rest) if filled else (value,):
                self._check(path, word, slot.domain)
        return tuple(value if isinstance(value, Anything | Filled) else int(value) for _, value in entries)

    def _check(self, path: str, value: Any, domain: Domain) -> None:
        kind = bool if isinstance(domain, Flag) else int
        if not isinstance(value, kind) or isinstance(value, bool) != (kind is bool):
            mend = "; write IntSet.of(...)" if isinstance(value, set | frozenset) else ""
            raise LayoutError(f"{self.name(path)} is {value!r}, not {'a truth' if kind is bool else 'an int'}{mend}")
        if reason := clash(enum_of(domain), class_of(value)):
            raise LayoutError(f"{self.name(path)} is {value!r}: {reason}")
        if not domain.lo <= value <= domain.hi:
            raise DomainError(f"{self.name(path)} = {value} is outside its domain {domain.lo}..{domain.hi}")

    def named(self, state: Any) -> Any:
        """A state that rules made, with the names of its values; as it is where it does not fit."""
        try:
            return self.state(self.values(state)) if self.has_names else state
        except (DomainError, LayoutError):
            return state

    def pack(self, state: Any) -> tuple[int, ...]:
        """The packed words of a concrete state; raises as `values` does."""
        return self.join(self.values(state))

    def unpack(self, words: Sequence[int]) -> Any:
        """The state that `pack` packed into these words."""
        return self.state(self.split(words))

    def join(self, values: Iterable[int]) -> tuple[int, ...]:
        """The packed words of leaves, as `values` gives them, all in their domains."""
        words = [0] * self.words
        for value, slot in zip(values, self.slots, strict=True):
            words[slot.word] |= (int(value) - slot.domain.lo) << slot.shift
        return tuple(words)

    def split(self, words: Sequence[int]) -> tuple[int, ...]:
        """The leaves that these words pack."""
        return tuple((int(words[s.word]) >> s.shift & (1 << s.domain.bits) - 1) + s.domain.lo for s in self.slots)

    def state(self, values: Iterable[int]) -> Any:
        """The state with these leaves, as `values` gives them."""
        typed = (_typed(value, slot.domain) for value, slot in zip(values, self.slots, strict=True))
        return rebuild(self.shape, lambda: next(typed))


class Enum(Name, enum.IntEnum):
    """Named words 0, 1, 2, ...; subclass it. Traces, SQL, ITF and pictures show the names.

    Members of two such classes never meet, though their numbers are equal, unless both give the same names to the same
    numbers. Nothing is counted with one.

    >>> class Phase(Enum):
    ...     WORKING = enum.auto()
    ...     PREPARED = enum.auto()
    >>> int(Phase.WORKING), str(Phase.PREPARED)
    (0, 'PREPARED')
    """

    @staticmethod
    def _generate_next_value_(name: str, start: int, count: int, last_values: list[Any]) -> int:
        """The number of the next name, counted from 0."""
        return count

    def __str__(self) -> str:
        """The name, as traces show it."""
        return self.name

    @classmethod
    def domain(cls) -> Any:
        """The layout of a word that is one of the names.

        Raises:
            LayoutError: when the names' values are not 0, 1, 2, ...
        """
        if sorted(int(member) for member in cls) != list(range(len(cls))) or not len(cls):
            raise LayoutError(f"the values of {cls.__name__} are not 0, 1, 2, ...; let enum.auto() number the names")
        return Range(0, len(cls) - 1, names=cls)
