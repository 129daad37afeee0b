"""Defects of sessions and shutdowns with the scope that shows each; part of the matrix of defects."""

from __future__ import annotations

from kraftcheck.properties.defects.defect import Bug

SESSIONS_BUGS: tuple[Bug, ...] = (
    Bug("catalogue 42; KAFKA-14292", "shutdown-offset-moves", "sessions", "tiny",
        {"shutdown-is-granted": 1}),
    Bug("catalogue 42; KAFKA-13959", "unfence-needs-log-end", "sessions", "tiny",
        {"broker-returns": 3}),
    Bug("catalogue 43; KAFKA-13858; KAFKA-14296", "stopping-broker-ignores-metadata", "sessions", "tiny",
        {"leader-steps-down": 2}),
    Bug("catalogue 45; KAFKA-16952", "reregistration-bumps-epoch", "sessions", "tiny",
        {"epoch-of-incarnation": 1}),
    Bug("KAFKA-19047; KAFKA-17793", "sessions-by-contact", "sessions", "tiny",
        {"fenced-broker-may-return": 2}),
    Bug("KAFKA-19130", "sessions-by-contact+takeover-hears-fenced-brokers", "sessions", "tiny",
        {"fenced-broker-may-return": 2, "takeover-revives-no-session": 6}),
    Bug("KAFKA-18138", "sessions-by-contact+takeover-hears-nobody", "sessions", "tiny",
        {"fenced-broker-may-return": 2, "silent-broker-is-fenced": 2, "shutdown-is-granted": 3}),
)  # fmt: skip
"""In the order of the catalogue."""
