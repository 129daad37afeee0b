"""A long metadata log as the model's own controller writes it: brokers restart, are killed and return, ISRs breathe.

What an event writes for a partition is asked of the model once in each
situation, as the replay does; everything else is bookkeeping. A test replays
a short one with the code that looks nothing up.
"""

from __future__ import annotations

import base64
import random
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from attrs import evolve, frozen

from kraftcheck.ci.logs.format import encode as encoding
from kraftcheck.ci.logs.format.bodies import CHANGE_FRAME, REST_FROM
from kraftcheck.model.controller.alter_partition import UNCHECKED, AlterPartitionRequest, Proposal, alter_partition
from kraftcheck.model.controller.elect_leaders import PREFERRED, elect_leaders
from kraftcheck.model.controller.lifecycle import fenced, leaving, unfenced
from kraftcheck.model.controller.records import TOPIC as TOPIC_SCOPE
from kraftcheck.model.controller.records import ClearElrRecord, ConfigRecord, LogRecord
from kraftcheck.model.controller.registration import RegistrationContext, RegistrationRequest, register_broker
from kraftcheck.model.controller.state import Controller
from kraftcheck.model.controller.topics.topics import CreateTopicsRequest, NewTopic, create_topics
from kraftcheck.model.partition.registration import Partition
from kraftcheck.model.records.codecs import CODE_FORM, encode
from kraftcheck.model.records.records import (
    Feature,
    Listener,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    TopicRecord,
    ids,
)
from kraftcheck.model.rules.ruleset import RuleSet, parse
from kraftcheck.solvers.logs.explain.state import (
    ELR_FEATURE,
    METADATA_VERSION,
    FeatureRecord,
    ModelRecord,
    State,
    empty,
)
from kraftcheck.solvers.logs.memo.ledger import Ledger
from kraftcheck.solvers.logs.memo.situation import EPOCH, TOPIC, Situation, partition_in, plain_registration

LEVELS = {METADATA_VERSION: 27, ELR_FEATURE: 1}
"""Kafka 4.1 with ELR."""

RULES = "kafka-4.1"
REPLICAS = 3
TOGETHER = 6
"""At most so many changes of ISRs are in one batch."""

_FORM = evolve(CODE_FORM, names=False)
"""Directories as bytes, the reserved ones too."""

Make = Callable[[Controller], Iterable[ModelRecord]]


@frozen
class Size:
    """How large a cluster is, and how long its log."""

    brokers: int = 6
    topics: int = 40
    partitions: int = 25
    records: int = 1_000_000
    seed: int = 0


@frozen
class _Made:
    """What an event comes to in a situation: the change's bytes but for index and topic, and the situation behind."""

    body: bytes | None
    after: Situation


class Synthetic:
    """The cluster and its log so far."""

    def __init__(self, size: Size) -> None:
        self._size, self._random = size, random.Random(size.seed)
        self._rules: RuleSet = parse(RULES)
        self._offset = 0
        self._ledger = Ledger(empty(Controller()), self._rules)
        self._incarnation = self._uuid()

    def batches(self) -> Iterator[bytes]:
        """The log, batch by batch, until it has the records."""
        yield from self._set_up()
        while self._offset < self._size.records:
            broker = self._random.randrange(self._size.brokers)
            yield from self._restart(broker, clean=self._random.random() < 0.7)
            yield from self._breathe(len(self._ledger.slots) // 2)

    def _set_up(self) -> Iterator[bytes]:
        """Features, brokers and topics, explained as a whole."""
        yield self._whole([FeatureRecord(name, level) for name, level in LEVELS.items()])
        for broker in range(self._size.brokers):
            yield self._whole(self._registration(broker, True)(self._at().controller))
            yield self._whole(unfenced(self._at().controller, broker, self._rules))
        for number in range(self._size.topics):
            yield self._whole(self._topic(f"topic-{number}"))

    def _topic(self, name: str) -> list[ModelRecord]:
        brokers = range(self._size.brokers)
        lists = tuple(
            (index, tuple(self._random.sample(brokers, REPLICAS))) for index in range(self._size.partitions)
        )
        wanted = NewTopic(name, assignments=lists, config={"min.insync.replicas": "2"})
        topic_id = self._uuid()
        written = create_topics(self._at().controller, CreateTopicsRequest((wanted,)), self._rules).records
        return [evolve(r, topic_id=topic_id) if isinstance(r, TopicRecord | PartitionRecord) else r for r in written]

    def _restart(self, broker: int, clean: bool) -> Iterator[bytes]:
        """A broker stops, returns, catches up, and leads what it is the first replica of."""
        rules, ledger = self._rules, self._ledger
        if clean:
            yield self._event(broker, "leave", lambda c: leaving(c, broker, rules))
        yield self._event(broker, "fence", lambda c: fenced(c, broker, rules))
        self._incarnation = self._uuid()
        yield self._event(broker, f"register {clean}", self._registration(broker, clean))
        yield self._event(broker, "unfence", lambda c: unfenced(c, broker, rules))
        behind = [key for key in ledger.by_broker[broker] if not ledger.slots[key][0].partition.isr.has(broker)]
        yield from self._alter(behind, lambda p: (*p.isr, broker))
        late = [key for key in ledger.by_broker[broker] if ledger.slots[key][0].partition.replicas.first() == broker]
        led = [key for key in late if ledger.slots[key][0].partition.leader != broker]
        yield from self._singles(led, "prefer", lambda at: lambda c: _elected(c, rules))

    def _breathe(self, count: int) -> Iterator[bytes]:
        """Followers fall behind and catch up."""
        keys = self._random.sample(sorted(self._ledger.slots), count)
        full = [key for key in keys if self._ledger.slots[key][0].partition.isr.size() == REPLICAS]
        yield from self._alter(full, lambda p: tuple(b for b in p.isr if b != _last_follower(p)))
        short = [key for key in full if self._ledger.slots[key][0].partition.isr.size() < REPLICAS]
        yield from self._alter(short, lambda p: (*p.isr, *(b for b in p.replicas if not p.isr.has(b))))

    def _alter(self, keys: list[bytes], wanted: Callable[[Any], tuple[int, ...]]) -> Iterator[bytes]:
        rules = self._rules

        def make(at: Situation) -> Make:
            p = at.partition
            members = tuple((broker, UNCHECKED) for broker in wanted(p))
            request = AlterPartitionRequest(int(p.leader), EPOCH, (Proposal(TOPIC, 0, EPOCH, EPOCH, members),))
            return lambda c: alter_partition(c, request, rules).records

        led = [key for key in keys if not self._ledger.slots[key][0].leaderless]
        yield from self._singles(led, None, make, lambda at: ("alter", wanted(at.partition)))

    def _singles(
        self, keys: list[bytes], token: Any, make: Callable[[Situation], Make],
        tokens: Callable[[Situation], Any] | None = None,
    ) -> Iterator[bytes]:  # fmt: skip
        """Changes of single partitions, some in a batch."""
        values: list[bytes] = []
        size = self._random.randint(1, TOGETHER)
        for key in keys:
            at = self._ledger.slots[key][0]
            made = self._made(at, ("made", token if tokens is None else tokens(at)), make(at), None)
            value = self._move(key, made)
            values += [] if value is None else [value]
            if len(values) >= size:
                yield self._batch(values)
                values, size = [], self._random.randint(1, TOGETHER)
        if values:
            yield self._batch(values)

    def _event(self, broker: int, name: str, make: Make) -> bytes:
        """An event of a broker, with the changes of all the partitions that it visits."""
        ledger = self._ledger
        base = self._at()
        (record,) = make(base.controller)
        before = plain_registration(base.controller.registration(broker))
        visited = {**ledger.by_broker.get(broker, {}), **dict.fromkeys(ledger.leaderless)}
        token = ("made", name, broker, before)
        moved = [(key, self._made(ledger.slots[key][0], token, make, broker)) for key in visited]
        values = [value for key, made in moved if (value := self._move(key, made)) is not None]
        own = _encoded(record)
        first = name in ("leave", "unfence")
        if isinstance(record, RegisterBrokerRecord):
            own = _encoded(evolve(record, broker_epoch=self._offset))
            record = evolve(record, broker_epoch=self._offset)
        ledger.base = base.after(record, self._rules)
        return self._batch([own, *values] if first else [*values, own])

    def _made(self, at: Situation, token: Any, make: Make, broker: int | None) -> _Made:
        known: Any = at.events.setdefault(token, {})
        if None not in known:
            base = self._ledger.base.controller
            also = {} if broker is None else {broker: plain_registration(base.registration(broker))}
            before = at.state(self._ledger.base, also)
            after, body = before, None
            for record in make(before.controller):
                after = after.after(record, self._rules)
                if isinstance(record, PartitionChangeRecord):
                    body = _body(record)
            now = {b: plain_registration(after.controller.registration(b)) for b in (*at.registrations, *also)}
            known[None] = _Made(body, self._ledger.situation(partition_in(after), at.context, now))
        found: _Made = known[None]
        return found

    def _move(self, key: bytes, made: _Made) -> bytes | None:
        self._ledger.put(key, (made.after, 0, 0))
        return None if made.body is None else CHANGE_FRAME + made.body[:1] + key + made.body[1:]

    def _registration(self, broker: int, clean: bool) -> Make:
        known = self._ledger.base.controller.registration(broker)
        dirs = tuple((1 << 100) + 2 * broker + side for side in (0, 1))
        request = RegistrationRequest(
            None, broker, self._incarnation, (Listener("PLAINTEXT", f"host-{broker}", 9092),),
            (Feature(METADATA_VERSION, 1, 27), Feature(ELR_FEATURE, 0, 1)), None, dirs, False, None,
        )  # fmt: skip

        def make(c: Controller) -> tuple[LogRecord, ...]:
            own = c.registration(broker)
            epoch = None if known is None or own is None or not clean else own.epoch
            expired = evolve(c, soft=evolve(c.soft, now=c.soft.now + c.soft.sessions.timeout + 1))
            return register_broker(expired, evolve(request, previous_epoch=epoch), RegistrationContext(LEVELS),
                                   self._rules).records  # fmt: skip

        return make

    def _uuid(self) -> str:
        return base64.urlsafe_b64encode(self._random.randbytes(16)).decode().rstrip("=")

    def _at(self) -> State:
        return self._ledger.base.at(self._offset)

    def _whole(self, records: Iterable[ModelRecord]) -> bytes:
        """A batch that is taken in as a whole."""
        written = list(records)
        state = self._ledger.state().at(self._offset)
        for record in written:
            state = state.after(record, self._rules)
        changed = state.controller.features != self._ledger.base.controller.features
        self._ledger = Ledger(state, self._rules) if changed else self._ledger
        self._ledger.load(state)
        return self._batch([_encoded(record) for record in written])

    def _batch(self, values: list[bytes]) -> bytes:
        found = encoding.batch(self._offset, 1, values)
        self._offset += len(values)
        return found


def _elected(controller: Controller, rules: RuleSet) -> tuple[LogRecord, ...]:
    return elect_leaders(controller, PREFERRED, ((TOPIC, 0),), rules).records


def _last_follower(p: Partition) -> int:
    return next(b for b in reversed(ids(p.isr)) if b != p.leader)


def _encoded(record: ModelRecord) -> bytes:
    if isinstance(record, FeatureRecord):
        return encoding.record("FEATURE_LEVEL_RECORD", 0, {"name": record.name, "featureLevel": record.level})
    if isinstance(record, ConfigRecord):
        assert record.scope == TOPIC_SCOPE
        data = {"resourceType": 2, "resourceName": record.name, "name": record.key, "value": record.value}
        return encoding.record("CONFIG_RECORD", 0, data)
    if isinstance(record, ClearElrRecord):
        return encoding.record("CLEAR_ELR_RECORD", 0, {"topicName": record.topic})
    found = encode(record, form=_FORM)  # type: ignore[arg-type]
    return encoding.record(found["type"], found["version"], found["data"])


def _body(record: PartitionChangeRecord) -> bytes:
    value = _encoded(evolve(record, topic_id="A" * 22))
    return value[2:3] + value[REST_FROM:]
