"""Random cases of the change builder, for replication factors that have too many cases to list."""

from __future__ import annotations

import functools

import numpy as np
import numpy.typing as npt

from kraftcheck.ci.conformance.kafka.change.cases import RECOVERED, with_recovery
from kraftcheck.ci.conformance.kafka.columns import CHANGE_INPUTS, NO_LAST_KNOWN, NO_LEADER, VACANT, Columns, Rows

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
        members = _mask(replicas)
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
        removed, new = _mask(replicas) & ~_mask(target), _mask(target) & ~_mask(replicas)
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


def _mask(lists: Rows) -> Numbers:
    bits = np.where(lists == VACANT, 0, 1 << np.maximum(lists, 0))
    masks: Numbers = bits.sum(axis=1).astype(np.int32)
    return masks
