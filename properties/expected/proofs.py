"""Expected proofs, as data: what `kraftcheck check` proves, and what it must fail to prove."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from attrs import frozen

NOT_PROVEN: Mapping[tuple[str, str, str], tuple[str, ...]] = {
    ("elections", "default", "fixed"): (),
    ("elections", "directories", "fixed"): (),
    ("elections", "tiny", "kip"): (
        # Refuted: the designated leader that the same record removes, and what rests on it.
        "isr-within-replicas", "leader-is-replica", "controller-stays",
        # True at this scope, but not inductive without the former.
        "complete-when-in-sync", "unclean-stop-loses-eligibility", "completes-in-sync",
        "recovering-after-unclean-election", "isr-leavers-stay-eligible",
    ),
    ("directories", "tiny", "fixed"): (),
    ("directories", "small", "fixed"): (),
    ("directories", "tiny", "kip"): (
        # Refuted: the table of KIP-858 hides a readable log after a move, and fills over an unreadable one.
        "leader-directory-online", "failure-leads-away", "candidates-complete", "fenced-until-settled",
        "no-copy-is-filled-over", "lemma-readable-log-is-open", "lemma-move-unasked", "lemma-moves-elsewhere",
        "lemma-controller-leader-directory-online", "lemma-controller-isr-directory-online",
        "lemma-readable-candidates-are-complete",
        # True at this scope, but not inductive without the former.
        "assignment-settles", "moves-go-forward", "lemma-wanted-where-it-is", "lemma-only-move-asks-last",
        "lemma-closed-is-no-longer-online",
        "lemma-first-move-asks-first", "lemma-first-move-from-there",
    ),
    ("directories", "small", "kip"): (
        # Refuted; fencing until settled holds, and is proven where a single directory is awaited too.
        "leader-directory-online", "failure-leads-away", "candidates-complete", "isr-directory-online",
        "no-copy-is-filled-over", "lemma-controller-leader-directory-online",
        "lemma-controller-isr-directory-online", "lemma-readable-candidates-are-complete", "fenced-until-settled",
    ),
    ("unclean-recovery", "small", "fixed"): (),
    ("replication", "tiny", "fixed"): (),
    ("replication", "small", "fixed"): (),
    ("zk-jbod", "jobs", "fixed"): (),
    ("zk-jbod", "log", "fixed"): (),
    ("zk-jbod", "repair", "fixed"): (),
    ("zk-jbod", "small", "fixed"): (),
    ("zk-controller", "tiny", "fixed"): (),
    ("zk-controller", "pair", "fixed"): (),
    ("zk-controller", "small", "fixed"): (),
    ("broker-ids", "small", "fixed"): (),
    ("broker-ids", "static", "fixed"): (),
    ("broker-ids", "sessions", "fixed"): (),
    ("broker-ids", "newcomer", "kip"): (
        # Refuted; that ids are unique is proven, for no session is lost.
        "live-host-recorded", "id-stays-with-its-disk", "restart-gets-its-id", "lost-disk-gets-its-id",
        "search-reads-few", "no-fresh-id-beside-a-missing-one", "ambiguity-stops",
        # True at this scope, but not inductive without the former.
        "disk-keeps-its-id",
    ),
}  # fmt: skip
"""For each proof (system, scope, rule set) the claims that are not proven; all others are, for any number of steps."""

LONG = frozenset({("replication", "small", "fixed"), ("directories", "small", "kip")})
"""Of these the proofs that take Z3 half a minute and more; the check has them where a scope is named."""

ANY_NUMBER: Mapping[tuple[str, str, str], tuple[str, ...]] = {
    ("elections", "small", "fixed"): ("leader-in-isr", "leader-active"),
}
"""Of some rows (system, scope, rule set) claims that support each other, proven for any number of brokers in seconds;
tests prove the others by night."""

CERTIFIED = ("broker-ids", "sessions", "fixed")
"""The proof of which `kraftcheck check` has the certificate checked by cvc5: the fastest."""

PROOF_SCOPES: Mapping[str, tuple[str, ...]] = {
    "elections": ("tiny", "small", "directories"),
    "directories": ("tiny", "small"),
    "replication": ("tiny", "small", "large"),
    "unclean-recovery": ("tiny", "returning", "requests"),
    "broker-ids": ("tiny", "static", "shared"),
    "zk-jbod": ("jobs", "log", "writers", "repair"),
    "zk-controller": ("tiny", "pair", "sessions", "small"),
}
"""For each system that is proven, the scopes in one of which each refuting variant must break its proofs."""

ANY_PLACES: Mapping[str, tuple[tuple[str, Mapping[str, int]], ...]] = {
    "elections": (("tiny", {}), ("small", {}), ("directories", {})),
    "directories": (("tiny", {}), ("small", {})),
    "replication": (("tiny", {"epochs": 1}), ("tiny", {"epochs": 1, "brokers": 3, "replication": 3}),
                    ("tiny", {"epochs": 2}), ("tiny", {"epochs": 2, "brokers": 3, "replication": 3}),
                    ("tiny", {}), ("small", {})),
}  # fmt: skip
"""For each system that is proven for any number, where runs with few brokers are looked for: scopes and bounds."""


@frozen
class OutsideProofs:
    """Why no proof breaks by properties that a variant refutes.

    Attributes:
        reason: where it refutes them; there the right rules are not proven either.
        claims: ids of the properties.
    """

    reason: str
    claims: tuple[str, ...]


_REASSIGNED = "refutes where replicas are reassigned"
_MIN_ISR = "refutes where min.insync.replicas is changed"
_LATE = "refutes where replies come late, which provers do not take"
_SEARCH = "refutes where brokers search for their ids"
_UPGRADE = "refutes where brokers have registered before"

BEYOND: Mapping[tuple[str, str], OutsideProofs] = {
    ("directories", "catch-up-as-coded+added-replica-unreported"):
        OutsideProofs(_REASSIGNED, ("failure-leads-away", "assignment-settles")),
    ("directories", "catch-up-as-coded"): OutsideProofs(_UPGRADE, ("failure-leads-away", "assignment-settles")),
    ("directories", "reported-until-acknowledged"): OutsideProofs(_UPGRADE, ("failure-leads-away",)),
    ("directories", "reserved-ids-drawn"):
        OutsideProofs("refutes where directories get their ids",
                      ("told-is-told", "moves-go-forward", "fenced-until-settled")),
    ("elections", "switched-off-elr-is-neglected"):
        OutsideProofs("refutes where ELR is switched off and on", ("last-known-while-leaderless",)),
    ("replication", "removed-replicas-stay-in-elr"): OutsideProofs(_REASSIGNED, ("quorum-superset",)),
    ("replication", "min-isr-change-keeps-elr"):
        OutsideProofs(_MIN_ISR, ("leader-complete", "candidates-complete", "quorum-superset", "acknowledged-survives",
                                 "no-survivor-passed-over")),
    ("replication", "min-isr-raise-is-silent"): OutsideProofs(_MIN_ISR, ("candidates-complete", "quorum-superset")),
    ("replication", "elr-winner-keeps-elr"): OutsideProofs(_MIN_ISR, ("candidates-complete", "quorum-superset")),
    ("replication", "stale-reregistration-keeps-isr"): OutsideProofs(
        "refutes where ELR is off", ("leader-complete", "candidates-complete", "acknowledged-survives")),
    ("replication", "append-beyond-fetch-epoch"):
        OutsideProofs(_LATE, ("candidates-complete", "consistent-reads", "logs-match")),
    ("replication", "earlier-reply-applied"): OutsideProofs(_LATE, ("candidates-complete",)),
    ("replication", "stale-truncation-applied"): OutsideProofs(
        _LATE, ("leader-complete", "candidates-complete", "consistent-reads", "logs-match", "acknowledged-survives")),
    ("zk-controller", "backlog-revives-replica+reassignment-skips-leader"):
        OutsideProofs(_REASSIGNED, ("isr-complete",)),
    ("zk-controller", "leavers-rejoin"): OutsideProofs(_REASSIGNED, ("isr-complete",)),
    ("zk-controller", "reassignment-ignores-isr"): OutsideProofs(_REASSIGNED, ("isr-complete",)),
    ("zk-controller", "reassignment-keeps-leader"): OutsideProofs(_REASSIGNED, ("leader-in-isr",)),
    ("zk-jbod", "restart-order-outlives-return"):
        OutsideProofs("refutes where a stop, a controller and two disks fail", ("new-leader-has-records",)),
    ("broker-ids", "search-reads-every-topic"): OutsideProofs(_SEARCH, ("search-reads-few",)),
    ("broker-ids", "zookeeper-before-disk"): OutsideProofs(_SEARCH, ("disk-keeps-its-id",)),
}  # fmt: skip
"""By variant (system, variant) what it refutes only where the right rules are not proven.

`kraftcheck bugs --engine z3` asks the rest.
"""

NOT_FOR_ANY: Mapping[tuple[str, str], str] = {
    ("elections", "reassignment-repeats-replicas"): "a list that repeats replicas needs slots",
    **{("directories", name): "begins with brokers that have registered before" for name in (
        "catch-up-as-coded", "one-directory-awaits-nothing", "reported-until-acknowledged", "reregistration-fences",
        "reserved-ids-drawn")},
    **{("replication", name): "replies come late, which provers do not take" for name in (
        "append-beyond-fetch-epoch", "earlier-reply-applied", "stale-truncation-applied")},
}  # fmt: skip
"""Variants (system, variant) that provers do not take with any number of brokers where they refute, and why."""


def unproven(system: str) -> frozenset[str]:
    """The claims of a system that are not proven even under the right rules."""
    rows = (claims for row, claims in NOT_PROVEN.items() if (row[0], row[2]) == (system, "fixed"))
    return frozenset(claim for claims in rows for claim in claims)


def proofs_named(scopes: Collection[str]) -> frozenset[tuple[str, str, str]]:
    """The rows to prove at their scope's bounds: the long ones only where a scope is named."""
    return frozenset(row for row in NOT_PROVEN if scopes or row not in LONG)
