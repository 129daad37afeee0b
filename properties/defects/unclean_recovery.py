"""Defects of the unclean-recovery tool with the scope that shows each; part of the matrix of defects."""

from __future__ import annotations

from kraftcheck.properties.defects.defect import Bug

_S = "unclean-recovery"

UNCLEAN_RECOVERY_BUGS: tuple[Bug, ...] = (
    Bug("unclean-recovery KIP", "recovery-trusts-current-epoch", _S, "tiny",
        {"chosen-is-maximal": 5, "loses-least": 6}),
    Bug("unclean-recovery KIP", "recovery-ignores-new-epochs", _S, "returning", {"loses-least": 9}),
    Bug("catalogue 51; unclean-recovery KIP", "designated-election-without-broker-epoch", _S, "tiny",
        {"loses-least": 7}, {"replacements": 1, "faults": 0, "disks": 0}),
    Bug("unclean-recovery KIP", "recovery-online-is-failure", _S, "tiny", {"zero-exactly-when-led": 7}),
    Bug("seeded; KIP-106", "recovery-takes-first-answer", _S, "tiny", {"chosen-is-maximal": 5, "loses-least": 6}),
    Bug("seeded", "recovery-prefers-length", _S, "tiny", {"chosen-is-maximal": 5, "loses-least": 6}),
    Bug("seeded", "recovery-ties-to-last", _S, "tiny", {"ties-go-to-the-first": 5}),
    Bug("seeded", "recovery-counts-errors", _S, "tiny", {"chosen-has-answered": 5, "loses-least": 7}),
    Bug("seeded", "recovery-waits-for-every-broker", _S, "tiny", {"run-can-end": 1}),
    Bug("seeded", "recovery-ignores-more-data", _S, "requests", {"decides-on-whole-answers": 6}),
    Bug("seeded", "recovery-ignores-request-limit", _S, "requests", {"zero-exactly-when-led": 8}),
    Bug("seeded", "partial-recovery-succeeds", _S, "requests", {"zero-exactly-when-led": 7}),
    Bug("seeded", "interrupted-recovery-succeeds", _S, "tiny", {"zero-exactly-when-led": 3}),
    Bug("seeded", "recovery-run-blocks-elections", _S, "returning", {"eligible-leads-at-once": 2}),
    Bug("KIP-704", "unclean-without-recovering", _S, "tiny", {"loss-is-marked": 5}),
    Bug("seeded", "designated-may-be-fenced", _S, "tiny", {"elected-may-lead": 6}),
    Bug("seeded", "designated-over-leader+recovery-ignores-new-epochs", _S, "requests", {"leader-not-overridden": 7}),
)  # fmt: skip
"""The rows: what the document does not keep first, then seeded defects."""
