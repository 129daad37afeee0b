"""Expected verdicts, as data: what `kraftcheck check` compares with, strictly both ways.

A row is a system at a scope under a rule set; it lists the properties that do
not simply hold, with the length of the shortest trace. A defect that is no
longer found is as much a failure as a new one.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Collection, Mapping

from kraftcheck.properties.expected.broker_ids import BROKER_IDS
from kraftcheck.properties.expected.directories import DIRECTORIES_EXPECTED
from kraftcheck.properties.expected.elr_index import ELR_INDEX
from kraftcheck.properties.expected.large_scopes import EXPECTED_LARGE
from kraftcheck.properties.expected.liveness import EXPECTED_LIVENESS
from kraftcheck.properties.expected.sessions import SESSIONS
from kraftcheck.properties.expected.unclean_recovery import UNCLEAN_RECOVERY
from kraftcheck.properties.expected.zookeeper import ZK

Row = tuple[str, str, str]
"""System, scope, rule set."""

EXPECTED: Mapping[Row, Mapping[str, str]] = {
    ("elections", "tiny", "kafka-4.0"): {
        "isr-within-replicas": "refuted 7",
        "leader-is-replica": "refuted 7",
        "elr-within-replicas": "refuted 2",
        "last-known-is-one-replica": "refuted 3",
        "adding-removing-disjoint": "refuted 4",
        "reassignment-ends-at-target": "refuted 2",
        "reassignment-keeps-a-leader": "refuted 2",
        "leader-active": "refuted 1",
        "leader-directory-online": "refuted 4",
        "isr-active-while-led": "refuted 1",
        "elr-registered": "refuted 2",
        "elr-empty-at-min-isr": "refuted 2",
        "controller-stays": "refuted 4",
        "unclean-request-is-granted": "refuted 5",
        "loss-is-marked": "refuted 6",
        "elr-leavers-have-a-reason": "refuted 3",
        "isr-grows-by-leader": "refuted 4",
        "clean-candidate-kept": "refuted 2",
        "unclean-stop-loses-eligibility": "refuted 3",
        "clean-restart-keeps-elr": "refuted 3",
        "leader-returns": "refuted 2",
        "unclean-leader-returns": "refuted 2",
        "isr-refills": "refuted 8",
        "recovering-after-unclean-election": "refuted 3",
        "unclean-only-when-allowed": "refuted 4",
        "last-known-is-remembered": "refuted 6",
        "reassignment-is-under-way": "refuted 2",
    },
    ("elections", "tiny", "fixed"): {},
    ("elections", "tiny", "kip"): {
        "isr-within-replicas": "refuted 6",
        "leader-is-replica": "refuted 6",
        "controller-stays": "refuted 7",
        "leader-returns": "refuted 7",
        "isr-refills": "refuted 6",
    },
    ("elections", "tiny", "kafka-3.9"): {
        "adding-removing-disjoint": "refuted 4",
        "reassignment-ends-at-target": "refuted 2",
        "reassignment-keeps-a-leader": "refuted 2",
        "leader-active": "refuted 1",
        "isr-active-while-led": "refuted 1",
        "loss-is-marked": "refuted 6",
        "isr-grows-by-leader": "refuted 4",
        "clean-candidate-kept": "refuted 4",
        "unclean-leader-returns": "refuted 2",
        "reassignment-is-under-way": "refuted 2",
    },
    ("elections", "small", "kafka-4.0"): {
        "last-known-is-one-replica": "refuted 4",
        "leader-active": "refuted 1",
        "leader-directory-online": "refuted 5",
        "isr-active-while-led": "refuted 1",
        "elr-registered": "refuted 2",
        "elr-empty-at-min-isr": "refuted 3",
        "elr-leavers-have-a-reason": "refuted 3",
        "unclean-request-is-granted": "refuted 5",
        "clean-candidate-kept": "refuted 3",
        "unclean-stop-loses-eligibility": "refuted 4",
        "clean-restart-keeps-elr": "refuted 3",
        "leader-returns": "refuted 3",
        "unclean-leader-returns": "refuted 2",
        "recovering-after-unclean-election": "refuted 4",
        "isr-leavers-stay-eligible": "refuted 6",
        "unclean-only-when-allowed": "refuted 5",
    },
    ("elections", "small", "fixed"): {},
    ("elections", "small", "kip"): {},
    ("elections", "small", "kafka-3.9"): {
        "leader-active": "refuted 1",
        "isr-active-while-led": "refuted 1",
        "unclean-leader-returns": "refuted 2",
    },
    ("elections", "directories", "kafka-4.0"): {
        "leader-in-isr": "refuted 4",
        "last-known-is-one-replica": "refuted 4",
        "last-known-while-leaderless": "refuted 5",
        "leader-active": "refuted 1",
        "leader-directory-online": "refuted 2",
        "isr-directory-online": "refuted 2",
        "isr-active-while-led": "refuted 1",
        "elr-registered": "refuted 2",
        "elr-empty-at-min-isr": "refuted 3",
        "unfenced-where-known": "refuted 2",
        "failed-directories-unregistered": "refuted 1",
        "recovering-after-unclean-election": "refuted 4",
        "unclean-request-is-granted": "refuted 5",
        "loss-is-marked": "refuted 7",
        "isr-grows-by-leader": "refuted 7",
        "elr-leavers-have-a-reason": "refuted 3",
        "clean-candidate-kept": "refuted 3",
        "unclean-stop-loses-eligibility": "refuted 4",
        "clean-restart-keeps-elr": "refuted 3",
        "leader-returns": "refuted 3",
        "unclean-leader-returns": "refuted 2",
        "isr-refills": "refuted 6",
        "decided-on-latest": "refuted 1",
        "unclean-only-when-allowed": "refuted 4",
        "last-known-is-remembered": "refuted 7",
        "assignment-keeps-leader": "refuted 4",
    },
    ("elections", "directories", "fixed"): {},
    ("elections", "directories", "kip"): {
        "leader-directory-online": "refuted 2",
        "isr-directory-online": "refuted 2",
        # By the letter of the document a replica whose directory is not known cannot lead; the promises let it.
        "unclean-request-is-granted": "refuted 2",
        "unclean-leader-returns": "refuted 2",
        "unclean-only-when-allowed": "refuted 3",
        "recovering-after-unclean-election": "refuted 4",
        "isr-leavers-stay-eligible": "refuted 4",
        "assignment-keeps-leader": "refuted 1",
    },
    ("elections", "directories", "kafka-3.9"): {
        "leader-in-isr": "refuted 4",
        "leader-active": "refuted 1",
        "leader-directory-online": "refuted 2",
        "isr-directory-online": "refuted 2",
        "isr-active-while-led": "refuted 1",
        "unfenced-where-known": "refuted 2",
        "failed-directories-unregistered": "refuted 1",
        "loss-is-marked": "refuted 7",
        "unclean-leader-returns": "refuted 2",
        "decided-on-latest": "refuted 1",
        "unclean-only-when-allowed": "refuted 4",
        "assignment-keeps-leader": "refuted 4",
    },
    ("elections", "default", "fixed"): {},
    ("elections", "default", "kafka-3.9"): {
        "adding-removing-disjoint": "refuted 2",
        "reassignment-ends-at-target": "refuted 2",
        "reassignment-keeps-a-leader": "refuted 2",
        "leader-active": "refuted 1",
        "isr-active-while-led": "refuted 1",
        "loss-is-marked": "refuted 5",
        "isr-grows-by-leader": "refuted 4",
        "clean-candidate-kept": "refuted 4",
        "unclean-leader-returns": "refuted 2",
        "reassignment-is-under-way": "refuted 2",
    },
    ("replication", "tiny", "kafka-4.0"): {},
    ("replication", "tiny", "fixed"): {},
    ("replication", "tiny", "kip"): {},
    ("replication", "tiny", "kafka-3.9"): {
        "leader-complete": "refuted 5",
        "candidates-complete": "refuted 5",
        "acknowledged-survives": "refuted 6",
        "isr-active": "refuted 2",
        "no-survivor-passed-over": "refuted 7",
    },
    ("replication", "small", "kafka-4.0"): {
        "leader-complete": "refuted 18",
        "candidates-complete": "refuted 16",
        "quorum-superset": "refuted 14",
        "acknowledged-survives": "refuted 23",
        "no-survivor-passed-over": "refuted 18",
    },
    ("replication", "small", "fixed"): {},
    ("replication", "small", "kip"): {},
    ("replication", "small", "kafka-3.9"): {
        "leader-complete": "refuted 7",
        "candidates-complete": "refuted 7",
        "quorum-superset": "refuted 15",
        "acknowledged-survives": "refuted 8",
        "isr-active": "refuted 2",
        "no-survivor-passed-over": "refuted 9",
    },
    **BROKER_IDS,
    **DIRECTORIES_EXPECTED,
    **ZK,
    **UNCLEAN_RECOVERY,
    **ELR_INDEX,
    **SESSIONS,
}


EVERY: Mapping[Row, Mapping[str, str]] = ChainMap(dict(EXPECTED_LIVENESS), dict(EXPECTED_LARGE), EXPECTED)  # type: ignore[arg-type]
"""With the rows of scopes, and of systems with fairness, that are explored only where they are named."""


def expected(row: Row, claim: str) -> str:
    """The expected verdict of a property, as `holds` or `refuted N`."""
    return EVERY[row].get(claim, "holds")


def rows_named(systems: Collection[str], scopes: Collection[str]) -> list[Row]:
    """The rows to explore: large scopes only where a scope is named, systems with fairness only where they are."""
    fair = [row for row in EXPECTED_LIVENESS if row[0] in systems]
    return [*EXPECTED, *(EXPECTED_LARGE if scopes else ()), *fair]
