"""Choices of the unclean-recovery tool."""

from __future__ import annotations

from attrs import frozen

from kraftcheck.model.rules.choice import choice

_GROUP = "unclean-recovery"


@frozen
class UncleanRecoveryRules:
    """How the tool of the unclean-recovery KIP chooses, elects and reports. All off: the document, mended."""

    # What the document says, and what does not keep its promises.
    recovery_trusts_current_epoch: bool = choice(
        _GROUP, "unclean-recovery KIP, GetReplicaLogInfo response",
        "replicas are compared by the leader epoch that their broker knows of, not by that of their last record",
    )  # fmt: skip
    recovery_ignores_new_epochs: bool = choice(
        _GROUP, "unclean-recovery KIP, caveats",
        "a designated election takes place although the partition had a leader since its replicas were asked",
    )  # fmt: skip
    designated_election_without_broker_epoch: bool = choice(
        _GROUP, "catalogue 51; unclean-recovery KIP, GetReplicaLogInfo response",
        "a broker is elected for what it answered in an earlier incarnation, whose disk it may have lost",
    )  # fmt: skip
    recovery_online_is_failure: bool = choice(
        _GROUP, "unclean-recovery KIP, exit status", "a partition that is found online counts as a failed election"
    )

    # Seeded defects.
    recovery_prefers_length: bool = choice(_GROUP, "seeded", "the longest log is chosen before the highest epoch")
    recovery_takes_first_answer: bool = choice(
        _GROUP, "seeded; KIP-106", "the first acceptable replica is chosen, whatever its log, as unclean elections do"
    )
    recovery_ties_to_last: bool = choice(_GROUP, "seeded", "of equal logs that of the last replica is chosen")
    recovery_ignores_more_data: bool = choice(
        _GROUP, "seeded; GetReplicaLogInfo, HasMoreData", "a truncated response is taken for a whole one"
    )
    recovery_counts_errors: bool = choice(
        _GROUP, "seeded; GetReplicaLogInfo, ErrorCode", "a replica that answers with an error is a candidate"
    )
    recovery_waits_for_every_broker: bool = choice(
        _GROUP, "seeded; --recovery-duration-ms", "there is no deadline: every replica has to answer"
    )
    recovery_ignores_request_limit: bool = choice(
        _GROUP, "seeded; ElectLeaders, limit", "what a request for elections does not serve counts as done"
    )
    partial_recovery_succeeds: bool = choice(
        _GROUP, "seeded; exit status", "the exit status is zero once some partition was recovered"
    )
    interrupted_recovery_succeeds: bool = choice(
        _GROUP, "seeded; SIGTERM", "the exit status is zero when a signal ended the run"
    )
    designated_may_be_fenced: bool = choice(
        _GROUP, "seeded; Designated Leader Elections", "a fenced broker, or one with a failed directory, is designated"
    )
    recovery_run_blocks_elections: bool = choice(
        _GROUP, "seeded; unclean-recovery KIP, rejected alternatives",
        "while the tool runs, the controller elects nobody by itself",
    )  # fmt: skip
    designated_over_leader: bool = choice(
        _GROUP, "seeded; Designated Leader Elections", "a designated election replaces a leader"
    )


OF_RECOVERY_KIP = (
    "recovery_trusts_current_epoch", "recovery_ignores_new_epochs", "recovery_online_is_failure",
    "designated_election_without_broker_epoch",
)  # fmt: skip
"""Choices that hold in the unclean-recovery KIP as written."""
