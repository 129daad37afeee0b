"""Expected verdicts of the systems on ZooKeeper (see `kraftcheck.properties.expected.verdicts`)."""

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
    ("zk-controller", "deletion", "kip"): {
        "isr-complete": "refuted 9",
        "decisions-are-published": "refuted 5",
        "deleted-stays-deleted": "refuted 6",
        "no-avoidable-loss": "refuted 8",
        "few-operations": "refuted 5",
        "deletion-completes": "refuted 2",
    },
    ("zk-controller", "deletion", "kip-decisions-one-by-one-decision-write-unconditional"): {
        "no-avoidable-loss": "refuted 8",
        "deletion-completes": "refuted 2",
    },
    ("zk-controller", "deletion", "fixed"): {},
    ("zk-controller", "reassignment", "kip"): {
        "leader-in-isr": "refuted 8",
        "isr-complete": "refuted 10",
        "decisions-are-published": "refuted 17",
        "no-avoidable-loss": "refuted 7",
        "few-operations": "refuted 6",
        "last-copy-is-not-stopped": "refuted 11",
        "partition-is-led": "refuted 11",
        "reassignment-completes": "refuted 8",
    },
    ("zk-controller", "reassignment", "kip-decisions-one-by-one-decision-write-unconditional"): {
        "leader-in-isr": "refuted 8",
        "no-avoidable-loss": "refuted 7",
        "last-copy-is-not-stopped": "refuted 12",
        "partition-is-led": "refuted 9",
        "reassignment-completes": "refuted 7",
    },
    ("zk-controller", "reassignment", "fixed"): {},
    ("zk-controller", "deposed", "kip"): {
        "isr-complete": "refuted 22",
        "decisions-are-published": "refuted 5",
        "no-avoidable-loss": "refuted 17",
        "few-operations": "refuted 5",
        "partition-is-led": "refuted 9",
        "decisions-arrive": "refuted 9",
    },
    ("zk-controller", "deposed", "kip-decisions-one-by-one-decision-write-unconditional"): {
        "no-avoidable-loss": "refuted 15",
        "partition-is-led": "refuted 10",
    },
    ("zk-controller", "deposed", "fixed"): {},
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
    ("zk-jbod", "tiny", "kip"): {
        "reads-find-failures": "refuted 1",
    },
    ("zk-jbod", "tiny", "fixed"): {},
    ("zk-jbod", "jobs", "kip"): {
        "failed-directory-left-alone": "refuted 7",
        "reads-find-failures": "refuted 1",
    },
    ("zk-jbod", "jobs", "fixed"): {},
    ("zk-jbod", "log", "kip"): {
        "lost-replica-returns": "refuted 13",
        "new-leader-has-records": "refuted 19",
        "requests-are-kept": "refuted 13",
        "transient-errors-cost-nothing": "refuted 1",
        "lost-partition-settles": "refuted 13",
        "reads-find-failures": "refuted 1",
    },
    ("zk-jbod", "log", "fixed"): {},
    ("zk-jbod", "writers", "kip"): {
        "lost-replica-returns": "refuted 14",
        "restart-seats-live-leader": "refuted 10",
        "new-leader-has-records": "refuted 14",
        "requests-are-kept": "refuted 14",
        "lost-partition-settles": "refuted 14",
        "reads-find-failures": "refuted 1",
    },
    ("zk-jbod", "writers", "fixed"): {},
    ("zk-jbod", "controller", "kip"): {
        "lost-partition-settles": "refuted 9",
        "reads-find-failures": "refuted 1",
    },
    ("zk-jbod", "controller", "fixed"): {},
    ("zk-jbod", "repair", "kip"): {
        "restart-seats-live-leader": "refuted 7",
        "new-leader-has-records": "refuted 11",
        "reads-find-failures": "refuted 1",
    },
    ("zk-jbod", "repair", "fixed"): {},
    ("zk-jbod", "small", "kip"): {
        "lost-replica-returns": "refuted 14",
        "restart-seats-live-leader": "refuted 10",
        "new-leader-has-records": "refuted 22",
        "requests-are-kept": "refuted 14",
        "lost-partition-settles": "refuted 14",
        "reads-find-failures": "refuted 1",
    },
    ("zk-jbod", "small", "fixed"): {},
}
"""Under `kip`, the document; for `zk-controller` also the document with the multi write it wishes for; and mended."""
