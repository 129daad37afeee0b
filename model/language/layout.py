"""The domain of each field of a state, and the parts of a state.

A layout is a state value whose leaves are `Range` or `Flag` instead of words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from attrs import field, frozen

from kraftcheck.model.language.algebra import MASK_BITS
from kraftcheck.model.language.initially import Anything, Filled
from kraftcheck.model.language.symbolic import record_fields
from kraftcheck.model.language.terms import Term

WORD_BITS, MAX_WORDS = 64, 8

UNBOUNDED = 1 << 1000
"""Stands for infinity in intervals: no rule compares with a number near it."""


class LayoutError(ValueError):
    """A layout that cannot be packed, or that does not describe its states."""


class DomainError(ValueError):
    """A value outside the domain of its field; the message names the field."""


def _check_reason(_: Any, __: Any, cap: object) -> None:
    if not isinstance(cap, str) or cap.isspace():
        raise LayoutError(f"a domain's cap is {cap!r}; it takes the reason why the bound is meant, as a sentence")


@frozen
class Range:
    """Domain of a word: the ints lo..hi, both included.

    Attributes:
        lo, hi: smallest and largest value.
        cap: why steps beyond `hi` may be left out; empty: one is a fault, as one below `lo` always is.
        names: the enumeration that names the values, if one does.
    """

    lo: int
    hi: int
    cap: str = field(default="", eq=False, repr=False, kw_only=True, validator=_check_reason)
    names: Callable[[int], int] | None = field(default=None, eq=False, repr=False, kw_only=True)

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
    """Domain of a word without an end that is known: 0, 1, 2, ... Only provers take it.

    Attributes:
        lo, hi: smallest word; a stand-in for infinity.
        below: the bound whose number the words are below, whatever that is; None where they are below none.
    """

    lo: int = 0
    hi: int = UNBOUNDED
    below: str | None = None

    @property
    def bits(self) -> int:
        """As many as its stand-in for infinity needs."""
        return UNBOUNDED.bit_length()


@frozen
class Endless:
    """Domain of a `kraftcheck.model.language.sequences.Sequence` of words lo..hi. Only provers take it.

    Attributes:
        lo, hi: smallest and largest word.
        truths: whether it is one of truths, which are 0 for false and 1 for true.
        places: how many places name a word: 2 for a sequence of sequences.
        numbers: for each of these the bound whose number there are of it; None where they have no end.
        below: of the words, as in `Counter`.
        cap: why steps after which a word is beyond `hi` may be left out; as in `Range`.
    """

    lo: int
    hi: int
    truths: bool = False
    places: int = 1
    numbers: tuple[str | None, ...] = (None,)
    below: str | None = None
    cap: str = field(default="", eq=False, repr=False, kw_only=True, validator=_check_reason)

    @property
    def bits(self) -> int:
        """As many as a word without bound: no state with one can be packed."""
        return UNBOUNDED.bit_length()


Domain = Range | Flag | Counter | Endless

DOMAINS = (Range, Flag, Counter, Endless)


def ints(lo: int, hi: int, *, cap: str = "") -> Any:
    """The domain lo..hi, typed so that it can stand where a state has a word; `cap` as in `Range`."""
    return Range(lo, hi, cap=cap)


def truth() -> Any:
    """The domain of a truth, typed so that it can stand where a state has one."""
    return Flag()


def counter(lo: int = 0) -> Any:
    """The domain of a word without bound from lo on, typed so that it can stand where a state has one."""
    return Counter(lo)


def endless(lo: int, hi: int, *, truths: bool = False) -> Any:
    """The domain of a sequence of words lo..hi, or of truths, typed so that it can stand where a state has one."""
    return Endless(lo, hi, truths)


def subset_of(count: int, *, cap: str = "") -> Any:
    """The domain of the mask of a `BrokerSet` over brokers 0..count-1; `cap` as in `Range`.

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


_LEAVES = (*DOMAINS, Anything, Filled, Term)
"""Records that are leaves."""


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """The leaves of a nested value of records and tuples, with their paths.

    A record with one field adds no name of its own: the mask of a set named
    `isr` is the leaf `isr`.
    """
    names = () if isinstance(value, tuple) else record_fields(type(value))
    if isinstance(value, _LEAVES) or names is None:
        yield path, value
    elif isinstance(value, tuple):
        for position, item in enumerate(value):
            yield from leaves(item, f"{path}[{position}]")
    else:
        for name in names:
            below = path if len(names) == 1 else f"{path}.{name}" if path else name
            yield from leaves(getattr(value, name), below)


def rebuild(shape: Any, take: Callable[[], Any]) -> Any:
    """A value of the same shape whose leaves are drawn, in order, from `take`."""
    if isinstance(shape, tuple):
        return tuple(rebuild(item, take) for item in shape)
    names = record_fields(type(shape))
    if names is not None and not isinstance(shape, _LEAVES):
        return type(shape)(**{name: rebuild(getattr(shape, name), take) for name in names})
    return take()


def bits_by_field(shape: Any) -> dict[str, int]:
    """Bits of each field of a layout, all parts of a top-level field together."""
    cost: dict[str, int] = {}
    for path, domain in leaves(shape):
        name = path.replace("[", ".").split(".")[0] or "(state)"
        cost[name] = cost.get(name, 0) + domain.bits
    return cost
