"""The properties of `elections`, checked on what a real controller did.

Each explained event is one step; what its explanation does not tell is taken
from the states around it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from attrs import frozen

from kraftcheck.model.controller.records import ClearElrRecord, ConfigRecord
from kraftcheck.model.controller.state import Controller, Place
from kraftcheck.model.language.brokersets import BrokerSet
from kraftcheck.model.language.system import Property, Setting
from kraftcheck.model.language.system import Step as Transition
from kraftcheck.model.language.words import NO_LEADER
from kraftcheck.model.partition.elr import clears
from kraftcheck.model.partition.registration import Partition
from kraftcheck.model.records.records import PartitionChangeRecord, ids
from kraftcheck.model.rules.ruleset import RuleSet
from kraftcheck.model.systems.elections.state import Elections, ElectionsEvent
from kraftcheck.properties.catalogue import ELECTIONS, elections_properties
from kraftcheck.solvers.logs.explain.as_elections import Lens, lens, seen, too_many_last_known, with_broker
from kraftcheck.solvers.logs.explain.guess import Guess
from kraftcheck.solvers.logs.explain.state import Known

NOT_IN_A_LOG = ("controller-stays", "decided-on-latest")
"""Steps that a log does not show: an exception writes nothing, and a record does not say what it was decided on."""

LAST_KNOWN = "last-known-is-one-replica"

_DEPARTS = (
    "fence", "controlled_shutdown", "unregister", "new_incarnation", "directories_offline", "heartbeat", "assign",
)  # fmt: skip


@frozen
class Violation:
    """A property that does not hold of one partition."""

    property: str
    topic: str
    partition: int
    parts: tuple[str, ...]


@lru_cache(maxsize=16)
def claims(rules: RuleSet) -> tuple[Property, ...]:
    """The invariants and action properties that speak of what a log shows."""
    setting = Setting("log", {bound.name: bound.hi for bound in ELECTIONS.bounds}, rules)
    listed = elections_properties(setting)
    return tuple(claim for claim in listed if claim.kind in ("always", "step") and claim.id not in NOT_IN_A_LOG)


def judge(
    before: Controller, after: Controller, records: Sequence[Known], guess: Guess | None, rules: RuleSet
) -> Iterator[Violation]:
    """Every violation after some records.

    Args:
        before, after: the states around them.
        records: what was written between.
        guess: the event that explains them; None: unexplained, so that only invariants are judged.
        rules: the rule set that they were explained with.
    """
    changed = Counter((r.topic_id, r.partition_id) for r in records if isinstance(r, PartitionChangeRecord))
    changed.update(_emptied(before, records))
    for place in _concerned(before, after, records, changed):
        old = before.image.partition(place.topic_id, place.index)
        numbers = lens((before, after), (place.partition,) if old is None else (old, place.partition))
        now, topic = seen(after, place, numbers, rules), after.topic(place.topic_id).name
        transition = None
        if guess is not None and old is not None and guess.action:
            was = seen(before, Place(place.topic_id, place.index, old), numbers, rules)
            count = changed[place.topic_id, place.index]
            transition = _transition(before, place, old, was, now, count, guess, numbers, rules)
        for name, parts in (*_broken(now, rules), *(() if transition is None else _missteps(transition, rules))):
            told = tuple(with_broker(part, numbers.brokers.__getitem__) for part in parts)
            yield Violation(name, topic, place.index, told)
        if too_many_last_known(place.partition):
            yield Violation(LAST_KNOWN, topic, place.index, ("more than one broker",))


@lru_cache(maxsize=1 << 14)
def _broken(state: Elections, rules: RuleSet) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Invariants that a state breaks, with the parts that do not hold; clusters come back to the same few states."""
    return _failing([claim for claim in claims(rules) if claim.kind == "always"], state)


def _missteps(t: Transition, rules: RuleSet) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return _missed(t.before, t.after, t.action, tuple(sorted(t.arguments.items())), t.event, rules)


@lru_cache(maxsize=1 << 14)
def _missed(
    before: Elections, after: Elections, action: str, arguments: tuple[tuple[str, Any], ...], event: ElectionsEvent,
    rules: RuleSet,
) -> tuple[tuple[str, tuple[str, ...]], ...]:  # fmt: skip
    """Action properties that a step breaks; the lens numbers brokers and directories, so that few steps differ."""
    transition = Transition(before, after, action, dict(arguments), event)
    return _failing([claim for claim in claims(rules) if claim.kind == "step"], transition)


def _failing(listed: Sequence[Property], subject: Any) -> tuple[tuple[str, tuple[str, ...]], ...]:
    found = ((claim.id, tuple(name for name, ok in claim.parts(subject).items() if not ok)) for claim in listed)
    return tuple((name, parts) for name, parts in found if parts)


def _emptied(before: Controller, records: Sequence[Known]) -> Iterator[tuple[str, int]]:
    """Partitions whose ELR or last known leader a ClearElrRecord empties: that is a change of each."""
    named = {r.topic for r in records if isinstance(r, ClearElrRecord)}
    for place in before.places() if named else ():
        if clears(place.partition) and ("" in named or before.topic(place.topic_id).name in named):
            yield place.topic_id, place.index


def _concerned(
    before: Controller, after: Controller, records: Sequence[Known], changed: Container[tuple[str, int]]
) -> Iterator[Place]:
    """Partitions that some records touch: their own, those of their brokers, those of their topics."""
    own = {(r.topic_id, getattr(r, "partition_id", None)) for r in records if hasattr(r, "topic_id")}
    brokers = {r.broker_id for r in records if hasattr(r, "broker_id")}
    named = {r.name for r in records if isinstance(r, ConfigRecord)}
    for place in after.places():
        if (
            (place.topic_id, place.index) in own
            or (place.topic_id, place.index) in changed
            or any(place.partition.replicas.has(broker) for broker in brokers)
            or after.topic(place.topic_id).name in named
        ):
            yield place


def _transition(
    before: Controller, place: Place, old: Partition, was: Elections, now: Elections, count: int, guess: Guess,
    numbers: Lens, rules: RuleSet,
) -> Transition:  # fmt: skip
    new, action = place.partition, guess.action
    arguments = _arguments(guess.arguments, numbers)
    target = set(ids(old.isr)) | set(guess.arguments.get("isr", ()))
    if action in _DEPARTS:
        target -= {guess.arguments["broker"]}
    moved = int(new.leader) not in (int(old.leader), NO_LEADER)
    eligible = bool(old.elr.has(new.leader))
    unclean = moved and int(new.leader) not in target and not eligible
    last_known = unclean and bool(old.last_known_elr.has(new.leader)) and now.elr_enabled
    from_elr = moved and eligible and int(new.leader) not in target
    stopped = action == "new_incarnation" and not guess.arguments["clean"]
    done = bool(old.reassigning()) and not new.reassigning() and action not in ("cancel", "reassign")
    event = ElectionsEvent(
        records=count,
        leader_epoch_bumps=int(new.leader_epoch) - int(old.leader_epoch),
        partition_epoch_bumps=int(new.partition_epoch) - int(old.partition_epoch),
        unclean=unclean, last_known=last_known, from_elr=from_elr, over_isr=from_elr and bool(target),
        completed=done, resigned=False, stale_base=False,
        unclean_shutdown=numbers.some([guess.arguments["broker"]]) if stopped else BrokerSet(),
        min_isr=before.min_isr(place.topic_id, place.index, rules.controller),
    )  # fmt: skip
    return Transition(was, now, action, arguments, event)


def _arguments(given: Mapping[str, Any], numbers: Lens) -> dict[str, Any]:
    """The arguments in the numbers of the lens."""
    found = dict(given)
    if "isr" in given:
        found["isr"] = numbers.some(given["isr"])
    if "failed" in given:
        found["failed"] = numbers.failed(given["broker"], given["failed"])
    if "broker" in given:
        found["broker"] = numbers.broker(given["broker"])
    return found
