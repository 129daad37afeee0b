"""The candidate invariants 1-20 and 28-38 of the controller, of several partitions, on ints.

Each is a function of one event and answers whether it holds; the numbers are
those of the semantics reference. `DEFECTS` says which the snapshot breaks.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from attrs import frozen

from kraftcheck.model.controller import partitions
from kraftcheck.model.controller.state import Controller, Outcome
from kraftcheck.model.language.words import NO_LEADER
from kraftcheck.model.partition.change import BuiltChange, build
from kraftcheck.model.partition.registration import Partition
from kraftcheck.model.records.records import PartitionChangeRecord
from kraftcheck.model.rules.ruleset import RuleSet

DEFECTS = {
    2: "B1, B5", 3: "B4, B8", 4: "B1, B4", 7: "B4", 8: "B1, B5", 9: "B2", 10: "B1, B6, B19",
    11: "B1, B6, B8, registerBroker", 12: "B1, B6, B19", 13: "B9", 15: "B10", 20: "B7", 34: "B5, B11",
    35: "B2", 36: "B2", "33 converse": "B11, B17", "one base": "B8",
}  # fmt: skip
"""The defects of the snapshot that break an invariant; one without an entry holds under every rule set."""


@frozen
class Event:
    """One event: the states around it, the step that it is, and what it decided.

    `bases` has, for each partition change that it wrote, the partition that the change was decided on.
    """

    before: Controller
    step: tuple[Any, ...]
    outcome: Outcome[Any]
    after: Controller
    rules: RuleSet
    elr: bool
    bases: tuple[Partition, ...] = ()

    @property
    def op(self) -> str:
        """The kind of step."""
        return str(self.step[0])

    def stopped(self) -> set[int]:
        """Brokers that the event reports as stopped uncleanly."""
        clean = self.op == "register" and self.step[2] == "clean" and not self.rules.partition.every_restart_is_unclean
        return {self.step[1]} if self.op in ("unclean", "register") and not clean else set()


@frozen
class Change:
    """One partition that was there before an event and is there after it."""

    event: Event
    topic_id: str
    index: int
    old: Partition
    new: Partition
    records: int

    def moved(self) -> bool:
        """Whether another broker leads."""
        return bool(self.new.leader not in (self.old.leader, NO_LEADER))

    def known(self) -> set[int]:
        """Brokers that could be elected cleanly."""
        proposed = set(self.event.step[2]) if self.event.op == "alter" else set()
        return set(self.old.isr) | set(self.old.elr) | proposed

    def unclean(self) -> bool:
        """Whether the leader comes from outside ISR and ELR."""
        return self.moved() and self.new.leader not in self.known()

    def below_min_isr(self) -> bool:
        """Whether the ISR is smaller than the event was decided with."""
        least = self.event.before.min_isr(self.topic_id, self.index, self.event.rules.controller)
        return bool(self.new.isr.size() < least)

    def still_there(self, brokers: set[int]) -> set[int]:
        """Those brokers that are replicas still, registered, and did not stop uncleanly."""
        registered = self.event.after.image.registrations.keys()
        return (brokers & set(self.new.replicas) & registered) - self.event.stopped()


def changes(event: Event) -> Iterator[Change]:
    """Every partition that outlives an event."""
    counted = Counter(
        (r.topic_id, r.partition_id) for r in event.outcome.records if isinstance(r, PartitionChangeRecord)
    )
    for place in event.after.places():
        old = event.before.image.partition(place.topic_id, place.index)
        if old is not None:
            yield Change(event, place.topic_id, place.index, old, place.partition, counted[place.topic_id, place.index])


def _led(p: Partition) -> bool:
    return bool(p.leader != NO_LEADER)


def _online(event: Event, p: Partition) -> bool:
    known = event.after.registration(int(p.leader))
    if known is None or not p.replicas.has(p.leader):
        return False
    return known.has_online_dir(int(p.directories.of(p.leader)), event.rules.partition)


STATE: dict[int | str, Callable[[Event, Partition], bool]] = {
    1: lambda e, p: len(p.directories.ids) == p.replicas.size() == len(set(p.replicas)) >= 1,
    2: lambda e, p: set(p.isr) <= set(p.replicas) and len(set(p.isr)) == p.isr.size(),
    3: lambda e, p: not _led(p) or p.isr.has(p.leader),
    4: lambda e, p: not _led(p) or p.replicas.has(p.leader),
    5: lambda e, p: e.elr or not p.isr.is_empty(),
    6: lambda e, p: not set(p.isr) & set(p.elr),
    7: lambda e, p: set(p.elr) <= set(p.replicas),
    8: lambda e, p: p.last_known_elr.size() <= 1 and set(p.last_known_elr) <= set(p.replicas),
    9: lambda e, p: not e.elr or p.last_known_elr.is_empty() or not _led(p),
    10: lambda e, p: not _led(p) or e.after.is_active(int(p.leader)),
    11: lambda e, p: not _led(p) or _online(e, p),
    12: lambda e, p: not _led(p) or all(e.after.is_active(broker) for broker in p.isr),
    13: lambda e, p: set(p.elr) <= e.after.image.registrations.keys(),
    14: lambda e, p: set(p.adding) | set(p.removing) <= set(p.replicas),
    15: lambda e, p: not set(p.adding) & set(p.removing),
    17: lambda e, p: not p.recovering or p.isr.size() <= 1,
    18: lambda e, p: p.partition_epoch >= p.leader_epoch >= 0,
}
"""Invariants of each partition after an event."""


def _not_completable(c: Change) -> bool:
    p = c.new
    if not c.records or c.event.op == "minimum" or not _led(p) or p.leader != c.old.leader:
        return True
    staying, left = set(p.replicas) - set(p.removing), set(p.isr) - set(p.removing)
    return not (p.reassigning() and staying <= left and (p.removing.is_empty() or left))


def _recovery(c: Change) -> bool:
    if c.new.recovering and not c.old.recovering:
        return c.moved() and tuple(c.new.isr) == (c.new.leader,) and c.new.elr.is_empty()
    return c.new.recovering or not c.old.recovering or c.event.op == "alter"


def _isr_grows(c: Change) -> bool:
    alone = c.moved() and tuple(c.new.isr) == (c.new.leader,)
    return set(c.new.isr) <= set(c.old.isr) or c.event.op == "alter" or alone


def _isr_leavers(c: Change) -> bool:
    left = c.still_there(set(c.old.isr) - set(c.new.isr))
    return not c.event.elr or not c.below_min_isr() or c.unclean() or left <= set(c.new.elr)


def _elr_leavers(c: Change) -> bool:
    left = c.still_there(set(c.old.elr) - set(c.new.elr) - set(c.new.isr))
    return c.event.op == "minimum" or not left or not c.below_min_isr() or c.unclean()


def _directories(c: Change) -> bool:
    both = set(c.old.replicas) & set(c.new.replicas)
    moved = {b for b in both if c.old.directories.of(b) != c.new.directories.of(b)}
    return moved <= ({c.event.step[1]} if c.event.op == "assign" else set())


ACTION: dict[int | str, Callable[[Change], bool]] = {
    16: _not_completable,
    28: lambda c: c.new.partition_epoch == c.old.partition_epoch + c.records,
    29: lambda c: (
        (c.new.leader == c.old.leader or c.new.leader_epoch > c.old.leader_epoch)
        and c.new.leader_epoch - c.old.leader_epoch <= c.records
    ),
    30: lambda c: set(c.old.replicas) <= set(c.new.replicas) or c.new.leader_epoch > c.old.leader_epoch,
    33: _recovery,
    "33 converse": lambda c: not c.unclean() or bool(c.new.recovering),
    34: _isr_grows,
    35: _isr_leavers,
    36: _elr_leavers,
    38: _directories,
}
"""Invariants of each partition across an event."""


def _dirs_disjoint(e: Event) -> bool:
    listed = [directory for known in e.after.image.registrations.values() for directory in known.dirs]
    return len(set(listed)) == len(listed)


def _brokers(e: Event) -> Iterator[tuple[Any, Any]]:
    for broker, known in e.before.image.registrations.items():
        now = e.after.registration(broker)
        if now is not None:
            yield known, now


def _unfencing(e: Event) -> bool:
    unfenced = {old.id for old, new in _brokers(e) if old.fenced and not new.fenced}
    asked = e.op == "heartbeat" and not e.step[2] and not e.step[3]
    return unfenced <= ({e.step[1]} if asked else set())


CLUSTER: dict[int | str, Callable[[Event], bool]] = {
    19: _dirs_disjoint,
    20: lambda e: not (e.rules.controller.deleted_partition_stays_indexed and e.after.stale_dirs),
    31: lambda e: all(
        new.epoch == old.epoch if new.incarnation == old.incarnation else new.epoch > old.epoch
        for old, new in _brokers(e)
    ),
    32: lambda e: all(
        new.in_controlled_shutdown or not old.in_controlled_shutdown or new.incarnation != old.incarnation
        for old, new in _brokers(e)
    ),
    37: _unfencing,
    "one base": lambda e: len({id(base) for base in e.bases}) == len(e.bases),
}
"""Invariants of the brokers."""


@contextmanager
def noted_bases() -> Iterator[list[Partition]]:
    """Notes what each partition change was decided on, of those that say something."""
    bases: list[Partition] = []

    def noting(base: Partition, *others: Any) -> BuiltChange:
        built = build(base, *others)
        if not built.change.is_noop():
            bases.append(base)
        return built

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(partitions, "build", noting)
        yield bases


def broken(event: Event) -> set[int | str]:
    """The invariants that an event breaks, by number."""
    found = {number for number, holds in CLUSTER.items() if not holds(event)}
    for place in event.after.places():
        found |= {number for number, holds in STATE.items() if not holds(event, place.partition)}
    for change in changes(event):
        found |= {number for number, holds in ACTION.items() if not holds(change)}
    return found
