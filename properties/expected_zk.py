"""Expected verdicts of the systems on ZooKeeper (see `properties.expected`)."""

from __future__ import annotations

from collections.abc import Mapping

ZK: Mapping[tuple[str, str, str], Mapping[str, str]] = {
    ("zk-controller", "tiny", "kip"): {
        "isr-complete": "refuted 9",
        "decisions-are-published": "refuted 5",
        "no-avoidable-loss": "refuted 8",
        "few-operations": "refuted 5",
    },
    ("zk-controller", "tiny", "kip-decisions-one-by-one-decision-write-unconditional"): {
        "no-avoidable-loss": "refuted 8",
    },
    ("zk-controller", "tiny", "fixed"): {},
    ("zk-controller", "sessions", "kip"): {
        "isr-complete": "refuted 7",
        "decisions-are-published": "refuted 4",
        "no-avoidable-loss": "refuted 7",
        "few-operations": "refuted 4",
    },
    ("zk-controller", "sessions", "kip-decisions-one-by-one-decision-write-unconditional"): {
        "no-avoidable-loss": "refuted 7",
    },
    ("zk-controller", "sessions", "fixed"): {},
    ("zk-controller", "replica", "kip"): {
        "partition-is-led": "refuted 1",
    },
    ("zk-controller", "replica", "fixed"): {},
    ("zk-controller", "pair", "kip"): {
        "decisions-are-published": "refuted 6",
        "change-is-whole": "refuted 6",
        "few-operations": "refuted 6",
    },
    ("zk-controller", "pair", "kip-decisions-one-by-one-decision-write-unconditional"): {},
    ("zk-controller", "pair", "fixed"): {},
    ("zk-controller", "topic", "kip"): {
        "isr-complete": "refuted 16",
        "decisions-are-published": "refuted 4",
        "no-avoidable-loss": "refuted 16",
        "few-operations": "refuted 4",
    },
    ("zk-controller", "topic", "fixed"): {},
    ("zk-controller", "small", "kip"): {
        "isr-complete": "refuted 7",
        "decisions-are-published": "refuted 4",
        "no-avoidable-loss": "refuted 7",
        "few-operations": "refuted 4",
    },
    ("zk-controller", "small", "kip-decisions-one-by-one-decision-write-unconditional"): {
        "no-avoidable-loss": "refuted 9",
    },
    ("zk-controller", "small", "fixed"): {},
}
"""Under `kip`, the document; without its first two choices, the document with its multi write; and mended."""
