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
from collections.abc import Iterable, Iterator, Sequence
from random import Random
from typing import Any

import numpy as np
from attrs import evolve, frozen

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
    pad,
)
from kraftcheck.ci.conformance.kafka.fuzz.requests import Draws
from kraftcheck.model.partition.registration import MIGRATING

OUTSIDERS = 1  # brokers beside the replicas: whom a reassignment adds, and who once was a replica
KEEP, RECOVERED = 0, 1  # what a trigger wants of the recovery state


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
    return _batches((part for base in bases(factor) for part in _products(columns, base, slots, batch)), batch)


def _batches(tables: Iterable[Rows], batch: int) -> Iterator[Rows]:
    """Tables of about `batch` rows."""
    pending: list[Rows] = []
    for table in tables:
        pending.append(table)
        if sum(map(len, pending)) >= batch:
            yield np.concatenate(pending)
            pending = []
    if pending:
        yield np.concatenate(pending)


def _products(columns: Columns, base: PartitionBase, slots: int, batch: int) -> Iterator[Rows]:
    """Triggers that move a replica or its directory with whoever may lead; the others with what is read."""
    trigger_list = triggers(base, slots)
    moving = [t.replicas != base.replicas or t.assigned != VACANT for t in trigger_list]
    free = _free_table(columns, base)
    outsider = columns.get(free, "acceptable") >> len(base.replicas) & 1
    read = (outsider == 0) | (columns.get(free, "last_known") == len(base.replicas))
    placed = columns.get(free, "placed") == 1
    all_rows = free[placed] if base.removing or base.adding else free
    for moves, table in ((True, all_rows), (False, free[read & placed])):
        rows = columns.table([_columns_of(base, t) for t, m in zip(trigger_list, moving, strict=True) if m == moves])
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
            yield _moved(base, target)


def _moved(base: PartitionBase, target: tuple[int, ...]) -> TriggerCase:
    removed = tuple(b for b in base.replicas if b not in target)
    new = tuple(b for b in target if b not in base.replicas)
    return TriggerCase(base.isr, target + removed, _mask(removed) or base.removing, _mask(new) or base.adding)


def _cancels(base: PartitionBase) -> Iterator[TriggerCase]:
    """The end of a reassignment: the replicas and ISR without the added ones."""
    if not base.adding and not base.removing:
        return
    replicas = tuple(b for b in base.replicas if not base.adding >> b & 1)
    isr = tuple(b for b in base.isr if not base.adding >> b & 1) or replicas[:1]
    for election in (ONLINE, UNCLEAN):
        yield TriggerCase(isr, replicas, 0, 0, election=election)


def _columns_of(base: PartitionBase, trigger: TriggerCase) -> dict[str, Any]:
    """The columns of a partition and of a trigger, by name; that of the recovery state is KEEP or RECOVERED."""
    return {
        "replicas": base.replicas, "isr": base.isr, "removing": base.removing, "adding": base.adding,
        "target_isr": trigger.isr, "target_replicas": trigger.replicas, "target_removing": trigger.removing,
        "target_adding": trigger.adding, "target_recovering": trigger.recovery,
        "unclean_shutdown": trigger.unclean_shutdown, "assigned": trigger.assigned, "election": trigger.election,
    }  # fmt: skip


def _free_table(columns: Columns, base: PartitionBase) -> Rows:
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
    return columns.table([
        {"leader": leader, "elr": elr, "last_known": known, "recovering": recovering, "placed": placed,
         "elr_on": elr_on, "min_isr": minimum, "acceptable": acceptable}
        for leader, elr, known, recovering, placed, (elr_on, minimum), acceptable in product
        if known != NO_LEADER or leader == NO_LEADER
    ])  # fmt: skip


FREE = ("leader", "elr", "last_known", "recovering", "placed", "elr_on", "min_isr", "acceptable")


def _product(columns: Columns, free: Rows, trigger_rows: Rows) -> Rows:
    """Every row of one table with every row of the other."""
    table = np.tile(trigger_rows, (len(free), 1))
    for name in FREE:
        table[:, columns.slice(name)] = np.repeat(free[:, columns.slice(name)], len(trigger_rows), axis=0)
    keep = columns.get(table, "target_recovering") == KEEP
    return columns.put(table, target_recovering=np.where(keep, columns.get(table, "recovering"), 0))


def exhaustive_reassignments(factor: int, slots: int, batch: int) -> Iterator[Rows]:
    """Every partition with this many replicas, with every target list of at most as many."""
    columns = Columns.of(REASSIGNMENT_INPUTS, slots)
    brokers = range(factor + OUTSIDERS)
    targets = [t for size in range(1, factor + 1) for t in itertools.permutations(brokers, size)]
    goals = np.array([pad(t, slots) for t in targets], dtype=np.int32)

    def questions(held: tuple[int, ...], base: PartitionBase) -> Rows:
        return columns.put(
            columns.empty(len(goals)),
            replicas=pad(held, slots), isr=pad([held[b] for b in base.isr], slots), elr=pad((), slots),
            last_known=NO_LAST_KNOWN, leader=NO_LEADER, target=goals,
            removing=_mask(held[b] for b in base.replicas if base.removing >> b & 1),
            adding=_mask(held[b] for b in base.replicas if base.adding >> b & 1),
        )  # fmt: skip

    every = itertools.product(itertools.permutations(brokers, factor), bases(factor))
    return _batches(itertools.starmap(questions, every), batch)


def _mask(members: Iterable[int]) -> int:
    return sum(1 << b for b in members)


def random_changes(seed: int, slots: int, rows: int, factor: int) -> Rows:
    """Partitions with `factor` replicas among `slots` brokers, drawn well-formed, each with one trigger.

    The kinds of trigger (see `triggers`) are equally likely; ISR and ELR are drawn per replica; a third of the
    partitions is being reassigned.
    """
    numbers = np.random.default_rng([seed, slots, factor]).integers(0, 1 << 31, (rows, NUMBERS)).tolist()
    return Columns.of(CHANGE_INPUTS, slots).table([_drawn_change(Draws(some), slots, factor) for some in numbers])


NUMBERS = 20  # numbers that a case is drawn from


def _drawn_change(draws: Draws, slots: int, factor: int) -> dict[str, Any]:
    replicas = draws.some(range(slots), factor)
    isr = _some(draws, replicas)
    in_elr, base = draws.below(1 << slots), PartitionBase(replicas, isr, 0, 0)
    if draws.below(3) == 0:
        removing, kept = draws.below(1 << slots) & _mask(replicas), draws.below(1 << slots)
        base = PartitionBase(replicas, isr, removing, _mask(replicas) & ~removing & kept)
    leader = draws.pick(isr) if isr and draws.below(4) else NO_LEADER
    known, recovering = NO_LAST_KNOWN + draws.below(slots - NO_LAST_KNOWN), draws.below(2)
    trigger = _drawn_trigger(draws, base, slots)
    return {
        "leader": leader, "elr": [b for b in range(slots) if b in replicas and b not in isr and in_elr >> b & 1],
        "last_known": NO_LAST_KNOWN if known == NO_LEADER != leader else known, "recovering": recovering,
        "placed": draws.below(2), "acceptable": draws.below(1 << slots), "min_isr": 1 + draws.below(factor),
        "elr_on": draws.below(4) > 0, **_columns_of(base, trigger),
        "target_recovering": recovering if trigger.recovery == KEEP else 0,
        "election": draws.pick((ONLINE, PREFERRED, UNCLEAN)),
    }  # fmt: skip


def _some(draws: Draws, brokers: Sequence[int]) -> tuple[int, ...]:
    """Each of some brokers or not; half of the time in another order."""
    bits, ordered = draws.below(1 << 16), draws.below(2)
    chosen = tuple(broker for broker in brokers if bits >> broker & 1)
    return chosen if ordered else draws.some(chosen, len(chosen))


def _drawn_trigger(draws: Draws, base: PartitionBase, slots: int) -> TriggerCase:
    """One kind of trigger in six: none but the election, AlterPartition, departure, assignment, move, cancel."""
    plain = TriggerCase(base.isr, base.replicas, base.removing, base.adding)
    kind, broker = draws.below(6), draws.pick(base.replicas)
    if kind == 1:
        return evolve(plain, isr=_some(draws, base.replicas), recovery=RECOVERED)
    if kind == 2:
        left = tuple(member for member in base.isr if member != broker)
        return evolve(plain, isr=left, unclean_shutdown=draws.below(2) << broker)
    if kind == 3:
        return evolve(plain, assigned=broker)
    if kind == 4:
        return _moved(base, draws.some(range(slots), len(base.replicas)))
    cancels = [one for one in _cancels(base) if one.replicas] if kind == 5 else []
    return cancels[0] if cancels else plain


LARGEST_ID = (1 << 31) - 1

_RANGES = ((0, 16, 1), (16, 64, 1), (0, 1 << 6, 16), (0, 1 << 20, 64), (0, 1 << 15, 1 << 16), (0, LARGEST_ID, 1))
"""Where ids are drawn, as the first, how many, and how far apart: small ones, many of one slot, all."""


def random_ordered(seed: int, slots: int, rows: int, factor: int) -> Rows:
    """The cases of `random_changes` with drawn ids, in both modes; the ELR in any order, members that left among it."""
    draw = Random(f"{seed} {slots} {factor}")
    return Columns.of(ORDERED_INPUTS, slots).table([_drawn_ordered(draw, slots, factor) for _ in range(rows)])


def _drawn_ordered(draw: Random, slots: int, factor: int) -> dict[str, Any]:
    case = _drawn_change(Draws([draw.getrandbits(31) for _ in range(NUMBERS)]), slots, factor)
    elr = [broker for broker in range(slots) if broker not in case["isr"]]
    last, balanced = case["last_known"], draw.randrange(2)
    known = [] if last == NO_LAST_KNOWN else [NO_LAST_KNOWN if last == NO_LEADER else last]
    if known and not balanced:
        known += draw.sample([broker for broker in range(slots) if broker not in known], draw.randint(0, 2))
    return {**case, "ids": _drawn_ids(draw, slots), "balanced": balanced,
            "elr": draw.sample(elr, draw.randint(0, len(elr))), "last_known": known}  # fmt: skip


def _drawn_ids(draw: Random, count: int) -> list[int]:
    """Distinct ids in ascending order; half of all draws take them from one range, half from several."""
    ranges = draw.choices(_RANGES, k=draw.choice((1, 3)))
    ids: set[int] = {LARGEST_ID} if draw.randrange(16) == 0 else set()
    while len(ids) < count:
        first, number, step = draw.choice(ranges)
        ids.add(first + step * draw.randrange(number))
    return sorted(ids)


DIRECTORIES = 3  # directories that a registration, a record and a question may name, each beside the reserved ids


def every_registration() -> Rows:
    """Every case."""
    sets = range(1 << DIRECTORIES)
    choices = (sets, (0, 1), (0, 1), (-1, 0, 1), (0, 1), (VACANT, *sets), sets, range(OWN_DIRECTORY + DIRECTORIES))
    return np.array(list(itertools.product(*choices)), dtype=np.int32)


REPLICAS = 2  # the most replicas that a partition or a record has

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
    flags = itertools.product((0, 1), repeat=4)
    records = list(itertools.product(LEADERS, RECOVERIES, ISRS, LISTS, PLACED, flags))
    return Columns.of(MERGE_INPUTS, MERGE_SLOTS).table([
        {**partition, **_record(leader, recovery, lists, of, members)}
        for partition, members in PARTITIONS
        for leader, recovery, *lists, of in records
    ])  # fmt: skip


def _record(leader: int, recovery: int, some: list[Any], flags: tuple[int, ...], members: bool) -> dict[str, Any]:
    """The columns of a record by name, with ISR, replicas and directories, and the sets that `flags` name."""
    lists = dict(zip(("isr", "replicas", "directories"), some, strict=True))
    values = {"elr": (1,) if members else (), "last_known": 2 if members else NO_LAST_KNOWN,
              "removing": 2 * members, "adding": int(members)}  # fmt: skip
    present = {name: value is not ABSENT for name, value in lists.items()} | dict(zip(values, flags, strict=True))
    return {
        "record.leader": leader, "record.recovery": recovery,
        **{f"record.{name}": value or () for name, value in lists.items()},
        **{f"record.{name}": value for name, value in values.items()},
        **{f"record.{name}?": value for name, value in present.items()},
    }  # fmt: skip


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
    """Whether ISR, ELR, leader and sets of a reassignment are a partition's; `any_elr`: of members that left too."""
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
