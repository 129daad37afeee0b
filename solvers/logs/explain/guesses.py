"""The candidates for some records: controller events, and the records that the model says they write.

A candidate is made from the records themselves: an event's arguments show in what
it writes. The model decides the records; nothing here does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import takewhile

from attrs import evolve

from kraftcheck.model.controller.alter_configs import alter_config, elr_safety
from kraftcheck.model.controller.brokers import (
    HeartbeatRequest,
    RegistrationContext,
    RegistrationRequest,
    directories_cordoned,
    directories_failed,
    fenced,
    heartbeat,
    leaving,
    register_broker,
    restarted,
    unfenced,
    unregister,
)
from kraftcheck.model.controller.heartbeat import Wish
from kraftcheck.model.controller.state import (
    CLUSTER,
    MIN_ISR,
    ClearElrRecord,
    ConfigRecord,
    Controller,
    LogRecord,
    RegisterControllerRecord,
    UnregisterControllerRecord,
)
from kraftcheck.model.controller.topics import (
    CreateTopicsRequest,
    Growth,
    NewTopic,
    create_partitions,
    create_topics,
    delete_topics,
)
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
    ids,
)
from kraftcheck.model.rules.ruleset import RuleSet
from kraftcheck.solvers.logs.explain.partition_guesses import (
    BatchTail,
    Candidate,
    RecordsOf,
    by_either_index,
    granted_records,
    hidden_change_candidates,
    lost_directory_candidates,
    partition_candidates,
)
from kraftcheck.solvers.logs.explain.state import (
    BEGIN,
    ELR_FEATURE,
    END,
    METADATA_VERSION,
    FeatureRecord,
    ModelRecord,
    State,
    UnreadRecord,
)

BrokerRecord = (
    BrokerRegistrationChangeRecord
    | FenceBrokerRecord
    | UnfenceBrokerRecord
    | RegisterBrokerRecord
    | UnregisterBrokerRecord
)

MAX_OFFSET = 1 << 62  # a metadata offset that no log reaches: a broker that has applied everything


def broker_candidates(tail: BatchTail) -> Iterator[Candidate]:
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
        plain = Candidate(("unregister broker ", broker), tuple, place + 1, "unregister", {"broker": broker})
        yield from by_either_index(c, broker, plain, lambda at: unregister(at, broker, rules).records)
    elif isinstance(record, FenceBrokerRecord | UnfenceBrokerRecord | BrokerRegistrationChangeRecord):
        yield from _registration_change_candidates(tail, record, place)


def _registration_change_candidates(
    tail: BatchTail, record: FenceBrokerRecord | UnfenceBrokerRecord | BrokerRegistrationChangeRecord, place: int
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
    if change is not None and change.cordoned is not None and place == 0:
        cordoned = change.cordoned
        words = (f"{len(cordoned)} directories of broker ", broker, " are cordoned")
        yield Candidate(words, lambda: directories_cordoned(c, broker, cordoned), 1, "directories_cordoned", arguments)
    if change is not None and not (change.fenced or change.in_controlled_shutdown or change.cordoned is not None):
        failed = tuple(d for d in registration.dirs if d not in (change.log_dirs or ()))
        words, both = (f"{len(failed)} directories of broker ", broker, " fail"), {"broker": broker, "failed": failed}
        records = partial(directories_failed, c, broker, failed, rules)
        yield Candidate(words, records, place + 1, "directories_offline", both)
    yield from _heartbeat_candidates(tail, broker)


def _heartbeat_candidates(tail: BatchTail, broker: int, least: int = 2) -> Iterator[Candidate]:
    """One heartbeat that both changes a broker's state and reports failed directories."""
    changes = [r for r in tail.records if isinstance(r, BrokerRegistrationChangeRecord) and r.broker_id == broker]
    last = next((r for r in changes if not (r.fenced or r.in_controlled_shutdown or r.cordoned is not None)), None)
    registration = tail.controller.registration(broker)
    if last is None or len(changes) < least or registration is None:
        return
    failed = tuple(d for d in registration.dirs if d not in (last.log_dirs or ()))
    for fence, stop in ((False, False), (True, False), (False, True)):
        wish = Wish(fence, stop, MAX_OFFSET)
        asked = f": fence {fence}, shut down {stop}, {len(failed)} directories failed"
        records = _heartbeat_records(tail, HeartbeatRequest(broker, registration.epoch, wish, failed))
        arguments = {"broker": broker, "failed": failed}
        yield Candidate(("heartbeat of broker ", broker, asked), records, None, "heartbeat", arguments)


def hidden_heartbeat_candidates(tail: BatchTail) -> Iterator[Candidate]:
    """A heartbeat that goes on with a controlled shutdown, of which no record tells, and reports failed directories."""
    place = tail.run_length(PartitionChangeRecord)
    record = tail.records[place] if place < len(tail.records) else None
    if isinstance(record, BrokerRegistrationChangeRecord):
        registration = tail.controller.registration(record.broker_id)
        if registration is not None and registration.in_controlled_shutdown:
            yield from _heartbeat_candidates(tail, record.broker_id, least=1)


def _heartbeat_records(tail: BatchTail, request: HeartbeatRequest) -> Callable[[], tuple[LogRecord, ...]]:
    return lambda: heartbeat(tail.controller, request, tail.rules).records


def _registration_candidates(tail: BatchTail, record: RegisterBrokerRecord, length: int) -> Iterator[Candidate]:
    """A registration; its epoch is the offset where its event began, and no session bars it: the log has none.

    Its event may have begun in an earlier batch, which is full then. Where the rules distinguish a clean stop
    from an unclean one, the broker may come back from either.
    """
    c, rules, broker = tail.controller, tail.rules, record.broker_id
    soft = evolve(c.soft, now=c.soft.now + c.soft.sessions.timeout + 1)
    expired = evolve(c, soft=soft, settings=evolve(c.settings, cluster_id=None))
    registration, before = c.registration(broker), c.image.next_offset - record.broker_epoch
    in_parts = before > 0 and before % c.settings.max_records == 0 and not rules.controller.registration_is_one_batch
    context = RegistrationContext(tail.levels, record.broker_epoch if in_parts else None)
    if registration is not None and registration.incarnation == record.incarnation:
        stops: tuple[tuple[str, int | None], ...] = (("amends", None),)
    elif registration is None or rules.partition.every_restart_is_unclean:
        stops = (("registers", None),)
    else:
        stops = (("registers after an unclean stop", None), ("registers after a clean stop", registration.epoch))
    if c.features.elr_switched_off:
        # Both stops write the same then, and of what the log does not show no property is judged.
        stops = stops[::-1]
    for how, epoch in stops:
        request = RegistrationRequest(
            None, broker, record.incarnation, record.listeners, record.features, record.rack, record.log_dirs,
            record.is_migrating_zk_broker, epoch,
        )  # fmt: skip
        action, arguments = "" if how == "amends" else "new_incarnation", {"broker": broker, "clean": epoch is not None}
        plain = Candidate(("broker ", broker, f" {how}"), tuple, length, action, arguments)
        yield from by_either_index(expired, broker, plain, _registration_records(request, context, rules))


def _registration_records(request: RegistrationRequest, context: RegistrationContext, rules: RuleSet) -> RecordsOf:
    """A broker without metadata versions is told nothing of them: only later releases assume the first."""

    def records(controller: Controller) -> tuple[LogRecord, ...]:
        *ended, record = register_broker(controller, request, context, rules).records
        if METADATA_VERSION not in context.finalized and isinstance(record, RegisterBrokerRecord):
            record = evolve(record, features=request.features)
        return (*ended, record)

    return records


def shutdown_candidates(tail: BatchTail) -> Iterator[Candidate]:
    """A controlled shutdown that goes on under a new controller: it writes partition changes only."""
    for broker, registration in tail.controller.image.registrations.items():
        if registration.in_controlled_shutdown and not registration.fenced:
            words = ("broker ", broker, " goes on with its controlled shutdown")
            records = partial(leaving, tail.controller, broker, tail.rules)
            yield Candidate(words, records, None, "controlled_shutdown", {"broker": broker})


def config_candidates(controller: Controller, records: Sequence[ModelRecord], rules: RuleSet) -> Iterator[Candidate]:
    """Changes of configurations of one request: first all of them, then their consequences."""
    configs = [*takewhile(lambda record: isinstance(record, ConfigRecord), records)]
    for end in range(1, len(configs) + 1):
        first = [record for record in configs[:end] if isinstance(record, ConfigRecord)]
        action = "set_min_isr" if any(record.key == MIN_ISR for record in first) else ""
        yield Candidate("alter configurations", partial(_config_records, controller, first, rules), None, action)


def _config_records(controller: Controller, configs: Sequence[ConfigRecord], rules: RuleSet) -> tuple[LogRecord, ...]:
    config_records: tuple[LogRecord, ...] = ()
    consequences: tuple[LogRecord, ...] = ()
    for record in configs:
        written = alter_config(controller, record, rules).records
        config_records, consequences = (*config_records, *written[:1]), (*consequences, *written[1:])
    return (*config_records, *consequences)


def feature_candidates(controller: Controller, records: Sequence[ModelRecord]) -> Iterator[Candidate]:
    """The request that may have written records that begin with features, or with what is configured before.

    One request may set several features. Where it switches ELR on, min.insync.replicas is configured for the cluster
    first; the static value of the active controller, which the log does not have, is taken from the record.
    """
    configs = [*takewhile(lambda record: isinstance(record, ConfigRecord), records)]
    levels = [*takewhile(lambda record: isinstance(record, FeatureRecord), records[len(configs) :])]
    elr = [record.level for record in levels if isinstance(record, FeatureRecord) and record.name == ELR_FEATURE]
    if not elr:
        if levels and not configs:
            yield Candidate("not read by replica logic", lambda: records[:1], 1)
        return
    safety = elr_safety(controller, _static_min_isr(configs)) if elr[-1] > 0 else ()
    words, action = ("switch ELR on", "enable_elr") if elr[-1] > 0 else ("switch ELR off", "disable_elr")
    yield Candidate(words, lambda: (*safety, *levels), len(configs) + len(levels), action)


def _static_min_isr(configs: Sequence[ModelRecord]) -> str:
    """The min ISR that is configured for the cluster; empty, as no configuration is, where there is none."""
    values = (r.value for r in configs if isinstance(r, ConfigRecord) and (r.scope, r.key) == (CLUSTER, MIN_ISR))
    return next(values, None) or ""


def part_candidates(tail: BatchTail) -> Iterator[Candidate]:
    """Events of the brokers that the first change may be about, where the records ahead fill a batch with changes."""
    limit, first = tail.controller.settings.max_records, tail.first()
    announced = isinstance(first, BrokerRegistrationChangeRecord)
    if announced + tail.run_length(PartitionChangeRecord, int(announced)) < limit:
        return
    window = tail.records[:limit]
    if isinstance(first, BrokerRegistrationChangeRecord):
        records = partial(leaving, broker=first.broker_id, rules=tail.rules)
        yield _part(tail, window, first.broker_id, "begins a controlled shutdown", records)
        return
    for broker in _concerned(tail):
        yield _part(tail, window, broker, "is fenced", partial(fenced, broker=broker, rules=tail.rules))
        yield _part(tail, window, broker, "registers after a clean stop", _restarted(tail, broker, True))
        yield _part(tail, window, broker, "registers after an unclean stop", _restarted(tail, broker, False))


def _concerned(tail: BatchTail) -> tuple[int, ...]:
    """Members of the ISR and the ELR of the partition that changes first."""
    first = tail.first()
    if not isinstance(first, PartitionChangeRecord):
        return ()
    p = tail.controller.image.partition(first.topic_id, first.partition_id)
    return () if p is None else tuple(dict.fromkeys((*ids(p.isr), *ids(p.elr))))


def _part(tail: BatchTail, window: Sequence[ModelRecord], broker: int, what: str, records: RecordsOf) -> Candidate:
    """The event as far as its first batch goes; nothing where one batch holds it all."""
    named = {(r.topic_id, r.partition_id) for r in window if isinstance(r, PartitionChangeRecord)}

    def first_batch() -> Sequence[ModelRecord]:
        written = records(tail.controller)
        if len(written) <= len(window):
            return ()
        changes = [r for r in written if isinstance(r, PartitionChangeRecord)]
        head = () if written[0] is changes[0] else written[:1]
        return (*head, *(r for r in changes if (r.topic_id, r.partition_id) in named))

    words = ("broker ", broker, f" {what}, the first {len(window)} records")
    return Candidate(words, first_batch, len(window))


def _restarted(tail: BatchTail, broker: int, clean: bool) -> RecordsOf:
    """The changes of a registration and, as its own record is one more, that of a fencing after them."""
    if tail.rules.controller.registration_is_one_batch:
        return lambda controller: ()

    def written(controller: Controller) -> tuple[LogRecord, ...]:
        return (*restarted(controller, broker, clean, tail.rules), BrokerRegistrationChangeRecord(broker, 0, 1))

    return written


def candidates(state: State, records: Sequence[ModelRecord], rules: RuleSet) -> Iterator[Candidate]:
    """Every event that may have written records that begin here.

    Args:
        state: the state before them.
        records: what is to be explained, to the end of the batch.
    """
    tail = BatchTail(state.controller, state.levels, records, rules)
    first = tail.first()
    if first == BEGIN:
        yield _bootstrap(tail)
    if isinstance(first, UnreadRecord):
        yield Candidate("not read by replica logic", lambda: (first,), 1)
    elif isinstance(first, FeatureRecord):
        yield from feature_candidates(state.controller, records)
    elif isinstance(first, PartitionChangeRecord | BrokerRecord):
        yield from broker_candidates(tail)
        yield from part_candidates(tail)
        if isinstance(first, PartitionChangeRecord):
            yield from partition_candidates(state.controller, first, rules)
            yield from shutdown_candidates(tail)
    else:
        yield from _request_candidates(tail)


def hidden_candidates(state: State, records: Sequence[ModelRecord], rules: RuleSet) -> Iterator[Candidate]:
    """Events that may have written records that begin here, but do not show; see `candidates`."""
    tail = BatchTail(state.controller, state.levels, records, rules)
    first = tail.first()
    if isinstance(first, PartitionChangeRecord):
        yield from hidden_change_candidates(state.controller, first, rules)
        yield from hidden_heartbeat_candidates(tail)
        yield from lost_directory_candidates(tail)


def _bootstrap(tail: BatchTail) -> Candidate:
    """The first records of a new log, in one transaction: features and configurations as formatted."""
    kinds = (FeatureRecord, ConfigRecord, UnreadRecord)
    end = next((n for n, r in enumerate(tail.records) if n and (r == END or not isinstance(r, kinds))), 0)
    complete = tail.records[end] == END
    return Candidate("bootstrap", lambda: tail.records[: end + 1] if complete else ())


def _request_candidates(tail: BatchTail) -> Iterator[Candidate]:
    c, first = tail.controller, tail.first()
    configs = tail.run_length(ConfigRecord)
    named = tail.records[configs] if configs < len(tail.records) else None
    if isinstance(first, TopicRecord):
        yield _creation(tail, first)
    elif isinstance(named, TopicRecord) and tail.rules.controller.topic_configs_written_first:
        yield _creation(tail, named, configs)
    elif isinstance(first, PartitionRecord):
        yield _growth(tail, first)
    elif isinstance(first, RemoveTopicRecord):
        name = c.image.topics[first.topic_id].name if first.topic_id in c.image.topics else first.topic_id
        yield Candidate(f"delete topic {name}", lambda: granted_records(delete_topics(c, (first.topic_id,))), 1)
    elif isinstance(first, ConfigRecord):
        yield from config_candidates(c, tail.records, tail.rules)
        yield from feature_candidates(c, tail.records)
    elif isinstance(first, RegisterControllerRecord):
        yield Candidate(f"controller {first.controller} registers", lambda: (first,), 1)
    elif isinstance(first, UnregisterControllerRecord):
        yield Candidate(f"controller {first.controller} is unregistered", lambda: (first,), 1)


def _creation(tail: BatchTail, first: TopicRecord, before: int = 0) -> Candidate:
    """The creation of a topic, after so many of its configurations."""
    end = before + 1 + tail.run_length((ConfigRecord, ClearElrRecord), before + 1)
    end += tail.run_length(PartitionRecord, end)
    contents = (*tail.records[:before], *tail.records[before + 1 : end])
    lists = tuple((r.partition_id, r.replicas) for r in contents if isinstance(r, PartitionRecord))
    config = {r.key: r.value for r in contents if isinstance(r, ConfigRecord)}
    topic = NewTopic(first.name, assignments=lists, config=config)

    def records() -> tuple[LogRecord, ...]:
        written = granted_records(create_topics(tail.controller, CreateTopicsRequest((topic,)), tail.rules))
        return tuple(
            evolve(r, topic_id=first.topic_id) if isinstance(r, TopicRecord | PartitionRecord) else r for r in written
        )

    return Candidate(f"create topic {first.name}", records, end)


def _growth(tail: BatchTail, first: PartitionRecord) -> Candidate:
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
