"""Expected verdicts of `unclean-recovery` (see `kraftcheck.properties.expected.verdicts`)."""

from __future__ import annotations

from collections.abc import Mapping

UNCLEAN_RECOVERY: Mapping[tuple[str, str, str], Mapping[str, str]] = {
    ("unclean-recovery", "tiny", "kip"): {
        "chosen-is-maximal": "refuted 5",
        "loses-least": "refuted 6",
        "zero-exactly-when-led": "refuted 7",
    },
    ("unclean-recovery", "tiny", "fixed"): {},
    ("unclean-recovery", "returning", "kip"): {
        "chosen-is-maximal": "refuted 5",
        "loses-least": "refuted 6",
        "zero-exactly-when-led": "refuted 4",
    },
    ("unclean-recovery", "returning", "kip-recovery-trusts-current-epoch"): {
        "loses-least": "refuted 9",
        "zero-exactly-when-led": "refuted 4",
    },
    ("unclean-recovery", "returning", "fixed"): {},
    ("unclean-recovery", "requests", "kip"): {
        "chosen-is-maximal": "refuted 7",
        "zero-exactly-when-led": "refuted 4",
    },
    ("unclean-recovery", "requests", "fixed"): {},
    ("unclean-recovery", "small", "kip"): {
        "chosen-is-maximal": "refuted 5",
        "loses-least": "refuted 6",
        "zero-exactly-when-led": "refuted 4",
    },
    ("unclean-recovery", "small", "fixed"): {},
}
"""Under `kip` what the document does not keep; mended, it keeps all."""
