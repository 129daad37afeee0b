"""Expected verdicts of `sessions` (see `kraftcheck.properties.expected.verdicts`)."""

from __future__ import annotations

from collections.abc import Mapping

SESSIONS: Mapping[tuple[str, str, str], Mapping[str, str]] = {
    ("sessions", "tiny", "fixed"): {},
    ("sessions", "tiny", "kafka-3.9"): {},
    ("sessions", "tiny", "kafka-4.0.0"): {
        "fenced-broker-may-return": "refuted 2",
        "takeover-revives-no-session": "refuted 6",
    },
    ("sessions", "tiny", "kafka-4.4.0"): {
        "fenced-broker-may-return": "refuted 2",
    },
}
"""From 4.0.0 on a broker and epoch heard of has a session, fenced or not."""
