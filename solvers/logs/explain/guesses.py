"""The candidates for some records: controller events, and the records that the model says they write.

A candidate is made from the records themselves: an event's arguments show in what
it writes. The model decides the records; nothing here does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attrs import evolve

from kraftcheck.model.controller.state import (
    ClearElrRecord,
    ConfigRecord,
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
from kraftcheck.model.records.records import PartitionChangeRecord, PartitionRecord, RemoveTopicRecord, TopicRecord
from kraftcheck.model.rules.ruleset import RuleSet
from kraftcheck.solvers.logs.explain.broker_guesses import (
    BrokerRecord,
    broker_candidates,
    hidden_heartbeat_candidates,
    shutdown_candidates,
)
from kraftcheck.solvers.logs.explain.config_guesses import config_candidates, feature_candidates
from kraftcheck.solvers.logs.explain.guess import BatchTail, Candidate, granted_records
from kraftcheck.solvers.logs.explain.part_guesses import part_candidates
from kraftcheck.solvers.logs.explain.partition_guesses import hidden_candidates as hidden_change_candidates
from kraftcheck.solvers.logs.explain.partition_guesses import partition_candidates
from kraftcheck.solvers.logs.explain.state import BEGIN, END, FeatureRecord, ModelRecord, State, UnreadRecord


def candidates(state: State, records: Sequence[ModelRecord], rules: RuleSet) -> Iterator[Candidate]:
    """Every event that may have written records that begin here.

    Args:
        state: the state before them.
        records: what is to be explained, to the end of the batch.
        rules: the rule set.
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


def _bootstrap(tail: BatchTail) -> Candidate:
    """The first records of a new log, in one transaction: features and configurations as formatted."""
    kinds = (FeatureRecord, ConfigRecord, UnreadRecord)
    end = next((n for n, r in enumerate(tail.records) if n and (r == END or not isinstance(r, kinds))), 0)
    complete = tail.records[end] == END
    return Candidate("bootstrap", lambda: tail.records[: end + 1] if complete else ())


def _request_candidates(tail: BatchTail) -> Iterator[Candidate]:
    c, first = tail.controller, tail.first()
    if isinstance(first, TopicRecord):
        yield _creation(tail, first)
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


def _creation(tail: BatchTail, first: TopicRecord) -> Candidate:
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
