"""Expected proofs, as data: what `kraftcheck check` proves, and what it must fail to prove."""

from __future__ import annotations

from collections.abc import Mapping

NOT_PROVEN: Mapping[tuple[str, str, str], tuple[str, ...]] = {
    ("elections", "default", "fixed"): (),
    ("elections", "default", "kip"): (
        # Refuted: the designated leader that the same record removes, and what rests on it.
        "isr-within-replicas", "leader-is-replica", "controller-stays",
        # True at this scope, but not inductive without the former.
        "leader-directory-online", "elr-empty-at-min-isr", "complete-when-in-sync", "unclean-stop-loses-eligibility",
        "lemma-one-eligible-at-min-one",
    ),
}  # fmt: skip
"""For each proof (system, scope, rule set) the claims that are not proven; all others are, for any number of steps."""

PROOF_SCOPES: Mapping[str, tuple[str, ...]] = {"elections": ("tiny", "small", "directories")}
"""For each system that is proven, the scopes in one of which each refuting variant must break its proofs."""
