"""Historical and seeded defects with the scope that shows each, and what exactly it breaks.

Each row is a rule variant: on, it refutes exactly the named properties with
traces of the given lengths; off, every property holds in the same scope. Entry
numbers are those of the project's bug catalogue.
"""

from __future__ import annotations

from properties.bug import Bug
from properties.bugs_directories import DIRECTORY_BUGS

_NO_CRASH = {"unclean-stops": 0, "shrinks": 0}
_LONG = {**_NO_CRASH, "fences": 3, "epochs": 8}

BUGS: tuple[Bug, ...] = (
    Bug("1 (X1)", "removed-replicas-stay-in-elr", "replication", "tiny",
        {"leader-complete": 7, "candidates-complete": 3, "quorum-superset": 2, "acknowledged-survives": 10},
        {**_NO_CRASH, "reassignments": 2, "fences": 2, "epochs": 10}),
    Bug("2 KIP-966", "-elr-available", "replication", "tiny",
        {"leader-complete": 7, "candidates-complete": 6, "acknowledged-survives": 10}),
    Bug("3 KAFKA-15583", "hw-advances-under-min-isr", "replication", "tiny",
        {"leader-complete": 5, "candidates-complete": 3}),
    Bug("4 KIP-966", "gate-counts-maximal-isr", "replication", "small",
        {"candidates-complete": 7},
        {"fences": 2, "unclean-stops": 0}),
    Bug("5 KAFKA-19522", "dead-last-known-leader-electable", "elections", "tiny",
        {"isr-within-replicas": 8, "leader-is-replica": 8, "leader-active": 3, "leader-directory-online": 3,
         "isr-active-while-led": 3, "controller-stays": 10, "unclean-stop-loses-eligibility": 3, "leader-returns": 10,
         "unclean-leader-returns": 4, "isr-refills": 9}),
    Bug("6 KIP-903", "alter-partition-ignores-broker-epoch", "replication", "tiny",
        {"leader-complete": 10, "candidates-complete": 9, "acknowledged-survives": 13}),
    Bug("7 KIP-497", "hw-uses-committed-isr-only", "replication", "small",
        {"leader-complete": 11, "candidates-complete": 9, "acknowledged-survives": 14}),
    Bug("8 KIP-497", "hw-uses-proposed-isr", "replication", "tiny",
        {"leader-complete": 3, "candidates-complete": 2, "acknowledged-survives": 3}),
    Bug("9 KAFKA-16540", "min-isr-change-keeps-elr", "replication", "tiny",
        {"leader-complete": 6, "candidates-complete": 4, "quorum-superset": 3, "acknowledged-survives": 9},
        {**_NO_CRASH, "config-changes": 1, "fences": 2}),
    Bug("beside 9", "min-isr-raise-is-silent", "replication", "small",
        {"candidates-complete": 7},
        {"unclean-stops": 0, "shrinks": 1, "config-changes": 1}),
    Bug("10 KAFKA-15586", "elr-keeps-unclean-replicas", "replication", "tiny",
        {"leader-complete": 7, "candidates-complete": 5, "acknowledged-survives": 10}),
    Bug("11 KAFKA-18635", "every-restart-is-unclean", "replication", "tiny",
        {"recovery-quorum": 3},
        {**_NO_CRASH, "clean-stops": 2, "fences": 0}),
    Bug("15 KAFKA-18106", "stale-reregistration-keeps-isr", "replication", "tiny",
        {"leader-complete": 5, "candidates-complete": 5, "acknowledged-survives": 6, "isr-active": 2},
        {"elr": 0, "fences": 0, "shrinks": 0}),
    Bug("16 KAFKA-13916", "fenced-may-join-isr", "replication", "tiny",
        {"isr-active": 5}),
    Bug("17 KAFKA-14140", "shutting-down-may-join-isr", "replication", "tiny",
        {"isr-active": 5},
        {"clean-stops": 1, "unclean-stops": 0}),
    Bug("18 KAFKA-15221", "broker-epoch-taken-from-metadata", "replication", "tiny",
        {"leader-complete": 10, "candidates-complete": 9, "acknowledged-survives": 13}),
    Bug("19 KAFKA-1382", "alter-partition-ignores-partition-epoch", "replication", "small",
        {"leader-complete": 15, "candidates-complete": 13, "quorum-superset": 10, "acknowledged-survives": 19}),
    Bug("20 KAFKA-7128", "no-leader-epoch-start-check", "replication", "small",
        {"leader-complete": 14, "candidates-complete": 12, "acknowledged-survives": 19},
        {"fences": 2, "unclean-stops": 0}),
    Bug("21 KIP-101", "truncate-to-high-watermark", "replication", "tiny",
        {"leader-complete": 5, "candidates-complete": 5, "consistent-reads": 14, "acknowledged-survives": 7},
        {**_NO_CRASH, "records": 2, "fences": 2}),
    Bug("22 KIP-279", "kip101-epoch-lookup", "replication", "tiny",
        {"leader-complete": 14, "candidates-complete": 13, "consistent-reads": 14, "logs-match": 14,
         "acknowledged-survives": 17},
        {**_LONG, "records": 2}),
    Bug("23 KIP-320", "fetch-unfenced", "replication", "small",
        {"candidates-complete": 14}),
    Bug("24 KIP-320", "hw-by-record-epoch-only", "replication", "small",
        {"candidates-complete": 16}),
    Bug("beside 35", "reelected-leader-keeps-ends", "replication", "small",
        {"candidates-complete": 17},
        {"fences": 2, "unclean-stops": 0}),
    Bug("36 KAFKA-7415", "no-epoch-entry-on-leadership", "replication", "tiny",
        {"leader-complete": 11, "candidates-complete": 10, "consistent-reads": 14, "logs-match": 14,
         "acknowledged-survives": 17},
        {**_LONG, "records": 2}),
    Bug("40 KAFKA-14154", "unknown-outcome-is-failure", "replication", "small",
        {"leader-complete": 12, "candidates-complete": 10, "quorum-superset": 7, "acknowledged-survives": 15}),
    Bug("40 KAFKA-14154", "answered-request-survives", "replication", "small",
        {"leader-complete": 13, "candidates-complete": 11, "quorum-superset": 8, "acknowledged-survives": 16}),
    Bug("40 KAFKA-14154", "refusal-taken-for-success", "replication", "tiny",
        {"metadata-match": 6}),
    Bug("B18", "equal-epoch-ends-proposal", "replication", "small",
        {"leader-complete": 18, "candidates-complete": 16, "quorum-superset": 14, "acknowledged-survives": 23}),
    Bug("38 KAFKA-14704", "truncation-keeps-watermark", "replication", "tiny",
        {"watermark-within-log": 11},
        {"shrinks": 0, "unclean-elections": 1}),
    Bug("seeded", "watermark-may-fall", "replication", "tiny",
        {"leader-complete": 11, "candidates-complete": 10, "acknowledged-survives": 14, "watermark-monotone": 6}),
    Bug("seeded", "leader-change-keeps-epoch", "replication", "tiny",
        {"leader-complete": 11, "candidates-complete": 10, "acknowledged-survives": 12, "epochs-monotone": 1,
         "one-leader-per-epoch": 1}),
    *DIRECTORY_BUGS,
)  # fmt: skip
"""The matrix, in catalogue order."""

PROOF_SCOPES: Mapping[str, tuple[str, ...]] = {"elections": ("tiny", "small", "directories")}
"""For each system that is proven, the scopes in one of which each refuting variant must break its proofs."""
