"""GetReplicaLogInfo: a broker's answer about its logs; concrete.

The document names no error codes but for the field; those here are what other
requests of brokers answer in the same case.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from attrs import frozen

MOST_PARTITIONS = 1000
"""Partitions of one request; further ones are not answered."""

TopicPartition: TypeAlias = tuple[str, int]
"""A topic by its name, and the index of a partition."""

NO_ERROR = "NONE"


@frozen
class ReplicaLog:
    """A replica on a broker's disk.

    Attributes:
        current: the leader epoch that the broker knows of (PartitionLeaderEpoch).
        written: the epoch of the last record, -1 in an empty log (KIP-966: LastWrittenLeaderEpoch).
        length: the log end offset.
        error: why the log cannot be read, or NO_ERROR.
    """

    current: int
    written: int
    length: int
    error: str = NO_ERROR


@frozen
class Rights:
    """What the caller may do.

    Attributes:
        cluster_action: CLUSTER_ACTION.
        describe: topics with DESCRIBE; None: all of them.
    """

    cluster_action: bool = True
    describe: frozenset[str] | None = None

    def describes(self, topic: str) -> bool:
        """Whether a topic may be described."""
        return self.describe is None or topic in self.describe


@frozen
class LogInfo:
    """One row of a response; `log` is None where there is an error.

    Attributes:
        broker_epoch: that of the whole response.
    """

    place: TopicPartition
    error: str
    log: ReplicaLog | None
    broker_epoch: int


@frozen
class LogInfoResponse:
    """A response.

    Attributes:
        broker_epoch: of the broker that answers.
        has_more_data: whether partitions were asked for that are not answered.
        rows: the first partitions, in the order asked for.
    """

    broker_epoch: int
    has_more_data: bool
    rows: tuple[LogInfo, ...]


def replica_log_info(
    broker_epoch: int,
    logs: Mapping[TopicPartition, ReplicaLog],
    asked: Sequence[TopicPartition] | None,
    rights: Rights,
    limit: int = MOST_PARTITIONS,
) -> LogInfoResponse:
    """A broker's response to a request for these partitions.

    Args:
        broker_epoch: of this broker.
        logs: the replicas that it has.
        asked: in the order of the request; None: all that the broker has, as a request without a list asks.
        rights: of the caller.
        limit: partitions that one request is answered for.

    Source: unclean-recovery KIP, "GetReplicaLogInfo RPC".
    """
    places = tuple(sorted(logs)) if asked is None else asked
    rows = tuple(LogInfo(place, *_told(logs.get(place), place, rights), broker_epoch) for place in places[:limit])
    return LogInfoResponse(broker_epoch, len(places) > limit, rows)


def _told(log: ReplicaLog | None, place: TopicPartition, rights: Rights) -> tuple[str, ReplicaLog | None]:
    """The error of a row, and the log where there is none."""
    if not rights.cluster_action:
        return "CLUSTER_AUTHORIZATION_FAILED", None
    if not rights.describes(place[0]):
        return "TOPIC_AUTHORIZATION_FAILED", None
    if log is None:
        return "UNKNOWN_TOPIC_OR_PARTITION", None
    return log.error, log if log.error == NO_ERROR else None
