"""Statements that nobody has judged yet: each set may only shrink, and is empty in the end."""

from __future__ import annotations

from collections.abc import Mapping

UNJUDGED: Mapping[str, frozenset[str]] = {
    "catalogue": frozenset({
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
