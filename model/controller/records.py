"""Records of the controller's log beside those of `model.records`: configurations and controllers."""

from __future__ import annotations

from typing import TypeAlias

from attrs import frozen

from model.records import Record

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
    """A controller registers."""

    controller: int
    incarnation: str = ""


LogRecord: TypeAlias = Record | ConfigRecord | RegisterControllerRecord
"""Every record that the controller writes."""
