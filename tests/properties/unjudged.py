"""Statements that nobody has judged yet: each set may only shrink, and is empty in the end."""

from __future__ import annotations

from collections.abc import Mapping

UNJUDGED: Mapping[str, frozenset[str]] = {
    "early controller design": frozenset({
        "early controller design 10, 102",
        "early controller design 33b",
        "early controller design 64, 68",
        "early controller design 70",
        "early controller design 100",
    }),
    "broker-id KIP": frozenset({
        "broker-id KIP 24, 29-30",
        "broker-id KIP 65b",
        "broker-id KIP 69",
        "broker-id KIP 112",
        "broker-id KIP 118-120",
        "broker-id KIP 122-128",
        "broker-id KIP 132-134",
    }),
    "catalogue": frozenset({
        "catalogue 54",
        "catalogue 58",
        "catalogue 59",
        "catalogue 61",
        "catalogue 62",
        "catalogue 63",
        "catalogue 64",
        "catalogue 65",
    }),
    "sibling": frozenset({
        "sibling KAFKA-16606",
        "sibling KAFKA-19212",
        "sibling KAFKA-18940",
        "sibling KAFKA-9491",
        "sibling KAFKA-13167",
        "sibling KAFKA-1188",
        "sibling the incarnation id of a registration's answer",
    }),
    "later": frozenset({
        "later KAFKA-20441",
        "later KAFKA-18845",
        "later KAFKA-19905",
        "later KAFKA-20708",
        "later KAFKA-19586",
        "later KAFKA-21022",
        "later strimzi 11477",
        "later strimzi 11685",
        "later PR 20003",
    }),
}  # fmt: skip
"""Document to the ids of its statements without a row."""
