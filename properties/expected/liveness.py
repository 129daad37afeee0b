"""Expected verdicts of liveness, as data: what `kraftcheck check fair-elections` and its like compare with.

A row is a system with fairness at a scope under a rule set; it lists the properties that do not hold, with the length
of the shortest run into a cycle. They are explored only where the system is named.
"""

from __future__ import annotations

from collections.abc import Mapping

Rows = Mapping[tuple[str, str, str], Mapping[str, str]]

SMALLEST: Rows = {
    ("fair-elections", "tiny", "kafka-4.0"): {"leader-elected": "refuted 4", "unclean-leader-elected": "refuted 5"},
    ("fair-elections", "tiny", "fixed"): {},
    ("fair-elections", "tiny", "kip"): {},
    ("fair-elections", "tiny", "kafka-3.9"): {},
    ("healing-elections", "tiny", "kafka-4.0"): {
        "leader-is-elected": "refuted 5",
        "volunteer-is-elected": "refuted 6",
        "isr-is-refilled": "refuted 6",
        "recovery-ends": "refuted 8",
        "preferred-leader-leads": "refuted 6",
        "reassignment-ends-as-asked": "refuted 4",
    },
    ("healing-elections", "tiny", "fixed"): {},
    ("healing-elections", "tiny", "kip"): {"isr-is-refilled": "refuted 8", "preferred-leader-leads": "refuted 8"},
    ("healing-elections", "tiny", "kafka-3.9"): {"reassignment-ends-as-asked": "refuted 4"},
    ("healing-elections", "tiny", "kafka-4.4.0"): {
        "leader-is-elected": "refuted 6",
        "volunteer-is-elected": "refuted 12",
        "reassignment-ends-as-asked": "refuted 4",
    },
    ("healing-sessions", "tiny", "fixed"): {},
    ("healing-sessions", "tiny", "kafka-3.9"): {},
    ("healing-sessions", "tiny", "kafka-4.0.0"): {},
    ("healing-sessions", "tiny", "kafka-4.4.0"): {},
    ("fair-directories", "tiny", "kafka-4.0"): {
        "readable-log-is-led": "refuted 12",
        "assignments-settle": "refuted 12",
        "failure-leads-away": "refuted 9",
        "move-ends": "refuted 6",
    },
    ("fair-directories", "tiny", "fixed"): {},
    ("fair-directories", "tiny", "kip"): {"failure-leads-away": "refuted 7"},
    ("fair-directories", "tiny", "kafka-3.9"): {
        "readable-log-is-led": "refuted 12",
        "assignments-settle": "refuted 12",
        "failure-leads-away": "refuted 9",
        "move-ends": "refuted 6",
    },
    ("fair-directories", "tiny", "kafka-4.4.0"): {
        "readable-log-is-led": "refuted 19",
        "assignments-settle": "refuted 19",
        "failure-leads-away": "refuted 9",
        "move-ends": "refuted 6",
    },
    ("fair-directories", "migration", "kafka-4.0"): {
        "readable-log-is-led": "refuted 14",
        "assignments-settle": "refuted 14",
        "failure-leads-away": "refuted 5",
        "move-ends": "refuted 8",
    },
    ("fair-directories", "migration", "fixed"): {},
    ("fair-directories", "migration", "kip"): {"failure-leads-away": "refuted 8"},
    ("fair-directories", "migration", "kafka-3.9"): {
        "readable-log-is-led": "refuted 14",
        "assignments-settle": "refuted 14",
        "failure-leads-away": "refuted 5",
        "move-ends": "refuted 8",
    },
    ("fair-directories", "upgrade", "kafka-4.0"): {
        "readable-log-is-led": "refuted 11",
        "assignments-settle": "refuted 1",
        "failure-leads-away": "refuted 3",
        "move-ends": "refuted 7",
    },
    ("fair-directories", "upgrade", "fixed"): {},
    ("fair-directories", "upgrade", "kip"): {"failure-leads-away": "refuted 4"},
    ("fair-directories", "upgrade", "kafka-3.9"): {
        "readable-log-is-led": "refuted 11",
        "assignments-settle": "refuted 1",
        "failure-leads-away": "refuted 3",
        "move-ends": "refuted 7",
    },
    ("fair-replication", "tiny", "kafka-4.0"): {},
    ("fair-replication", "tiny", "fixed"): {},
    ("fair-replication", "tiny", "kip"): {},
    ("fair-replication", "tiny", "kafka-3.9"): {"acknowledged-is-everywhere": "refuted 8"},
    ("fair-broker-ids", "tiny", "kip"): {"restart-ends": "refuted 12"},
    ("fair-broker-ids", "tiny", "kip-identity-by-elimination"): {},
    ("fair-broker-ids", "tiny", "fixed"): {},
    ("fair-zk-controller", "tiny", "kip"): {},
    ("fair-zk-controller", "tiny", "fixed"): {},
    ("fair-zk-controller", "replica", "kip"): {"partition-is-finally-led": "refuted 1"},
    ("fair-zk-controller", "replica", "fixed"): {},
    ("fair-zk-controller", "topic", "kip"): {},
    ("fair-zk-controller", "topic", "fixed"): {},
    ("fair-zk-jbod", "tiny", "kip"): {},
    ("fair-zk-jbod", "tiny", "fixed"): {},
    ("fair-zk-jbod", "writers", "kip"): {
        "lost-partition-finally-settles": "refuted 17",
        "lost-replica-finally-returns": "refuted 19",
    },
    ("fair-zk-jbod", "writers", "fixed"): {},
    ("fair-zk-jbod", "controller", "kip"): {"lost-partition-finally-settles": "refuted 12"},
    ("fair-zk-jbod", "controller", "fixed"): {},
    ("fair-zk-jbod", "repair", "kip"): {},
    ("fair-zk-jbod", "repair", "fixed"): {},
    ("fair-unclean-recovery", "tiny", "kip"): {},
    ("fair-unclean-recovery", "tiny", "fixed"): {},
}
"""The scopes in which each claim is shown to fail by its variants, and to need its fairness: seconds each."""

LARGER: Rows = {
    ("fair-elections", "small", "kafka-4.0"): {"unclean-leader-elected": "refuted 5"},
    ("fair-elections", "small", "fixed"): {},
    ("fair-elections", "small", "kip"): {},
    ("fair-elections", "small", "kafka-3.9"): {},
    ("healing-elections", "small", "kafka-4.0"): {
        "leader-is-elected": "refuted 6",
        "volunteer-is-elected": "refuted 7",
        "isr-is-refilled": "refuted 7",
        "recovery-ends": "refuted 7",
        "preferred-leader-leads": "refuted 8",
    },
    ("healing-elections", "small", "fixed"): {},
    ("healing-elections", "small", "kafka-3.9"): {},
    ("healing-elections", "small", "kafka-4.4.0"): {"leader-is-elected": "refuted 7"},
    ("fair-directories", "small", "fixed"): {},
    ("fair-directories", "metadata", "fixed"): {},
    ("fair-directories", "restarts", "fixed"): {},
    ("fair-replication", "small", "kafka-4.0"): {"acknowledged-is-everywhere": "refuted 25"},
    ("fair-replication", "small", "fixed"): {},
    ("fair-replication", "small", "kip"): {},
    ("fair-replication", "small", "kafka-3.9"): {"acknowledged-is-everywhere": "refuted 12"},
    ("fair-broker-ids", "newcomer", "kip"): {"restart-ends": "refuted 8"},
    ("fair-broker-ids", "newcomer", "fixed"): {},
    ("fair-broker-ids", "renames", "kip"): {"restart-ends": "refuted 12"},
    ("fair-broker-ids", "renames", "fixed"): {},
    ("fair-broker-ids", "shared", "kip"): {"restart-ends": "refuted 8"},
    ("fair-broker-ids", "shared", "fixed"): {},
    ("fair-broker-ids", "sessions", "fixed"): {},
    ("fair-broker-ids", "small", "fixed"): {},
    ("fair-zk-controller", "sessions", "kip"): {},
    ("fair-zk-controller", "sessions", "fixed"): {},
    ("fair-zk-controller", "pair", "kip"): {},
    ("fair-zk-controller", "pair", "fixed"): {},
    ("fair-zk-controller", "deletion", "kip"): {},
    ("fair-zk-controller", "deletion", "fixed"): {},
    ("fair-zk-controller", "reassignment", "kip"): {"partition-is-finally-led": "refuted 17"},
    ("fair-zk-controller", "reassignment", "fixed"): {},
    ("fair-zk-controller", "deposed", "kip"): {
        "partition-is-finally-led": "refuted 20",
        "decisions-finally-arrive": "refuted 20",
    },
    ("fair-zk-controller", "deposed", "fixed"): {},
    ("fair-zk-controller", "small", "kip"): {},
    ("fair-zk-controller", "small", "fixed"): {},
    ("fair-zk-jbod", "jobs", "kip"): {},
    ("fair-zk-jbod", "jobs", "fixed"): {},
    ("fair-zk-jbod", "log", "kip"): {
        "lost-partition-finally-settles": "refuted 16",
        "lost-replica-finally-returns": "refuted 17",
    },
    ("fair-zk-jbod", "log", "fixed"): {},
    ("fair-zk-jbod", "small", "kip"): {
        "lost-partition-finally-settles": "refuted 17",
        "lost-replica-finally-returns": "refuted 19",
    },
    ("fair-zk-jbod", "small", "fixed"): {},
    ("fair-unclean-recovery", "returning", "kip"): {},
    ("fair-unclean-recovery", "returning", "fixed"): {},
    ("fair-unclean-recovery", "requests", "kip"): {},
    ("fair-unclean-recovery", "requests", "fixed"): {},
    ("fair-unclean-recovery", "small", "kip"): {},
    ("fair-unclean-recovery", "small", "fixed"): {},
}
"""More brokers, faults and kinds of events: a second to some seconds each."""

EXPECTED_LIVENESS: Rows = {**SMALLEST, **LARGER}
"""Every row."""
