"""Well-typed expressions, drawn at random, each with the Python expression that says the same of plain values.

The Python side knows nothing of the project: sets of ints, lists and truths, evaluated by `eval`. A place that a list
does not have raises IndexError there.
"""

from functools import cache
from typing import Any

from attrs import frozen
from hypothesis import strategies as st

from kraftcheck.model.language.brokersets import BrokerSet, Replicas
from kraftcheck.model.language.idlists import AtMostOne
from kraftcheck.model.language.layout import ints, subset_of, truth
from kraftcheck.model.language.places import Queue
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import EMPTY, NO_LEADER


@frozen
class Log:
    """A log: how far it goes, and who has it."""

    end: Word
    holders: BrokerSet


@frozen
class Cluster:
    """A state with a field of every kind."""

    leader: Word
    epoch: Word
    recovering: Truth
    isr: BrokerSet
    elr: BrokerSet
    replicas: Replicas
    last: AtMostOne
    ends: tuple[Word, ...]
    dirs: tuple[BrokerSet, ...]
    logs: tuple[Log, ...]
    first: Log
    waiting: Queue


LAYOUT = Cluster(
    leader=ints(NO_LEADER, 2, none=NO_LEADER), epoch=ints(0, 5), recovering=truth(),
    isr=BrokerSet(subset_of(3)), elr=BrokerSet(subset_of(3)),
    replicas=Replicas((ints(NO_LEADER, 2),) * 3), last=AtMostOne(ints(EMPTY, 2)),
    ends=(ints(0, 4),) * 3, dirs=(BrokerSet(subset_of(2)),) * 3,
    logs=(Log(ints(0, 3), BrokerSet(subset_of(3))),) * 2, first=Log(ints(0, 3), BrokerSet(subset_of(3))),
    waiting=Queue.domain(ints(0, 2), 3),
)  # fmt: skip

SETS = st.integers(0, 7).map(BrokerSet)
LOGS = st.builds(Log, st.integers(0, 3), SETS)

STATES = st.builds(
    Cluster, leader=st.integers(-1, 2), epoch=st.integers(0, 5), recovering=st.booleans(), isr=SETS, elr=SETS,
    replicas=st.permutations([0, 1, 2]).flatmap(
        lambda ids: st.integers(0, 3).map(lambda count: Replicas.of(ids[:count], 3))
    ),
    last=st.integers(-2, 2).map(AtMostOne), ends=st.tuples(*[st.integers(0, 4)] * 3),
    dirs=st.tuples(*[st.integers(0, 3).map(BrokerSet)] * 3), logs=st.tuples(LOGS, LOGS), first=LOGS,
    waiting=st.lists(st.integers(0, 2), max_size=3).map(lambda items: Queue.of(items, 3)),
)  # fmt: skip


class Places(list[Any]):
    """A list without places before its first."""

    def __getitem__(self, place: Any) -> Any:
        """The value at a place; raises IndexError where there is none."""
        if place < 0:
            raise IndexError(place)
        return super().__getitem__(place)


class PlainLog:
    """A log as plain values."""

    def __init__(self, log: Any) -> None:
        self.end, self.holders = log.end, frozenset(log.holders)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PlainLog) and (self.end, self.holders) == (other.end, other.holders)

    __hash__ = None  # type: ignore[assignment]


def plain(state: Cluster) -> dict[str, Any]:
    """A state as plain values, by the names of its fields, with what the Python expressions call."""
    return {
        "leader": state.leader, "epoch": state.epoch, "recovering": state.recovering,
        "isr": frozenset(state.isr), "elr": frozenset(state.elr), "replicas": Places(state.replicas),
        "last": Places(state.last), "ends": Places(state.ends), "dirs": Places(frozenset(d) for d in state.dirs),
        "logs": Places(map(PlainLog, state.logs)), "first": PlainLog(state.first), "none": NO_LEADER,
        "waiting": Places(state.waiting),
        "_brokers": lambda *numbers: frozenset(n for n in numbers if n >= 0),
        "_first": lambda members: next(iter(sorted(members) if isinstance(members, frozenset) else members), NO_LEADER),
        "_count": lambda truths: sum(map(bool, truths)),
    }  # fmt: skip


@frozen
class Drawn:
    """An expression, and what Python says in its place."""

    ours: str
    python: str


def _form(ours: str, python: str, *parts: st.SearchStrategy[Drawn]) -> st.SearchStrategy[Drawn]:
    """Both texts, with the parts in their places `{0}`, `{1}`, ...; `{{` stands for a brace."""
    return st.tuples(*parts).map(
        lambda drawn: Drawn(ours.format(*(d.ours for d in drawn)), python.format(*(d.python for d in drawn)))
    )


def _alike(text: str, *parts: st.SearchStrategy[Drawn]) -> st.SearchStrategy[Drawn]:
    return _form(text, text, *parts)


def _one_of(*texts: str) -> st.SearchStrategy[Drawn]:
    return st.sampled_from([Drawn(text, text) for text in texts])


@cache
def words(depth: int, names: tuple[str, ...] = ()) -> st.SearchStrategy[Drawn]:
    """Numbers; `names` are variables of `for` around them."""
    leaf = _one_of("leader", "epoch", "none", "0", "1", "2", "3", "-2", "first.end", "logs[1].end", "ends[2]", *names)
    if depth == 0:
        return leaf
    w, s, t = words(depth - 1, names), sets(depth - 1, names), truths(depth - 1, names)
    return st.one_of(
        leaf, _alike("({0} + {1})", w, w), _alike("({0} - {1})", w, w), _alike("(-{0})", w),
        _form("size({0})", "len({0})", s), _form("first({0})", "_first({0})", s),
        _form("first(replicas)", "_first(replicas)"), _form("size(last)", "len(last)"),
        _form("size(ends)", "len(ends)"), _form("size(waiting)", "len(waiting)"),
        _form("first(waiting)", "_first(waiting)"),
        _alike("max({0}, {1})", w, w), _alike("min({0}, {1}, {2})", w, w, w), _alike("({0} if {1} else {2})", w, t, w),
        _alike("replicas[{0}]", _one_of("leader", "epoch", "0", "1", "2")), _alike("last[0]"),
        _alike("waiting[{0}]", _one_of("leader", "epoch", "0", "2")),
        _alike("ends[{0}]", _one_of("leader", "epoch", "replicas[0]")),
        _alike("logs[{0}].end", _one_of("leader", "epoch")),
        _quantified("count", "_count", depth, names),
    )  # fmt: skip


@cache
def sets(depth: int, names: tuple[str, ...] = ()) -> st.SearchStrategy[Drawn]:
    """Sets of brokers."""
    leaf = st.one_of(
        _one_of("isr", "elr", "dirs[1]", "first.holders", "logs[0].holders"), _form("{{}}", "set()"),
        _form("{{0, 2}}", "_brokers(0, 2)"),
    )  # fmt: skip
    if depth == 0:
        return leaf
    s = sets(depth - 1, names)
    small = _one_of("leader", "none", "2", "epoch", "last[0]", *names)
    return st.one_of(
        leaf, *(_alike(f"({{0}} {operator} {{1}})", s, s) for operator in "&|-^"), _alike("dirs[leader]"),
        _form("{{{0}, {1}}}", "_brokers({0}, {1})", small, small), _form("set(replicas)", "_brokers(*replicas)"),
        _form("set(last)", "_brokers(*last)"), _form("set(waiting)", "_brokers(*waiting)"),
        _alike("({0} if {1} else {2})", s, truths(depth - 1, names), s),
        _form("set([{0}])", "_brokers({0})", small),
        _alike("logs[{0}].holders", _one_of("leader", "epoch", "first.end", *names)),
    )  # fmt: skip


@cache
def truths(depth: int, names: tuple[str, ...] = ()) -> st.SearchStrategy[Drawn]:
    """Truths."""
    leaf = _one_of("recovering", "True", "(leader in isr)", "(leader not in replicas)", "(none in last)",
                   "(epoch in ends)", "(epoch in waiting)")  # fmt: skip
    if depth == 0:
        return leaf
    w, s, t = words(depth - 1, names), sets(depth - 1, names), truths(depth - 1, names)
    return st.one_of(
        leaf, _alike("({0} and {1})", t, t), _alike("({0} or {1} or {2})", t, t, t), _alike("(not {0})", t),
        _form("implies({0}, {1})", "((not {0}) or {1})", t, t), _alike("({0} if {1} else {2})", t, t, t),
        *(_alike(f"({{0}} {op} {{1}})", kind, kind) for op in ("==", "!=", "<", "<=", ">", ">=") for kind in (w, s)),
        _alike("({0} < {1} <= {2})", w, w, w), _alike("({0} == {1})", t, t), _alike("({0} in {1})", w, s),
        _alike("({0} in {{{1}, 7}})", w, w), _alike("(replicas == [{0}, {1}])", w, w), _alike("(last == [{0}])", w),
        _alike("(replicas != last)"), _alike("(last == [])"), _alike("(waiting == [{0}, {1}])", w, w),
        _alike("(waiting != replicas)"), _alike("(ends == [{0}, 1, 2])", w),
        _alike("(first == logs[1])"),
        _quantified("all", "all", depth, names), _quantified("any", "any", depth, names),
    )  # fmt: skip


@cache
def _quantified(ours: str, python: str, depth: int, names: tuple[str, ...]) -> st.SearchStrategy[Drawn]:
    name = f"b{len(names)}"
    t = truths(depth - 1, (*names, name))
    over = st.one_of(
        _form("{0}", "sorted({0})", sets(depth - 1, names)),
        _one_of("replicas", "last", "ends", "waiting", "range(3)", "[2, 0]"),
    )
    condition = st.one_of(_alike(""), _alike(" if {0}", t))
    form = f"({{0}} for {name} in {{1}}{{2}})"
    members = _form(ours + form, python + form, t, over, condition)
    log = f"log{depth}"
    form = f"({log}.end < {{0}} for {log} in logs)"
    records = _form(ours + form, python + form, words(depth - 1, names))
    return st.one_of(members, records)


TRUTHS = truths(3)
