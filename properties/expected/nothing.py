"""Claims that hold of nothing in every scope of a rule set: no state or step of any run is a case of them."""

from __future__ import annotations

from collections.abc import Mapping

OF_NOTHING: Mapping[tuple[str, str], tuple[str, ...]] = {
    # Below the metadata version of ELR there is no member to keep.
    ("elections", "kafka-3.9"): ("elr-within-replicas", "last-known-is-remembered", "clean-restart-keeps-elr"),
}
"""By system and rule set. `kraftcheck check` compares each row with it, and says `vacuous` in the cell."""


def word(system: str, rules: str, claim: str, verdict: str) -> str:
    """The verdict of a cell: `vacuous` for `holds` where that is said of nothing."""
    return "vacuous" if verdict == "holds" and claim in OF_NOTHING.get((system, rules), ()) else verdict
