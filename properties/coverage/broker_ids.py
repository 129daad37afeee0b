"""The statements of the broker-id KIP (system `broker-ids`); an id ends with the lines of its text."""

from __future__ import annotations

from kraftcheck.properties.coverage.statement import Statement

BROKER_IDS: tuple[Statement, ...] = (
    Statement("broker-id KIP 13", "KAFKA-1070: id from a sequence, kept in meta.properties."),
    Statement("broker-id KIP 15", "Lost meta file: new id."),
    Statement("broker-id KIP 19-23", "/brokers/hosts/<host> node."),
    Statement("broker-id KIP 24, 29-30", "Version key, bumped for later releases."),
    Statement("broker-id KIP 36", "Avoid new ids except in a new cluster."),
    Statement("broker-id KIP 45-47", "1 over 2 over 3; must be consistent."),
    Statement("broker-id KIP 47", "Registration fails: error, human."),
    Statement("broker-id KIP 51", "Step a."),
    Statement("broker-id KIP 53-55", "B.1 exactly one."),
    Statement("broker-id KIP 57, 69", "B.2 several: error."),
    Statement("broker-id KIP 59, 73", "B.3 none: new id."),
    Statement("broker-id KIP 61", "B is optional."),
    Statement("broker-id KIP 65", "Same hostname after replacement."),
    Statement("broker-id KIP 65b", "A third-party tool rewrites the node."),
    Statement("broker-id KIP 69",
              "'it will eventually start up after all other brokers start' (liveness, supervisor restarts)."),
    Statement("broker-id KIP 71", "Several lost: human."),
    Statement("broker-id KIP 77", "Mapping written after registration."),
    Statement("broker-id KIP 83-87", "Three steps to find missing ids."),
    Statement("broker-id KIP 90", "Cost ~1 s for 1k topics."),
    Statement("broker-id KIP 94", "Garbage nodes."),
    Statement("broker-id KIP 100-110", "Corner cases 1, 2.1, 2.2, 3."),
    Statement("broker-id KIP 112", "Upgrade without action, mixed versions work together."),
    Statement("broker-id KIP 118-120", "Alternative: boolean config guard."),
    Statement("broker-id KIP 122-128",
              "Alternative: ZooKeeper before meta.properties, configurable key (hostname/MAC)."),
    Statement("broker-id KIP 132-134", "Alternative: /brokers/missing_ids."),
)  # fmt: skip
"""In the order of the audit."""
