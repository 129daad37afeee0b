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

import functools
import itertools
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import frozen

from kraftcheck.ci.conformance.kafka.columns import (
    CHANGE_INPUTS,
    KEEP_LEADER,
    KEEP_RECOVERY,
    MERGE_INPUTS,
    NO_LAST_KNOWN,
    NO_LEADER,
    ONLINE,
    ORDERED_INPUTS,
    OWN_DIRECTORY,
    PREFERRED,
    REASSIGNMENT_INPUTS,
    SET_DIRECTORY,
    UNCLEAN,
    VACANT,
    Columns,
    Rows,
)
from kraftcheck.model.partition.registration import MIGRATING

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


Numbers = npt.NDArray[np.int32]


def random_changes(seed: int, slots: int, rows: int, factor: int) -> Rows:
    """Partitions with `factor` replicas among `slots` brokers, drawn well-formed, each with one trigger.

    The kinds of trigger (see `cases.triggers`) are equally likely; ISR and ELR are drawn per replica; a third of the
    partitions is being reassigned.
    """
    return _RandomTable(seed, slots, rows, factor).table()


class _RandomTable:
    def __init__(self, seed: int, slots: int, rows: int, factor: int) -> None:
        self._random = np.random.default_rng([seed, slots, factor])
        self._slots, self._rows, self._factor = slots, rows, factor
        self._columns = Columns.of(CHANGE_INPUTS, slots)

    def table(self) -> Rows:
        replicas = self._list(self._factor)
        members = _random_mask(replicas)
        isr_set = members & self._bits()
        isr = keep(self._half_shuffled(replicas), isr_set)
        elr = members & ~isr_set & self._bits()
        running = self._random.random(self._rows) < 1 / 3
        removing = np.where(running, members & self._bits(), 0)
        adding = np.where(running, members & ~removing & self._bits(), 0)
        leader = self._leader(isr)
        table = self._columns.put(
            self._columns.empty(self._rows),
            replicas=replicas, isr=isr, elr=ascending(elr, self._slots), removing=removing, adding=adding,
            leader=leader, last_known=self._last_known(leader),
            recovering=self._integers(0, 2), placed=self._integers(0, 2),
            acceptable=self._integers(0, 1 << self._slots),
            min_isr=self._integers(1, self._factor + 1), elr_on=self._integers(0, 4) > 0,
            target_isr=isr, target_replicas=replicas, target_removing=removing, target_adding=adding, assigned=VACANT,
            election=self._integers(0, 3),
        )  # fmt: skip
        return with_recovery(self._columns, self._with_trigger(table, replicas, isr, removing, adding))

    def _with_trigger(self, table: Rows, replicas: Rows, isr: Rows, removing: Numbers, adding: Numbers) -> Rows:
        """One kind of trigger in six: none but the election, AlterPartition, departure, assignment, move, cancel."""
        kind, columns = self._integers(0, 6), self._columns
        replica = replicas[np.arange(self._rows), self._integers(0, self._factor)]
        self._put(
            table, kind == 1, target_isr=keep(self._half_shuffled(replicas), self._bits()), target_recovering=RECOVERED
        )
        unclean = np.where(self._integers(0, 2) == 1, 1 << replica, 0)
        self._put(table, kind == 2, target_isr=keep(isr, ~(1 << replica)), unclean_shutdown=unclean)
        self._put(table, kind == 3, assigned=replica)
        target = self._list(self._factor)
        removed, new = _random_mask(replicas) & ~_random_mask(target), _random_mask(target) & ~_random_mask(replicas)
        target_replicas = np.where(target == VACANT, VACANT, target)
        target_replicas = compact(np.concatenate([target_replicas, ascending(removed, self._slots)], axis=1))[
            :, : self._slots
        ]
        self._put(
            table, kind == 4, target_replicas=target_replicas,
            target_removing=np.where(removed == 0, removing, removed), target_adding=np.where(new == 0, adding, new),
        )  # fmt: skip
        back = keep(replicas, ~adding)
        isr_left = keep(isr, ~adding)
        first = np.full_like(isr_left, VACANT)
        first[:, 0] = back[:, 0]
        isr_left = np.where(isr_left[:, :1] == VACANT, first, isr_left)
        cancelled = (kind == 5) & (removing | adding != 0) & (back[:, 0] != VACANT)
        self._put(table, cancelled, target_replicas=back, target_isr=isr_left, target_removing=0, target_adding=0)
        return columns.put(table)

    def _put(self, table: Rows, where: npt.NDArray[np.bool_], **values: npt.ArrayLike) -> None:
        for name, value in values.items():
            place = self._columns.slice(name)
            array = np.asarray(value, dtype=np.int32)
            new = np.broadcast_to(array, (self._rows,)) if array.ndim < 2 else array
            new = new.reshape(self._rows, -1)
            table[where, place] = new[where]

    def _list(self, length: int) -> Rows:
        """Lists of `length` distinct brokers."""
        order = np.argsort(self._random.random((self._rows, self._slots)), axis=1).astype(np.int32)
        order[:, length:] = VACANT
        return order

    def _half_shuffled(self, lists: Rows) -> Rows:
        """Half of the lists in their order, half in another."""
        order = np.argsort(self._random.random(lists.shape), axis=1)
        reordered = compact(np.take_along_axis(lists, order, axis=1))
        return np.where(self._integers(0, 2)[:, None] == 1, lists, reordered)

    def _leader(self, isr: Rows) -> Numbers:
        """Any ISR member, or none, in one of four."""
        size = (isr != VACANT).sum(axis=1)
        chosen = isr[np.arange(self._rows), (self._random.random(self._rows) * np.maximum(size, 1)).astype(int)]
        return np.where(self._integers(0, 4) == 0, NO_LEADER, chosen).astype(np.int32)

    def _last_known(self, leader: Numbers) -> Numbers:
        """Anybody or nobody; -1 only where there is no leader."""
        chosen = self._integers(NO_LAST_KNOWN, self._slots)
        return np.where((chosen == NO_LEADER) & (leader != NO_LEADER), NO_LAST_KNOWN, chosen).astype(np.int32)

    def _bits(self) -> Numbers:
        return self._integers(0, 1 << self._slots)

    def _integers(self, lo: int, hi: int) -> Numbers:
        return self._random.integers(lo, hi, self._rows, dtype=np.int32)


def compact(lists: Rows) -> Rows:
    """The lists with their vacant slots last, order kept."""
    width = lists.shape[1]
    vacant = (lists == VACANT).astype(np.int64) @ (1 << np.arange(width))
    return np.take_along_axis(lists, _orders(width)[vacant], axis=1)


@functools.cache
def _orders(width: int) -> npt.NDArray[np.int64]:
    """For each set of vacant slots, as a mask, the slots with these last: looked up, as sorting many rows is slow."""
    masks = np.arange(1 << width)[:, None] >> np.arange(width) & 1
    return np.argsort(masks, axis=1, kind="stable")


def keep(lists: Rows, masks: Numbers) -> Rows:
    """The members that are in the set of their row."""
    held = (masks[:, None] >> np.maximum(lists, 0) & 1) == 1
    return compact(np.where(held & (lists != VACANT), lists, VACANT).astype(np.int32))


def ascending(masks: Numbers, slots: int) -> Rows:
    """Sets as lists."""
    brokers = np.broadcast_to(np.arange(slots, dtype=np.int32), (len(masks), slots))
    return keep(brokers, masks)


def _random_mask(lists: Rows) -> Numbers:
    bits = np.where(lists == VACANT, 0, 1 << np.maximum(lists, 0))
    masks: Numbers = bits.sum(axis=1).astype(np.int32)
    return masks


LARGEST_ID = (1 << 31) - 1

_RANGES = ((0, 16, 1), (16, 64, 1), (0, 1 << 6, 16), (0, 1 << 20, 64), (0, 1 << 15, 1 << 16), (0, LARGEST_ID, 1))
"""Where ids are drawn, as the first, how many, and how far apart: small ones, many of one slot, all."""


def random_ordered(seed: int, slots: int, rows: int, factor: int) -> Rows:
    """The cases of `random_changes` with drawn ids, in both modes; the ELR in any order, members that left among it."""
    draw = Random(f"{seed} {slots} {factor}")
    changes, columns = Columns.of(CHANGE_INPUTS, slots), Columns.of(ORDERED_INPUTS, slots)
    drawn = random_changes(seed, slots, rows, factor)
    ids, balanced, elrs, last_knowns = [], [], [], []
    isrs, leaders_before = changes.get(drawn, "isr").tolist(), changes.get(drawn, "last_known").tolist()
    for isr, last in zip(isrs, leaders_before, strict=True):
        ids.append(_drawn_ids(draw, slots))
        balanced.append(draw.randrange(2))
        elr = [broker for broker in range(slots) if broker not in isr]
        elrs.append(pad(draw.sample(elr, draw.randint(0, len(elr))), slots))
        known = [] if last == NO_LAST_KNOWN else [NO_LAST_KNOWN if last == NO_LEADER else last]
        others = [broker for broker in range(slots) if broker not in known]
        if known and not balanced[-1]:
            known += draw.sample(others, draw.randint(0, 2))
        last_knowns.append(pad(known, slots))
    table = columns.empty(rows)
    for name in changes:
        if name != "last_known":
            table[:, columns.slice(name)] = drawn[:, changes.slice(name)]
    return columns.put(table, ids=ids, balanced=balanced, elr=elrs, last_known=last_knowns)


def _drawn_ids(draw: Random, count: int) -> list[int]:
    """Distinct ids in ascending order; half of all draws take them from one range, half from several."""
    ranges = draw.choices(_RANGES, k=draw.choice((1, 3)))
    ids: set[int] = {LARGEST_ID} if draw.randrange(16) == 0 else set()
    while len(ids) < count:
        first, number, step = draw.choice(ranges)
        ids.add(first + step * draw.randrange(number))
    return sorted(ids)


DIRECTORIES = 3
"""Directories that a registration, a record and a question may name, each beside the reserved ids."""


def every_registration() -> Rows:
    """Every case."""
    sets = range(1 << DIRECTORIES)
    choices = (
        sets, (0, 1), (0, 1), (-1, 0, 1), (0, 1), (VACANT, *sets), sets, range(OWN_DIRECTORY + DIRECTORIES),
    )  # fmt: skip
    return np.array(list(itertools.product(*choices)), dtype=np.int32)


REPLICAS = 2
"""The most replicas that a partition or a record has."""

MERGE_SLOTS = 4

NOTHING: dict[str, Any] = {"elr": (), "last_known": NO_LAST_KNOWN, "removing": 0, "adding": 0, "recovering": 0}

PARTITIONS: tuple[tuple[dict[str, Any], bool], ...] = (
    ({**NOTHING, "replicas": (0,), "isr": (0,), "leader": 0, "placed": 1}, False),
    ({**NOTHING, "replicas": (1, 0), "isr": (1,), "elr": (0,), "removing": 1, "leader": 1, "placed": 1}, True),
    ({**NOTHING, "replicas": (0, 1), "isr": (), "elr": (1,), "last_known": 0, "leader": NO_LEADER, "placed": 0}, False),
    ({**NOTHING, "replicas": (1, 0), "isr": (0, 1), "adding": 2, "leader": 0, "recovering": 1, "placed": 0}, True),
)
"""Partitions before the record, and whether ELR, last known leader, removing and adding of their records have a member:
otherwise they are empty lists."""

ABSENT = None

LEADERS, RECOVERIES = (KEEP_LEADER, NO_LEADER, 0), (KEEP_RECOVERY, 0, 1)
ISRS = (ABSENT, (), (1, 0))
LISTS = (ABSENT, (), (2,), (0, 1))
PLACED = (ABSENT, (), (SET_DIRECTORY,), (SET_DIRECTORY, SET_DIRECTORY + 1), (MIGRATING, MIGRATING))
"""What the fields of a record may be; directories also such as do not fit the replicas."""


def every_merge() -> Rows:
    """Every partition of `PARTITIONS` with every record: each field absent, or one of its values."""
    columns = Columns.of(MERGE_INPUTS, MERGE_SLOTS)
    flags = itertools.product((0, 1), repeat=4)
    records = list(itertools.product(LEADERS, RECOVERIES, ISRS, LISTS, PLACED, flags))
    return np.concatenate([_records(columns, records, *entry) for entry in PARTITIONS])


def _records(columns: Columns, records: list[Any], partition: dict[str, Any], members: bool) -> Rows:
    leaders, recoveries, isrs, replicas, directories, flags = zip(*records, strict=True)
    elr, last_known, removing, adding = zip(*flags, strict=True)
    lists = {"isr": isrs, "replicas": replicas, "directories": directories, "elr": [(1,) if members else ()] * len(elr)}
    table = columns.put(
        columns.empty(len(records)),
        **{name: pad(v, MERGE_SLOTS) if isinstance(v, tuple) else v for name, v in partition.items()},
    )
    fields: dict[str, Any] = {f"record.{name}": [pad(v or (), MERGE_SLOTS) for v in vs] for name, vs in lists.items()}
    for name in ("isr", "replicas", "directories"):
        fields[f"record.{name}?"] = [int(v is not ABSENT) for v in lists[name]]
    return columns.put(
        table, **fields,
        **{"record.leader": leaders, "record.recovery": recoveries, "record.elr?": elr,
           "record.last_known?": last_known,
           "record.last_known": 2 if members else NO_LAST_KNOWN, "record.removing?": removing,
           "record.removing": 2 if members else 0, "record.adding?": adding, "record.adding": 1 if members else 0},
    )  # fmt: skip


_SETS = ("removing", "adding", "acceptable", "target_removing", "target_adding", "unclean_shutdown")
_BROKERS = ("leader", "last_known", "assigned")


def well_formed(columns: Columns, row: Rows) -> bool:
    """Whether a question is one about a partition that Kafka may have; one about a registration always is."""
    case = columns.read(row)
    if "replicas" not in case:
        return True
    named = _named(case)
    return (
        _has_ids(case, named)
        and _is_partition(case, any_elr="ids" in case)
        and ("target_replicas" not in case or _is_target(case))
        and ("target" not in case or _distinct(case["target"]))
    )


def _named(case: dict[str, Any]) -> set[int]:
    """Every broker that the case names, by slot or place."""
    named: set[int] = set()
    for name, value in case.items():
        if name == "ids" or name.startswith("record."):
            continue
        if isinstance(value, list):
            named.update(value)
        elif name in _SETS:
            named |= _members(value)
        elif name in _BROKERS:
            named.add(value)
    return named - {NO_LEADER, NO_LAST_KNOWN, VACANT}


def _has_ids(case: dict[str, Any], named: set[int]) -> bool:
    """Whether ids are distinct and ascending, and each place that is named has one."""
    ids = case.get("ids")
    return ids is None or (ids == sorted(set(ids)) and max(named, default=0) < len(ids))


def _is_partition(case: dict[str, Any], any_elr: bool) -> bool:
    """Whether ISR, ELR, leader and the sets of a reassignment are those of one partition.

    Args:
        case: the columns by name.
        any_elr: whether the ELR may have members that left the replicas.
    """
    replicas, isr, elr, leader = case["replicas"], case["isr"], case["elr"], case["leader"]
    removing, adding = _members(case["removing"]), _members(case["adding"])
    return (
        _distinct(replicas)
        and len(set(isr)) == len(isr)
        and set(isr) <= set(replicas)
        and not set(isr) & set(elr)
        and (any_elr or set(elr) <= set(replicas))
        and leader in (*isr, NO_LEADER)
        and (case["last_known"] != NO_LEADER or leader == NO_LEADER)
        and removing | adding <= set(replicas)
        and not removing & adding
    )


def _is_target(case: dict[str, Any]) -> bool:
    replicas, isr = case["target_replicas"], case["target_isr"]
    named = _members(case["target_removing"]) | _members(case["target_adding"]) | {case["assigned"]} - {VACANT}
    lists = all(len(set(members)) == len(members) for members in (replicas, isr))
    return lists and {*isr, *named} <= set(replicas)  # a cancelled reassignment may leave no replica


def _distinct(brokers: list[int]) -> bool:
    return 0 < len(brokers) == len(set(brokers))


def _members(mask: int) -> set[int]:
    return {broker for broker in range(mask.bit_length()) if mask >> broker & 1}
