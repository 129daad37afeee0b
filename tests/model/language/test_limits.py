"""The limits that docs/reference/language.md names: what is refused, with the number and the mend."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from attrs import frozen

import kraftcheck as kc
from kraftcheck.model.language.layout import Layout, LayoutError
from kraftcheck.model.language.symmetry import MOST_MEMBERS
from kraftcheck.solvers.program.program import MAX_INSTANCES
from tests.shared.places import DOCS


@frozen
class One:
    """A state with one field."""

    x: Any


class Many(kc.SetOf):
    """More members than a state has bits."""

    members = tuple(range(513))


class Twice(kc.SetOf):
    """One member twice."""

    members = (1, 1)


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (lambda: kc.subset_of(63), "subset_of(63): sets have 0..62"),
        (lambda: kc.IntSet.of([62]), "62 in a set: its numbers are 0..61"),
        (lambda: Layout(One(kc.ints(0, 1 << 63))), "use at most 63 bits"),
        (lambda: Layout(One(kc.ints(4, 0))), "layout field x has the domain 4..0; it is empty"),
        (lambda: Layout(One((kc.truth(),) * 513)), "a state needs 513 bits and the limit is 512"),
        (lambda: Layout(One(Many.domain())), "and the limit is 512"),
        (lambda: Twice.of([1]), "name each once"),
        (lambda: kc.Queue.of([1, 2, 3], 2), "3 items in a queue of at most 2"),
    ],
    ids=["members", "number", "field", "empty", "state", "declared", "twice", "queue"],
)
def test_what_is_beyond_a_limit_is_refused(made: Callable[[], Any], says: str) -> None:
    """The message says the limit, and what asks for more."""
    with pytest.raises((LayoutError, ValueError), match=re.escape(says)):
        made()


@pytest.mark.parametrize(
    "shape",
    [kc.ints(0, (1 << 63) - 1), (kc.truth(),) * 512, kc.IntSet(kc.subset_of(62)),
     kc.Replicas((kc.ints(-1, 61),) * 62)],
    ids=["field", "state", "members", "replicas"],
)  # fmt: skip
def test_what_is_at_a_limit_is_taken(shape: Any) -> None:
    """The largest of each has a layout of at most eight words."""
    assert 1 <= Layout(One(shape)).words <= 8


def test_the_page_names_the_limits() -> None:
    """The numbers of the page are those of the code."""
    text = (DOCS / "reference" / "language.md").read_text(encoding="utf-8")
    assert f"{MAX_INSTANCES:,} action instances" in text
    assert f"at most {MOST_MEMBERS} where a field names one by its number" in text
