"""A metadata log of a cluster whose brokers stop, die, return and lead, as the model's own controller writes it."""

from __future__ import annotations

import base64
import random
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from attrs import evolve, frozen

from kraftcheck.ci.logs.format import segments
from kraftcheck.ci.logs.format.segments import CHANGE_FRAME, REST_FROM
from kraftcheck.model.controller.brokers import (
    RegistrationContext,
    RegistrationRequest,
    fenced,
    leaving,
    register_broker,
    unfenced,
)
from kraftcheck.model.controller.elections import PREFERRED, elect_leaders
from kraftcheck.model.controller.partitions import UNCHECKED, AlterPartitionRequest, Proposal, alter_partition
from kraftcheck.model.controller.state import TOPIC as TOPIC_SCOPE
from kraftcheck.model.controller.state import ClearElrRecord, ConfigRecord, Controller, LogRecord
from kraftcheck.model.controller.topics import CreateTopicsRequest, NewTopic, create_topics
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
    BEGIN,
    ELR_FEATURE,
    END,
    METADATA_VERSION,
    FeatureRecord,
    ModelRecord,
    State,
    UnreadRecord,
    empty,
)
from kraftcheck.solvers.logs.memo.ledger import Ledger
from kraftcheck.solvers.logs.memo.situation import EPOCH, TOPIC, Situation, partition_in, plain_registration

LEVELS = {METADATA_VERSION: 27, ELR_FEATURE: 1}  # Kafka 4.1 with ELR

RULES = "kafka-4.1"
REPLICAS = 3
MAX_CHANGES = 6  # at most so many changes of ISRs are in one batch
MOST_VARIED = 4000  # of at most so many partitions, half, ISRs vary between two restarts
_FORM = evolve(CODE_FORM, names=False)  # directories as bytes, the reserved ones too

Write = Callable[[Controller], Iterable[ModelRecord]]


@frozen
class SyntheticSize:
    """How large a cluster is, how long its log, and how many brokers are down at its end."""

    brokers: int = 6
    topics: int = 40
    partitions: int = 25
    records: int = 1_000_000
    seed: int = 0
    down: int = 0


@frozen
class _EventEffect:
    """The effect of an event in a situation: the change's bytes but for index and topic, and the situation behind."""

    body: bytes | None
    after: Situation


class SyntheticLog:
    """The cluster and its log so far."""

    def __init__(self, size: SyntheticSize) -> None:
        self._size, self._random = size, random.Random(size.seed)
        self._rules: RuleSet = parse(RULES)
        self._offset = 0
        self._ledger = Ledger(empty(Controller()), self._rules)
        self._incarnation = self._uuid()

    def batches(self) -> Iterator[bytes]:
        """The log, batch by batch, until it has the records."""
        yield from self._setup()
        while self._offset < self._size.records:
            broker = self._random.randrange(self._size.brokers)
            yield from self._restart(broker, clean=self._random.random() < 0.7)
            yield from self._vary_isrs(min(len(self._ledger.slots), MOST_VARIED) // 2)
        for broker in range(self._size.down):
            yield self._event(broker, "fence", lambda c, broker=broker: fenced(c, broker, self._rules))  # type: ignore[misc]

    def _setup(self) -> Iterator[bytes]:
        """Features, brokers and topics, explained as a whole."""
        yield self._whole_batch([BEGIN, *(FeatureRecord(name, level) for name, level in LEVELS.items()), END])
        for broker in range(self._size.brokers):
            yield self._whole_batch(self._registration(broker, True)(self._state().controller))
            yield self._whole_batch(unfenced(self._state().controller, broker, self._rules))
        for number in range(self._size.topics):
            yield self._whole_batch(self._topic(f"topic-{number}"))

    def _topic(self, name: str) -> list[ModelRecord]:
        brokers = range(self._size.brokers)
        lists = tuple((index, tuple(self._random.sample(brokers, REPLICAS))) for index in range(self._size.partitions))
        topic = NewTopic(name, assignments=lists, config={"min.insync.replicas": "2"})
        topic_id = self._uuid()
        records = create_topics(self._state().controller, CreateTopicsRequest((topic,)), self._rules).records
        return [evolve(r, topic_id=topic_id) if isinstance(r, TopicRecord | PartitionRecord) else r for r in records]

    def _restart(self, broker: int, clean: bool) -> Iterator[bytes]:
        """A broker stops, returns, catches up, and leads what it is the first replica of."""
        rules, ledger = self._rules, self._ledger
        if clean:
            yield self._event(broker, "leave", lambda c: leaving(c, broker, rules))
        yield self._event(broker, "fence", lambda c: fenced(c, broker, rules))
        self._incarnation = self._uuid()
        yield self._event(broker, f"register {clean}", self._registration(broker, clean))
        yield self._event(broker, "unfence", lambda c: unfenced(c, broker, rules))
        lagging = [key for key in ledger.by_broker[broker] if not ledger.slots[key][0].partition.isr.has(broker)]
        yield from self._alter(lagging, lambda p: (*p.isr, broker))
        hosted = ledger.by_broker[broker]
        preferred = [key for key in hosted if ledger.slots[key][0].partition.replicas.first() == broker]
        to_elect = [key for key in preferred if ledger.slots[key][0].partition.leader != broker]
        yield from self._change_batches(
            to_elect, "prefer", lambda at: lambda c: elect_leaders(c, PREFERRED, ((TOPIC, 0),), rules).records
        )

    def _vary_isrs(self, count: int) -> Iterator[bytes]:
        """Followers fall behind and catch up."""
        keys = self._random.sample(sorted(self._ledger.slots), count)
        complete = [key for key in keys if self._ledger.slots[key][0].partition.isr.size() == REPLICAS]
        yield from self._alter(complete, lambda p: tuple(b for b in p.isr if b != _last_follower(p)))
        shrunk = [key for key in complete if self._ledger.slots[key][0].partition.isr.size() < REPLICAS]
        yield from self._alter(shrunk, lambda p: (*p.isr, *(b for b in p.replicas if not p.isr.has(b))))

    def _alter(self, keys: list[bytes], isr_after: Callable[[Any], tuple[int, ...]]) -> Iterator[bytes]:
        rules = self._rules

        def write(at: Situation) -> Write:
            p = at.partition
            members = tuple((broker, UNCHECKED) for broker in isr_after(p))
            request = AlterPartitionRequest(int(p.leader), EPOCH, (Proposal(TOPIC, 0, EPOCH, EPOCH, members),))
            return lambda c: alter_partition(c, request, rules).records

        with_leader = [key for key in keys if not self._ledger.slots[key][0].leaderless]
        yield from self._change_batches(with_leader, None, write, lambda at: ("alter", isr_after(at.partition)))

    def _change_batches(
        self, keys: list[bytes], token: Any, write: Callable[[Situation], Write],
        tokens: Callable[[Situation], Any] | None = None,
    ) -> Iterator[bytes]:  # fmt: skip
        """Changes of single partitions, some in a batch."""
        values: list[bytes] = []
        size = self._random.randint(1, MAX_CHANGES)
        for key in keys:
            at = self._ledger.slots[key][0]
            effect = self._effect(at, ("effect", token if tokens is None else tokens(at)), write(at), None)
            value = self._advance(key, effect)
            values += [] if value is None else [value]
            if len(values) >= size:
                yield self._batch(values)
                values, size = [], self._random.randint(1, MAX_CHANGES)
        if values:
            yield self._batch(values)

    def _event(self, broker: int, name: str, write: Write) -> bytes:
        """An event of a broker, with the changes of all the partitions that it visits."""
        ledger = self._ledger
        base = self._state()
        (record,) = write(base.controller)
        before = plain_registration(base.controller.registration(broker))
        visited = {**ledger.by_broker.get(broker, {}), **dict.fromkeys(ledger.leaderless)}
        token = ("effect", name, broker, before)
        effects = [(key, self._effect(ledger.slots[key][0], token, write, broker)) for key in visited]
        values = [value for key, effect in effects if (value := self._advance(key, effect)) is not None]
        own_record = _record_bytes(record)
        first = name in ("leave", "unfence")
        if isinstance(record, RegisterBrokerRecord):
            own_record = _record_bytes(evolve(record, broker_epoch=self._offset))
            record = evolve(record, broker_epoch=self._offset)
        ledger.base = base.after(record, self._rules)
        return self._batch([own_record, *values] if first else [*values, own_record])

    def _effect(self, at: Situation, token: Any, write: Write, broker: int | None) -> _EventEffect:
        memo: Any = at.events.setdefault(token, {})
        if None not in memo:
            base = self._ledger.base.controller
            others = {} if broker is None else {broker: plain_registration(base.registration(broker))}
            before = at.state(self._ledger.base, others)
            after, body = before, None
            for record in write(before.controller):
                after = after.after(record, self._rules)
                if isinstance(record, PartitionChangeRecord):
                    body = _body(record)
            brokers = (*at.registrations, *others)
            registrations = {b: plain_registration(after.controller.registration(b)) for b in brokers}
            memo[None] = _EventEffect(body, self._ledger.situation(partition_in(after), at.context, registrations))
        result: _EventEffect = memo[None]
        return result

    def _advance(self, key: bytes, effect: _EventEffect) -> bytes | None:
        self._ledger.put(key, (effect.after, 0, 0))
        return None if effect.body is None else CHANGE_FRAME + effect.body[:1] + key + effect.body[1:]

    def _registration(self, broker: int, clean: bool) -> Write:
        registration = self._ledger.base.controller.registration(broker)
        dirs = ((1 << 100) + broker,)  # one: where a replica is, is known at once, so that its broker may be unfenced
        request = RegistrationRequest(
            None, broker, self._incarnation, listeners=(Listener("PLAINTEXT", f"host-{broker}", 9092),),
            features=(Feature(METADATA_VERSION, 1, 27), Feature(ELR_FEATURE, 0, 1)), dirs=dirs,
        )  # fmt: skip

        def write(c: Controller) -> tuple[LogRecord, ...]:
            current = c.registration(broker)
            epoch = None if registration is None or current is None or not clean else current.epoch
            expired = evolve(c, soft=evolve(c.soft, now=c.soft.now + c.soft.sessions.timeout + 1))
            return register_broker(expired, evolve(request, previous_epoch=epoch), RegistrationContext(LEVELS),
                                   self._rules).records  # fmt: skip

        return write

    def _uuid(self) -> str:
        return base64.urlsafe_b64encode(self._random.randbytes(16)).decode().rstrip("=")

    def _state(self) -> State:
        return self._ledger.base.at(self._offset)

    def _whole_batch(self, records: Iterable[ModelRecord]) -> bytes:
        written = list(records)
        state = self._ledger.state().at(self._offset)
        for record in written:
            state = state.after(record, self._rules)
        features_changed = state.controller.features != self._ledger.base.controller.features
        self._ledger = Ledger(state, self._rules) if features_changed else self._ledger
        self._ledger.load(state)
        return self._batch([_record_bytes(record) for record in written])

    def _batch(self, values: list[bytes]) -> bytes:
        data = segments.batch_bytes(self._offset, 1, values)
        self._offset += len(values)
        return data


def _last_follower(p: Partition) -> int:
    return next(b for b in reversed(ids(p.isr)) if b != p.leader)


def _record_bytes(record: ModelRecord) -> bytes:
    if isinstance(record, UnreadRecord):
        return segments.record_bytes(record.type, 0, {})
    if isinstance(record, FeatureRecord):
        return segments.record_bytes("FEATURE_LEVEL_RECORD", 0, {"name": record.name, "featureLevel": record.level})
    if isinstance(record, ConfigRecord):
        assert record.scope == TOPIC_SCOPE
        data = {"resourceType": 2, "resourceName": record.name, "name": record.key, "value": record.value}
        return segments.record_bytes("CONFIG_RECORD", 0, data)
    if isinstance(record, ClearElrRecord):
        return segments.record_bytes("CLEAR_ELR_RECORD", 0, {"topicName": record.topic})
    encoded = encode(record, form=_FORM)  # type: ignore[arg-type]
    return segments.record_bytes(encoded["type"], encoded["version"], encoded["data"])


def _body(record: PartitionChangeRecord) -> bytes:
    value = _record_bytes(evolve(record, topic_id="A" * 22))
    return value[2:3] + value[REST_FROM:]
