"""The events of the controller that may have written some records: names, and what the model says they write.

A guess is made from the records themselves: an event's arguments show in what
it writes. The model decides the records; nothing here does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

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
from kraftcheck.solvers.logs.explain.guess import Guess, granted
from kraftcheck.solvers.logs.explain.partition_guesses import partition_guesses
from kraftcheck.solvers.logs.explain.state import FeatureRecord, Known, Passed, State

BrokerRecord = (
    BrokerRegistrationChangeRecord
    | FenceBrokerRecord
    | UnfenceBrokerRecord
    | RegisterBrokerRecord
    | UnregisterBrokerRecord
)

EVER = 1 << 62
"""A metadata offset that no log reaches: a broker that has applied everything."""


BEGINS, ENDS = Passed("BEGIN_TRANSACTION_RECORD"), Passed("END_TRANSACTION_RECORD")
"""What surrounds the records of one transaction."""


@frozen
class _Ahead:
    """The records to explain, seen from where an event may begin."""

    controller: Controller
    levels: Mapping[str, int]
    records: Sequence[Known]
    rules: RuleSet

    def first(self) -> Known:
        return self.records[0]

    def run(self, kinds: type | tuple[type, ...], start: int = 0) -> int:
        """How many records from `start` on are of these kinds."""
        end = start
        while end < len(self.records) and isinstance(self.records[end], kinds):
            end += 1
        return end - start


def guesses(state: State, records: Sequence[Known], rules: RuleSet) -> Iterator[Guess]:
    """Every event that may have written records that begin here.

    Args:
        state: the state before them.
        records: what is to be explained, to the end of the batch.
        rules: the rule set.
    """
    ahead = _Ahead(state.controller, state.levels, records, rules)
    first = ahead.first()
    if first == BEGINS:
        yield _bootstrap(ahead)
    elif isinstance(first, Passed | FeatureRecord):
        yield Guess("not read by replica logic", lambda: (first,), 1)
    elif isinstance(first, PartitionChangeRecord | BrokerRecord):
        yield from _broker_guesses(ahead)
        if isinstance(first, PartitionChangeRecord):
            yield from partition_guesses(state.controller, first, rules)
            yield from _goes_on_leaving(ahead)
    else:
        yield from _request_guesses(ahead)


def _bootstrap(ahead: _Ahead) -> Guess:
    """The first records of a new log, in one transaction: features and configurations as formatted."""
    kinds = (FeatureRecord, ConfigRecord, Passed)
    end = next((n for n, r in enumerate(ahead.records) if n and (r == ENDS or not isinstance(r, kinds))), 0)
    closed = ahead.records[end] == ENDS
    return Guess("bootstrap", lambda: ahead.records[: end + 1] if closed else ())


def _broker_guesses(ahead: _Ahead) -> Iterator[Guess]:
    """Events that write a broker's record, with the changes before or after it."""
    place = ahead.run(PartitionChangeRecord)
    if place == len(ahead.records):
        return
    found = ahead.records[place]
    c, rules = ahead.controller, ahead.rules
    if isinstance(found, RegisterBrokerRecord):
        yield from _registrations(ahead, found, place + 1)
    elif isinstance(found, UnregisterBrokerRecord):
        broker = found.broker_id
        yield Guess(
            ("unregister broker ", broker),
            lambda: unregister(c, broker, rules).records,
            place + 1,
            "unregister",
            {"broker": broker},
        )
    elif isinstance(found, FenceBrokerRecord | UnfenceBrokerRecord | BrokerRegistrationChangeRecord):
        yield from _changes_of(ahead, found, place)


def _changes_of(
    ahead: _Ahead, found: FenceBrokerRecord | UnfenceBrokerRecord | BrokerRegistrationChangeRecord, place: int
) -> Iterator[Guess]:
    c, rules, broker = ahead.controller, ahead.rules, found.broker_id
    known = c.registration(broker)
    if known is None:
        return
    one = {"broker": broker}
    change = found if isinstance(found, BrokerRegistrationChangeRecord) else None
    fences = isinstance(found, FenceBrokerRecord) or (change is not None and change.fenced == 1)
    unfences = isinstance(found, UnfenceBrokerRecord) or (change is not None and change.fenced == -1)
    if fences:
        yield Guess(("fence broker ", broker), lambda: fenced(c, broker, rules), place + 1, "fence", one)
    if unfences and place == 0:
        yield Guess(("unfence broker ", broker), lambda: unfenced(c, broker, rules), None, "unfence", one)
    if change is not None and change.in_controlled_shutdown == 1 and place == 0:
        words = ("broker ", broker, " begins a controlled shutdown")
        yield Guess(words, lambda: leaving(c, broker, rules), None, "controlled_shutdown", one)
    if change is not None and not (change.fenced or change.in_controlled_shutdown):
        lost = tuple(d for d in known.dirs if d not in (change.log_dirs or ()))
        yield Guess(
            (f"{len(lost)} directories of broker ", broker, " fail"),
            lambda: directories_failed(c, broker, lost, rules),
            place + 1,
            "directories_offline",
            {"broker": broker, "failed": lost},
        )
    yield from _heartbeats(ahead, broker)


def _heartbeats(ahead: _Ahead, broker: int) -> Iterator[Guess]:
    """One heartbeat that both changes a broker's state and reports failed directories."""
    own = [r for r in ahead.records if isinstance(r, BrokerRegistrationChangeRecord) and r.broker_id == broker]
    last = next((r for r in own if not (r.fenced or r.in_controlled_shutdown)), None)
    known = ahead.controller.registration(broker)
    if last is None or len(own) < 2 or known is None:
        return
    lost = tuple(d for d in known.dirs if d not in (last.log_dirs or ()))
    for fence, stop in ((False, False), (True, False), (False, True)):
        wish = Wish(fence, stop, EVER)
        told = f": fence {fence}, shut down {stop}, {len(lost)} directories failed"
        yield Guess(
            ("heartbeat of broker ", broker, told),
            _beat(ahead, HeartbeatRequest(broker, known.epoch, wish, lost)),
            None,
            "heartbeat",
            {"broker": broker, "failed": lost},
        )


def _beat(ahead: _Ahead, request: HeartbeatRequest) -> Callable[[], tuple[LogRecord, ...]]:
    return lambda: heartbeat(ahead.controller, request, ahead.rules).records


def _registrations(ahead: _Ahead, found: RegisterBrokerRecord, length: int) -> Iterator[Guess]:
    """A registration; its epoch is the offset where its event began, and no session bars it: the log has none.

    Where the rules tell a clean stop from others, the broker may come back from either.
    """
    c, rules = ahead.controller, ahead.rules
    soft = evolve(c.soft, now=c.soft.now + c.soft.sessions.timeout + 1)
    expired = evolve(c, soft=soft, settings=evolve(c.settings, cluster_id=None))
    known = c.registration(found.broker_id)
    if known is not None and known.incarnation == found.incarnation:
        stops: tuple[tuple[str, int | None], ...] = (("amends", None),)
    elif known is None or rules.partition.every_restart_is_unclean:
        stops = (("registers", None),)
    else:
        stops = (("registers after an unclean stop", None), ("registers after a clean stop", known.epoch))
    for how, epoch in stops:
        request = RegistrationRequest(
            None, found.broker_id, found.incarnation, found.listeners, found.features, found.rack, found.log_dirs,
            found.is_migrating_zk_broker, epoch,
        )  # fmt: skip
        yield Guess(
            ("broker ", found.broker_id, f" {how}"),
            _registered(expired, request, ahead.levels, rules),
            length,
            "" if how == "amends" else "new_incarnation",
            {"broker": found.broker_id, "clean": epoch is not None},
        )


def _registered(
    controller: Controller, request: RegistrationRequest, levels: Mapping[str, int], rules: RuleSet
) -> Callable[[], tuple[LogRecord, ...]]:
    return lambda: register_broker(controller, request, RegistrationContext(levels), rules).records


def _goes_on_leaving(ahead: _Ahead) -> Iterator[Guess]:
    """A controlled shutdown that a new controller hears of again: no record says so but the changes."""
    for broker, known in ahead.controller.image.registrations.items():
        if known.in_controlled_shutdown and not known.fenced:
            words = ("broker ", broker, " goes on with its controlled shutdown")
            yield Guess(words, _leaving(ahead, broker), None, "controlled_shutdown", {"broker": broker})


def _leaving(ahead: _Ahead, broker: int) -> Callable[[], tuple[LogRecord, ...]]:
    return lambda: leaving(ahead.controller, broker, ahead.rules)


def _request_guesses(ahead: _Ahead) -> Iterator[Guess]:
    c, first = ahead.controller, ahead.first()
    if isinstance(first, TopicRecord):
        yield _creation(ahead, first)
    elif isinstance(first, PartitionRecord):
        yield _growth(ahead, first)
    elif isinstance(first, RemoveTopicRecord):
        name = c.image.topics[first.topic_id].name if first.topic_id in c.image.topics else first.topic_id
        yield Guess(f"delete topic {name}", lambda: granted(delete_topics(c, (first.topic_id,))), 1)
    elif isinstance(first, ConfigRecord):
        yield from _configs(ahead)
    elif isinstance(first, RegisterControllerRecord):
        yield Guess(f"controller {first.controller} registers", lambda: (first,), 1)


def _creation(ahead: _Ahead, first: TopicRecord) -> Guess:
    configs = ahead.run((ConfigRecord, ClearElrRecord), 1)
    end = 1 + configs
    end += ahead.run(PartitionRecord, end)
    inside = ahead.records[1:end]
    lists = tuple((r.partition_id, r.replicas) for r in inside if isinstance(r, PartitionRecord))
    topic = NewTopic(
        first.name,
        assignments=lists,
        config={r.key: r.value for r in inside if isinstance(r, ConfigRecord)},
    )

    def records() -> tuple[LogRecord, ...]:
        written = granted(create_topics(ahead.controller, CreateTopicsRequest((topic,)), ahead.rules))
        return tuple(
            evolve(r, topic_id=first.topic_id) if isinstance(r, TopicRecord | PartitionRecord) else r for r in written
        )

    return Guess(f"create topic {first.name}", records, end)


def _growth(ahead: _Ahead, first: PartitionRecord) -> Guess:
    end = ahead.run(PartitionRecord)
    added = tuple(r for r in ahead.records[:end] if isinstance(r, PartitionRecord) and r.topic_id == first.topic_id)
    topic = ahead.controller.image.topics.get(first.topic_id)
    name = first.topic_id if topic is None else topic.name
    there = 0 if topic is None else len(topic.partitions)
    growth = Growth(name, there + len(added), tuple(r.replicas for r in added))
    return Guess(
        f"add {len(added)} partitions to topic {name}",
        lambda: granted(create_partitions(ahead.controller, (growth,), ahead.rules)),
        len(added),
    )


def _configs(ahead: _Ahead) -> Iterator[Guess]:
    """Changes of configurations of one request: first all of them, then what they bring about."""
    count = ahead.run(ConfigRecord)
    for end in range(1, count + 1):
        named = {record.key for record in ahead.records[:end] if isinstance(record, ConfigRecord)}
        yield Guess("alter configurations", _altered(ahead, end), None, "set_min_isr" if MIN_ISR in named else "")


def _altered(ahead: _Ahead, end: int) -> Callable[[], tuple[LogRecord, ...]]:
    def records() -> tuple[LogRecord, ...]:
        wanted = [record for record in ahead.records[:end] if isinstance(record, ConfigRecord)]
        first: tuple[LogRecord, ...] = ()
        behind: tuple[LogRecord, ...] = ()
        for record in wanted:
            written = alter_config(ahead.controller, record, ahead.rules).records
            first, behind = (*first, *written[:1]), (*behind, *written[1:])
        return (*first, *behind)

    return records
