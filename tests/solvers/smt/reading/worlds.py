"""States with few brokers as interpretations of claims about any number of brokers, and of epochs."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from kraftcheck.ci.systems.subject import subject
from kraftcheck.model.language.brokersets import BrokerSet, Replicas
from kraftcheck.model.language.layout import Slot
from kraftcheck.model.language.sequences import every, word_at
from kraftcheck.model.language.system import Setting
from kraftcheck.model.language.terms import Graph, Term, Truth, Word
from kraftcheck.model.language.words import all_of, choose, same_truth
from kraftcheck.model.systems.replication.log import Log
from kraftcheck.solvers.audit.numbers import Interpretation
from kraftcheck.solvers.smt.theory import Theory

ELSEWHERE: Mapping[str, int] = {
    "controller.directories": 1, "brokers.status": 1, "brokers.min_isr": 1, "brokers.ends": -1,
    "leaders": -1, "minimums": 1,
}  # fmt: skip
"""What is beyond the brokers and epochs of a state, where it is not 0: who never registered, and what is not yet."""


def words(slot: Slot, state: Any, brokers: int) -> list[Any]:
    """What a state of a fixed number of brokers has for a field of one of any number, place by place."""
    first, _, rest = slot.path.partition(".")
    records = getattr(state, first) if first in ("brokers", "hosts") else None
    value = field(slot.path, state) if records is None else [field(rest, one) for one in records]
    return by_place(value, places_of(slot.domain), brokers)


def by_place(value: Any, places: int, brokers: int) -> list[Any]:
    """The words of a value by place; of a single word, that one."""
    if not places:
        return [int(value.slot if hasattr(value, "slot") else getattr(value, "mask", value))]
    if isinstance(value, BrokerSet):
        value = [value.mask >> b & 1 for b in range(brokers)]
    rows = [by_place(one, places - 1, brokers) for one in getattr(value, "slots", value)]
    return rows if places > 1 else [word for (word,) in rows]


def field(path: str, record: Any) -> Any:
    """What a path names, within a record of a fixed number of brokers."""
    for name in re.findall(r"\w+", path):
        if isinstance(record, Replicas):
            slots, listed = len(record.slots), [b for b in record.slots if b >= 0]
            ranks = {b: rank for rank, b in enumerate(listed)}
            by_name = {"members": BrokerSet.of(listed), "ranks": tuple(ranks.get(b, 0) for b in range(slots)),
                       "top": len(listed)}  # fmt: skip
            record = by_name[name]
        elif name == "length":
            record = record.end()
        elif name.isdigit():
            record = (record.entries if isinstance(record, Log) else record)[int(name)]
        else:
            record = getattr(record, name)
    return record


def meaning(of: Theory, state: Any, arguments: Mapping[str, Any], count: int, action: str = "") -> Interpretation:
    """What a theory says of a state and the arguments of a step; brokers and epochs beyond its own are of nobody.

    Args:
        of: of any number of brokers, and perhaps of epochs.
        state: of few.
        arguments: by the names of the action's parameters.
        count: places of each sequence.
        action: whose arguments they are; empty: of all that have such parameters.
    """
    brokers = len(getattr(state, "brokers", getattr(state, "hosts", range(count))))
    held = {slot.path: extended(slot.path, words(slot, state, brokers), places_of(slot.domain), count)
            for slot in of.program.layout.slots}  # fmt: skip
    for term in (v for kind in of.program.kinds if action in ("", kind.action.name) for v in kind.variables):
        name = term.graph.variables[term.value]
        _, parameter, *path = name.split(".")
        if parameter in arguments:
            held[name] = by_place(field(".".join(path), arguments[parameter]), int(term.op == "sequence"), brokers)
    assert {*of.program.graph.variables} >= {*held}
    return Interpretation(count, held)


def places_of(domain: Any) -> int:
    """How many places give a word of a field."""
    return getattr(domain, "places", 0)


def extended(path: str, held: list[Any], places: int, count: int) -> list[Any]:
    """The words of a field at more places."""
    if places == 0:
        return held
    if places == 1:
        return [*held, *[ELSEWHERE.get(path, 0)] * (count - len(held))]
    return [extended(path, row, places - 1, count) for row in [*held, *[[]] * (count - len(held))]]


def lowest_setting() -> Setting:
    """A setting by which states settle as where nothing has a bound: min ISR is 1 where nobody goes by it."""
    return subject("replication", "tiny", {"config-changes": 1, "unbounded": 1}, "fixed", proof=True).setting


def pinned(of: Theory, at: Interpretation) -> Term:
    """The truth that the state is that of an interpretation, whose last place is like all after it."""
    graph = of.program.graph
    fields = zip(of.program.state, of.program.layout.slots, strict=True)
    return graph.lift(all_of(*(
        _pinned_field(graph, symbol, at.words[slot.path], places_of(slot.domain)) for symbol, slot in fields
    )))  # fmt: skip


def _pinned_field(graph: Graph, symbol: Term, held: Sequence[Any], places: int, *at: Word) -> Truth:
    if places > len(at):
        return every(graph, lambda place: _pinned_field(graph, symbol, held, places, *at, place))
    word, value = (word_at(symbol, *at), _chosen(held, *at)) if at else (symbol, held[0])
    return same_truth(word, value == 1) if symbol.is_truth else word == value


def _chosen(held: Any, *at: Word) -> Any:
    """The word of a sequence, listed place by place, at a place that may be any."""
    if not at:
        return int(held)
    *known, word = [_chosen(one, *at[1:]) for one in held]
    for place, one in reversed([*enumerate(known)]):
        word = choose(at[0] == place, one, word)
    return word
