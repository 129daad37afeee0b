"""Choices of the system `zk-jbod`."""

from __future__ import annotations

from attrs import frozen

from kraftcheck.model.rules.choice import choice

_GROUP = "zk-jbod"
_SOURCE = "JBOD KIP on ZooKeeper"


@frozen
class ZkJbodRules:
    """How a broker outlives a failed disk, and how it says so. All off: the document, mended."""

    # The document as written, and what it leaves open.
    jobs_without_lock: bool = choice(
        _GROUP, f"{_SOURCE}, log directories", "scheduled jobs read the directories and write to them without the lock"
    )
    restart_node_shared: bool = choice(
        _GROUP, f"{_SOURCE}, open question 3", "brokers read and write one node, and the controller empties it"
    )
    failed_operation_not_retried: bool = choice(
        _GROUP, f"{_SOURCE}, open question 4", "an operation that fails is not tried again before a restart"
    )
    read_errors_unattributed: bool = choice(
        _GROUP, f"{_SOURCE}, open question 2", "an error while a log is sent to a consumer is not known to be the log's"
    )
    last_member_stays_in_isr: bool = choice(
        _GROUP, f"{_SOURCE}, selector", "the last ISR member stays in the ISR although its log is lost"
    )
    selector_seats_dead_head: bool = choice(
        _GROUP, f"{_SOURCE}, selector", "the first of the replicas in the new ISR leads, whether it runs or not"
    )
    filtered_requests_removed: bool = choice(
        _GROUP, f"{_SOURCE}, Partitions Restart", "requests for partitions that are filtered out are removed as well"
    )
    restart_order_outlives_return: bool = choice(
        _GROUP, f"{_SOURCE}, Partitions Restart", "an order to start a log anew is obeyed after the replica is back"
    )

    # Seeded defects.
    disk_errors_halt: bool = choice(_GROUP, f"seeded; {_SOURCE}, motivation", "any disk error halts the broker")
    check_misses_failure: bool = choice(
        _GROUP, f"seeded; {_SOURCE}, open question 1", "the check of a directory says that a failed one is there"
    )
    cleaner_not_aborted: bool = choice(
        _GROUP, f"seeded; {_SOURCE}, log directories", "cleaning goes on in a directory that is put offline"
    )
    checkpoints_kept: bool = choice(
        _GROUP, f"seeded; {_SOURCE}, log directories", "an offline directory stays on the lists of checkpoints"
    )
    recreated_before_restart: bool = choice(
        _GROUP,
        f"seeded; {_SOURCE}, Partitions Restart",
        "a lost log is made anew before the controller has restarted it",
    )
    repaired_disk_filled: bool = choice(
        _GROUP, f"seeded; {_SOURCE}, motivation", "a broker that starts makes the logs that a new disk lacks, unasked"
    )
    dead_log_counts: bool = choice(
        _GROUP, f"seeded; {_SOURCE}", "a record is acknowledged although a member of the ISR has lost its log"
    )
    controller_works_without_lock: bool = choice(
        _GROUP,
        f"seeded; {_SOURCE}, Partitions Restart",
        "the controller makes other decisions while it restarts partitions",
    )
    requests_removed_first: bool = choice(
        _GROUP, f"seeded; {_SOURCE}, Partitions Restart", "requests are removed before the partitions are restarted"
    )
    restart_drops_replica: bool = choice(
        _GROUP, f"seeded; {_SOURCE}, selector", "a restarted replica is no longer assigned"
    )


OF_ZK_JBOD = (
    "jobs_without_lock", "restart_node_shared", "failed_operation_not_retried", "read_errors_unattributed",
    "last_member_stays_in_isr", "selector_seats_dead_head", "filtered_requests_removed",
    "restart_order_outlives_return",
)  # fmt: skip
"""Choices that hold in the JBOD KIP on ZooKeeper as written."""
