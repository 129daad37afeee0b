"""Where each variant is seen to refute a property: the matrix of defects, and what it does not list.

A row of the matrix lists all that its variant refutes in one scope. The rows that this module adds list only some
properties, in other scopes and systems, and of the rules beside the variant they ask no more than that these keep the
same properties there.
"""

from __future__ import annotations

from collections.abc import Mapping

from kraftcheck.properties.defects.defect import Bug
from kraftcheck.properties.defects.matrix import BUGS

Key = tuple[str, str, str]
"""System, property, variant."""

_ELIMINATION = "fixed+fresh-ids-drawn+identity-by-elimination"
_STEPS = "fixed+fresh-ids-drawn+identity-by-hostname+identity-by-elimination"
"""The broker-id KIP with both steps, and without what it does wrong."""


def _seen(variant: str, system: str, scope: str, refutes: Mapping[str, int], base: str = "fixed") -> Bug:
    return Bug("", variant, system, scope, refutes, base=base)


BESIDE: tuple[Bug, ...] = (
    _seen("alter-partition-erases-recovering+passes-share-one-base+alter-partition-ignores-directories", "elections",
          "directories", {"loss-is-marked": 7}),
    _seen("assignment-clears-elr", "elections", "directories", {"isr-leavers-stay-eligible": 2}),
    _seen("assignment-clears-elr+switched-off-elr-is-neglected", "elections", "directories",
          {"last-known-while-leaderless": 5}),
    _seen("completion-keeps-removing", "elections", "tiny",
          {"reassigned-are-replicas": 1, "reassignment-completes": 1}),
    _seen("completion-needs-every-replica", "elections", "tiny", {"complete-when-in-sync": 2}),
    _seen("designated-elections+designated-may-be-leaving", "elections", "tiny", {"isr-within-replicas": 6}),
    _seen("election-clears-recovering", "elections", "small", {"recovering-ends-by-leader": 4}),
    _seen("elr-downgrade+switched-off-elr-is-neglected", "elections", "small",
          {"last-known-while-leaderless": 6, "elr-leavers-have-a-reason": 5, "clean-candidate-kept": 5}),
    _seen("every-restart-is-unclean", "elections", "small", {"clean-candidate-kept": 3, "leader-returns": 3}),
    _seen("every-restart-is-unclean", "directories", "restarts",
          {"clean-return-stays-eligible": 5, "loss-is-paid-for": 9}),
    _seen("fenced-leader-acceptable", "elections", "small", {"unclean-leader-returns": 3}),
    _seen("fenced-may-join-isr", "elections", "small", {"isr-active-while-led": 2}),
    _seen("isr-may-empty-without-elr", "elections", "small", {"isr-kept-without-elr": 2}),
    _seen("last-known-leader-may-be-none", "elections", "small", {"last-known-is-one-replica": 4}),
    _seen("leader-change-keeps-epoch", "elections", "small", {"new-leader-new-epoch": 1}),
    _seen("leader-epoch-rises-twice", "elections", "small",
          {"partition-epoch-covers-leader-epoch": 1, "new-leader-new-epoch": 1}),
    _seen("no-bump-on-replica-removal", "elections", "tiny", {"removal-bumps-leader-epoch": 1}),
    _seen("offline-directory-leader-kept", "elections", "directories", {"leader-directory-online": 2}),
    _seen("one-directory-means-all-online", "elections", "directories", {"leader-directory-online": 2}),
    _seen("partition-epoch-follows-leader", "elections", "small", {"partition-epoch-counts-records": 1}),
    _seen("passes-share-one-base", "elections", "directories",
          {"leader-in-isr": 5, "leader-directory-online": 4, "decided-on-latest": 1}),
    _seen("reassignment-repeats-replicas", "elections", "tiny", {"replicas-distinct": 1}),
    _seen("recovering-isr-may-grow", "elections", "small", {"recovering-alone": 4}),
    _seen("removed-replica-stays-last-known+unclean-cancel-is-silent", "elections", "tiny",
          {"last-known-is-one-replica": 6}),
    _seen("removed-replicas-stay-in-elr", "elections", "tiny",
          {"leader-in-isr": 6, "leader-is-replica": 6, "elr-within-replicas": 2}),
    _seen("shutting-down-may-join-isr", "elections", "small", {"isr-active-while-led": 2}),
    _seen("stale-reregistration-keeps-isr", "elections", "small", {"leader-active": 1, "isr-active-while-led": 1}),
    _seen("unclean-election-unasked", "elections", "small", {"unclean-only-when-allowed": 2}),
    _seen("unclean-request-obeys-topic", "elections", "small", {"unclean-request-is-granted": 3}),
    _seen("unclean-election-keeps-elr", "elections", "small", {"recovering-after-unclean-election": 4}),
    _seen("unclean-without-recovering", "elections", "small", {"loss-is-marked": 3}),
    _seen("unfence-clears-controlled-shutdown", "elections", "small", {"shutdown-until-restart": 3}),
    _seen("unfence-ignores-assignments", "elections", "directories", {"unfenced-where-known": 2}),
    _seen("unfence-ignores-controlled-shutdown", "elections", "small", {"leader-active": 4}),
    _seen("unfence-rejoins-isr", "elections", "small", {"isr-grows-by-leader": 2}),
    _seen("stale-reregistration-keeps-isr", "directories", "tiny", {"leader-active": 2}),
    _seen("unclean-election-unasked", "directories", "small",
          {"candidates-complete": 7, "loss-is-paid-for": 4, "unclean-only-when-allowed": 4}),
    _seen("unfence-ignores-assignments", "directories", "migration", {"fenced-until-settled": 3}),
    _seen("unfence-ignores-assignments", "kraft", "pair", {"second-fenced-until-settled": 5}),
    _seen("ambiguous-takes-first", "broker-ids", "tiny", {"ambiguity-stops": 8}, base=_STEPS),
    _seen("configured-id-wins", "broker-ids", "static", {"inconsistent-ids-stop": 3}),
    _seen("failed-start-is-final", "broker-ids", "tiny", {"last-broker-starts": 6}, base=_STEPS),
    _seen("fresh-ids-drawn", "broker-ids", "tiny", {"lost-disk-gets-its-id": 5}),
    _seen("fresh-unless-ambiguous", "broker-ids", "tiny",
          {"lost-disk-gets-its-id": 7, "no-fresh-id-beside-a-missing-one": 7}, base=_STEPS),
    _seen("garbage-deleted-unseen", "broker-ids", "newcomer", {"live-host-recorded": 15}, base=_STEPS),
    _seen("identity-by-elimination", "broker-ids", "tiny", {"id-stays-with-its-disk": 7, "restart-gets-its-id": 10}),
    _seen("identity-by-hostname", "broker-ids", "shared", {"id-stays-with-its-disk": 6}),
    _seen("missing-ids-noted-late", "broker-ids", "tiny",
          {"no-fresh-id-beside-a-missing-one": 7, "ambiguity-stops": 10}, base=_STEPS),
    _seen("registration-overwrites", "broker-ids", "static", {"ids-unique": 3}),
    _seen("search-reads-every-topic", "broker-ids", "tiny", {"search-reads-few": 5}, base=_ELIMINATION),
    _seen("sweep-trusts-first-read", "broker-ids", "tiny", {"live-host-recorded": 12}, base=_STEPS),
    _seen("zookeeper-before-disk", "broker-ids", "tiny", {"disk-keeps-its-id": 6}, base=_STEPS),
    _seen("completion-keeps-removing", "healing-elections", "tiny", {"reassignment-ends-as-asked": 2}),
    _seen("elr-downgrade+switched-off-elr-is-neglected", "healing-elections", "small", {"leader-is-elected": 7}),
    _seen("every-restart-is-unclean", "healing-elections", "small", {"leader-is-elected": 6}),
    _seen("retarget-keeps-old-reassignment", "healing-elections", "tiny", {"reassignment-ends-as-asked": 4}),
    _seen("sessions-by-contact+takeover-hears-nobody", "healing-sessions", "tiny", {"dead-broker-is-fenced": 4}),
    _seen("shutdown-offset-moves", "healing-sessions", "tiny", {"shutdown-ends": 9}),
    _seen("refusal-keeps-proposal", "fair-replication", "small", {"proposal-is-settled": 8}),
    _seen("catch-up-as-coded+added-replica-unreported", "fair-directories", "upgrade",
          {"assignments-settle": 1, "failure-leads-away": 3}),
    _seen("correction-ignores-future-log", "fair-directories", "tiny", {"move-ends": 12}),
    _seen("failure-reported-once", "fair-directories", "tiny", {"failure-leads-away": 7}),
    _seen("lost-source-unreported", "fair-directories", "tiny", {"failure-leads-away": 10}),
    _seen("revert-only-while-queued", "fair-directories", "tiny", {"assignments-settle": 11}),
    _seen("failed-start-is-final", "fair-broker-ids", "tiny", {"last-broker-lives": 6}, base=_STEPS),
)  # fmt: skip
"""What the matrix does not list, by system."""


def _by_key() -> Mapping[Key, tuple[Bug, ...]]:
    found: dict[Key, tuple[Bug, ...]] = {}
    for row in (*BUGS, *BESIDE):
        for claim in row.refutes:
            key = row.system, claim, row.variant
            found[key] = (*found.get(key, ()), row)
    return found


SEEN: Mapping[Key, tuple[Bug, ...]] = _by_key()
"""The sightings of each pair of a property and a variant."""
