"""A share of a log's partitions, replayed as `quick` replays all of them.

A partition's state follows from its own records, and what one event comes to
in it from that state and from the brokers and configurations that every share
follows. What a batch comes to follows from its shares: changes that are each
the work of one event have as many explanations as the product over all shares,
and an event of a broker fits where it fits in every share. A batch that some
share cannot look up is explained as a whole, by one that knows all partitions:
`kraftcheck.solvers.logs.memo.follow`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from attrs import evolve, frozen

from kraftcheck.model.controller.state import Settings
from kraftcheck.model.records.records import Ids, PartitionChangeRecord, PartitionRecord, ids, partition_of
from kraftcheck.model.rules.ruleset import RuleSet
from kraftcheck.solvers.logs.explain.entries import Batch, Compact
from kraftcheck.solvers.logs.explain.judge import Violation
from kraftcheck.solvers.logs.explain.replay import FOOTER, HEADER
from kraftcheck.solvers.logs.explain.state import Known, Passed, State, elected, known
from kraftcheck.solvers.logs.memo.ledger import key_of, with_partitions
from kraftcheck.solvers.logs.memo.lookup import Quick
from kraftcheck.solvers.logs.memo.replay import Fitting
from kraftcheck.solvers.logs.memo.situation import Step
from kraftcheck.solvers.logs.runs.replay import StretchReplay
from kraftcheck.solvers.logs.runs.runs import Run
from kraftcheck.solvers.logs.runs.stretches import Stretch

FIRST = 0
"""The partition whose replicas bound min ISR for all of its topic, as the code has it (X7)."""

NOBODYS = 0
"""The share of partitions that were never created; it finds that out."""

SLACK = 8
"""By so many partitions, and a quarter, a share may be larger than the smallest."""


class Shares:
    """Which share replays which partition.

    Partitions with the same replicas get into the same situations, so they are in one share while it is not too large.

    Args:
        count: how many shares there are.

    Attributes:
        owners: by partition its share.
    """

    def __init__(self, count: int) -> None:
        self._sizes = [0] * count
        self._by_replicas: dict[Ids, int] = {}
        self.owners: dict[bytes | None, int] = {}

    def add(self, key: bytes, replicas: Ids) -> None:
        """Give a new partition to a share; a known one stays where it is."""
        if key in self.owners:
            return
        least = min(self._sizes)
        share = self._by_replicas.setdefault(replicas, self._sizes.index(least))
        if self._sizes[share] > least + least // 4 + SLACK:
            share = self._sizes.index(least)
        self.owners[key] = share
        self._sizes[share] += 1


@frozen
class After:
    """A partition after a record that was not looked up.

    Attributes:
        offset: of the record.
        named: topic and index.
        shown: leader, replicas, ISR and ELR.
        epochs: leader epoch and partition epoch.
    """

    offset: int
    named: tuple[str, int]
    shown: tuple[int, Ids, Ids, Ids]
    epochs: tuple[int, int]


@frozen
class Fits:
    """An event of a broker that fits in a share.

    Attributes:
        name, action: as of its guess.
        violations: what does not hold after it, each with where its partition stands among all.
    """

    name: str
    action: str
    violations: tuple[tuple[tuple[int, int], Violation], ...]


@frozen
class Part:
    """What became of one batch in a share.

    Attributes:
        batch: the batch; its keys are None where a partition is another share's.
        taken: whether it is taken as it is: a snapshot's, or the quorum's own.
        quick: what was looked up; None where the batch must be explained as a whole, or is taken as it is.
        fits: the events that fit, of an event of a broker.
        moves: of what was not looked up the partitions of the share after each of their records.
        passed: of what was not looked up the kinds of records that are not read.
        judged: how many properties were checked.
    """

    batch: Batch | Compact
    taken: bool = False
    quick: Quick | None = None
    fits: tuple[Fits, ...] = ()
    moves: tuple[After, ...] = ()
    passed: tuple[str, ...] = ()
    judged: int = 0

    @property
    def last_offset(self) -> int:
        """Of the batch."""
        return self.batch.last_offset


class ShareReplay(StretchReplay):
    """The replay of one share.

    Args:
        share, count: its number, of so many.
    """

    def __init__(
        self, rules: Callable[[int | None], RuleSet], share: int, count: int, settings: Settings | None = None
    ) -> None:
        super().__init__(rules, settings)
        self._share, self._shares = share, Shares(count)
        self._fits: tuple[Fits, ...] = ()
        self._replacing: dict[Any, bool] = {}

    def parts(self, batches: Iterable[Batch | Compact | Stretch]) -> Iterator[Part | Run]:
        """What becomes of each batch; those of stretches in runs where they are known.

        Raises:
            EntryError: when a record's fields are not those of its kind.
            ReplayError: for a record that cannot be replayed.
        """
        for batch in batches:
            if isinstance(batch, Stretch):
                for found in self._along(batch):
                    yield found if isinstance(found, Run) else self._part(found)
            else:
                self._runner.settle()
                yield self._part(batch)

    def _part(self, batch: Batch | Compact) -> Part:
        """What becomes of a batch by itself."""
        if isinstance(batch, Compact) and not self._in_snapshot and not self._replaces_guests(batch):
            self._keep_own(batch)
            self._fits = ()
            quick = self._quick(batch)
            if quick is not None:
                return Part(batch, quick=quick, fits=self._fits, judged=self._judged())
        return self._as_it_is(batch.whole() if isinstance(batch, Compact) else batch)

    def owns(self, key: bytes) -> bool:
        """Whether a partition is of this share."""
        return self._shares.owners.get(key, NOBODYS) == self._share

    def _keep_own(self, batch: Compact) -> None:
        """Take the partitions of other shares out of a batch."""
        owners, share = self._shares.owners, self._share
        batch.keys = [key if owners.get(key, NOBODYS) == share else None for key in batch.keys]

    def _replaces_guests(self, batch: Compact) -> bool:
        """Whether a first partition gets other replicas; how many it has counts for all of its topic."""
        guests, known_bodies = self._guests, self._replacing
        if guests.isdisjoint(batch.keys):
            return False
        for place, key in enumerate(batch.keys):
            if key in guests:
                body = batch.bodies[place]
                if body not in known_bodies:
                    data = batch.entry(place).data
                    known_bodies[body] = data is not None and data.get("replicas") is not None
                if known_bodies[body]:
                    return True
        return False

    def _event(self, batch: Compact) -> Quick | None:
        fitting = self._fitting(batch)
        self._fits = tuple(self._named(one) for one in fitting)
        return self._happened(batch, fitting) if fitting else None

    def _named(self, fitting: Fitting) -> Fits:
        event, found = fitting
        told: Sequence[tuple[bytes, Step]] = self._told(found)
        ranked = [(self._ledger.rank(key), v) for key, step in told for v in self._violations([(key, step)])]
        return Fits(event.name, event.action, tuple(ranked))

    def _as_it_is(self, batch: Batch) -> Part:
        """The batch without an explanation."""
        state = self._ledger.state()
        if batch.control:
            kinds = {entry.type for entry in batch.entries}
            self._in_snapshot = (self._in_snapshot or HEADER in kinds) and FOOTER not in kinds
            self._load(elected(state, batch))
            return Part(batch, taken=True)
        taken, rules, judged = self._in_snapshot, self._rules, self._judged()
        state, moves, passed = state.at(batch.base_offset), [], []
        for offset, entry in enumerate(batch.entries, batch.base_offset):
            record = known(entry)
            if isinstance(record, Passed):
                passed.append(record.type)
            if self._is_foreign(record):
                state = self._with_guest(state, record).at(offset + 1)
                continue
            state = state.after(record, rules)
            if isinstance(record, PartitionRecord | PartitionChangeRecord):
                moves.append(_after(state, record, offset))
        self._load(state)
        if taken:
            return Part(batch, taken)
        return Part(batch, moves=tuple(moves), passed=tuple(passed), judged=judged)

    def _is_foreign(self, record: Known) -> bool:
        if not isinstance(record, PartitionRecord | PartitionChangeRecord):
            return False
        key = key_of(record.topic_id, record.partition_id)
        if isinstance(record, PartitionRecord):
            self._shares.add(key, record.replicas)
            self._ledger.touched.add(key)
        return not self.owns(key)

    def _with_guest(self, state: State, record: Known) -> State:
        """The state with the replicas of another share's first partition."""
        assert isinstance(record, PartitionRecord | PartitionChangeRecord)
        topic = state.controller.image.topics.get(record.topic_id)
        if record.partition_id != FIRST or topic is None:
            return state
        if isinstance(record, PartitionRecord):
            self._guests.add(key_of(record.topic_id, FIRST))
            guest = partition_of(record)
        elif record.change.replicas.present and FIRST in topic.partitions:
            guest = evolve(topic.partitions[FIRST], replicas=record.change.replicas.value)
        else:
            return state
        topics = with_partitions(state.controller.image.topics, {record.topic_id: {FIRST: guest}})
        controller = evolve(state.controller, image=evolve(state.controller.image, topics=topics))
        return evolve(state, controller=controller)


def _after(state: State, record: PartitionRecord | PartitionChangeRecord, offset: int) -> After:
    topic = state.controller.topic(record.topic_id)
    p = topic.partitions[record.partition_id]
    shown = int(p.leader), ids(p.replicas), ids(p.isr), ids(p.elr)
    return After(offset, (topic.name, record.partition_id), shown, (int(p.leader_epoch), int(p.partition_epoch)))


__all__ = ["After", "Fits", "Part", "ShareReplay", "Shares"]
