"""Collections of the language: what they mean on ints, in terms, outside their domains, and how they list."""

import enum
import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from attrs import frozen
from hypothesis import given
from hypothesis import strategies as st

import kraftcheck as kc
from kraftcheck.model.language.brokersets import BrokerSet, Replicas
from kraftcheck.model.language.idlists import FULL_SLOT, AtMostOne, IdList, hash_order, hash_union
from kraftcheck.model.language.layout import DomainError, Layout, LayoutError
from kraftcheck.model.language.symbolic import UntraceableRule
from kraftcheck.model.language.terms import Graph, Term
from tests.shared.explored import values_of


@frozen
class Message:
    """A message with a kind and a sender."""

    kind: kc.Word
    sender: kc.Word


class Messages(kc.SetOf):
    """A set of more messages than one mask has bits for."""

    members = tuple(Message(kind, sender) for kind in range(8) for sender in range(9))


class Few(kc.Bag):
    """A bag of three numbers."""

    members = (2, 3, 7)


class Shares(kc.Map):
    """A map from pairs."""

    keys = tuple(itertools.product(range(2), range(3)))


class Inbox(kc.Queue):
    """A queue of messages."""

    vacant = Message(0, 0)


class Phase(kc.Enum):
    """Three names."""

    IDLE = enum.auto()
    BUSY = enum.auto()
    DONE = enum.auto()


messages = st.builds(Message, st.integers(0, 7), st.integers(0, 8))


def symbolic(value: Any, rule: Callable[[Any], Any], domains: Sequence[tuple[int, int]]) -> Any:
    """What a rule says of a value of words, when it is traced with variables for them and then evaluated."""
    graph = Graph()
    names = [graph.variable(f"v{number}", lo, hi) for number, (lo, hi) in enumerate(domains)]
    result = rule(value(*names))
    return lambda *given: values_of(graph, list(given))[result.index] if isinstance(result, Term) else result


@given(st.lists(messages, max_size=9), st.lists(messages, max_size=9), messages)
def test_a_set_is_pythons_set(first: list[Message], second: list[Message], one: Message) -> None:
    """Every operation on a set of declared records is that on Python's sets."""
    a, b = Messages.of(first), Messages.of(second)
    x, y = {*first}, {*second}
    assert ({*a.plus(b)}, {*a.minus(b)}, {*a.keep(b)}, {*a.just(one)}) == (x | y, x - y, x & y, {one})
    assert (a.has(one), a.size(), a.is_empty(), a.none().is_empty()) == (one in x, len(x), not x, True)
    assert (a.within(b), a.same(b), a.same(Messages.of(reversed(first)))) == (x <= y, x == y, True)
    assert kc.each(a, lambda m: m.kind > 0) == all(m.kind > 0 for m in x)
    assert kc.some(a, lambda m: m.kind > 0) == any(m.kind > 0 for m in x)
    assert kc.count(a, lambda m: m.kind > 0) == sum(m.kind > 0 for m in x)


@given(st.lists(messages, max_size=5), messages)
def test_a_set_of_terms_is_the_set_of_their_values(some: list[Message], one: Message) -> None:
    """With symbolic words in a record, membership and adding have the values that they have on ints."""
    domains = ((0, 7), (0, 8))
    has = symbolic(Message, Messages.of(some).has, domains)
    added = symbolic(Message, lambda m: Messages.of(some).plus(Messages.of([]).just(m)).masks[0], domains)
    assert has(one.kind, one.sender) == (one in some)
    assert added(one.kind, one.sender) == Messages.of([*some, one]).masks[0]


def test_a_symbolic_value_that_is_no_member_leaves_the_domain() -> None:
    """It is not lost in silence: the mask of the set, or a count of the bag, is outside its domain."""
    mask = symbolic(Message, lambda m: Messages.of([]).just(m).masks[-1], ((0, 9), (0, 8)))
    assert mask(9, 0) > Messages.domain().masks[-1].hi
    assert mask(7, 8) <= Messages.domain().masks[-1].hi
    counts = symbolic(lambda n: n, lambda n: Few.of([]).add(n).counts[0], ((0, 9),))
    assert [counts(number) for number in (2, 3, 4)] == [1, 0, -1]


@given(st.lists(st.sampled_from(Few.members), max_size=9), st.sampled_from(Few.members))
def test_a_bag_is_pythons_counter(values: list[int], one: int) -> None:
    """A bag counts as Python's Counter does, on ints and on terms."""
    bag, counter = Few.of(values), Counter(values)
    assert Counter(bag) == counter
    assert (bag.size(), bag.is_empty(), bag.has(one)) == (len(values), not values, one in values)
    assert Counter(bag.add(one)) == counter + Counter([one])
    assert symbolic(lambda n: n, bag.count, ((2, 7),))(one) == counter[one]
    if one in values:
        assert Counter(bag.remove(one)) == counter - Counter([one])
    else:
        with pytest.raises(DomainError, match=r"-1 is outside its domain 0\.\.9"):
            Layout(Few.domain(9)).values(bag.remove(one))


@given(st.tuples(st.integers(0, 1), st.integers(0, 2)), st.integers(0, 9))
def test_a_map_is_pythons_dict(key: tuple[int, int], value: int) -> None:
    """Reading and writing a key, concrete or symbolic, is that of Python's dict."""
    wanted = {one: number for number, one in enumerate(Shares.keys)}
    votes = Shares.of(wanted)
    assert dict(votes.put(key, value).items()) == {**wanted, key: value}
    assert votes.get(key) == wanted[key]
    assert symbolic(lambda a, b: (a, b), votes.get, ((0, 1), (0, 2)))(*key) == wanted[key]
    put = symbolic(lambda a, b: (a, b), lambda k: votes.put(k, value).get((1, 1)), ((0, 1), (0, 2)))
    assert put(*key) == {**wanted, key: value}[1, 1]


def test_a_key_that_may_be_none_needs_another_value() -> None:
    """A symbolic key whose values are not all keys is refused with its line, unless there is another value."""
    votes = Shares.of(lambda key: 5)
    with pytest.raises(UntraceableRule, match=r"test_collections\.py:\d+: get\(\) of .* may be no key"):
        symbolic(lambda a: (a, 0), votes.get, ((0, 2),))
    read = symbolic(lambda a: (a, 0), lambda key: votes.get(key, otherwise=9), ((0, 2),))
    assert [read(0), read(2), votes.get((7, 7), 9)] == [5, 9, 9]
    with pytest.raises(LayoutError, match=r"\(7, 7\) is not among the 6 members"):
        votes.get((7, 7))
    with pytest.raises(LayoutError, match="has the keys"):
        Shares.of({(0, 0): 1})


@given(st.lists(messages, max_size=4), messages)
def test_a_queue_is_pythons_list(items: list[Message], one: Message) -> None:
    """Appending, the head and the tail are those of a list; equal queues are equal states."""
    queue = Inbox.of(items, 4)
    assert [*queue] == items
    assert (queue.is_empty(), queue.is_full(), queue.has(one)) == (not items, len(items) == 4, one in items)
    layout = Layout(Inbox.domain(Message(kc.ints(0, 7), kc.ints(0, 8)), 4))
    if items:
        assert (queue.head(), queue.tail()) == (items[0], Inbox.of(items[1:], 4))
    else:
        with pytest.raises(DomainError, match="size = -1"):
            layout.values(queue.tail())
    if len(items) < 4:
        assert queue.append(one) == Inbox.of([*items, one], 4)
    else:
        with pytest.raises(DomainError, match="size = 5"):
            layout.values(queue.append(one))
        with pytest.raises(LayoutError, match="5 items in a queue of at most 4"):
            Inbox.of([*items, one], 4)


@given(st.integers(0, 2), st.integers(0, 1), st.integers(-1, 4))
def test_tuples_are_read_and_written_at_places(first: int, second: int, outside: int) -> None:
    """`get` and `put` at symbolic places are Python's, at each level; outside, `put` changes nothing."""
    rows = ((1, 2), (3, 4), (5, 6))
    wanted = [[*row] for row in rows]
    wanted[first][second] = 9
    domains = ((0, 2), (0, 1))
    assert symbolic(lambda a, b: (a, b), lambda p: kc.get(rows, *p), domains)(first, second) == rows[first][second]
    assert kc.put(rows, (first, second), 9) == tuple(map(tuple, wanted))
    written = symbolic(lambda a, b: (a, b), lambda p: kc.get(kc.put(rows, p, 9), 1, 1), domains)
    assert written(first, second) == wanted[1][1]
    flat = (7, 8, 6)
    expected = flat[outside] if 0 <= outside < 3 else 0
    assert kc.get(flat, outside, otherwise=0) == expected
    assert symbolic(lambda a: a, lambda p: kc.get(flat, p, otherwise=0), ((-1, 4),))(outside) == expected
    assert kc.put(flat, outside, 1) == tuple(1 if place == outside else item for place, item in enumerate(flat))


def test_a_place_that_may_be_outside_is_refused() -> None:
    """`get` without a value for places outside names the rule's line, on terms, and the place on ints."""
    with pytest.raises(UntraceableRule, match=r"test_collections\.py:\d+: get\(\) at the place -1\.\.2 of 3 items"):
        symbolic(lambda a: a, lambda p: kc.get((1, 2, 3), p), ((-1, 2),))
    with pytest.raises(UntraceableRule, match=r"at the place 0\.\.any of 3 items"):
        symbolic(lambda a: a, lambda p: kc.get((1, 2, 3), p), ((0, kc.ANY),))
    with pytest.raises(IndexError, match="at the place 3 of 3 items"):
        kc.get((1, 2, 3), 3)


@given(*[st.integers(-6, 6)] * 3)
def test_the_smallest_and_the_largest(a: int, b: int, c: int) -> None:
    """`minimum`, `maximum`, `abs` and signs are Python's, on ints and on terms, and their intervals are tight."""
    domains = ((-6, 6),) * 3
    rules: list[tuple[Callable[..., Any], Callable[..., int]]] = [
        (kc.minimum, min), (kc.maximum, max),
        (lambda x, y, z: abs(x) + abs(y - z), lambda x, y, z: abs(x) + abs(y - z)),
        (lambda x, y, z: -x * y // kc.maximum(1, z), lambda x, y, z: -x * y // max(1, z)),
        (lambda x, y, z: x % 4 - y // -3, lambda x, y, z: x % 4 - y // -3),
    ]  # fmt: skip
    for rule, meaning in rules:
        assert rule(a, b, c) == meaning(a, b, c)
        traced = symbolic(lambda *words: words, lambda words, rule=rule: rule(*words), domains)
        assert traced(a, b, c) == meaning(a, b, c)
    graph = Graph()
    x = graph.variable("x", -2, 5)
    low, high, size = kc.minimum(x, 3), kc.maximum(x, 0), abs(x)
    assert [(term.lo, term.hi) for term in (low, high, size)] == [(-2, 3), (0, 5), (0, 5)]


def test_a_divisor_that_may_be_0_is_refused() -> None:
    """It is refused with its line and a mend, wherever the rule is traced; a constant 0 too."""
    for rule in (lambda x: 6 // x, lambda x: 6 % x, lambda x: x // 0):
        with pytest.raises(UntraceableRule, match=r"test_collections\.py:\d+: a divi(sor|sion)"):
            rule(Graph().variable("x", 0, 3))
    with pytest.raises(UntraceableRule, match="use // and %"):
        Graph().variable("x", 1, 3) / 2  # type: ignore[operator]


@given(messages, messages)
def test_equality_of_records(one: Message, other: Message) -> None:
    """`equal` is equality of every word, of shapes that are the same."""
    assert kc.equal((one, True), (other, True)) == (one == other)
    with pytest.raises(TypeError, match="differ in shape"):
        kc.equal(one, (1, 2))


def test_the_names_of_an_enumeration() -> None:
    """States on ints have names, packed and unpacked; values that do not count from 0 are refused."""
    layout = Layout((Phase.domain(), kc.ints(0, 2)))
    assert [str(word) for word in layout.unpack(layout.pack((Phase.DONE, 2)))] == ["DONE", "2"]

    class Gap(kc.Enum):
        """Names that leave one out."""

        FIRST = 0
        THIRD = 2

    with pytest.raises(LayoutError, match="values of Gap are not 0, 1, 2"):
        Gap.domain()


class Letters(kc.SetOf):
    """Letters with a ballot."""

    members = tuple((kind, ballot) for kind in ("ask", "tell") for ballot in (1, 2))


class Coins(kc.Bag):
    """Coins of some values."""

    members = ((1,), (5,))


class Loads(kc.Map):
    """A word for each owner."""

    keys = (("a", 1), ("a", 2))


LETTERS, COINS, SHARES = Letters.of([("ask", 1)]), Coins.of([(1,)]), Loads.of(lambda key: 7)


@pytest.mark.parametrize(
    "rule",
    [
        lambda n: LETTERS.has(("ask", n)),
        lambda n: LETTERS.plus(LETTERS.just(("ask", n))).masks[0],
        lambda n: COINS.count((n,)),
        lambda n: COINS.add((n,)).counts[0],
        lambda n: SHARES.get(("a", n), otherwise=3),
        lambda n: SHARES.put(("a", n), 4).get(("a", 1)),
    ],
    ids=["has", "just", "count", "add", "get", "put"],
)
def test_a_value_that_is_no_member_is_the_same_on_ints_and_terms(rule: Callable[[Any], Any]) -> None:
    """A rule that asks for a number which no member has computes on ints what the engines compute."""
    compiled = symbolic(lambda n: n, rule, ((0, 6),))
    assert [int(rule(number)) for number in range(7)] == [int(compiled(number)) for number in range(7)]


@pytest.mark.parametrize("value", [("aks", 1), ("ask", 1, 2), (1, "ask")])
def test_a_value_with_other_parts_is_a_mistake(value: tuple[Any, ...]) -> None:
    """A misspelt text or another number of parts is refused on ints and on terms, with the members."""
    with pytest.raises(LayoutError, match=r"is not among the 4 members: \('ask', 1\)"):
        LETTERS.has(value)
    spelt = [part if isinstance(part, str) else None for part in value]
    with pytest.raises(UntraceableRule, match=r"test_collections\.py:\d+: .* has other parts than each of the 4"):
        symbolic(lambda n: n, lambda n: LETTERS.has(tuple(n if part is None else part for part in spelt)), ((1, 2),))


def test_an_initial_set_has_members_only() -> None:
    """A set, a bag and a map are made of members only, whatever their numbers are."""
    for make in (lambda: Letters.of([("ask", 3)]), lambda: Coins.of([(3,)]), lambda: SHARES.get(("a", 3))):
        with pytest.raises(LayoutError, match=r"is not among the \d members"):
            make()


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
