"""Commits: batches of records that handlers decided, replayed record by record into the controller's state.

Source: `QuorumController.appendRecords`, the `replay` methods of its managers.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import Any

from attrs import evolve

from kraftcheck.model.controller.errors import ExcessiveBatch
from kraftcheck.model.controller.heartbeat import Sessions
from kraftcheck.model.controller.state import (
    ClearElrRecord,
    ConfigRecord,
    Controller,
    LogRecord,
    Outcome,
    RegisterControllerRecord,
    UnregisterControllerRecord,
    is_skipped,
)
from kraftcheck.model.language.words import rule
from kraftcheck.model.partition.election import clear_elr
from kraftcheck.model.partition.registration import Partition, is_reserved, merge
from kraftcheck.model.records.records import (
    BrokerRegistrationChangeRecord,
    FenceBrokerRecord,
    RegisterBrokerRecord,
    RemoveTopicRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
    ids,
)
from kraftcheck.model.records.replay import ClusterImage, ElrIndex, ReplayError, Topic, replay
from kraftcheck.model.rules.groups import PartitionRules
from kraftcheck.model.rules.ruleset import RuleSet


@rule("event.batches-of-records", source="semantics 1.3; QuorumController.appendRecords",
      says="An event that is not atomic is written in batches of at most 10,000 records.")  # fmt: skip
def batches(outcome: Outcome[Any], limit: int) -> tuple[tuple[LogRecord, ...], ...]:
    """The batches that an outcome is written in; a controller may fail between two of them.

    Args:
        outcome: what an event decided.
        limit: records of one batch.

    Raises:
        ExcessiveBatch: when the records must be one batch and are too many for it.
    """
    records = outcome.records
    if outcome.atomic and len(records) > limit:
        raise ExcessiveBatch(f"{len(records)} records cannot be one batch of {limit}")
    return tuple(records[start : start + limit] for start in range(0, len(records), limit))


def stages(controller: Controller, outcome: Outcome[Any], rules: RuleSet) -> tuple[Controller, ...]:
    """The states that the log may hold of an event: before it, and after each of its batches.

    Raises:
        ExcessiveBatch, ReplayError: see `batches`, `replay_record`.
    """
    states = [evolve(controller, soft=outcome.soft)]
    for batch in batches(outcome, controller.settings.max_records):
        states.append(replay_all(states[-1], batch, rules))
    return tuple(states)


def commit(controller: Controller, outcome: Outcome[Any], rules: RuleSet) -> Controller:
    """The state after an event.

    Raises:
        ExcessiveBatch: when the records must be one batch and are too many for it.
        ReplayError: when a record does not fit.
    """
    after = stages(controller, outcome, rules)[-1]
    if outcome.shutting_down is None:
        return after
    sessions = after.soft.sessions.begin_shutdown(outcome.shutting_down, after.image.next_offset - 1, rules.controller)
    return evolve(after, soft=evolve(after.soft, sessions=sessions))


def replay_all(controller: Controller, records: Iterable[LogRecord], rules: RuleSet) -> Controller:
    """The state after these records, one after the other; raises ReplayError as `replay_record`."""
    return reduce(lambda known, record: replay_record(known, record, rules), records, controller)


def replay_record(controller: Controller, record: LogRecord, rules: RuleSet) -> Controller:
    """The state after one more record, sessions included.

    Raises:
        ReplayError: see `kraftcheck.model.records.replay.replay`.
    """
    image = controller.image
    if isinstance(record, ClearElrRecord):
        emptied = _without_elr(image, record.topic, rules.partition)
        return evolve(controller, image=emptied, elr_index=_index_cleared(controller, record.topic, rules))
    if isinstance(record, ConfigRecord | RegisterControllerRecord | UnregisterControllerRecord):
        after = evolve(controller, image=evolve(image, next_offset=image.next_offset + 1))
        if isinstance(record, ConfigRecord):
            skipped = is_skipped(record, rules.controller)
            return after if skipped else evolve(after, configs=controller.configs.replay(record))
        if isinstance(record, UnregisterControllerRecord):
            return _without_controller(after, record.controller)
        return evolve(after, controllers={**controller.controllers, record.controller: record})
    changed = replay(image, record, rules.partition)
    indexed = controller.elr_index.after(record, image.topics, changed.topics)
    after = evolve(controller, image=changed, elr_index=indexed)
    if isinstance(record, RemoveTopicRecord):
        topic = image.topics[record.topic_id]
        stale = controller.stale_dirs | _left_behind(topic)
        return evolve(after, configs=controller.configs.without_topic(topic.name), stale_dirs=stale)
    return evolve(after, soft=evolve(after.soft, sessions=_sessions(after, record, image)))


def _without_controller(controller: Controller, number: int) -> Controller:
    """The state once a controller is registered no more; raises `ReplayError` where it was not."""
    if number not in controller.controllers:
        raise ReplayError(f"cannot replay UnregisterControllerRecord: there is no controller {number}")
    others = {known: record for known, record in controller.controllers.items() if known != number}
    return evolve(controller, controllers=others)


def _without_elr(image: ClusterImage, name: str, rules: PartitionRules) -> ClusterImage:
    """The image once the ELRs of one topic, or of all, are emptied.

    Source: `ReplicationControlManager.removeTopicElrs`.
    """

    def cleared(topic: Topic) -> Topic:
        emptied = {index: _emptied(p, rules) for index, p in topic.partitions.items()}
        return topic.with_partitions({index: p for index, p in emptied.items() if p is not topic.partitions[index]})

    if name and all(topic.name != name for topic in image.topics.values()):
        raise ReplayError(f"cannot replay ClearElrRecord: there is no topic {name}")
    topics = {known: cleared(topic) if name in ("", topic.name) else topic for known, topic in image.topics.items()}
    return evolve(image, topics=topics, next_offset=image.next_offset + 1)


@rule("elr-index.follows-cleared-elrs", source="ReplicationControlManager.removeTopicElrs",
      switches=("cleared-elr-stays-indexed",),
      says="A broker leaves the index of ELR members when ClearElrRecord empties the ELR that it is in.")  # fmt: skip
def _index_cleared(controller: Controller, name: str, rules: RuleSet) -> ElrIndex:
    """The index of ELR members once the ELRs of one topic, or of all, are emptied; the code leaves it as it was."""
    index = controller.elr_index
    if not rules.controller.cleared_elr_stays_indexed:
        return index
    for topic_id, topic in controller.image.topics.items():
        if name in ("", topic.name):
            index = index.cleared(topic_id, topic)
    return index


def _emptied(p: Partition, rules: PartitionRules) -> Partition:
    """The partition without ELR and last known leader; the partition epoch rises where it had one."""
    change = clear_elr(p, True)
    return p if change.is_noop() else merge(p, change, rules)


def _left_behind(topic: Topic) -> frozenset[int]:
    """Directories of a deleted topic's partitions that are unindexed for each ISR member, hence never without one."""
    empty = [p for p in topic.partitions.values() if p.isr.is_empty()]
    placed = (int(p.directories.of(broker)) for p in empty for broker in ids(p.replicas))
    return frozenset(directory for directory in placed if not is_reserved(directory))


def _sessions(after: Controller, record: LogRecord, before: ClusterImage) -> Sessions:
    """The sessions once a broker record is replayed: each counts as contact."""
    sessions, now = after.soft.sessions, after.soft.now
    if isinstance(record, UnregisterBrokerRecord):
        return sessions.remove(record.broker_id)
    if isinstance(record, RegisterBrokerRecord):
        kept = sessions.remove(record.broker_id) if record.broker_id in before.registrations else sessions
        return kept.register(record.broker_id, record.fenced, now)
    if isinstance(record, BrokerRegistrationChangeRecord | FenceBrokerRecord | UnfenceBrokerRecord):
        return sessions.register(record.broker_id, after.image.registrations[record.broker_id].fenced, now)
    return sessions
