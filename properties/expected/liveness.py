"""Expected verdicts of liveness, as data: what `kraftcheck check fair-elections` and its like compare with.

A row is a system with fairness at a scope under a rule set; it lists the properties that do not hold, with the length
of the shortest run into a cycle. They are explored only where the system is named.
"""

from __future__ import annotations

from collections.abc import Mapping

EXPECTED_LIVENESS: Mapping[tuple[str, str, str], Mapping[str, str]] = {
    ("fair-elections", "tiny", "kafka-4.0"): {"leader-elected": "refuted 4", "unclean-leader-elected": "refuted 5"},
    ("fair-elections", "tiny", "fixed"): {},
    ("fair-elections", "tiny", "kip"): {},
    ("fair-elections", "tiny", "kafka-3.9"): {},
    ("healing-elections", "tiny", "kafka-4.0"): {
        "isr-is-refilled": "refuted 6",
        "recovery-ends": "refuted 8",
        "preferred-leader-leads": "refuted 6",
        "reassignment-ends-as-asked": "refuted 4",
    },
    ("healing-elections", "tiny", "fixed"): {},
    ("healing-elections", "tiny", "kip"): {"isr-is-refilled": "refuted 8", "preferred-leader-leads": "refuted 8"},
    ("healing-elections", "tiny", "kafka-3.9"): {"reassignment-ends-as-asked": "refuted 4"},
    ("healing-elections", "tiny", "kafka-4.4.0"): {"reassignment-ends-as-asked": "refuted 4"},
    ("healing-sessions", "tiny", "fixed"): {},
    ("healing-sessions", "tiny", "kafka-3.9"): {},
    ("healing-sessions", "tiny", "kafka-4.0.0"): {},
    ("healing-sessions", "tiny", "kafka-4.4.0"): {},
}
