"""Expected verdicts that `kraftcheck check` compares only where their scope is named: minutes, or gigabytes.

The tests of the profile `nightly` explore them.
"""

from __future__ import annotations

from collections.abc import Mapping

_DIRECTORIES = {
    "leader-active": "refuted 2",
    "leader-directory-online": "refuted 6",
    "failure-leads-away": "refuted 7",
    "candidates-complete": "refuted 7",
    "isr-directory-online": "refuted 6",
    "told-is-told": "refuted 1",
    "fenced-until-settled": "refuted 2",
    "no-copy-is-filled-over": "refuted 5",
    "failure-can-lead-away": "refuted 9",
    "decided-on-latest": "refuted 5",
    "untold-failure-stops-broker": "refuted 2",
}

EXPECTED_LARGE: Mapping[tuple[str, str, str], Mapping[str, str]] = {
    ("elections", "default", "kafka-4.0"): {
        "isr-within-replicas": "refuted 7",
        "leader-is-replica": "refuted 7",
        "elr-within-replicas": "refuted 2",
        "last-known-is-one-replica": "refuted 3",
        "adding-removing-disjoint": "refuted 2",
        "reassignment-ends-at-target": "refuted 2",
        "reassignment-keeps-a-leader": "refuted 2",
        "leader-active": "refuted 1",
        "leader-directory-online": "refuted 4",
        "isr-active-while-led": "refuted 1",
        "elr-registered": "refuted 2",
        "elr-empty-at-min-isr": "refuted 2",
        "controller-stays": "refuted 4",
        "loss-is-marked": "refuted 5",
        "isr-grows-by-leader": "refuted 4",
        "elr-leavers-have-a-reason": "refuted 3",
        "clean-candidate-kept": "refuted 2",
        "unclean-request-is-granted": "refuted 5",
        "unclean-stop-loses-eligibility": "refuted 3",
        "clean-restart-keeps-elr": "refuted 3",
        "leader-returns": "refuted 2",
        "unclean-leader-returns": "refuted 2",
        "isr-refills": "refuted 8",
        "reassignment-completes": "refuted 9",
    },
    ("elections", "default", "kip"): {
        "isr-within-replicas": "refuted 6",
        "leader-is-replica": "refuted 6",
        "controller-stays": "refuted 7",
        "leader-returns": "refuted 7",
        "isr-refills": "refuted 6",
    },
    ("directories", "medium", "kafka-4.0"): _DIRECTORIES,
    ("directories", "medium", "fixed"): {},
    ("directories", "medium", "kip"): {
        "leader-directory-online": "refuted 5",
        "failure-leads-away": "refuted 7",
        "candidates-complete": "refuted 8",
        "isr-directory-online": "refuted 5",
        "no-copy-is-filled-over": "refuted 5",
        "fenced-until-settled": "refuted 4",
        "failure-can-lead-away": "refuted 6",
        "untold-failure-stops-broker": "refuted 6",
    },
    ("directories", "medium", "kafka-3.9"): _DIRECTORIES,
    ("replication", "one-crash", "fixed"): {},
    ("kraft", "small", "kafka-4.0"): {
        "isr-active": "refuted 6",
        "leader-directory-online": "refuted 5",
        "isr-directory-online": "refuted 5",
        "failure-leads-away": "refuted 6",
        "told-is-told": "refuted 1",
    },
    ("kraft", "small", "fixed"): {},
    ("kraft", "small", "kip"): {
        "leader-directory-online": "refuted 3",
        "isr-directory-online": "refuted 3",
        "failure-leads-away": "refuted 4",
    },
    ("kraft", "small", "kafka-3.9"): {
        "leader-complete": "refuted 5",
        "candidates-complete": "refuted 5",
        "isr-active": "refuted 2",
        "leader-directory-online": "refuted 3",
        "isr-directory-online": "refuted 3",
        "failure-leads-away": "refuted 4",
        "told-is-told": "refuted 1",
        "acknowledged-survives-disks": "refuted 7",
    },
    ("kraft", "deletion", "kip"): {
        "leader-directory-online": "refuted 3",
        "isr-directory-online": "refuted 3",
        "failure-leads-away": "refuted 4",
        "second-leader-directory-online": "refuted 5",
        "second-isr-directory-online": "refuted 5",
        "second-failure-leads-away": "refuted 7",
        "second-fenced-until-settled": "refuted 4",
    },
    ("kraft", "deletion", "kafka-3.9"): {
        "isr-active": "refuted 3",
        "leader-directory-online": "refuted 3",
        "isr-directory-online": "refuted 3",
        "failure-leads-away": "refuted 4",
        "told-is-told": "refuted 1",
        "second-leader-active": "refuted 3",
        "second-leader-directory-online": "refuted 6",
        "second-isr-directory-online": "refuted 6",
        "second-failure-leads-away": "refuted 7",
        "second-fenced-until-settled": "refuted 2",
    },
}
"""Row (system, scope, rule set) to what does not simply hold."""
