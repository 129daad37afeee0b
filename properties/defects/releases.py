"""Findings of the newest release, as the search finds them from that release's rules alone.

Data only: each row names a defect that the release has, and a scope in which the
whole preset, with every other defect of it, breaks the property in so many steps.
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import field, frozen

NEWEST = "kafka-4.4.0"
"""The preset of the newest release."""


@frozen
class ReleaseFinding:
    """A defect of a release, as data.

    Attributes:
        entry: citations of where it comes from.
        variant: the choice that is the defect.
        system, scope, bounds: where it shows; bounds override the scope.
        claim: the property that breaks.
        steps: the length of the shortest trace.
    """

    entry: str
    variant: str
    system: str
    scope: str
    claim: str
    steps: int
    bounds: Mapping[str, int] = field(factory=dict)


_TWO_REASSIGNMENTS = {
    "unclean-stops": 0, "shrinks": 0, "reassignments": 2, "fences": 2, "epochs": 10,
}  # fmt: skip
_TWO_PARTITIONS = {"replication": 1, "second": 2, "min-isr": 2, "elr": 1, "fences": 1, "failures": 0}
_ADDED_REPLICA = {"crashes": 0, "records": 0, "replication": 1, "reassignments": 1}

RELEASE_FINDINGS: tuple[ReleaseFinding, ...] = (
    ReleaseFinding("X1; B4", "removed-replicas-stay-in-elr", "replication", "tiny", "leader-complete", 7,
                   _TWO_REASSIGNMENTS),
    ReleaseFinding("X7", "min-isr-from-first-partition", "kraft", "pair", "second-stays-eligible", 1, _TWO_PARTITIONS),
    ReleaseFinding("ReplicationControlManager.removeTopicElrs", "cleared-elr-stays-indexed", "elr-index", "tiny",
                   "controller-stays", 5),
    ReleaseFinding("KAFKA-16540", "min-isr-change-clears-every-elr", "elections", "tiny", "clean-candidate-kept", 3),
    ReleaseFinding("KIP-966", "switched-off-elr-is-neglected", "elections", "tiny", "unclean-stop-loses-eligibility",
                   4),
    ReleaseFinding("B7", "deleted-partition-stays-indexed", "kraft", "deletion", "controller-stays", 7),
    ReleaseFinding("B10", "retarget-keeps-old-reassignment", "elections", "tiny", "reassignment-completes", 2),
    ReleaseFinding("B10", "retarget-keeps-old-reassignment", "elections", "tiny", "reassignment-ends-at-target", 2),
    ReleaseFinding("B12", "added-replica-unreported", "directories", "small", "assignment-can-settle", 4,
                   _ADDED_REPLICA),
    ReleaseFinding("B8; X2", "passes-share-one-base", "elections", "directories", "decided-on-latest", 2,
                   {"reserved": 0}),
    ReleaseFinding("B9", "unregister-keeps-elr", "elections", "tiny", "elr-registered", 2),
    ReleaseFinding("B11; X3", "unclean-cancel-is-silent", "elections", "tiny", "loss-is-marked", 6),
    ReleaseFinding("B19", "unfence-ignores-controlled-shutdown", "elections", "tiny", "leader-active", 3),
    ReleaseFinding("X6", "empty-directory-list-means-no-change", "elections", "directories",
                   "failed-directories-unregistered", 1, {"reserved": 0}),
)  # fmt: skip
"""The rows, by finding."""
