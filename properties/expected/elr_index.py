"""Expected verdicts of `elr-index` (see `kraftcheck.properties.expected.verdicts`)."""

from __future__ import annotations

from collections.abc import Mapping

ELR_INDEX: Mapping[tuple[str, str, str], Mapping[str, str]] = {
    ("elr-index", "tiny", "kafka-4.4.0"): {
        "index-lists-members": "refuted 3",
        "controller-stays": "refuted 5",
    },
    ("elr-index", "tiny", "kafka-4.4.0-cleared-elr-stays-indexed"): {},
    ("elr-index", "tiny", "kafka-4.0.0-cleared-elr-stays-indexed"): {},
    ("elr-index", "tiny", "kafka-4.0"): {},
    ("elr-index", "tiny", "fixed"): {},
}
"""Each release from 4.0.0 on writes ClearElrRecord and keeps the index as it was; the snapshot does not write it."""
