"""Links from a rule to a property that no variant tried so far shows: each is to be shown, or deleted."""

from __future__ import annotations

UNSHOWN: frozenset[tuple[str, str, str]] = frozenset(
    {
        ("broker-id.garbage-is-as-it-was-read", "broker-ids", "live-host-recorded"),
        ("broker-id.missing-ids-noted-at-once", "broker-ids", "ambiguity-stops"),
        ("broker-id.missing-ids-noted-at-once", "broker-ids", "no-fresh-id-beside-a-missing-one"),
        ("directory-id.first-hundred-reserved", "directories", "ids-are-not-reserved"),
        ("directory.online-when-registered", "elections", "leader-directory-online"),
        ("election.designated.unclean-unless-eligible", "elections", "loss-is-marked"),
        ("election.designated.unclean-unless-eligible", "elections", "recovering-after-unclean-election"),
        ("election.last-known.isr-and-elr-empty", "elections", "unclean-only-when-allowed"),
        ("election.outsider-lookup-resigns", "elections", "controller-stays"),
        ("election.unclean.only-where-allowed", "kraft", "candidates-complete"),
        ("election.unclean.only-where-allowed", "kraft", "leader-complete"),
        ("election.unclean.only-where-allowed", "kraft", "loss-is-paid-for"),
        ("election.unclean.only-where-allowed", "kraft", "no-survivor-passed-over"),
        ("election.unclean.only-where-allowed", "kraft", "unclean-only-when-allowed"),
        ("reassignment.cancel.back-to-originals", "elections", "loss-is-marked"),
        ("reassignment.never-unclean", "elections", "unclean-only-when-allowed"),
        ("reassignment.plan.target-first", "elections", "reassigned-are-replicas"),
        ("reassignment.plan.target-first", "elections", "reassignment-ends-at-target"),
        ("session.expiry-fences", "sessions", "silent-broker-is-fenced"),
        ("shutdown.granted-when-followed", "sessions", "shutdown-is-granted"),
        ("timer.balance", "elections", "leader-returns"),
        ("timer.unclean", "elections", "unclean-leader-returns"),
        ("timer.unclean", "elections", "unclean-only-when-allowed"),
    }
)
"""Rule, system, property."""
