"""Suspicious behaviours of the snapshot, and the findings that nobody had reported."""

from __future__ import annotations

from kraftcheck.properties.coverage.statement import Statement

BEHAVIOURS: tuple[Statement, ...] = (
    Statement("behaviour B1", "A dead last known leader is elected.", properties=("elections leader-active",),
              variants=("dead-last-known-leader-electable",)),
    Statement("behaviour B2", "An assignment of a directory empties the ELR.",
              properties=("elections elr-leavers-have-a-reason",), variants=("assignment-clears-elr",)),
    Statement("behaviour B3", "After min ISR was lowered, a stale member of the ELR wins a clean election.",
              properties=("replication leader-complete", "replication quorum-superset"),
              variants=("min-isr-change-keeps-elr", "elr-winner-keeps-elr")),
    Statement("behaviour B4", "A reassignment that ends leaves removed replicas in the ELR.",
              properties=("elections elr-within-replicas",), variants=("removed-replicas-stay-in-elr",)),
    Statement("behaviour B5", "None is remembered as the last known leader.",
              properties=("elections last-known-is-one-replica",), variants=("last-known-leader-may-be-none",)),
    Statement("behaviour B6", "A registration while the old session still counts leaves the broker in the ISR.",
              properties=("elections leader-active",), variants=("stale-reregistration-keeps-isr",)),
    Statement("behaviour B7",
              "A partition that is deleted with an empty ISR stays in the index by directory, and the controller "
              "resigns.", properties=("kraft controller-stays",), variants=("deleted-partition-stays-indexed",)),
    Statement("behaviour B8", "A later pass of one event decides on the state before the event.",
              properties=("elections decided-on-latest",), variants=("passes-share-one-base",)),
    Statement("behaviour B9", "Unregistering a broker leaves it in the ELR.", properties=("elections elr-registered",),
              variants=("unregister-keeps-elr",)),
    Statement("behaviour B10", "A new target keeps the sets of the old reassignment.",
              properties=("elections adding-removing-disjoint",), variants=("retarget-keeps-old-reassignment",)),
    Statement("behaviour B11", "An unclean cancel elects a replica from outside the ISR, and marks no loss.",
              properties=("elections loss-is-marked",), variants=("unclean-cancel-is-silent",)),
    Statement("behaviour B12", "A replica that a reassignment adds never reports its directory.",
              properties=("directories failure-leads-away",),
              variants=("catch-up-as-coded+added-replica-unreported",)),
    Statement("behaviour B13",
              "Metadata of a move that is not finished resets its state, and asks for the old directory.",
              properties=("directories failure-leads-away", "directories moves-go-forward"),
              variants=("correction-ignores-future-log",
                        "catch-up-as-coded+lost-source-reverts+correction-ignores-future-log+epoch-change-forgets-promotion")),
    Statement("behaviour B14", "An abandoned future log replaces a longer log at startup.",
              properties=("directories candidates-complete",), variants=("startup-swap-ignores-offsets",)),
    Statement("behaviour B15", "A replica with an unknown directory opens no log while a directory is offline.",
              properties=("directories readable-log-leads",), variants=("unknown-directory-hides-log",)),
    Statement("behaviour B16",
              "A failure that happens while a heartbeat is in flight is marked as reported; one timer serves all "
              "failures.", properties=("directories told-is-told",), variants=("reported-while-in-flight",),
              reason="The shared timer is left out: `directories` has no clock, and a broker may stop at any time "
                     "while a failure is not reported."),
    Statement("behaviour B17", "AlterPartition erases the RECOVERING of an unclean election that it led to.",
              properties=("elections loss-is-marked",),
              variants=("alter-partition-erases-recovering+passes-share-one-base+alter-partition-ignores-directories",)),
    Statement("behaviour B18", "Metadata of an epoch that the leader knows ends its newer proposal.",
              properties=("replication quorum-superset",), variants=("equal-epoch-ends-proposal",)),
    Statement("behaviour B19", "A broker that shuts down counts as active when it is unfenced.",
              properties=("elections leader-active",), variants=("unfence-ignores-controlled-shutdown",)),
)  # fmt: skip
"""B1 to B19, as the semantics reference lists them."""

FINDINGS: tuple[Statement, ...] = (
    Statement("finding X1", "The ELR is not limited to replicas.", properties=("replication leader-complete",),
              variants=("removed-replicas-stay-in-elr",)),
    Statement("finding X2", "Unfencing and a failed directory in one heartbeat share a state.",
              properties=("directories leader-directory-online",), variants=("passes-share-one-base",)),
    Statement("finding X3", "A cancel puts the first replica into the ISR, and marks no loss.",
              properties=("elections loss-is-marked",), variants=("unclean-cancel-is-silent",)),
    Statement("finding X4", "A change of the leader epoch forgets how far a move is.",
              properties=("directories assignment-settles",), variants=("epoch-change-forgets-promotion",)),
    Statement("finding X5", "A correction ignores the future log that waits to be promoted.",
              properties=("directories moves-go-forward",), variants=("correction-ignores-future-log",)),
    Statement("finding X6", "An empty list of directories is read as no change.",
              properties=("elections failed-directories-unregistered",),
              variants=("empty-directory-list-means-no-change",)),
    Statement("finding X7", "The effective min ISR is counted by the first partition's replicas.",
              properties=("kraft second-stays-eligible",), variants=("min-isr-from-first-partition",)),
    Statement("finding X8", "Unregistering leaves ELRs as they are, and AlterPartition ignores directories.",
              properties=("elections elr-registered", "directories isr-directory-online"),
              variants=("unregister-keeps-elr", "alter-partition-ignores-directories")),
    Statement("finding S1", "Members of the ISR stay in the ELR of the published specification.",
              properties=("elections isr-elr-disjoint",), variants=("elr-keeps-isr-members",)),
    Statement("finding S2", "The tool orders replicas by the leader epoch that their brokers know.",
              properties=("unclean-recovery chosen-is-maximal",), variants=("recovery-trusts-current-epoch",)),
)  # fmt: skip
"""X1 to X8, S1 and S2, as the catalogue of defects lists them."""
