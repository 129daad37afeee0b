"""The exhaustive cases of the change builder: every case for small replication factors.

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
class TriggerCase:
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
class PartitionBase:
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
        for part in _products(columns, base, slots, batch):
            pending.append(part)
            if sum(map(len, pending)) >= batch:
                yield np.concatenate(pending)
                pending = []
    if pending:
        yield np.concatenate(pending)


def _products(columns: Columns, base: PartitionBase, slots: int, batch: int) -> Iterator[Rows]:
    """Triggers that move a replica or its directory with whoever may lead; the others with what is read."""
    trigger_list = triggers(base, slots)
    moving = [t.replicas != base.replicas or t.assigned != VACANT for t in trigger_list]
    free = _free_table(columns, base, slots)
    outsider = columns.get(free, "acceptable") >> len(base.replicas) & 1
    read = (outsider == 0) | (columns.get(free, "last_known") == len(base.replicas))
    placed = columns.get(free, "placed") == 1
    all_rows = free[placed] if base.removing or base.adding else free
    for moves, table in ((True, all_rows), (False, free[read & placed])):
        rows = _trigger_table(
            columns, base, [t for t, m in zip(trigger_list, moving, strict=True) if m == moves], slots
        )
        step = max(1, batch // max(1, len(rows)))
        for at in range(0, len(table) if len(rows) else 0, step):
            yield _product(columns, table[at : at + step], rows)


def bases(factor: int) -> Iterator[PartitionBase]:
    """Replicas 0.., every ISR, every pair of disjoint sets removing and adding."""
    replicas = tuple(range(factor))
    for size in range(factor + 1):
        for isr in itertools.combinations(replicas, size):
            for marks in itertools.product((0, 1, 2), repeat=factor):
                removing, adding = (_mask(b for b in replicas if marks[b] == mark) for mark in (1, 2))
                for order in (isr,) if any(marks) else dict.fromkeys((isr, isr[::-1])):
                    yield PartitionBase(replicas, order, removing, adding)


def triggers(base: PartitionBase, slots: int) -> list[TriggerCase]:
    """Every event on a partition, as far as the change builder sees it."""
    same = (base.replicas, base.removing, base.adding)
    plain = [TriggerCase(base.isr, *same, election=election) for election in (ONLINE, PREFERRED, UNCLEAN)]
    return [*plain, *_alterations(base), *_departures(base), *_assignments(base), *_moves(base, slots), *_cancels(base)]


def _alterations(base: PartitionBase) -> Iterator[TriggerCase]:
    """AlterPartition: any ISR, the recovery kept or ended, unclean election allowed or not."""
    for size in range(1, len(base.replicas) + 1):
        for isr in itertools.combinations(base.replicas, size):
            for recovery, election in itertools.product((KEEP, RECOVERED), (ONLINE, UNCLEAN)):
                yield TriggerCase(isr, base.replicas, base.removing, base.adding, recovery, election=election)


def _departures(base: PartitionBase) -> Iterator[TriggerCase]:
    """Fencing, shutdown, removal or restart of a broker, or failure of its directory."""
    for broker in base.replicas:
        isr = tuple(b for b in base.isr if b != broker)
        for shutdown, election in itertools.product((0, 1 << broker), (ONLINE, UNCLEAN)):
            yield TriggerCase(
                isr, base.replicas, base.removing, base.adding, unclean_shutdown=shutdown, election=election
            )


def _assignments(base: PartitionBase) -> Iterator[TriggerCase]:
    for broker in base.replicas:
        yield TriggerCase(base.isr, base.replicas, base.removing, base.adding, assigned=broker)


def _moves(base: PartitionBase, slots: int) -> Iterator[TriggerCase]:
    """A reassignment to any target list of at most as many replicas; empty sets keep the old ones (defect B10)."""
    if len(base.replicas) == slots:
        return
    for size in range(1, len(base.replicas) + 1):
        for target in itertools.permutations(range(len(base.replicas) + OUTSIDERS), size):
            removed = tuple(b for b in base.replicas if b not in target)
            new = tuple(b for b in target if b not in base.replicas)
            removing, adding = _mask(removed) or base.removing, _mask(new) or base.adding
            yield TriggerCase(base.isr, target + removed, removing, adding)


def _cancels(base: PartitionBase) -> Iterator[TriggerCase]:
    """The end of a reassignment: the replicas and ISR without the added ones."""
    if not base.adding and not base.removing:
        return
    replicas = tuple(b for b in base.replicas if not base.adding >> b & 1)
    isr = tuple(b for b in base.isr if not base.adding >> b & 1) or replicas[:1]
    for election in (ONLINE, UNCLEAN):
        yield TriggerCase(isr, replicas, 0, 0, election=election)


def _trigger_table(columns: Columns, base: PartitionBase, trigger_list: list[TriggerCase], slots: int) -> Rows:
    table = columns.empty(len(trigger_list))
    return columns.put(
        table,
        replicas=pad(base.replicas, slots), isr=pad(base.isr, slots), removing=base.removing,
        adding=base.adding, target_isr=[pad(t.isr, slots) for t in trigger_list],
        target_replicas=[pad(t.replicas, slots) for t in trigger_list],
        target_removing=[t.removing for t in trigger_list],
        target_adding=[t.adding for t in trigger_list], target_recovering=[t.recovery for t in trigger_list],
        unclean_shutdown=[t.unclean_shutdown for t in trigger_list], assigned=[t.assigned for t in trigger_list],
        election=[t.election for t in trigger_list],
    )  # fmt: skip


def _free_table(columns: Columns, base: PartitionBase, slots: int) -> Rows:
    """Everything that does not depend on the trigger: leader, ELR, last known leader, who may lead, settings."""
    outsiders = [b for b in base.replicas if b not in base.isr]
    elrs = [c for size in range(len(outsiders) + 1) for c in itertools.combinations(outsiders, size)]
    factor = len(base.replicas)
    brokers = range(factor + OUTSIDERS)
    settings = [(0, 1), *((1, minimum) for minimum in range(1, factor + 1))]
    product = itertools.product(
        (*base.isr, NO_LEADER), elrs, (NO_LAST_KNOWN, NO_LEADER, *brokers), (0, 1), (0, 1), settings,
        range(1 << len(brokers)),
    )  # fmt: skip
    cases = [c for c in product if c[2] != NO_LEADER or c[0] == NO_LEADER]
    table = columns.empty(len(cases))
    return columns.put(
        table,
        leader=[c[0] for c in cases], elr=[pad(c[1], slots) for c in cases], last_known=[c[2] for c in cases],
        recovering=[c[3] for c in cases], placed=[c[4] for c in cases], elr_on=[c[5][0] for c in cases],
        min_isr=[c[5][1] for c in cases], acceptable=[c[6] for c in cases],
    )  # fmt: skip


FREE = ("leader", "elr", "last_known", "recovering", "placed", "elr_on", "min_isr", "acceptable")


def _product(columns: Columns, free: Rows, trigger_rows: Rows) -> Rows:
    """Every row of one table with every row of the other."""
    table = np.tile(trigger_rows, (len(free), 1))
    for name in FREE:
        table[:, columns.slice(name)] = np.repeat(free[:, columns.slice(name)], len(trigger_rows), axis=0)
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
    goals = np.array([pad(t, slots) for t in targets], dtype=np.int32)
    pending: list[Rows] = []
    for held in itertools.permutations(brokers, factor):
        for base in bases(factor):
            table = columns.empty(len(goals))
            renamed = [held[b] for b in base.isr]
            columns.put(
                table,
                replicas=pad(held, slots), isr=pad(renamed, slots), elr=pad((), slots),
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


def pad(members: Sequence[int], slots: int) -> list[int]:
    """A list in its slots."""
    return [*members, *[VACANT] * (slots - len(members))]


def _mask(members: Sequence[int] | Iterator[int] | itertools.chain[int]) -> int:
    return sum(1 << b for b in members)
