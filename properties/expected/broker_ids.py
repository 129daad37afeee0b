"""Expected verdicts of `broker-ids` (see `kraftcheck.properties.expected.verdicts`)."""

from __future__ import annotations

from collections.abc import Mapping

BROKER_IDS: Mapping[tuple[str, str, str], Mapping[str, str]] = {
    ("broker-ids", "tiny", "kip"): {
        "live-host-recorded": "refuted 13",
        "id-stays-with-its-disk": "refuted 9",
        "restart-gets-its-id": "refuted 12",
        "lost-disk-gets-its-id": "refuted 8",
        "search-reads-few": "refuted 6",
    },
    ("broker-ids", "tiny", "kip-identity-by-elimination"): {
        "lost-disk-gets-its-id": "refuted 6",
    },
    ("broker-ids", "tiny", "fixed"): {},
    ("broker-ids", "newcomer", "kip"): {
        "live-host-recorded": "refuted 10",
        "id-stays-with-its-disk": "refuted 6",
        "restart-gets-its-id": "refuted 9",
        "lost-disk-gets-its-id": "refuted 8",
        "search-reads-few": "refuted 3",
        "no-fresh-id-beside-a-missing-one": "refuted 13",
        "ambiguity-stops": "refuted 14",
    },
    ("broker-ids", "newcomer", "kip-identity-by-elimination"): {
        "lost-disk-gets-its-id": "refuted 6",
    },
    ("broker-ids", "newcomer", "fixed"): {},
    ("broker-ids", "renames", "kip"): {
        "live-host-recorded": "refuted 9",
        "id-stays-with-its-disk": "refuted 9",
        "restart-gets-its-id": "refuted 12",
        "lost-disk-gets-its-id": "refuted 8",
        "search-reads-few": "refuted 6",
    },
    ("broker-ids", "renames", "kip-identity-by-elimination"): {
        "live-host-recorded": "refuted 9",
        "lost-disk-gets-its-id": "refuted 6",
    },
    ("broker-ids", "renames", "fixed"): {},
    ("broker-ids", "shared", "kip"): {
        "live-host-recorded": "refuted 0",
        "id-stays-with-its-disk": "refuted 6",
        "restart-gets-its-id": "refuted 9",
        "lost-disk-gets-its-id": "refuted 6",
        "search-reads-few": "refuted 6",
    },
    ("broker-ids", "shared", "kip-identity-by-elimination"): {
        "live-host-recorded": "refuted 0",
        "id-stays-with-its-disk": "refuted 6",
        "restart-gets-its-id": "refuted 9",
        "lost-disk-gets-its-id": "refuted 6",
    },
    ("broker-ids", "shared", "fixed"): {},
    ("broker-ids", "static", "kip"): {
        "live-host-recorded": "refuted 8",
    },
    ("broker-ids", "static", "kip-identity-by-elimination"): {
        "live-host-recorded": "refuted 8",
    },
    ("broker-ids", "static", "fixed"): {},
    ("broker-ids", "sessions", "kip"): {
        "ids-unique": "refuted 6",
        "live-host-recorded": "refuted 9",
        "live-id-not-taken": "refuted 6",
        "id-stays-with-its-disk": "refuted 6",
        "restart-gets-its-id": "refuted 9",
        "lost-disk-gets-its-id": "refuted 8",
        "search-reads-few": "refuted 3",
        "no-fresh-id-beside-a-missing-one": "refuted 13",
        "ambiguity-stops": "refuted 14",
    },
    ("broker-ids", "sessions", "kip-identity-by-elimination"): {
        "lost-disk-gets-its-id": "refuted 6",
    },
    ("broker-ids", "sessions", "fixed"): {},
    ("broker-ids", "small", "kip"): {
        "live-host-recorded": "refuted 9",
        "id-stays-with-its-disk": "refuted 6",
        "restart-gets-its-id": "refuted 9",
        "lost-disk-gets-its-id": "refuted 8",
        "search-reads-few": "refuted 3",
        "no-fresh-id-beside-a-missing-one": "refuted 13",
        "ambiguity-stops": "refuted 14",
    },
    ("broker-ids", "small", "kip-identity-by-elimination"): {
        "live-host-recorded": "refuted 9",
        "lost-disk-gets-its-id": "refuted 6",
    },
    ("broker-ids", "small", "fixed"): {},
}
"""Under `kip` and without its step b), what the broker-id KIP does not keep; static ids keep all."""
