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
}

EXPECTED_LARGE: Mapping[tuple[str, str, str], Mapping[str, str]] = {
    ("directories", "medium", "kafka-4.0"): _DIRECTORIES,
    ("directories", "medium", "fixed"): {},
    ("directories", "medium", "kip"): {
        "leader-directory-online": "refuted 5",
        "failure-leads-away": "refuted 7",
        "candidates-complete": "refuted 7",
        "isr-directory-online": "refuted 5",
        "no-copy-is-filled-over": "refuted 5",
        "failure-can-lead-away": "refuted 3",
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
