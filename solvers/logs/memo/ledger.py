"""The partitions of a log, each as a situation and two epochs.

Batches whose explanation the memo may hold, and has held, are here too.
"""

from __future__ import annotations

import base64
import binascii
import struct
from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any, ClassVar, TypeVar

from attrs import define, evolve

from kraftcheck.model.controller.errors import Resignation
from kraftcheck.model.controller.state import Controller
from kraftcheck.model.partition.registration import Partition
from kraftcheck.model.records.records import Registration
from kraftcheck.model.records.replay import Topic
from kraftcheck.model.rules.ruleset import RuleSet
from kraftcheck.solvers.logs.explain.judge import LogViolation
from kraftcheck.solvers.logs.explain.state import Batch, CompactBatch, LogEntry, State, is_unread
from kraftcheck.solvers.logs.memo.situation import (
    TOPIC,
    Context,
    EventName,
    Form,
    PartitionStep,
    Registrations,
    Shape,
    ShapeNames,
    Situation,
    brokers_of,
    context_of,
    has_foreign_min_isr,
    names_of,
    plain_registration,
    without_epochs,
)

K = TypeVar("K")

PartitionSlot = tuple[Situation, int, int]  # a partition: its situation, leader epoch and partition epoch

_INDEX = struct.Struct(">i")
_TOPIC_BYTES = 16


def key_of(topic_id: str, index: int) -> bytes:
    """A partition as segments write it: its index, then the bytes of the topic's id.

    An id that is no UUID, as other writers of JSON may have, stands for itself.
    """
    try:
        raw = base64.urlsafe_b64decode(topic_id + "==")
    except (binascii.Error, ValueError):
        raw = b""
    if len(raw) != _TOPIC_BYTES or base64.urlsafe_b64encode(raw).decode().rstrip("=") != topic_id:
        raw = b"\0" + topic_id.encode()
    return _INDEX.pack(index) + raw


class Ledger:
    """The partitions of a log.

    Attributes:
        base: the state without partitions.
        slots: every partition whose situation is known, by `key_of`.
        by_broker: by broker the partitions that name it, and maybe some that no longer do.
        leaderless: those without leader.
    """

    def __init__(self, state: State, rules: RuleSet) -> None:
        self.base, self._rules = state, rules
        self.slots: dict[bytes, PartitionSlot] = {}
        self.by_broker: dict[int, dict[bytes, None]] = {}
        self.leaderless: set[bytes] = set()
        self.stale_keys: set[bytes] = set()
        self._topics: Mapping[str, Topic] = {}
        self._places: dict[bytes, tuple[str, int]] = {}
        self._shapes: dict[tuple[object, ...], Shape] = {}
        self._names: dict[ShapeNames, ShapeNames] = {}
        self._forms: dict[Form, Shape] = {}
        self._situations: dict[tuple[Shape, ShapeNames], Situation] = {}
        self._plain: dict[int, tuple[Registration, Registration | None]] = {}
        self._incomplete = False
        self.load(state)

    @property
    def incomplete(self) -> bool:
        """Whether some partition has no situation, so that events that visit many partitions are not memoised."""
        return self._incomplete

    @property
    def elr_enabled(self) -> bool:
        """Whether ELR is on, so that the order in which a hash set lists ids matters."""
        return self.base.controller.features.elr_enabled

    def place(self, key: bytes) -> tuple[str, int]:
        """Topic id and index of a partition."""
        return self._places[key]

    def topic(self, key: bytes) -> str:
        """Name of a partition's topic."""
        return self._topics[self._places[key][0]].name

    def is_indexed_apart(self, key: bytes) -> bool:
        """Whether the index of ELR members differs from the ELRs of the partition's topic."""
        differing = self.base.controller.elr_index.differing
        return bool(differing) and key in self._places and self._places[key][0] in {topic for _, topic in differing}

    def situation(self, p: Partition, context: Context, registrations: Registrations) -> Situation:
        """The one situation with these values; brokers that the partition does not name are left out."""
        registered = {broker: registrations.get(broker) for broker in brokers_of(p)}
        names_found = names_of(p, registered.items(), None, self.elr_enabled)
        names = self._names.setdefault(names_found, names_found)
        to_shape = names.to_shape
        known = (to_shape.form_of_registration(registered[broker]) for broker in registered)
        form = (to_shape.broker_ids(registered), to_shape.form_of_partition(p), context, *known)
        shape = self._forms.get(form)
        if shape is None:
            of_names = to_shape.partition(without_epochs(p)), context, to_shape.registrations(registered)
            shape = self._forms[form] = self.shape(*of_names)
        return self.situation_of(shape, names)

    def shape(self, p: Partition, context: Context, registrations: Registrations) -> Shape:
        """The one shape of these values, of a partition without its epochs."""
        identity = (p, context, tuple(registrations.items()))
        shape = self._shapes.get(identity)
        if shape is None:
            shape = self._shapes[identity] = Shape(p, context, registrations)
        return shape

    def situation_of(self, shape: Shape, names: ShapeNames) -> Situation:
        """The one situation of a shape with these names."""
        situation = self._situations.get((shape, names))
        if situation is None:
            situation = self._situations[shape, names] = Situation(shape, names)
        return situation

    def state(self) -> State:
        """The controller's whole state."""
        partitions: dict[str, dict[int, Partition]] = {}
        for key in self.stale_keys:
            topic_id, index = self._places[key]
            situation, leader_epoch, partition_epoch = self.slots[key]
            partition = evolve(situation.partition, leader_epoch=leader_epoch, partition_epoch=partition_epoch)
            partitions.setdefault(topic_id, {})[index] = partition
        self.stale_keys.clear()
        self._topics = with_partitions(self._topics, partitions)
        image = evolve(self.base.controller.image, topics=self._topics)
        return evolve(self.base, controller=evolve(self.base.controller, image=image))

    def load(self, state: State) -> None:
        """Take over a whole state; topics and brokers that are the same as before are not looked at."""
        before, after = self.base.controller, state.controller
        topics = after.image.topics
        general = _context_inputs(before) != _context_inputs(after)
        configured = _changed_keys(before.configs.topics, after.configs.topics)
        brokers = _changed_keys(before.image.registrations, after.image.registrations)
        replaced = {
            topic_id
            for topic_id in self._topics
            if topic_id not in topics or topics[topic_id] is not self._topics[topic_id]
        }
        added = {
            topic_id for topic_id, topic in topics.items() if topic_id not in self._topics or topic.name in configured
        }
        affected = {
            self._places[key][0] for broker in brokers for key in self.by_broker.get(broker, ()) if key in self._places
        }
        for topic_id in replaced - topics.keys():
            self._drop(key_of(topic_id, index) for index in self._topics[topic_id].partitions)
        reloaded = topics if general or self._incomplete else (replaced | added | affected) & topics.keys()
        self._topics, self.base = topics, _without_partitions(state)
        registrations = {b: self._plain_registration(b, r) for b, r in after.image.registrations.items()}
        incomplete = [self._load_topic(after, topic_id, registrations) for topic_id in reloaded]
        self._incomplete = any(incomplete)

    def _plain_registration(self, broker: int, registration: Registration) -> Registration | None:
        """As `plain_registration`; made once as long as the registration is the same."""
        known, plain = self._plain.get(broker, (None, None))
        if known is not registration:
            plain = plain_registration(registration)
            self._plain[broker] = registration, plain
        return plain

    def _load_topic(self, controller: Controller, topic_id: str, registrations: Registrations) -> bool:
        """Take over one topic; whether some partition of it has no situation."""
        incomplete = False
        for index, p in controller.image.topics[topic_id].partitions.items():
            key = key_of(topic_id, index)
            try:
                context = context_of(controller, topic_id, index, self._rules)
            except Resignation:
                context = None
            self._places[key] = (topic_id, index)
            if context is None or has_foreign_min_isr(p, context):
                self._drop([key], keep_place=True)
                incomplete = True
            else:
                at = self.situation(p, context, registrations)
                self.put(key, (at, int(p.leader_epoch), int(p.partition_epoch)))
            self.stale_keys.discard(key)
        return incomplete

    def put(self, key: bytes, slot: PartitionSlot) -> None:
        """Set a partition, with what is kept by broker and by leader."""
        at, before = slot[0], self.slots.get(key)
        self.slots[key] = slot
        if before is None or before[0].names is not at.names:
            for broker in at.brokers():
                self.by_broker.setdefault(broker, {})[key] = None
        (self.leaderless.add if at.leaderless else self.leaderless.discard)(key)

    def step(self, steps: Mapping[bytes, PartitionStep]) -> None:
        """Apply the steps of one event to its partitions; most get neither other brokers nor another leader."""
        slots = self.slots
        for key, step in steps.items():
            before, leader_epoch, partition_epoch = slots[key]
            after = step.after
            assert after is not None
            slot = (after, leader_epoch + step.leader_epoch, partition_epoch + step.partition_epoch)
            if step.flips or after.names is not before.names:
                self.put(key, slot)
            else:
                slots[key] = slot

    def _drop(self, keys: Iterable[bytes], keep_place: bool = False) -> None:
        for key in keys:
            self.slots.pop(key, None)
            self.leaderless.discard(key)
            self.stale_keys.discard(key)
            for keys_of_broker in self.by_broker.values():
                keys_of_broker.pop(key, None)
            if not keep_place:
                self._places.pop(key, None)


def with_partitions(topics: Mapping[str, Topic], changed: Mapping[str, Mapping[int, Partition]]) -> Mapping[str, Topic]:
    """The topics with other partitions, by topic id and index; what has none is the very same."""
    return topics if not changed else {
        topic_id: topic.with_partitions(changed[topic_id]) if topic_id in changed else topic
        for topic_id, topic in topics.items()
    }  # fmt: skip


def _changed_keys(before: Mapping[K, object], after: Mapping[K, object]) -> set[K]:
    """The keys whose values differ; those that are the very same are not compared."""
    if before is after:
        return set()
    pairs = ((key, before.get(key), after.get(key)) for key in before.keys() | after.keys())
    return {key for key, old, new in pairs if old is not new and old != new}


def _context_inputs(controller: Controller) -> tuple[object, ...]:
    """What the contexts of all topics depend on."""
    return controller.configs.cluster, controller.configs.nodes, controller.features, controller.settings


def _without_partitions(state: State) -> State:
    """The state without partitions; its topics have their names."""
    image = state.controller.image
    topics = {topic_id: Topic(topic.name) for topic_id, topic in image.topics.items()}
    return evolve(state, controller=evolve(state.controller, image=evolve(image, topics=topics)))


CHANGE = "PARTITION_CHANGE_RECORD"  # the kind of record that most of a log consists of

_IDENTITY = ("partitionId", "topicId")


def compact(batch: Batch) -> CompactBatch | Batch:
    """The batch without what explanations do not depend on; the batch itself where it is of another shape."""
    if batch.control or not batch.entries:
        return batch
    keys: list[bytes | None] = []
    bodies: list[Hashable] = []
    other: LogEntry | None = None
    for entry in batch.entries:
        key, body = _key_and_body(entry) if entry.type == CHANGE else (None, entry.type if is_unread(entry) else None)
        if key is None and body is None:
            if other is not None or entry.offset not in (batch.base_offset, batch.last_offset):
                return batch
            other = entry
        keys.append(key)
        bodies.append(body)
    if len(keys) != batch.last_offset - batch.base_offset + 1:
        return batch
    return CompactBatch(
        batch.base_offset, batch.last_offset, batch.epoch, batch.time, keys, bodies, other, batch.place, None,
        lambda: batch, lambda place: batch.entries[place],
    )  # fmt: skip


def _key_and_body(entry: LogEntry) -> tuple[bytes | None, Hashable]:
    data = entry.data or {}
    topic, index = data.get("topicId"), data.get("partitionId")
    if not isinstance(topic, str) or type(index) is not int or not -(1 << 31) <= index < 1 << 31:
        return None, None
    rest = tuple((name, _as_hashable(value)) for name, value in sorted(data.items()) if name not in _IDENTITY)
    return key_of(topic, index), (entry.version, rest)


def _as_hashable(value: Any) -> Hashable:
    """Lists as tuples; numbers keep apart what Python takes for equal, as True and 1."""
    if isinstance(value, list):
        return tuple(_as_hashable(item) for item in value)
    return type(value).__name__, repr(value)


UNREAD_EVENT = EventName("not read by replica logic", "")  # the event of a record that replica logic does not read
SlotUpdate = tuple[bytes, PartitionSlot]  # the key of a partition, and its slot after a record


@define(eq=False)
class MemoisedBatch:
    """The replay of one batch whose explanation came from the memo."""

    batch: CompactBatch  # the batch
    count: int  # how many shortest explanations there are
    # of each record its step, None for one that is not read; of a broker event the event
    steps: list[PartitionStep | None] | EventName
    # of each record the partition that it changes and its state after it, None of others
    updates: list[SlotUpdate | None]
    situations: list[Situation | None]  # of each record the situation of that partition before it
    rules: RuleSet  # the rule set
    before: Controller  # the controller before the batch, without partitions
    _ledger: Ledger
    violations: ClassVar[tuple[LogViolation, ...]] = ()  # none; a batch that has some is explained as a whole

    def events(self) -> list[EventName]:
        """The events of the first explanation, with TOPIC where a topic is named."""
        if isinstance(self.steps, EventName):
            return [self.steps]
        return [UNREAD_EVENT if step is None or step.event is None else step.event for step in self.steps]

    def names(self) -> list[str]:
        """The events in words."""
        events = self.events()
        if isinstance(self.steps, EventName):
            return [events[0].name]
        keys = (None if update is None else update[0] for update in self.updates)
        pairs = zip(events, keys, strict=True)
        return [event.name if key is None else event_text(event, self.partition(key)) for event, key in pairs]

    @property
    def controller(self) -> Controller:
        """The controller after the batch, without partitions; valid until the next batch is replayed."""
        return self._ledger.base.controller

    def partition(self, key: bytes) -> tuple[str, int]:
        """Topic and index of a partition; valid until the next batch is replayed."""
        return self._ledger.topic(key), self._ledger.place(key)[1]

    def topic_id(self, key: bytes) -> str:
        """Id of a partition's topic."""
        return self._ledger.place(key)[0]

    def changes(self) -> Iterator[tuple[int, tuple[str, int], Partition, Partition]]:
        """Of each record that changes a partition its place, the partition, and what that is before and after it."""
        for place, (update, before) in enumerate(zip(self.updates, self.situations, strict=True)):
            if update is not None and before is not None:
                key, after = update
                yield place, self._ledger.place(key), before.partition, after[0].partition

    def partition_now(self, topic_id: str, index: int) -> Partition | None:
        """A partition after the batch; valid until the next batch is replayed."""
        slot = self._ledger.slots.get(key_of(topic_id, index))
        return None if slot is None else slot[0].partition


def event_text(event: EventName, place: tuple[str, int]) -> str:
    """An event with the topic and index that it is about."""
    return event.name.replace(f"{TOPIC}-0", f"{place[0]}-{place[1]}")
