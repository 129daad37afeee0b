"""Orders that come from hash tables: the model's, and those of the classes themselves."""

import random

import numpy as np
import pytest

from kraftcheck.ci.conformance.kafka.build import Build
from kraftcheck.ci.conformance.kafka.change.cases import random_ordered
from kraftcheck.ci.conformance.kafka.change.checks import compare
from kraftcheck.ci.conformance.kafka.change.models import model_of
from kraftcheck.ci.conformance.kafka.columns import Columns, Rows
from kraftcheck.ci.conformance.kafka.drivers import Driver
from kraftcheck.model.language import idlists
from kraftcheck.model.language.idlists import hash_order
from kraftcheck.model.records.replay import FEWEST_SLOTS, first_key, slots_after_put
from kraftcheck.model.rules.ruleset import RELEASES, parse

pytestmark = pytest.mark.xdist_group("kafka")

VERSION = "4.1.2"

HASH_SET_OUTPUTS = ("count", False), ("ids", True)  # what a set lists that is made of the first ids, with others added

TIMELINE_MAP_OUTPUTS = (("first", False),)
"""The first key that Kafka's map of partitions lists, of keys that are put into it in an order."""

MOST_IDS = 40
SLOTS = 7


def drawn_ids(draw: random.Random) -> list[int]:
    """Some distinct ids of the whole range, often many of one slot."""
    kinds, ids = draw.choice([(0,), (1,), (2,), (3,), (4,), (0, 1, 2), (2, 3, 4)]), dict[int, None]()
    for _ in range(draw.choice((1, 2, 3, 5, 8, 9, 11, 13, 20, MOST_IDS - 1))):
        high = draw.randrange(1, 1 << 15)
        of_kind = (draw.randrange(16), draw.randrange(16, 64), draw.randrange(1 << 31), 64 * high, high << 16 | high)
        ids[of_kind[draw.choice(kinds)]] = None
    return draw.sample([*ids, *draw.choice(([], [-1], [(1 << 31) - 1]))], len(ids))


def test_hash_sets_list_ids_as_java_does() -> None:
    """Sets made of a list and by additions, small ones, large ones and with trees: Java's lists each in this order."""
    draw, cases, rows = random.Random(7), [], []
    for _ in range(1_500):
        ids = drawn_ids(draw)
        cut = draw.randrange(len(ids) + 1)
        cut -= cut in (12, 24)  # From Java 19 on a set made of so many ids has a smaller table.
        cases.append((ids, cut))
        rows.append([cut, len(ids) - cut, *ids, *[0] * (MOST_IDS - len(ids))])
    with Driver(Build(VERSION), "hash-set", MOST_IDS, Columns.of(HASH_SET_OUTPUTS, MOST_IDS)) as java:
        answers = java.ask(np.array(rows, dtype=np.int32)).tolist()
    expected = [tuple(ids[:count]) for count, *ids in answers]
    assert [hash_order(ids[:cut], ids[cut:]) for ids, cut in cases] == expected
    assert sum(list(order) != sorted(order) for order in expected) > 500
    in_one_slot = [order for order in expected if len({(b ^ b >> 16) & 63 for b in order}) == 1]
    assert sum(len(order) > 10 for order in in_one_slot) > 20


def test_the_map_of_partitions_begins_as_the_class_does() -> None:
    """Keys that are put once or again, in any order: Kafka's map begins with the same one, mostly not the least."""
    draw, rows, expected = random.Random(3), [], []
    for _ in range(4_000):
        top = draw.choice((3, 6, 10, 25, MOST_IDS, 1 << 31))
        keys = list(range(min(top, draw.randint(1, MOST_IDS))))
        if draw.randrange(2):
            keys = [draw.randrange(top) for _ in range(draw.randint(1, MOST_IDS))]
        slots, known = FEWEST_SLOTS, dict[int, None]()
        for key in keys:
            slots = slots_after_put(slots, len(known))
            known[key] = None
        rows.append([len(keys), *keys, *[0] * (MOST_IDS - len(keys))])
        expected.append(first_key(known, slots))
    with Driver(Build(VERSION), "timeline-map", MOST_IDS, Columns.of(TIMELINE_MAP_OUTPUTS, MOST_IDS)) as kafka:
        assert kafka.ask(np.array(rows, dtype=np.int32))[:, 0].tolist() == expected
    assert sum(first != min(row[1 : 1 + row[0]]) for first, row in zip(expected, rows, strict=True)) > 1_000


class Recorded:
    """The answers of Kafka's classes to one table."""

    def __init__(self, answers: Rows) -> None:
        self._answers = answers

    def ask(self, rows: Rows) -> Rows:
        """The answers to the table."""
        return self._answers


def test_ordered_lists_conform_for_any_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    """The builder's lists are the model's, order included, in both modes; lists in ascending order differ from them."""
    table, model = random_ordered(5, SLOTS, 400, 5), model_of("ordered", SLOTS, parse(f"kafka-{VERSION}"))
    with Driver(Build(VERSION), "ordered", SLOTS, model.outputs) as kafka:
        recorded = Recorded(kafka.ask(table))
    (right,) = compare(recorded, model, [table])
    assert (right.cases, right.differences) == (400, 0)
    monkeypatch.setattr(idlists, "hash_order", lambda listed, added: tuple(sorted({*listed, *added})))
    (broken,) = compare(recorded, model, [table])
    assert {name for cause in broken.causes for name in cause.columns} <= {"status", "elr", "last_known"}
    assert 10 < broken.differences < 200


def test_ordered_cases_are_well_formed() -> None:
    """Ids ascend, the largest among them; both modes are drawn, and lists of several last known."""
    table, columns = random_ordered(1, SLOTS, 500, 5), model_of("ordered", SLOTS, parse("fixed")).inputs
    ids = columns.get(table, "ids")
    assert (np.diff(ids) > 0).all()
    assert ids.min() >= 0
    assert ids.max() == (1 << 31) - 1
    balanced, last_known = columns.get(table, "balanced"), columns.get(table, "last_known")
    assert set(balanced.tolist()) == {0, 1}
    assert ((last_known != -1).sum(axis=1)[balanced == 0] > 1).any()
    assert ((last_known != -1).sum(axis=1)[balanced == 1] <= 1).all()
    assert np.array_equal(table, random_ordered(1, SLOTS, 500, 5))


@pytest.mark.slow
@pytest.mark.parametrize("rules", RELEASES)
def test_ordered_lists_conform_in_every_release(rules: str) -> None:
    """Drawn cases with any ids, of up to ten replicas, under the preset of each release."""
    for factor in (3, 5, 10):
        model = model_of("ordered", factor + 2, parse(rules))
        with Driver(Build(rules.removeprefix("kafka-")), "ordered", factor + 2, model.outputs) as kafka:
            (*_, found) = compare(kafka, model, [random_ordered(9, factor + 2, 10_000, factor)])
        assert (found.cases, found.differences) == (10_000, 0)
