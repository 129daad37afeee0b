"""Cases drawn for replication factors that are too large for every case: nothing is left out, little is repeated."""

from __future__ import annotations

import functools

import numpy as np
import numpy.typing as npt

from kraftcheck.ci.conformance.kafka.change.cases import RECOVERED, with_recovery
from kraftcheck.ci.conformance.kafka.columns import CHANGE_INPUTS, NO_LAST_KNOWN, NO_LEADER, VACANT, Columns, Rows

Numbers = npt.NDArray[np.int32]


def drawn_changes(seed: int, slots: int, rows: int, factor: int) -> Rows:
    """Partitions with `factor` replicas among `slots` brokers, drawn well-formed, each with one trigger.

    The kinds of trigger (see `spaces.triggers`) are equally likely; ISR and ELR are drawn per replica; a third of the
    partitions is being reassigned.
    """
    return _Draw(seed, slots, rows, factor).table()


class _Draw:
    def __init__(self, seed: int, slots: int, rows: int, factor: int) -> None:
        self._random = np.random.default_rng([seed, slots, factor])
        self._slots, self._rows, self._factor = slots, rows, factor
        self._columns = Columns.of(CHANGE_INPUTS, slots)

    def table(self) -> Rows:
        replicas = self._list(self._factor)
        members = _mask(replicas)
        isr_set = members & self._bits()
        isr = keep(self._shuffled(replicas), isr_set)
        elr = members & ~isr_set & self._bits()
        running = self._random.random(self._rows) < 1 / 3
        removing = np.where(running, members & self._bits(), 0)
        adding = np.where(running, members & ~removing & self._bits(), 0)
        leader = self._leader(isr)
        table = self._columns.put(
            self._columns.empty(self._rows),
            replicas=replicas, isr=isr, elr=ascending(elr, self._slots), removing=removing, adding=adding,
            leader=leader, last_known=self._last_known(leader),
            recovering=self._below(0, 2), placed=self._below(0, 2), acceptable=self._below(0, 1 << self._slots),
            min_isr=self._below(1, self._factor + 1), elr_on=self._below(0, 4) > 0,
            target_isr=isr, target_replicas=replicas, target_removing=removing, target_adding=adding, assigned=VACANT,
            election=self._below(0, 3),
        )  # fmt: skip
        return with_recovery(self._columns, self._triggered(table, replicas, isr, removing, adding))

    def _triggered(self, table: Rows, replicas: Rows, isr: Rows, removing: Numbers, adding: Numbers) -> Rows:
        """One kind of trigger in six: none but the election, AlterPartition, departure, assignment, move, cancel."""
        kind, columns = self._below(0, 6), self._columns
        someone = replicas[np.arange(self._rows), self._below(0, self._factor)]
        self._put(
            table, kind == 1, target_isr=keep(self._shuffled(replicas), self._bits()), target_recovering=RECOVERED
        )
        unclean = np.where(self._below(0, 2) == 1, 1 << someone, 0)
        self._put(table, kind == 2, target_isr=keep(isr, ~(1 << someone)), unclean_shutdown=unclean)
        self._put(table, kind == 3, assigned=someone)
        target = self._list(self._factor)
        gone, new = _mask(replicas) & ~_mask(target), _mask(target) & ~_mask(replicas)
        moved = np.where(target == VACANT, VACANT, target)
        moved = compact(np.concatenate([moved, ascending(gone, self._slots)], axis=1))[:, : self._slots]
        self._put(
            table, kind == 4, target_replicas=moved,
            target_removing=np.where(gone == 0, removing, gone), target_adding=np.where(new == 0, adding, new),
        )  # fmt: skip
        back = keep(replicas, ~adding)
        left = keep(isr, ~adding)
        first = np.full_like(left, VACANT)
        first[:, 0] = back[:, 0]
        left = np.where(left[:, :1] == VACANT, first, left)
        undone = (kind == 5) & (removing | adding != 0) & (back[:, 0] != VACANT)
        self._put(table, undone, target_replicas=back, target_isr=left, target_removing=0, target_adding=0)
        return columns.put(table)

    def _put(self, table: Rows, where: npt.NDArray[np.bool_], **values: npt.ArrayLike) -> None:
        for name, value in values.items():
            place = self._columns.slice(name)
            array = np.asarray(value, dtype=np.int32)
            new = np.broadcast_to(array, (self._rows,)) if array.ndim < 2 else array
            new = new.reshape(self._rows, -1)
            table[where, place] = new[where]

    def _list(self, most: int) -> Rows:
        """Lists of `most` distinct brokers."""
        order = np.argsort(self._random.random((self._rows, self._slots)), axis=1).astype(np.int32)
        order[:, most:] = VACANT
        return order

    def _shuffled(self, lists: Rows) -> Rows:
        """Half of the lists in their order, half in another."""
        order = np.argsort(self._random.random(lists.shape), axis=1)
        other = compact(np.take_along_axis(lists, order, axis=1))
        return np.where(self._below(0, 2)[:, None] == 1, lists, other)

    def _leader(self, isr: Rows) -> Numbers:
        """Any ISR member, or none, in one of four."""
        size = (isr != VACANT).sum(axis=1)
        chosen = isr[np.arange(self._rows), (self._random.random(self._rows) * np.maximum(size, 1)).astype(int)]
        return np.where(self._below(0, 4) == 0, NO_LEADER, chosen).astype(np.int32)

    def _last_known(self, leader: Numbers) -> Numbers:
        """Anybody or nobody; -1 only where there is no leader."""
        drawn = self._below(NO_LAST_KNOWN, self._slots)
        return np.where((drawn == NO_LEADER) & (leader != NO_LEADER), NO_LAST_KNOWN, drawn).astype(np.int32)

    def _bits(self) -> Numbers:
        return self._below(0, 1 << self._slots)

    def _below(self, lo: int, hi: int) -> Numbers:
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
