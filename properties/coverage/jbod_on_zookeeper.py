"""The statements of the JBOD KIP on ZooKeeper (system `zk-jbod`); an id ends with the lines of its text."""

from __future__ import annotations

from kraftcheck.properties.coverage.statement import Statement

JBOD_ON_ZOOKEEPER: tuple[Statement, ...] = (
    Statement("JBOD KIP on ZooKeeper 9, 16, 126", "A disk error must not stop the broker."),
    Statement("JBOD KIP on ZooKeeper 19", "Wrap IO errors, bubble up to one component."),
    Statement("JBOD KIP on ZooKeeper 22, 46-48, 67", "Directory offline: operations stop, no new logs there."),
    Statement("JBOD KIP on ZooKeeper 23, 49-50, 74", "Detect lost partitions."),
    Statement("JBOD KIP on ZooKeeper 24, 55", "Notify the controller."),
    Statement("JBOD KIP on ZooKeeper 25", "Controller acts as if the broker shut down, for these partitions only."),
    Statement("JBOD KIP on ZooKeeper 25, 93-95", "LeaderAndIsr/UpdateMetadata propagated to all brokers."),
    Statement("JBOD KIP on ZooKeeper 30-33", "Three exception types with context."),
    Statement("JBOD KIP on ZooKeeper 34-42", "ExceptionHandler inner class of ReplicaManager."),
    Statement("JBOD KIP on ZooKeeper 44, 110-112", "Check whether the whole disk is down (Q1)."),
    Statement("JBOD KIP on ZooKeeper 51-54", "Remove p from ReplicaManager and LogManager pools, stop housekeeping."),
    Statement("JBOD KIP on ZooKeeper 56", "Single log: same steps for p only."),
    Statement("JBOD KIP on ZooKeeper 57", "'some exception-specific logic that needs to be executed' (step 3)."),
    Statement("JBOD KIP on ZooKeeper 59-62, 119-120", "JSON under /restart_partitions."),
    Statement("JBOD KIP on ZooKeeper 63-64, 121-123", "Simultaneous updates of the znode; queue (Q3)."),
    Statement("JBOD KIP on ZooKeeper 66-73", "Pool of logDirs, checkpoints, retention in LogManager."),
    Statement("JBOD KIP on ZooKeeper 75", "Abort and pause cleaning."),
    Statement("JBOD KIP on ZooKeeper 76", "Checkpoint lists lose the directory."),
    Statement("JBOD KIP on ZooKeeper 77-82", "Scheduled jobs not in lock: data races."),
    Statement("JBOD KIP on ZooKeeper 82", "How executing jobs in lock affects performance."),
    Statement("JBOD KIP on ZooKeeper 84", "Restart = the lost replica is re-replicated on that broker."),
    Statement("JBOD KIP on ZooKeeper 85-86", "Controller registers the listener at startup."),
    Statement("JBOD KIP on ZooKeeper 87", "Parse to Map[TopicAndPartition, List[BrokerId]]."),
    Statement("JBOD KIP on ZooKeeper 88, 92", "'In lock ... 4. Releases the lock'."),
    Statement("JBOD KIP on ZooKeeper 88", "Filter partitions being reassigned."),
    Statement("JBOD KIP on ZooKeeper 88b", "Filter partitions being deleted 'etc'."),
    Statement("JBOD KIP on ZooKeeper 88-89",
              "OnlinePartition -> OnlinePartition with RestartedPartitionsLeaderSelector."),
    Statement("JBOD KIP on ZooKeeper 91", "Remove data."),
    Statement("JBOD KIP on ZooKeeper 97, 102, 107", "AR unchanged."),
    Statement("JBOD KIP on ZooKeeper 103", "New_leader := (new_ar in new_isr).head(), literally (head may be dead)."),
    Statement("JBOD KIP on ZooKeeper 103b", "Head in the order of AR."),
    Statement("JBOD KIP on ZooKeeper 104-107", "Follower: leader stays, ISR loses b."),
    Statement("JBOD KIP on ZooKeeper 108", "Edge cases like offlinePartitionLeaderSelector."),
    Statement("JBOD KIP on ZooKeeper 108b", "The unclean branch of that selector."),
    Statement("JBOD KIP on ZooKeeper 113-118", "Q2 read errors cannot be attributed."),
    Statement("JBOD KIP on ZooKeeper 124", "Q4 retries."),
)  # fmt: skip
"""In the order of the audit."""
