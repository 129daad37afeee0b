"""The tool's inquiry: brokers are queried for their logs until a deadline; concrete."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attrs import field, frozen

from kraftcheck.model.language.rule import rule
from kraftcheck.model.rules.groups import UncleanRecoveryRules
from kraftcheck.model.unclean_recovery.choice import NOBODY, SILENT, Answer, best
from kraftcheck.model.unclean_recovery.loginfo import (
    MOST_PARTITIONS,
    NO_ERROR,
    LogInfo,
    ReplicaLog,
    Rights,
    TopicPartition,
    replica_log_info,
)

DURATION_MS = 30_000
"""Default of --recovery-duration-ms."""


@frozen
class RemoteBroker:
    """A broker as the operator's machine reaches it, which need not be how the controller does.

    Attributes:
        id: of the broker.
        epoch: the broker epoch in its responses.
        logs: the replicas that it has.
        answer_ms: how long a response takes, at least 1; None: none ever comes.
        failures: requests that fail before the first is answered; each takes as long.
    """

    id: int
    epoch: int
    logs: Mapping[TopicPartition, ReplicaLog] = field(factory=dict)
    answer_ms: int | None = 1
    failures: int = 0


@frozen
class Finding:
    """What the tool learnt of one partition.

    Attributes:
        place: the partition.
        replies: for each replica, in order, its broker and the row it answered, or None.
        chosen: the broker to be designated, or NOBODY.
        epoch: the broker epoch in which it answered, or None.
    """

    place: TopicPartition
    replies: tuple[tuple[int, LogInfo | None], ...]
    chosen: int
    epoch: int | None


@rule("recovery.asks-until-whole", source="unclean-recovery KIP, HasMoreData",
      switches=("recovery-ignores-more-data",), says="A broker that has more data is asked again.")  # fmt: skip
def inquire(
    broker: RemoteBroker, asked: Sequence[TopicPartition], rights: Rights, duration_ms: int, rules: UncleanRecoveryRules
) -> tuple[LogInfo, ...]:
    """What one broker answers in time: one request after another, until all is answered.

    A response with HasMoreData is followed by a request for the rest.

    Args:
        broker: whom to ask.
        asked: its partitions.
        rights: of the tool.
        duration_ms: how long the tool waits in all.
        rules: the rule set.
    """
    if broker.answer_ms is None:
        return ()
    rows: list[LogInfo] = []
    pending, spent, failures = tuple(asked), 0, broker.failures
    while pending and spent + broker.answer_ms <= duration_ms:
        spent += broker.answer_ms
        if failures:
            failures -= 1
            continue
        response = replica_log_info(broker.epoch, broker.logs, pending, rights, MOST_PARTITIONS)
        rows += response.rows
        more = response.has_more_data and not rules.recovery_ignores_more_data
        pending = pending[len(response.rows) :] if more else ()
    return tuple(rows)


def find_leaders(
    brokers: Mapping[int, RemoteBroker],
    targets: Mapping[TopicPartition, tuple[int, ...]],
    rights: Rights,
    duration_ms: int,
    rules: UncleanRecoveryRules,
) -> tuple[Finding, ...]:
    """Ask every replica of these partitions, all brokers at once, and choose.

    Args:
        brokers: those that the tool can name, by id.
        targets: the replicas of each partition, in order.
        rights: of the tool.
        duration_ms: how long the tool waits.
        rules: the rule set.

    Source: unclean-recovery KIP, "Proposed Changes".
    """
    asked: dict[int, list[TopicPartition]] = {}
    for place, replicas in targets.items():
        for broker in replicas:
            asked.setdefault(broker, []).append(place)
    rows = {
        (row.place, broker): row
        for broker, places in asked.items()
        if broker in brokers
        for row in inquire(brokers[broker], places, rights, duration_ms, rules)
    }
    return tuple(
        _finding(place, [(b, rows.get((place, b))) for b in listed], rules) for place, listed in targets.items()
    )


def _finding(
    place: TopicPartition, replies: Sequence[tuple[int, LogInfo | None]], rules: UncleanRecoveryRules
) -> Finding:
    position = best([_answer(row) for _, row in replies], rules)
    chosen, row = (NOBODY, None) if position == NOBODY else replies[int(position)]
    return Finding(place, tuple(replies), chosen, None if row is None else row.broker_epoch)


def _answer(row: LogInfo | None) -> Answer:
    if row is None:
        return SILENT
    log = row.log or ReplicaLog(-1, -1, -1)
    return Answer(True, row.error != NO_ERROR, log.current, log.written, log.length, row.broker_epoch)
