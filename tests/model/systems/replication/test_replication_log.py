"""The replica's log: every operation against plain Python lists, on ints and on terms."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftcheck.model.language.layout import Range
from kraftcheck.model.language.terms import Graph
from kraftcheck.model.systems.replication.log import VACANT, Log, larger, smaller
from tests.shared.readers import numbers, read, symbolic, values_of

ROOM = 3
EPOCHS = (1, 2, 3)
"""Entries: leader epoch plus one."""

SMALL = [list(some) for n in range(ROOM + 1) for some in itertools.combinations_with_replacement(EPOCHS, n)]
"""Every log of up to three records in which epochs never fall."""


def log(records: Sequence[int], room: int = ROOM) -> Log:
    """A log with room for so many records."""
    return Log((*records, *(VACANT,) * (room - len(records))))


def records(found: Log) -> list[int]:
    """The records of a log, none of which follows a vacant entry."""
    entries = [entry for entry in found.entries if isinstance(entry, int)]
    assert len(entries) == len(found.entries)
    kept = [entry for entry in entries if entry != VACANT]
    assert entries == kept + [VACANT] * (len(entries) - len(kept)), "a hole"
    return kept


@st.composite
def logs(draw: st.DrawFn, room: int = 6) -> list[int]:
    """Records of a log with epochs that never fall."""
    return sorted(draw(st.lists(st.integers(1, 9), max_size=room)))


def end_of_epoch(some: Sequence[int], entry: int) -> int:
    """Offset after the last record whose epoch is at most the given one."""
    return max((offset + 1 for offset, old in enumerate(some) if old <= entry), default=0)


def test_a_log_is_shown_by_its_epochs() -> None:
    """Entries are epochs plus one; vacant ones are not shown."""
    assert [str(log([])), str(log([1])), str(log([1, 1, 3]))] == ["[]", "[0]", "[0 0 2]"]


@pytest.mark.parametrize("some", SMALL, ids=str)
def test_ends_and_last_records(some: list[int]) -> None:
    """End, last record and fullness are those of the list."""
    assert log(some).end() == len(some)
    assert log(some).last() == (some[-1] if some else VACANT)
    assert log(some).is_full() == (len(some) == ROOM)


@pytest.mark.parametrize("some", SMALL, ids=str)
def test_appending_and_truncating(some: list[int]) -> None:
    """A record goes to the end unless the log is full; cutting keeps the first records, beyond the end all."""
    for entry in EPOCHS:
        assert records(log(some).append(entry)) == [*some, entry][:ROOM]
    for to in range(ROOM + 1):
        assert records(log(some).truncate(to)) == some[:to]


@pytest.mark.parametrize("some", SMALL, ids=str)
def test_looking_up_epochs(some: list[int]) -> None:
    """The end of the largest epoch up to a given one, and that epoch, are those of the list."""
    for entry in (VACANT, *EPOCHS):
        assert log(some).count_to(entry) == end_of_epoch(some, entry)
        assert log(some).largest_to(entry) == max((old for old in some if old <= entry), default=VACANT)


def test_copying_and_comparing_every_pair() -> None:
    """A copy adds what the other log holds beyond the end; agreement is that of the two prefixes."""
    for one, other in itertools.product(SMALL, repeat=2):
        assert records(log(one).copy_of(log(other))) == one + other[len(one) :]
        for below in range(ROOM + 1):
            assert log(one).agrees(log(other), below) == (one[:below] == other[:below])


@given(one=logs(), other=logs(), cut=st.integers(0, 6), entry=st.integers(0, 10))
def test_larger_logs(one: list[int], other: list[int], cut: int, entry: int) -> None:
    """The same facts for logs with room for six records of nine epochs."""
    a, b = log(one, 6), log(other, 6)
    assert (a.end(), a.last(), a.is_full()) == (len(one), one[-1] if one else VACANT, len(one) == 6)
    assert records(a.truncate(cut)) == one[:cut]
    assert [entry for entry in a.copy_of(b).entries if entry] == one + other[len(one) :]
    assert a.count_to(entry) == end_of_epoch(one, entry)
    assert a.largest_to(entry) == max((old for old in one if old <= entry), default=VACANT)
    assert a.agrees(b, cut) == (one[:cut] == other[:cut])


@given(a=st.integers(-5, 5), b=st.integers(-5, 5))
def test_smaller_and_larger(a: int, b: int) -> None:
    """They are minimum and maximum."""
    assert (smaller(a, b), larger(a, b)) == (min(a, b), max(a, b))


def operations(one: Log, other: Log, number: Any) -> list[Any]:
    """Every operation's result as words."""
    return [
        one.end(), one.last(), one.is_full(), one.count_to(number), one.largest_to(number), one.agrees(other, number),
        *one.append(number).entries, *one.truncate(number).entries, *one.copy_of(other).entries,
        smaller(one.last(), number), larger(one.last(), number),
    ]  # fmt: skip


@pytest.mark.parametrize("number", [VACANT, *EPOCHS, 4])
def test_terms_agree_with_ints(number: int) -> None:
    """Every operation on symbolic logs has, for every pair of small logs, the value that ints have."""
    graph = Graph()
    entry: Any = Range(0, max(EPOCHS))
    one, other = (symbolic(graph, Log((entry,) * ROOM)) for _ in range(2))
    traced = operations(one, other, graph.variable("number", 0, 4))
    for a, b in itertools.product(SMALL, repeat=2):
        found = values_of(graph, [*numbers(log(a)), *numbers(log(b)), number])
        assert read(tuple(traced), found) == tuple(operations(log(a), log(b), number))
