"""The order in which `java.util.HashSet` lists ids, and the collections that keep or forget it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftcheck.model.language.brokersets import BrokerSet, Replicas
from kraftcheck.model.language.idlists import FULL_SLOT, AtMostOne, IdList, hash_order, hash_union

BROKER_IDS = st.integers(0, 70) | st.integers(0, (1 << 31) - 1) | st.integers(0, 40).map(lambda k: 64 * k)
id_lists = st.lists(BROKER_IDS, unique=True, max_size=40)


@pytest.mark.parametrize(
    ("listed", "added", "order"),
    [
        ((), (), ()),
        ((15, 32), (31,), (32, 15, 31)),
        ((3, 1, 2), (0,), (0, 1, 2, 3)),
        ((33, 17, 1), (), (33, 17, 1)),
        ((1, 17), (33, -1), (-1, 1, 17, 33)),
        (tuple(range(40, 0, -1)), (), tuple(range(1, 41))),
    ],
)
def test_ids_come_slot_by_slot(listed: tuple[int, ...], added: tuple[int, ...], order: tuple[int, ...]) -> None:
    """Ids come in the order of their slots, those of one slot as they were added; -1 is in the first slot."""
    assert hash_order(listed, added) == order


def test_many_ids_of_one_slot_are_a_tree() -> None:
    """The twelfth id of one slot is put behind its parent in the tree, whose root comes first."""
    ids = [64 * k for k in range(12)]
    assert hash_order([], ids) == (192, 0, 64, 128, 256, 320, 384, 448, 512, 576, 640, 704)


@given(id_lists, id_lists)
def test_the_order_has_each_id_once(listed: list[int], added: list[int]) -> None:
    """Nothing is lost or doubled, and what is added twice changes nothing."""
    order = hash_order(listed, added)
    assert sorted(order) == sorted({*listed, *added})
    assert hash_order(listed, [*added, *added]) == order


@given(st.lists(BROKER_IDS, unique=True, max_size=FULL_SLOT), st.integers(0, FULL_SLOT))
def test_few_ids_in_their_order_keep_it(listed: list[int], cut: int) -> None:
    """An ELR that a build has listed is not listed anew by the next one, up to as many ids as share a slot."""
    order = hash_order(listed)
    assert hash_order(order) == order
    assert hash_order(order[:cut], order[cut:]) == order


@given(st.lists(st.integers(0, 15), unique=True), st.lists(st.integers(0, 15), unique=True))
def test_small_ids_come_in_ascending_order(listed: list[int], added: list[int]) -> None:
    """Below 16 the set lists ids in ascending order, so that masks, slots and lists agree."""
    union = sorted({*listed, *added})
    assert list(hash_order(listed, added)) == union
    assert list(hash_union(BrokerSet.of(listed), BrokerSet.of(added))) == union
    assert list(hash_union(Replicas.of(listed, 16), Replicas.of(added, 16))) == union
    assert list(hash_union(IdList.of(listed), IdList.of(added))) == union


def test_what_has_another_order_is_refused() -> None:
    """Slots do not answer for ids from 16 on, nor a list of at most one for two."""
    with pytest.raises(ValueError, match=r"ids 0\.\.15; larger ones need ordered lists"):
        hash_union(Replicas.of([15, 16], 3), Replicas.of([], 3))
    with pytest.raises(TypeError, match="cannot be extended"):
        hash_union(AtMostOne(1), AtMostOne(2))
