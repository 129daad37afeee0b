"""The errors of the controller: what replies name, and what handlers raise.

Source: `org.apache.kafka.common.protocol.Errors`.
"""

from __future__ import annotations

from typing import Any

NONE = "NONE"  # the error of a row that succeeded

CODES = {
    "UNKNOWN_SERVER_ERROR": -1,
    "NONE": 0,
    "UNKNOWN_TOPIC_OR_PARTITION": 3,
    "NOT_LEADER_OR_FOLLOWER": 6,
    "INVALID_TOPIC_EXCEPTION": 17,
    "UNSUPPORTED_VERSION": 35,
    "TOPIC_ALREADY_EXISTS": 36,
    "INVALID_PARTITIONS": 37,
    "INVALID_REPLICATION_FACTOR": 38,
    "INVALID_REPLICA_ASSIGNMENT": 39,
    "INVALID_CONFIG": 40,
    "NOT_CONTROLLER": 41,
    "INVALID_REQUEST": 42,
    "POLICY_VIOLATION": 44,
    "OPERATION_NOT_ATTEMPTED": 55,
    "FENCED_LEADER_EPOCH": 74,
    "STALE_BROKER_EPOCH": 77,
    "PREFERRED_LEADER_NOT_AVAILABLE": 80,
    "ELIGIBLE_LEADERS_NOT_AVAILABLE": 83,
    "ELECTION_NOT_NEEDED": 84,
    "NO_REASSIGNMENT_IN_PROGRESS": 85,
    "THROTTLING_QUOTA_EXCEEDED": 89,
    "INVALID_UPDATE_VERSION": 95,
    "UNKNOWN_TOPIC_ID": 100,
    "DUPLICATE_BROKER_REGISTRATION": 101,
    "BROKER_ID_NOT_REGISTERED": 102,
    "INCONSISTENT_CLUSTER_ID": 104,
    "INELIGIBLE_REPLICA": 107,
    "NEW_LEADER_ELECTED": 108,
    "INVALID_REGISTRATION": 119,
}
"""Every error that the controller answers with, and its number on the wire."""


class RequestError(Exception):
    """A request, or one row of it, is refused; nothing of it is written.

    Attributes:
        error: a name of `CODES`.
        reason: which check refused it, as a slug; empty where the error says enough.
        details: what a version mismatch is about.
    """

    def __init__(self, error: str, reason: str = "", **details: Any) -> None:
        super().__init__(f"{error} ({reason})" if reason else error)
        self.error = error
        self.reason = reason
        self.details = details


class Resignation(Exception):
    """The controller meets an exception that is no answer: it replies UNKNOWN_SERVER_ERROR and resigns."""

    error = "UNKNOWN_SERVER_ERROR"
    kind = "INTERNAL"  # what the exception is


class TooManyRecords(RequestError):
    """A request of a user would write more records than one may."""

    def __init__(self) -> None:
        super().__init__("POLICY_VIOLATION", "excessively_large_batch")


class ExcessiveBatch(Resignation):
    """Records that must be one batch are too many for it."""

    kind = "ILLEGAL_STATE"


class NotTracked(Resignation):
    """The soft state is asked about a broker that it does not track."""

    kind = "NOT_REGISTERED"


class NoReplica(Resignation):
    """An election asks for the directory of a broker that is no replica."""

    kind = "ILLEGAL_ARGUMENT"
