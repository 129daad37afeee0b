"""Reports of audits: a clause for people, values for machines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from solvers.audit import Audit


def line(audits: Sequence[Audit]) -> str:
    """How much was compared with the rules on ints, over some explorations."""
    states, transitions = (sum(getattr(one, name) for one in audits) for name in ("states", "transitions"))
    return f"audited {_count(states, 'state')} and {_count(transitions, 'transition')} on ints: no difference"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def document(audit: Audit) -> dict[str, Any]:
    """An audit as plain values, its time aside."""
    return {
        "states": audit.states,
        "transitions": audit.transitions,
        "refused": audit.refused,
        "whole": audit.whole,
        "seed": audit.seed,
        "sample": audit.sample,
    }
