"""Every partition of a log as a situation and two epochs, from and to the controller's whole state."""

from __future__ import annotations

import base64
import binascii
import struct
from collections.abc import Iterable, Mapping
from typing import TypeVar

from attrs import evolve

from kraftcheck.model.controller.errors import Resignation
from kraftcheck.model.controller.state import Controller
from kraftcheck.model.partition.registration import Partition
from kraftcheck.model.records.replay import Topic
from kraftcheck.model.rules.ruleset import RuleSet
from kraftcheck.solvers.logs.explain.state import State
from kraftcheck.solvers.logs.memo.renaming import Known, Names, names_of
from kraftcheck.solvers.logs.memo.situation import (
    Context,
    Shape,
    Situation,
    Step,
    context_of,
    is_odd,
    named,
    plain_registration,
    without_epochs,
)

K = TypeVar("K")

Slot = tuple[Situation, int, int]
"""A partition: its situation, leader epoch and partition epoch."""

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

    Args:
        state: the whole state.
        rules: the rule set.

    Attributes:
        base: the state without partitions.
        slots: every partition whose situation is known, by `key_of`.
        hosted: by broker the partitions that name it, and maybe some that no longer do.
        leaderless: those without leader.
    """

    def __init__(self, state: State, rules: RuleSet) -> None:
        self.base, self._rules = state, rules
        self.slots: dict[bytes, Slot] = {}
        self.hosted: dict[int, dict[bytes, None]] = {}
        self.leaderless: set[bytes] = set()
        self.changed: set[bytes] = set()
        self._topics: Mapping[str, Topic] = {}
        self._places: dict[bytes, tuple[str, int]] = {}
        self._shapes: dict[tuple[object, ...], Shape] = {}
        self._names: dict[Names, Names] = {}
        self._situations: dict[tuple[Shape, Names], Situation] = {}
        self._odd = False
        self.load(state)

    @property
    def odd(self) -> bool:
        """Whether some partition has no situation, so that nothing can be said of events that visit many."""
        return self._odd

    def place(self, key: bytes) -> tuple[str, int]:
        """Topic id and index of a partition."""
        return self._places[key]

    def topic(self, key: bytes) -> str:
        """Name of a partition's topic."""
        return self._topics[self._places[key][0]].name

    def rank(self, key: bytes) -> tuple[int, int]:
        """Where the partition stands among all, as the controller goes through them."""
        topic_id, index = self._places[key]
        return list(self._topics).index(topic_id), index

    def situation(self, p: Partition, context: Context, known: Known) -> Situation:
        """The one situation with these values; brokers that the partition does not name are left out."""
        own = {broker: known.get(broker) for broker in named(p)}
        found = names_of(p, own.items())
        names = self._names.setdefault(found, found)
        to = names.to
        return self.named(self.shape(to.partition(without_epochs(p)), context, to.registrations(own)), names)

    def shape(self, p: Partition, context: Context, known: Known) -> Shape:
        """The one shape of these values, of a partition without its epochs."""
        identity = (p, context, tuple(known.items()))
        found = self._shapes.get(identity)
        if found is None:
            found = self._shapes[identity] = Shape(p, context, known)
        return found

    def named(self, shape: Shape, names: Names) -> Situation:
        """The one situation of a shape with these names."""
        found = self._situations.get((shape, names))
        if found is None:
            found = self._situations[shape, names] = Situation(shape, names)
        return found

    def state(self) -> State:
        """The controller's whole state."""
        touched: dict[str, dict[int, Partition]] = {}
        for key in self.changed:
            topic_id, index = self._places[key]
            at, leader_epoch, partition_epoch = self.slots[key]
            moved = evolve(at.partition, leader_epoch=leader_epoch, partition_epoch=partition_epoch)
            touched.setdefault(topic_id, {})[index] = moved
        self.changed.clear()
        self._topics = with_partitions(self._topics, touched)
        image = evolve(self.base.controller.image, topics=self._topics)
        return evolve(self.base, controller=evolve(self.base.controller, image=image))

    def load(self, state: State) -> None:
        """Take over a whole state; topics and brokers that are the same as before are not looked at."""
        before, after = self.base.controller, state.controller
        topics = after.image.topics
        general = _general(before) != _general(after)
        configured = _differing(before.configs.topics, after.configs.topics)
        brokers = _differing(before.image.registrations, after.image.registrations)
        moved = {known for known in self._topics if known not in topics or topics[known] is not self._topics[known]}
        new = {known for known, topic in topics.items() if known not in self._topics or topic.name in configured}
        hit = {self._places[key][0] for broker in brokers for key in self.hosted.get(broker, ()) if key in self._places}
        for topic_id in moved - topics.keys():
            self._drop(key_of(topic_id, index) for index in self._topics[topic_id].partitions)
        chosen = topics if general or self._odd else (moved | new | hit) & topics.keys()
        self._topics, self.base = topics, _bare(state)
        registrations = {b: plain_registration(r) for b, r in after.image.registrations.items()}
        odd = [self._load_topic(after, topic_id, registrations) for topic_id in chosen]
        self._odd = any(odd)

    def _load_topic(self, controller: Controller, topic_id: str, known: Known) -> bool:
        """Take over one topic; whether some partition of it has no situation."""
        odd = False
        for index, p in controller.image.topics[topic_id].partitions.items():
            key = key_of(topic_id, index)
            try:
                context = context_of(controller, topic_id, index, self._rules)
            except Resignation:
                context = None
            self._places[key] = (topic_id, index)
            if context is None or is_odd(p, context):
                self._drop([key], keep_place=True)
                odd = True
            else:
                at = self.situation(p, context, known)
                self.put(key, (at, int(p.leader_epoch), int(p.partition_epoch)))
            self.changed.discard(key)
        return odd

    def put(self, key: bytes, slot: Slot) -> None:
        """Set a partition, with what is kept by broker and by leader."""
        at, before = slot[0], self.slots.get(key)
        self.slots[key] = slot
        if before is None or before[0].names is not at.names:
            for broker in at.brokers():
                self.hosted.setdefault(broker, {})[key] = None
        (self.leaderless.add if at.leaderless else self.leaderless.discard)(key)

    def step(self, steps: Mapping[bytes, Step]) -> None:
        """Move partitions on by what one event comes to in each; most get neither other brokers nor another leader."""
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
            self.changed.discard(key)
            for hosted in self.hosted.values():
                hosted.pop(key, None)
            if not keep_place:
                self._places.pop(key, None)


def with_partitions(topics: Mapping[str, Topic], changed: Mapping[str, Mapping[int, Partition]]) -> Mapping[str, Topic]:
    """The topics with other partitions, by topic id and index; what has none is the very same."""
    return topics if not changed else {
        known: evolve(topic, partitions={**topic.partitions, **changed[known]}) if known in changed else topic
        for known, topic in topics.items()
    }  # fmt: skip


def _differing(before: Mapping[K, object], after: Mapping[K, object]) -> set[K]:
    """The keys whose values differ; those that are the very same are not compared."""
    if before is after:
        return set()
    pairs = ((key, before.get(key), after.get(key)) for key in before.keys() | after.keys())
    return {key for key, old, new in pairs if old is not new and old != new}


def _general(controller: Controller) -> tuple[object, ...]:
    """What the contexts of all topics depend on."""
    return controller.configs.cluster, controller.configs.nodes, controller.features, controller.settings


def _bare(state: State) -> State:
    """The state without partitions; its topics have their names."""
    image = state.controller.image
    topics = {known: Topic(topic.name) for known, topic in image.topics.items()}
    return evolve(state, controller=evolve(state.controller, image=evolve(image, topics=topics)))
