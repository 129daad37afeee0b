"""The candidates for some records: controller events, and the records that the model says they write.

A candidate is made from the records themselves: an event's arguments show in what
it writes. The model decides the records; nothing here does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from attrs import evolve, frozen

from kraftcheck.model.controller.alter_configs import alter_config
from kraftcheck.model.controller.configs import MIN_ISR
from kraftcheck.model.controller.heartbeat import Wish
from kraftcheck.model.controller.heartbeat_event import HeartbeatRequest, heartbeat
from kraftcheck.model.controller.lifecycle import directories_failed, fenced, leaving, unfenced, unregister
from kraftcheck.model.controller.records import ClearElrRecord, ConfigRecord, LogRecord, RegisterControllerRecord
from kraftcheck.model.controller.registration import RegistrationContext, RegistrationRequest, register_broker
from kraftcheck.model.controller.state import Controller
from kraftcheck.model.controller.topics.growth import Growth, create_partitions
from kraftcheck.model.controller.topics.topics import CreateTopicsRequest, NewTopic, create_topics, delete_topics
from kraftcheck.model.records.records import (
    BrokerRegistrationChangeRecord,
    FenceBrokerRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    RemoveTopicRecord,
    TopicRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
)
from kraftcheck.model.rules.ruleset import RuleSet
from kraftcheck.solvers.logs.explain.guess import Candidate, RecordsOf, by_either_index, granted_records
from kraftcheck.solvers.logs.explain.partition_guesses import partition_candidates
from kraftcheck.solvers.logs.explain.state import FeatureRecord, ModelRecord, State, UnreadRecord

BrokerRecord = (
    BrokerRegistrationChangeRecord
    | FenceBrokerRecord
    | UnfenceBrokerRecord
    | RegisterBrokerRecord
    | UnregisterBrokerRecord
)

MAX_OFFSET = 1 << 62
"""A metadata offset that no log reaches: a broker that has applied everything."""


BEGIN, END = UnreadRecord("BEGIN_TRANSACTION_RECORD"), UnreadRecord("END_TRANSACTION_RECORD")
"""The records before and after those of one transaction."""


@frozen
class _BatchTail:
    """The records of a batch that are not yet explained, and the state before them."""

    controller: Controller
    levels: Mapping[str, int]
    records: Sequence[ModelRecord]
    rules: RuleSet

    def first(self) -> ModelRecord:
        return self.records[0]

    def run_length(self, kinds: type | tuple[type, ...], start: int = 0) -> int:
        """How many records from `start` on are of these kinds."""
        end = start
        while end < len(self.records) and isinstance(self.records[end], kinds):
            end += 1
        return end - start


def candidates(state: State, records: Sequence[ModelRecord], rules: RuleSet) -> Iterator[Candidate]:
    """Every event that may have written records that begin here.

    Args:
        state: the state before them.
        records: what is to be explained, to the end of the batch.
        rules: the rule set.
    """
    tail = _BatchTail(state.controller, state.levels, records, rules)
    first = tail.first()
    if first == BEGIN:
        yield _bootstrap(tail)
    elif isinstance(first, UnreadRecord | FeatureRecord):
        yield Candidate("not read by replica logic", lambda: (first,), 1)
    elif isinstance(first, PartitionChangeRecord | BrokerRecord):
        yield from _broker_candidates(tail)
        if isinstance(first, PartitionChangeRecord):
            yield from partition_candidates(state.controller, first, rules)
            yield from _shutdown_candidates(tail)
    else:
        yield from _request_candidates(tail)


def _bootstrap(tail: _BatchTail) -> Candidate:
    """The first records of a new log, in one transaction: features and configurations as formatted."""
    kinds = (FeatureRecord, ConfigRecord, UnreadRecord)
    end = next((n for n, r in enumerate(tail.records) if n and (r == END or not isinstance(r, kinds))), 0)
    complete = tail.records[end] == END
    return Candidate("bootstrap", lambda: tail.records[: end + 1] if complete else ())


def _broker_candidates(tail: _BatchTail) -> Iterator[Candidate]:
    """Events that write a broker's record, with the changes before or after it."""
    place = tail.run_length(PartitionChangeRecord)
    if place == len(tail.records):
        return
    record = tail.records[place]
    c, rules = tail.controller, tail.rules
    if isinstance(record, RegisterBrokerRecord):
        yield from _registration_candidates(tail, record, place + 1)
    elif isinstance(record, UnregisterBrokerRecord):
        broker = record.broker_id
        yield from by_either_index(
            c,
            broker,
            Candidate(("unregister broker ", broker), tuple, place + 1, "unregister", {"broker": broker}),
            lambda controller: unregister(controller, broker, rules).records,
        )
    elif isinstance(record, FenceBrokerRecord | UnfenceBrokerRecord | BrokerRegistrationChangeRecord):
        yield from _registration_change_candidates(tail, record, place)


def _registration_change_candidates(
    tail: _BatchTail, record: FenceBrokerRecord | UnfenceBrokerRecord | BrokerRegistrationChangeRecord, place: int
) -> Iterator[Candidate]:
    c, rules, broker = tail.controller, tail.rules, record.broker_id
    registration = c.registration(broker)
    if registration is None:
        return
    arguments = {"broker": broker}
    change = record if isinstance(record, BrokerRegistrationChangeRecord) else None
    fences = isinstance(record, FenceBrokerRecord) or (change is not None and change.fenced == 1)
    unfences = isinstance(record, UnfenceBrokerRecord) or (change is not None and change.fenced == -1)
    if fences:
        yield Candidate(("fence broker ", broker), lambda: fenced(c, broker, rules), place + 1, "fence", arguments)
    if unfences and place == 0:
        yield Candidate(("unfence broker ", broker), lambda: unfenced(c, broker, rules), None, "unfence", arguments)
    if change is not None and change.in_controlled_shutdown == 1 and place == 0:
        words = ("broker ", broker, " begins a controlled shutdown")
        yield Candidate(words, lambda: leaving(c, broker, rules), None, "controlled_shutdown", arguments)
    if change is not None and not (change.fenced or change.in_controlled_shutdown):
        failed = tuple(d for d in registration.dirs if d not in (change.log_dirs or ()))
        yield Candidate(
            (f"{len(failed)} directories of broker ", broker, " fail"),
            lambda: directories_failed(c, broker, failed, rules),
            place + 1,
            "directories_offline",
            {"broker": broker, "failed": failed},
        )
    yield from _heartbeat_candidates(tail, broker)


def _heartbeat_candidates(tail: _BatchTail, broker: int) -> Iterator[Candidate]:
    """One heartbeat that both changes a broker's state and reports failed directories."""
    changes = [r for r in tail.records if isinstance(r, BrokerRegistrationChangeRecord) and r.broker_id == broker]
    last = next((r for r in changes if not (r.fenced or r.in_controlled_shutdown)), None)
    registration = tail.controller.registration(broker)
    if last is None or len(changes) < 2 or registration is None:
        return
    failed = tuple(d for d in registration.dirs if d not in (last.log_dirs or ()))
    for fence, stop in ((False, False), (True, False), (False, True)):
        wish = Wish(fence, stop, MAX_OFFSET)
        description = f": fence {fence}, shut down {stop}, {len(failed)} directories failed"
        yield Candidate(
            ("heartbeat of broker ", broker, description),
            _heartbeat_records(tail, HeartbeatRequest(broker, registration.epoch, wish, failed)),
            None,
            "heartbeat",
            {"broker": broker, "failed": failed},
        )


def _heartbeat_records(tail: _BatchTail, request: HeartbeatRequest) -> Callable[[], tuple[LogRecord, ...]]:
    return lambda: heartbeat(tail.controller, request, tail.rules).records


def _registration_candidates(tail: _BatchTail, record: RegisterBrokerRecord, length: int) -> Iterator[Candidate]:
    """A registration; its epoch is the offset where its event began, and no session bars it: the log has none.

    Where the rules distinguish a clean stop from an unclean one, the broker may come back from either.
    """
    c, rules = tail.controller, tail.rules
    soft = evolve(c.soft, now=c.soft.now + c.soft.sessions.timeout + 1)
    expired = evolve(c, soft=soft, settings=evolve(c.settings, cluster_id=None))
    registration = c.registration(record.broker_id)
    if registration is not None and registration.incarnation == record.incarnation:
        stops: tuple[tuple[str, int | None], ...] = (("amends", None),)
    elif registration is None or rules.partition.every_restart_is_unclean:
        stops = (("registers", None),)
    else:
        stops = (("registers after an unclean stop", None), ("registers after a clean stop", registration.epoch))
    for how, epoch in stops:
        request = RegistrationRequest(
            None, record.broker_id, record.incarnation, record.listeners, record.features, record.rack, record.log_dirs,
            record.is_migrating_zk_broker, epoch,
        )  # fmt: skip
        yield from by_either_index(
            expired,
            record.broker_id,
            Candidate(
                ("broker ", record.broker_id, f" {how}"),
                tuple,
                length,
                "" if how == "amends" else "new_incarnation",
                {"broker": record.broker_id, "clean": epoch is not None},
            ),
            _registration_records(request, tail.levels, rules),
        )


def _registration_records(request: RegistrationRequest, levels: Mapping[str, int], rules: RuleSet) -> RecordsOf:
    return lambda controller: register_broker(controller, request, RegistrationContext(levels), rules).records


def _shutdown_candidates(tail: _BatchTail) -> Iterator[Candidate]:
    """A controlled shutdown that goes on under a new controller: it writes partition changes only."""
    for broker, registration in tail.controller.image.registrations.items():
        if registration.in_controlled_shutdown and not registration.fenced:
            words = ("broker ", broker, " goes on with its controlled shutdown")
            records = partial(leaving, tail.controller, broker, tail.rules)
            yield Candidate(words, records, None, "controlled_shutdown", {"broker": broker})


def _request_candidates(tail: _BatchTail) -> Iterator[Candidate]:
    c, first = tail.controller, tail.first()
    if isinstance(first, TopicRecord):
        yield _creation(tail, first)
    elif isinstance(first, PartitionRecord):
        yield _growth(tail, first)
    elif isinstance(first, RemoveTopicRecord):
        name = c.image.topics[first.topic_id].name if first.topic_id in c.image.topics else first.topic_id
        yield Candidate(f"delete topic {name}", lambda: granted_records(delete_topics(c, (first.topic_id,))), 1)
    elif isinstance(first, ConfigRecord):
        yield from _config_candidates(tail)
    elif isinstance(first, RegisterControllerRecord):
        yield Candidate(f"controller {first.controller} registers", lambda: (first,), 1)


def _creation(tail: _BatchTail, first: TopicRecord) -> Candidate:
    configs = tail.run_length((ConfigRecord, ClearElrRecord), 1)
    end = 1 + configs
    end += tail.run_length(PartitionRecord, end)
    contents = tail.records[1:end]
    lists = tuple((r.partition_id, r.replicas) for r in contents if isinstance(r, PartitionRecord))
    topic = NewTopic(
        first.name,
        assignments=lists,
        config={r.key: r.value for r in contents if isinstance(r, ConfigRecord)},
    )

    def records() -> tuple[LogRecord, ...]:
        written = granted_records(create_topics(tail.controller, CreateTopicsRequest((topic,)), tail.rules))
        return tuple(
            evolve(r, topic_id=first.topic_id) if isinstance(r, TopicRecord | PartitionRecord) else r for r in written
        )

    return Candidate(f"create topic {first.name}", records, end)


def _growth(tail: _BatchTail, first: PartitionRecord) -> Candidate:
    end = tail.run_length(PartitionRecord)
    added = tuple(r for r in tail.records[:end] if isinstance(r, PartitionRecord) and r.topic_id == first.topic_id)
    topic = tail.controller.image.topics.get(first.topic_id)
    name = first.topic_id if topic is None else topic.name
    existing = 0 if topic is None else len(topic.partitions)
    growth = Growth(name, existing + len(added), tuple(r.replicas for r in added))
    return Candidate(
        f"add {len(added)} partitions to topic {name}",
        lambda: granted_records(create_partitions(tail.controller, (growth,), tail.rules)),
        len(added),
    )


def _config_candidates(tail: _BatchTail) -> Iterator[Candidate]:
    """Changes of configurations of one request: first all of them, then their consequences."""
    count = tail.run_length(ConfigRecord)
    for end in range(1, count + 1):
        keys = {record.key for record in tail.records[:end] if isinstance(record, ConfigRecord)}
        yield Candidate(
            "alter configurations", _config_records(tail, end), None, "set_min_isr" if MIN_ISR in keys else ""
        )


def _config_records(tail: _BatchTail, end: int) -> Callable[[], tuple[LogRecord, ...]]:
    def records() -> tuple[LogRecord, ...]:
        configs = [record for record in tail.records[:end] if isinstance(record, ConfigRecord)]
        config_records: tuple[LogRecord, ...] = ()
        consequences: tuple[LogRecord, ...] = ()
        for record in configs:
            written = alter_config(tail.controller, record, tail.rules).records
            config_records, consequences = (*config_records, *written[:1]), (*consequences, *written[1:])
        return (*config_records, *consequences)

    return records
