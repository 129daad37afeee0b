"""States of `elections` and `directories` with few brokers as interpretations of any number of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kraftcheck.model.language.brokersets import BrokerSet
from kraftcheck.model.language.idlists import AtMostOne
from kraftcheck.model.language.layout import Endless, Slot
from kraftcheck.model.language.terms import Term
from kraftcheck.model.partition.registration import DirectoryMap
from kraftcheck.solvers.audit.interpretation import Places
from kraftcheck.solvers.program.program import Kind
from kraftcheck.solvers.smt.theory import Theory
from tests.solvers.smt.reading.worlds import field


def meaning_of_few(of: Theory, state: Any, kind: Kind | None, arguments: Mapping[str, Any], count: int) -> Places:
    """What a theory of any number says of a state of so many brokers, and of the arguments of a step."""
    held = {slot.path: _by_place(slot, state, count) for slot in of.program.layout.slots}
    for term in () if kind is None else kind.variables:
        name = term.graph.variables[term.value]
        _, parameter, *path = name.split(".")
        value = field(".".join(path), arguments[parameter])
        held[name] = _placed(value, count) if term.op == "sequence" else [_word(value)]
    return Places(count, held)


def _by_place(slot: Slot, state: Any, count: int) -> list[int]:
    first, _, rest = slot.path.partition(".")
    if first == "hosts":
        return [_word(field(rest, host)) for host in state.hosts]
    value = field(slot.path, state)
    return _placed(value, count) if isinstance(slot.domain, Endless) else [_word(value)]


def _placed(value: Any, count: int) -> list[int]:
    if isinstance(value, BrokerSet):
        return [value.mask >> broker & 1 for broker in range(count)]
    return list(map(_word, value.slots if isinstance(value, DirectoryMap) else value))


def _word(value: Any) -> int:
    return int(value.slot if isinstance(value, AtMostOne) else getattr(value, "mask", value))


def other_fields(of: Theory, kind: Kind, before: Places, after: Places) -> list[str]:
    """The fields that an effect, as provers read it, makes other than a step has them; of ranks only the order."""
    slots = zip(of.program.layout.slots, kind.after, strict=True)
    return [slot.path for slot, term in slots if _differs(slot, term, before, after)]


def _differs(slot: Slot, term: Term, before: Places, after: Places) -> bool:
    held, name = after.words[slot.path], slot.path.rpartition(".")[2]
    if not isinstance(slot.domain, Endless):
        return name != "top" and before.value(term) != held[0]
    found = [before.value(term, {0: at}) for at in range(before.count)]
    if name != "ranks":
        return found != held
    inside = [at for at, member in enumerate(after.words[slot.path.replace("ranks", "members")]) if member]
    return sorted(inside, key=found.__getitem__) != sorted(inside, key=held.__getitem__)
