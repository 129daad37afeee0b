"""Which cases are asked: every one for small replication factors, drawn ones beyond.

A case is a partition, what an event wants of it, and who may lead. The states
are all well-formed ones up to a renaming of brokers: replicas are 0, 1, ... in
order; the leader is in the ISR, or there is none; ELR and ISR are disjoint and
within the replicas; the last known leader is anybody, nobody or, while there is
no leader, -1 (defect B5); a running reassignment removes and adds any two disjoint sets of replicas. A renaming
keeps what the change builder does, but for the ascending order of the ELR.

Left out is what nothing reads: whether the outsider may lead, where it is
neither a wanted replica nor the last known leader; and whether directories are
known, where none changes. The ISR is also tried in descending order, and
unknown directories are, where no reassignment runs. The cases drawn for larger factors (see `draws`) leave nothing out.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np
from attrs import frozen

from kraftcheck.ci.conformance.kafka.columns import (
    CHANGE_INPUTS,
    NO_LAST_KNOWN,
    NO_LEADER,
    ONLINE,
    PREFERRED,
    REASSIGNMENT_INPUTS,
    UNCLEAN,
    VACANT,
    Columns,
    Rows,
)

OUTSIDERS = 1
"""Brokers beside the replicas: whom a reassignment adds, and who once was a replica."""

KEEP, RECOVERED = 0, 1
"""What a trigger wants of the recovery state."""


@frozen
class Trigger:
    """What an event wants of a partition: the columns that `CHANGE_INPUTS` calls target, and more."""

    isr: tuple[int, ...]
    replicas: tuple[int, ...]
    removing: int
    adding: int
    recovery: int = KEEP
    unclean_shutdown: int = 0
    assigned: int = VACANT
    election: int = ONLINE


@frozen
class Base:
    """The part of a partition that decides which triggers there are."""

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    removing: int
    adding: int


def exhaustive_changes(factor: int, slots: int, batch: int) -> Iterator[Rows]:
    """Every case with this many replicas, in tables of about `batch` rows."""
    columns = Columns.of(CHANGE_INPUTS, slots)
    pending: list[Rows] = []
    for base in bases(factor):
        for part in _crosses(columns, base, slots, batch):
            pending.append(part)
            if sum(map(len, pending)) >= batch:
                yield np.concatenate(pending)
                pending = []
    if pending:
        yield np.concatenate(pending)


def _crosses(columns: Columns, base: Base, slots: int, batch: int) -> Iterator[Rows]:
    """Triggers that move a replica or its directory with whoever may lead; the others with what is read."""
    wanted = triggers(base, slots)
    moving = [t.replicas != base.replicas or t.assigned != VACANT for t in wanted]
    free = _free_table(columns, base, slots)
    outsider = columns.get(free, "acceptable") >> len(base.replicas) & 1
    read = (outsider == 0) | (columns.get(free, "last_known") == len(base.replicas))
    placed = columns.get(free, "placed") == 1
    wide = free[placed] if base.removing or base.adding else free
    for moves, table in ((True, wide), (False, free[read & placed])):
        rows = _trigger_table(columns, base, [t for t, m in zip(wanted, moving, strict=True) if m == moves], slots)
        step = max(1, batch // max(1, len(rows)))
        for at in range(0, len(table) if len(rows) else 0, step):
            yield _crossed(columns, table[at : at + step], rows)


def bases(factor: int) -> Iterator[Base]:
    """Replicas 0.., every ISR, every pair of disjoint sets removing and adding."""
    replicas = tuple(range(factor))
    for size in range(factor + 1):
        for isr in itertools.combinations(replicas, size):
            for marks in itertools.product((0, 1, 2), repeat=factor):
                removing, adding = (_mask(b for b in replicas if marks[b] == mark) for mark in (1, 2))
                for order in (isr,) if any(marks) else dict.fromkeys((isr, isr[::-1])):
                    yield Base(replicas, order, removing, adding)


def triggers(base: Base, slots: int) -> list[Trigger]:
    """Every event on a partition, as far as the change builder sees it."""
    same = (base.replicas, base.removing, base.adding)
    plain = [Trigger(base.isr, *same, election=election) for election in (ONLINE, PREFERRED, UNCLEAN)]
    return [*plain, *_alterations(base), *_departures(base), *_assignments(base), *_moves(base, slots), *_cancels(base)]


def _alterations(base: Base) -> Iterator[Trigger]:
    """AlterPartition: any ISR, the recovery kept or ended, unclean election allowed or not."""
    for size in range(1, len(base.replicas) + 1):
        for isr in itertools.combinations(base.replicas, size):
            for recovery, election in itertools.product((KEEP, RECOVERED), (ONLINE, UNCLEAN)):
                yield Trigger(isr, base.replicas, base.removing, base.adding, recovery, election=election)


def _departures(base: Base) -> Iterator[Trigger]:
    """Fencing, shutdown, removal or restart of a broker, or failure of its directory."""
    for broker in base.replicas:
        isr = tuple(b for b in base.isr if b != broker)
        for shutdown, election in itertools.product((0, 1 << broker), (ONLINE, UNCLEAN)):
            yield Trigger(isr, base.replicas, base.removing, base.adding, unclean_shutdown=shutdown, election=election)


def _assignments(base: Base) -> Iterator[Trigger]:
    for broker in base.replicas:
        yield Trigger(base.isr, base.replicas, base.removing, base.adding, assigned=broker)


def _moves(base: Base, slots: int) -> Iterator[Trigger]:
    """A reassignment to any target list of at most as many replicas; empty sets keep the old ones (defect B10)."""
    if len(base.replicas) == slots:
        return
    for size in range(1, len(base.replicas) + 1):
        for target in itertools.permutations(range(len(base.replicas) + OUTSIDERS), size):
            gone = tuple(b for b in base.replicas if b not in target)
            new = tuple(b for b in target if b not in base.replicas)
            removing, adding = _mask(gone) or base.removing, _mask(new) or base.adding
            yield Trigger(base.isr, target + gone, removing, adding)


def _cancels(base: Base) -> Iterator[Trigger]:
    """The end of a reassignment: the replicas and ISR without the added ones."""
    if not base.adding and not base.removing:
        return
    replicas = tuple(b for b in base.replicas if not base.adding >> b & 1)
    isr = tuple(b for b in base.isr if not base.adding >> b & 1) or replicas[:1]
    for election in (ONLINE, UNCLEAN):
        yield Trigger(isr, replicas, 0, 0, election=election)


def _trigger_table(columns: Columns, base: Base, wanted: list[Trigger], slots: int) -> Rows:
    table = columns.empty(len(wanted))
    return columns.put(
        table,
        replicas=padded(base.replicas, slots), isr=padded(base.isr, slots), removing=base.removing,
        adding=base.adding, target_isr=[padded(t.isr, slots) for t in wanted],
        target_replicas=[padded(t.replicas, slots) for t in wanted], target_removing=[t.removing for t in wanted],
        target_adding=[t.adding for t in wanted], target_recovering=[t.recovery for t in wanted],
        unclean_shutdown=[t.unclean_shutdown for t in wanted], assigned=[t.assigned for t in wanted],
        election=[t.election for t in wanted],
    )  # fmt: skip


def _free_table(columns: Columns, base: Base, slots: int) -> Rows:
    """Everything that does not depend on the trigger: leader, ELR, last known leader, who may lead, settings."""
    outside = [b for b in base.replicas if b not in base.isr]
    elrs = [c for size in range(len(outside) + 1) for c in itertools.combinations(outside, size)]
    factor = len(base.replicas)
    everybody = range(factor + OUTSIDERS)
    settings = [(0, 1), *((1, least) for least in range(1, factor + 1))]
    product = itertools.product(
        (*base.isr, NO_LEADER), elrs, (NO_LAST_KNOWN, NO_LEADER, *everybody), (0, 1), (0, 1), settings,
        range(1 << len(everybody)),
    )  # fmt: skip
    cases = [c for c in product if c[2] != NO_LEADER or c[0] == NO_LEADER]
    table = columns.empty(len(cases))
    return columns.put(
        table,
        leader=[c[0] for c in cases], elr=[padded(c[1], slots) for c in cases], last_known=[c[2] for c in cases],
        recovering=[c[3] for c in cases], placed=[c[4] for c in cases], elr_on=[c[5][0] for c in cases],
        min_isr=[c[5][1] for c in cases], acceptable=[c[6] for c in cases],
    )  # fmt: skip


FREE = ("leader", "elr", "last_known", "recovering", "placed", "elr_on", "min_isr", "acceptable")


def _crossed(columns: Columns, free: Rows, wanted: Rows) -> Rows:
    """Every row of one table with every row of the other."""
    table = np.tile(wanted, (len(free), 1))
    for name in FREE:
        table[:, columns.slice(name)] = np.repeat(free[:, columns.slice(name)], len(wanted), axis=0)
    return with_recovery(columns, table)


def with_recovery(columns: Columns, table: Rows) -> Rows:
    """The table, where `target_recovering` said KEEP or RECOVERED, with the state wanted."""
    keep = columns.get(table, "target_recovering") == KEEP
    return columns.put(table, target_recovering=np.where(keep, columns.get(table, "recovering"), 0))


def exhaustive_reassignments(factor: int, slots: int, batch: int) -> Iterator[Rows]:
    """Every partition with this many replicas, with every target list of at most as many."""
    columns = Columns.of(REASSIGNMENT_INPUTS, slots)
    brokers = range(factor + OUTSIDERS)
    targets = [t for size in range(1, factor + 1) for t in itertools.permutations(brokers, size)]
    goals = np.array([padded(t, slots) for t in targets], dtype=np.int32)
    pending: list[Rows] = []
    for held in itertools.permutations(brokers, factor):
        for base in bases(factor):
            table = columns.empty(len(goals))
            renamed = [held[b] for b in base.isr]
            columns.put(
                table,
                replicas=padded(held, slots), isr=padded(renamed, slots), elr=padded((), slots),
                last_known=NO_LAST_KNOWN, leader=NO_LEADER, target=goals,
                removing=_mask(held[b] for b in base.replicas if base.removing >> b & 1),
                adding=_mask(held[b] for b in base.replicas if base.adding >> b & 1),
            )  # fmt: skip
            pending.append(table)
            if len(pending) * len(goals) >= batch:
                yield np.concatenate(pending)
                pending = []
    if pending:
        yield np.concatenate(pending)


def padded(members: Sequence[int], slots: int) -> list[int]:
    """A list in its slots."""
    return [*members, *[VACANT] * (slots - len(members))]


def _mask(members: Sequence[int] | Iterator[int] | itertools.chain[int]) -> int:
    return sum(1 << b for b in members)
