"""The packing of states: each field's place in 64-bit words.

Fields are packed in order, none crosses a word boundary, so a packed state is
exact: two states are equal iff their words are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from attrs import field, frozen

from kraftcheck.model.language.collections.names import clash, class_of, enum_of
from kraftcheck.model.language.initially import Anything, Filled
from kraftcheck.model.language.layout import (
    DOMAINS,
    MAX_WORDS,
    WORD_BITS,
    Counter,
    Domain,
    DomainError,
    Endless,
    Flag,
    LayoutError,
    Range,
    bits_by_field,
    leaves,
    rebuild,
)
from kraftcheck.model.language.symbolic import described, record_fields


def _typed(value: int, domain: Domain) -> int:
    """A value as rules see it on ints: a truth, a name, or a number."""
    if isinstance(domain, Flag):
        return bool(value)
    return domain.names(value) if isinstance(domain, Range) and domain.names else value


@frozen
class Slot:
    """Where a leaf lives: bits `shift`.. of word `word`, stored as value - domain.lo."""

    path: str
    domain: Domain
    word: int
    shift: int


@frozen
class Layout:
    """The packing of states of one shape.

    Attributes:
        shape: a state whose leaves are domains.
        packed: whether states are packed; provers read leaves only, and have no limit of width.
        slots: one place for each leaf, in order.
        words: number of 64-bit words of a packed state, 1..8; 0 where none is packed.
        has_names: whether some field's values have names.
    """

    shape: Any
    packed: bool = True
    slots: tuple[Slot, ...] = field(init=False)
    words: int = field(init=False)
    has_names: bool = field(init=False)

    def __attrs_post_init__(self) -> None:
        """Assign places first-fit in order; refuse what is wider than 512 bits."""
        slots, used = [], 0
        for path, domain in leaves(self.shape):
            if not isinstance(domain, DOMAINS):
                mend = "write ints(lo, hi), truth(), or domain() of a class"
                raise LayoutError(f"layout field {self.name(path)} is {described(domain)}, no domain; {mend}")
            if not self.packed:
                slots.append(Slot(path, domain, 0, 0))
                continue
            if isinstance(domain, Counter | Endless):
                raise LayoutError(f"layout field {self.name(path)} has no bound; only `kraftcheck prove` takes such")
            if domain.hi < domain.lo or domain.bits > WORD_BITS - 1:
                where = f"layout field {self.name(path)} has the domain {domain.lo}..{domain.hi}"
                mend = "use at most 63 bits" if domain.lo <= domain.hi else "it is empty; give the smaller end first"
                raise LayoutError(f"{where}; {mend}")
            if used % WORD_BITS + domain.bits > WORD_BITS:
                used += WORD_BITS - used % WORD_BITS
            # A field of one value needs no bits, and must not be placed in a word beyond the last.
            slots.append(Slot(path, domain, *(divmod(used, WORD_BITS) if domain.bits else (0, 0))))
            used += domain.bits
        words = max(1, -(-used // WORD_BITS)) if self.packed else 0
        if words > MAX_WORDS:
            worst, cost = max(bits_by_field(self.shape).items(), key=lambda item: item[1])
            raise LayoutError(
                f"a state needs {used} bits and the limit is {WORD_BITS * MAX_WORDS}; "
                f"{worst} costs most with {cost} bits: lower a bound it depends on"
            )
        object.__setattr__(self, "slots", tuple(slots))
        object.__setattr__(self, "words", words)
        named = any(isinstance(slot.domain, Range) and slot.domain.names for slot in slots)
        object.__setattr__(self, "has_names", named)

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
            raise LayoutError(f"the state does not have the fields of its layout: {', '.join(paths[:4])}")
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
            raise LayoutError(f"{self.name(path)} is {value!r}, not {'a truth' if kind is bool else 'an int'}")
        if reason := clash(enum_of(domain), class_of(value)):
            raise LayoutError(f"{self.name(path)} is {value!r}: {reason}")
        if not domain.lo <= value <= domain.hi:
            raise DomainError(f"{self.name(path)} = {value} is outside its domain {domain.lo}..{domain.hi}")

    def pack(self, state: Any) -> tuple[int, ...]:
        """The packed words of a concrete state; raises as `values` does."""
        words = [0] * self.words
        for value, slot in zip(self.values(state), self.slots, strict=True):
            words[slot.word] |= (value - slot.domain.lo) << slot.shift
        return tuple(words)

    def unpack(self, words: Sequence[int]) -> Any:
        """The state that `pack` packed into these words."""
        raw = ((int(words[s.word]) >> s.shift) & ((1 << s.domain.bits) - 1) for s in self.slots)
        return self.state(number + slot.domain.lo for number, slot in zip(raw, self.slots, strict=True))

    def state(self, values: Iterable[int]) -> Any:
        """The state with these leaves, as `values` gives them."""
        typed = (_typed(value, slot.domain) for value, slot in zip(values, self.slots, strict=True))
        return rebuild(self.shape, lambda: next(typed))
