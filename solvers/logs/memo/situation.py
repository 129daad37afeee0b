"""The situation of a partition: exactly what the explanation of a change of it depends on.

Every event that may have written a change decides partition by partition. What
it decides there depends on the partition without its epochs, on the
registrations of the brokers that it names without theirs, on the topic's two
settings, and on features and rules. Partitions in the same situation therefore
get the same explanations, and the same verdicts of the properties. What
brokers and directories are called changes neither. So a situation is a shape
and the names in it: each shape is explained once, on a controller that has
nothing else.
"""

from __future__ import annotations

from collections.abc import KeysView
from typing import Any

from attrs import evolve, frozen

from kraftcheck.model.controller.heartbeat import Sessions
from kraftcheck.model.controller.state import MIN_ISR, UNCLEAN_ELECTION, Configs, Controller, Soft
from kraftcheck.model.language.words import NO_LEADER
from kraftcheck.model.partition.registration import Partition
from kraftcheck.model.records.records import Ids, PartitionChangeRecord, Registration, ids
from kraftcheck.model.records.replay import ClusterImage, ElrIndex, Topic
from kraftcheck.model.rules.ruleset import RuleSet
from kraftcheck.solvers.logs.explain.entries import Batch
from kraftcheck.solvers.logs.explain.state import ModelRecord, State
from kraftcheck.solvers.logs.memo.renaming import Registrations, ShapeNames

TOPIC = "\0topic"
"""Name and id of the one topic of a situation; no real topic has it."""

EPOCH = 7
"""All epochs in a situation: records do not state a partition's epoch, and events copy a broker's."""

ShapeViolation = tuple[str, str, int, tuple[str, ...]]
"""A violation: property, topic, partition, parts."""


@frozen
class Context:
    """The effective configuration of a topic: the effective min ISR, and whether elections may be unclean."""

    min_isr: int
    unclean: bool


def plain_registration(registration: Registration | None) -> Registration | None:
    """A registration without what changes of partitions do not depend on."""
    return (
        None
        if registration is None
        else evolve(registration, epoch=EPOCH, incarnation="", listeners=(), features=(), rack=None, cordoned=None)
    )


def brokers_of(p: Partition) -> tuple[int, ...]:
    """Every broker that a partition names, in order."""
    lists = (p.replicas, p.isr, p.elr, p.last_known_elr, p.adding, p.removing, (int(p.leader),))
    return tuple(sorted({b for brokers in lists for b in brokers if b != NO_LEADER}))  # type: ignore[union-attr]


def without_epochs(p: Partition) -> Partition:
    """The partition with the epochs of a situation."""
    return evolve(p, leader_epoch=EPOCH, partition_epoch=EPOCH)


class Shape:
    """A partition with its context and registrations, and the memoised results of the steps from it.

    Attributes:
        partition: the partition, with the epochs of a situation.
        context: of its topic.
        registrations: plain registrations of the brokers that it names, None where there is none.
        results: the memoised results of changes and events here.
    """

    __slots__ = ("context", "partition", "registrations", "results")

    def __init__(self, partition: Partition, context: Context, registrations: Registrations) -> None:
        self.partition, self.context, self.registrations = partition, context, registrations
        self.results: dict[Any, Any] = {}

    def state(self, base: State, others: Registrations) -> State:
        """A state with this partition alone, and with registrations of other brokers."""
        registrations = {b: r for b, r in {**self.registrations, **others}.items() if r is not None}
        ordered = {b: registrations[b] for b in sorted(registrations)}
        settings = {MIN_ISR: str(self.context.min_isr), UNCLEAN_ELECTION: str(self.context.unclean).lower()}
        image = ClusterImage(
            topics={TOPIC: Topic(TOPIC, {0: self.partition})},
            registrations=ordered,
            registration_offsets=dict.fromkeys(ordered, EPOCH),
            next_offset=EPOCH + 1,
        )
        soft = Soft(Sessions(base.controller.soft.sessions.timeout))
        controller = evolve(
            base.controller, image=image, stale_dirs=frozenset(), elr_index=ElrIndex(),
            configs=Configs({TOPIC: settings}), controllers={}, soft=soft,
        )  # fmt: skip
        return State(controller, base.levels)


class Situation:
    """One situation: a shape, and the names in it.

    Attributes:
        shape, names: as said.
        leaderless: whether the partition has no leader.
        changes: the step of each single change, by the bytes or fields of the change.
        events: the step of each event, by event, then by change or None.
    """

    __slots__ = ("_partition", "_plain_values", "changes", "events", "leaderless", "names", "shape")

    def __init__(self, shape: Shape, names: ShapeNames) -> None:
        self.shape, self.names = shape, names
        self.leaderless = bool(shape.partition.leader == NO_LEADER)
        self.changes: dict[Any, PartitionStep] = {}
        self.events: dict[Any, dict[Any, PartitionStep]] = {}
        self._partition: Partition | None = None
        self._plain_values: tuple[int, Ids, Ids, Ids] | None = None

    @property
    def partition(self) -> Partition:
        """The partition, with the epochs of a situation."""
        if self._partition is None:
            self._partition = self.names.to_ids.partition(self.shape.partition)
        return self._partition

    @property
    def plain_values(self) -> tuple[int, Ids, Ids, Ids]:
        """Leader, replicas, ISR and ELR, as plain values."""
        if self._plain_values is None:
            p = self.partition
            self._plain_values = (int(p.leader), ids(p.replicas), ids(p.isr), ids(p.elr))
        return self._plain_values

    @property
    def context(self) -> Context:
        """The context of its topic."""
        return self.shape.context

    @property
    def registrations(self) -> Registrations:
        """Plain registrations of the brokers that the partition names, None where there is none."""
        return self.names.to_ids.registrations(self.shape.registrations)

    def brokers(self) -> KeysView[int]:
        """The brokers that the partition names."""
        return (self.names.to_shape.brokers if self.names.renamed else self.shape.registrations).keys()

    def state(self, base: State, others: Registrations) -> State:
        """A state with this partition alone, and with registrations of other brokers."""
        return Shape(self.partition, self.context, self.registrations).state(base, others)


@frozen
class EventName:
    """A step of an explanation: the event in words, with TOPIC for the topic, and what `elections` calls it."""

    name: str
    action: str


class PartitionStep:
    """The step that one change, or one event, makes from a situation.

    Attributes:
        after: the situation after it; None where the memo does not apply and the batch is explained as a whole.
        leader_epoch, partition_epoch: by how much the epochs rise.
        count: how many events explain it.
        event: the first of these events.
        violations: the properties that do not hold after it.
        flips: whether the partition gets or loses a leader.
    """

    __slots__ = ("after", "count", "event", "flips", "leader_epoch", "partition_epoch", "violations")

    def __init__(
        self, before: Situation, after: Situation | None, end: Partition | None = None, count: int = 0,
        event: EventName | None = None, violations: tuple[ShapeViolation, ...] = (),
    ) -> None:  # fmt: skip
        self.after, self.count, self.event, self.violations = after, count, event, violations
        self.leader_epoch = self.partition_epoch = 0
        self.flips = after is not None and after.leaderless != before.leaderless
        if end is not None:
            self.leader_epoch, self.partition_epoch = int(end.leader_epoch) - EPOCH, int(end.partition_epoch) - EPOCH


def context_of(controller: Controller, topic_id: str, index: int, rules: RuleSet) -> Context:
    """The context of a partition.

    Raises:
        Resignation: when it has no min ISR.
    """
    return Context(controller.min_isr(topic_id, index, rules.controller), controller.unclean_election(topic_id))


def has_foreign_min_isr(p: Partition, context: Context) -> bool:
    """Whether the min ISR is more than this partition has replicas, so that it comes from another partition."""
    return int(p.replicas.size()) < context.min_isr


def local_change(record: PartitionChangeRecord) -> PartitionChangeRecord:
    """A change as one of a situation's partition."""
    return evolve(record, topic_id=TOPIC, partition_id=0)


def local_batch(records: tuple[ModelRecord, ...]) -> Batch:
    """A batch that stands for these records; its entries are never read."""
    return Batch(EPOCH + 1, EPOCH + len(records), 0, (), "")


def partition_in(state: State) -> Partition:
    """The partition of a situation's state."""
    return state.controller.image.topics[TOPIC].partitions[0]


__all__ = [
    "EPOCH",
    "TOPIC",
    "Context",
    "EventName",
    "PartitionStep",
    "Shape",
    "ShapeViolation",
    "Situation",
    "brokers_of",
    "context_of",
    "has_foreign_min_isr",
    "local_batch",
    "local_change",
    "partition_in",
    "plain_registration",
    "without_epochs",
]  # fmt: skip
