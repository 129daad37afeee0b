"""Layouts: states are packed exactly, and what does not fit is named."""

from typing import Any

import pytest
from attrs import frozen
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from kraftcheck.model.language.brokersets import BrokerSet
from kraftcheck.model.language.layout import (
    WORD_BITS,
    DomainError,
    Flag,
    Layout,
    LayoutError,
    Range,
    ints,
    leaves,
    rebuild,
    subset_of,
)
from kraftcheck.model.language.places import Queue

ranges = st.tuples(st.integers(-(1 << 40), 1 << 40), st.integers(0, 62)).flatmap(
    lambda at: st.integers(0, (1 << at[1]) - 1).map(lambda width: Range(at[0], at[0] + width))
)
shapes = st.lists(ranges | st.just(Flag()) | st.tuples(ranges, st.just(Flag())), min_size=1, max_size=12).map(tuple)


def layout_of(shape: Any) -> Layout:
    """The layout of a shape that is within 512 bits."""
    try:
        return Layout(shape)
    except LayoutError:
        assume(False)
        raise


def draw_state(data: st.DataObject, shape: Any) -> Any:
    """A random state of a shape, the ends of its domains among them."""
    domains = iter([domain for _, domain in leaves(shape)])

    def value() -> Any:
        domain = next(domains)
        if isinstance(domain, Flag):
            return data.draw(st.booleans())
        return data.draw(st.sampled_from((domain.lo, domain.hi)) | st.integers(domain.lo, domain.hi))

    return rebuild(shape, value)


@settings(max_examples=200, deadline=None)
@given(shapes, st.data())
def test_states_survive_packing(shape: Any, data: st.DataObject) -> None:
    """Unpacking gives the packed state back, and two states are equal iff their words are."""
    layout = layout_of(shape)
    one, other = draw_state(data, shape), draw_state(data, shape)
    assert layout.unpack(layout.pack(one)) == one
    assert (layout.pack(one) == layout.pack(other)) == (one == other)
    assert all(0 <= w < 1 << WORD_BITS for w in layout.pack(one))
    assert len(layout.pack(one)) == layout.words


@settings(max_examples=200, deadline=None)
@given(shapes)
def test_no_field_crosses_a_word_or_another_field(shape: Any) -> None:
    """Every field has bits of its own inside one word."""
    layout = layout_of(shape)
    taken: set[tuple[int, int]] = set()
    for slot in layout.slots:
        assert slot.shift + slot.domain.bits <= WORD_BITS
        bits = {(slot.word, slot.shift + bit) for bit in range(slot.domain.bits)}
        assert not bits & taken
        taken |= bits
    assert len(taken) == layout.bits
    assert max((word for word, _ in taken), default=0) < layout.words <= 8


@frozen
class Some:
    """A state with a set, a word and a truth."""

    isr: Any
    leader: Any
    flag: Any


SOME = Layout(Some(BrokerSet(subset_of(3)), Range(-1, 2), Flag()))


def test_paths_name_fields_as_rules_do() -> None:
    """A set is named by its field, and tuple entries by their position."""
    assert [slot.path for slot in SOME.slots] == ["isr", "leader", "flag"]
    nested = Layout((Some(BrokerSet(subset_of(1)), (Flag(), Flag()), Flag()),))
    assert [slot.path for slot in nested.slots] == ["[0].isr", "[0].leader[0]", "[0].leader[1]", "[0].flag"]


@pytest.mark.parametrize(
    ("state", "message"),
    [
        (Some(BrokerSet(8), 0, True), "isr = 8 is outside its domain 0..7"),
        (Some(BrokerSet(1), -2, True), "leader = -2 is outside its domain -1..2"),
        (Some(BrokerSet(1), 3, True), "leader = 3 is outside its domain -1..2"),
    ],
)
def test_a_value_outside_its_domain_is_named(state: Some, message: str) -> None:
    """The error names the first field that does not fit, its value and its domain."""
    with pytest.raises(DomainError, match=message):
        SOME.pack(state)


@pytest.mark.parametrize(
    ("state", "message"),
    [
        (Some(BrokerSet(1), 0, 1), "flag is 1, not a truth"),
        (Some(BrokerSet(1), True, True), "leader is True, not an int"),
        (Some(BrokerSet(1), "0", True), "leader is '0', not an int"),
        (Some(1, (0, 0), True), r"does not have the fields of its layout: leader, leader\[0\], leader\[1\]"),
        (Some(BrokerSet(1), None, True), "leader is None"),
    ],
)
def test_a_state_of_another_shape_is_named(state: Some, message: str) -> None:
    """A wrong sort or a wrong shape is a fault of the layout, named by field."""
    with pytest.raises(LayoutError, match=message):
        SOME.pack(state)


@frozen
class Line:
    """Who waits, and whom each counter serves."""

    waiting: Any
    served: Any


WAITING = Layout(Line(Queue.domain(Range(0, 3), 2), (Range(0, 1),) * 2))


@pytest.mark.parametrize(
    ("state", "message"),
    [
        (Line([1, 2], (0, 0)), r"waiting is \[1, 2\], not a Queue; write Queue.of\(...\)"),
        (Line((1, 2), (0, 0)), r"waiting is \(1, 2\), not a Queue; write Queue.of\(...\)"),
        (Line(Queue.of([1, 2], 3), (0, 0)), "waiting.items has 3 places, and its layout 2"),
        (Line(Queue.of([1], 2), (0, 0, 1)), "served has 3 places, and its layout 2"),
        (Line(Queue.of([1], 2), [0, 1]), r"served is \[0, 1\], not a tuple; make it a tuple"),
        ((0, 0), r"the state is \(0, 0\), not a Line; make it a Line"),
    ],
)
def test_a_part_of_another_class_or_length_is_named(state: Any, message: str) -> None:
    """The error names the innermost part that does not fit, and what to write."""
    with pytest.raises(LayoutError, match=f"^{message}$"):
        WAITING.pack(state)


def test_more_than_512_bits_are_refused() -> None:
    """The error names the need, the limit and the field that costs most; 512 bits are not too many."""
    wide = Range(0, (1 << 32) - 1)
    assert Layout((wide,) * 16).words == 8
    with pytest.raises(LayoutError, match=r"needs 544 bits and the limit is 512; \(state\) costs most with 544 bits"):
        Layout((wide,) * 17)


@pytest.mark.parametrize("domain", [Range(1, 0), Range(0, 1 << 63), Range(-(1 << 63), 1)])
def test_a_domain_that_no_word_holds_is_refused(domain: Range) -> None:
    """An empty domain, or one of 64 bits and more, is named."""
    with pytest.raises(LayoutError, match=r"layout field \[0\] has the domain"):
        Layout((domain,))


def test_a_leaf_that_is_no_domain_is_refused() -> None:
    """A plain value where a domain belongs is named."""
    with pytest.raises(LayoutError, match=r"layout field \[1\] is 7, no domain"):
        Layout((Flag(), 7))


def test_a_constant_field_takes_no_bits() -> None:
    """A domain of one value is kept without bits, and a state without bits still has a word."""
    layout = Layout((Range(7, 7),))
    assert (layout.bits, layout.words, layout.pack((7,)), layout.unpack((0,))) == (0, 1, (0,), (7,))


def test_a_constant_field_after_a_full_word_needs_no_other() -> None:
    """Fields of one value have a place also where those before them fill the last word."""
    layout = Layout((Range(0, (1 << 63) - 1), Flag(), Range(7, 7), Range(0, 0)))
    state = ((1 << 63) - 1, True, 7, 0)
    assert (layout.bits, layout.words, layout.unpack(layout.pack(state))) == (64, 1, state)


def test_a_field_of_one_value_never_starts_a_word() -> None:
    """After a word that is exactly full, a field without bits stays inside the packed words."""
    layout = Layout((Range(0, (1 << 32) - 1), Range(0, (1 << 32) - 1), Range(7, 7)))
    assert layout.words == 1
    assert layout.unpack(layout.pack((1, 2, 7))) == (1, 2, 7)


def test_a_domain_says_which_number_is_nothing() -> None:
    """Where the domain says none, -1 reads `none`; elsewhere it is -1, whatever a field is called."""
    layout = Layout((ints(-1, 2, none=-1), ints(-1, 2)))
    assert tuple(map(str, layout.unpack(layout.pack((-1, -1))))) == ("none", "-1")
    assert layout.unpack(layout.pack((-1, 0))) == (-1, 0)


def test_no_other_number_is_nothing() -> None:
    """Expressions write -1 as `none`, so a domain with another number is refused."""
    with pytest.raises(LayoutError, match=r"a domain's none is 0; it takes -1, as expressions do"):
        ints(0, 2, none=0)
