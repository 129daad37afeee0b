"""The context of a partition change build: the brokers that may lead, and the features that are on."""

from __future__ import annotations

from collections.abc import Callable

from attrs import frozen

from kraftcheck.model.language.brokersets import Brokers
from kraftcheck.model.language.terms import Truth, Word


@frozen
class BuildContext:
    """Everything outside the partition that a build depends on.

    Attributes:
        acceptable: brokers that may lead, judged on the state before the event.
        min_isr: effective min ISR of the topic.
        preferred: a preferred election; the build never elects uncleanly then.
        unclean: whether an unclean election is allowed.
        elr: whether ELR is on for this build.
        use_last_known_leader: last-known leader mode (always on in the controller).
        unclean_shutdown: brokers known to have stopped uncleanly.
        directory_assignment, leader_recovery, bump_on_isr_shrink: what the
            metadata version has.
        default_directory: directory of a replica that has none yet.
        designated: elect exactly this broker (None: an ordinary election).
    """

    acceptable: Brokers
    min_isr: Word
    preferred: bool
    unclean: Truth
    elr: Truth
    use_last_known_leader: bool
    unclean_shutdown: Brokers
    directory_assignment: bool
    leader_recovery: bool
    bump_on_isr_shrink: bool
    default_directory: Callable[[Word], Word]
    designated: Word | None = None
