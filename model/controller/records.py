"""Records of the controller's log beside those of `model.records.records`: configurations and controllers."""

from __future__ import annotations

from typing import TypeAlias

from attrs import frozen

from kraftcheck.model.records.records import Record

TOPIC, NODE, CLUSTER = "topic", "node", "cluster"


@frozen
class ConfigRecord:
    """A configuration is set, or removed.

    Attributes:
        scope: TOPIC, NODE or CLUSTER.
        name: the topic, or the id of the node; empty for the cluster.
        value: None removes it.
    """

    scope: str
    name: str
    key: str
    value: str | None


@frozen
class RegisterControllerRecord:
    """A controller registers.

    Attributes:
        supports: the highest metadata version that it supports; None where the record does not say.
    """

    controller: int
    incarnation: str = ""
    supports: int | None = None


@frozen
class UnregisterControllerRecord:
    """A controller's registration goes; metadata version 4.4-IV2 brought it."""

    controller: int


@frozen
class ClearElrRecord:
    """The ELRs and last known leaders of a topic are emptied; an empty name means every topic.

    The partition epoch of each partition that has either rises, as by a change record.
    Source: `ClearElrRecord`, `ReplicationControlManager.replay`, Kafka 4.0 (KAFKA-16540).
    """

    topic: str


LogRecord: TypeAlias = Record | ConfigRecord | RegisterControllerRecord | UnregisterControllerRecord | ClearElrRecord
"""Every record that the controller writes."""
