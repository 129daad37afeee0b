"""Directory ids at start: drawn where missing, refused where equal, never from the first hundred."""

from __future__ import annotations

from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.directories import RESERVED, is_reserved
from model.meta_properties import DuplicateDirectoryError, NoIdLeftError, identify
from model.rules import parse

BIG = 1 << 100
"""An id that is surely not reserved."""


def test_missing_ids_are_drawn() -> None:
    """Known ids stay, missing ones come from the draws in order."""
    assert identify({"/d1": BIG, "/d2": None, "/d3": None}, iter([BIG + 1, BIG + 2])) == {
        "/d1": BIG, "/d2": BIG + 1, "/d3": BIG + 2,
    }  # fmt: skip


def test_equal_ids_stop_the_broker() -> None:
    """Two directories of one id are named; the defect starts nevertheless."""
    found = {"/d1": BIG, "/d2": None, "/d3": BIG}
    with pytest.raises(DuplicateDirectoryError, match=r"^/d1 and /d3 have the same directory\.id$"):
        identify(found, [BIG + 1])
    assert identify(found, [BIG + 1], rules=parse("fixed+duplicate-ids-start"))["/d3"] == BIG


@given(st.lists(st.one_of(st.integers(0, 2 * RESERVED), st.integers(0, (1 << 128) - 1)), max_size=20))
def test_reserved_and_taken_ids_are_never_drawn(draws: list[int]) -> None:
    """Whatever is drawn, ids are distinct and none is reserved."""
    found = identify({"/d1": 500, "/d2": None, "/d3": None}, chain(draws, [BIG, BIG + 1]))
    assert len(set(found.values())) == 3
    assert not any(is_reserved(directory) for directory in found.values())


def test_the_defect_draws_reserved_ids() -> None:
    """Without the rule the first draw is taken, whatever it is."""
    assert identify({"/d1": None}, [2, BIG], rules=parse("fixed+reserved-ids-drawn")) == {"/d1": 2}
    assert identify({"/d1": None}, [2, BIG]) == {"/d1": BIG}


def test_draws_may_end() -> None:
    """Too few candidates are an error."""
    with pytest.raises(NoIdLeftError):
        identify({"/d1": None}, [1, 2])


def test_the_metadata_directory_may_be_exempt() -> None:
    """In one draft of the KIP `metadata.log.dir` has no id where it is a path of its own."""
    found = {"/metadata": None, "/d1": BIG}
    kip = parse("kip")
    assert identify(found, [], "/metadata", kip) == {"/d1": BIG}
    assert identify(found, [BIG + 1], "/metadata") == {"/metadata": BIG + 1, "/d1": BIG}
    assert identify({"/d1": None}, [BIG], None, kip) == {"/d1": BIG}
