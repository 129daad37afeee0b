"""The findings, worst first: what is open in the newest release, then what later releases have mended."""

from __future__ import annotations

from kraftcheck.properties.findings.finding import Finding, FindingSearch

_ONE_PARTITION = "elections"

_OTHER_CAUSES = ("assignment-clears-elr", "every-restart-is-unclean", "unclean-cancel-is-silent",
                 "dead-last-known-leader-electable")  # fmt: skip
"""Defects that cost the last clean candidate its right by another way."""

_OLDER = ("dead-last-known-leader-electable", "stale-reregistration-keeps-isr")
"""Defects of older releases that break the same property by another way."""

LOSS = (
    Finding(
        "ghost-elr-member",
        "A replica that a reassignment has removed stays eligible, and is elected with an empty log.",
        "Acknowledged records are lost in a clean election, with unclean elections off and no error anywhere: the "
        "broker that was removed has deleted its log, comes back as a replica, and leads before it has copied "
        "anything. The partition is not marked RECOVERING, and the replica that has the records cuts its log.",
        "PartitionChangeBuilder.maybePopulateTargetElr; X1; B4; invariant 7",
        ("elr.within-replicas",),
        ("removed-replicas-stay-in-elr",),
        FindingSearch("replication", "tiny", "leader-complete",
                      {"unclean-stops": 0, "shrinks": 0, "reassignments": 2, "fences": 2, "epochs": 10}),
        "Keep only replicas of the new assignment in the ELR. Former members that stay replicas must remain eligible.",
        "data-loss",
    ),
    Finding(
        "min-isr-of-partition-0",
        "The min ISR of every partition is capped by the replication factor of the topic's partition 0.",
        "While partitions of a topic have different numbers of replicas, as during a reassignment, a partition gets an "
        "ELR although its ISR is complete, or none although it is not. Together with ghost-elr-member one "
        "reassignment and one clean stop lose acknowledged records.",
        "ReplicationControlManager.getTopicEffectiveMinIsr; X7",
        ("min-isr.own-replicas",),
        ("min-isr-from-first-partition",),
        FindingSearch("kraft", "pair", "second-stays-eligible",
                      {"replication": 1, "second": 2, "min-isr": 2, "elr": 1, "fences": 1, "failures": 0}),
        "Cap the configured value by the number of the partition's own replicas.",
    ),
    Finding(
        "silent-unclean-cancel",
        "Cancelling a reassignment seats a replica from outside the ISR, and nobody is told that records may be lost.",
        "A cancelled reassignment whose ISR holds added replicas only puts the first original replica into the ISR "
        "and the lead, whether it is alive or not. The partition is not marked RECOVERING.",
        "ReplicationControlManager.cancelPartitionReassignment; B11; X3; KIP-704",
        ("reassignment.cancel.loss-is-marked",),
        ("unclean-cancel-is-silent",),
        FindingSearch(_ONE_PARTITION, "tiny", "loss-is-marked"),
        "Hold an unclean election among the original replicas that are alive, and mark the partition RECOVERING. "
        "A cancellation that keeps an ISR member must stay clean.",
    ),
    Finding(
        "unmarked-unclean-election",
        "An AlterPartition that ends a recovery and elects uncleanly leaves the partition marked RECOVERED.",
        "A second unclean election follows the first, by the request in which the leader reports that it has "
        "recovered, while its directory is offline. The new leader is not told that records may be lost.",
        "PartitionChangeBuilder.build; B17; KIP-704",
        ("alter-partition.unclean-election-keeps-recovering",),
        ("alter-partition-erases-recovering",),
        FindingSearch(_ONE_PARTITION, "directories", "loss-is-marked", {"reserved": 0}),
        "Keep RECOVERING where the build itself elects uncleanly. A request without such an election must end it.",
    ),
)  # fmt: skip
"""Records may be lost."""

UNAVAILABLE = (
    Finding(
        "deleted-topic-stays-indexed",
        "A broker whose ELR was emptied stays listed for the topic, and its return makes the controller resign.",
        "Once min.insync.replicas of a topic was changed while a broker was in its ELR, and the topic is deleted, each "
        "controller resigns when that broker registers: the cluster is without a controller again and again until the "
        "broker gives up. A controller that has loaded a snapshot is free of it.",
        "ReplicationControlManager.removeTopicElrs; KAFKA-16540",
        ("elr-index.min-isr-change-unlists",),
        ("cleared-elr-stays-indexed",),
        FindingSearch("elr-index", "tiny", "controller-stays", without=("unregister-keeps-elr",)),
        "Remove the topic's brokers from the index of ELR members where a ClearElrRecord is replayed.",
        "deleted-member",
    ),
    Finding(
        "removed-last-known-leader",
        "The last known leader is no replica any more, and whatever would elect it makes the controller resign.",
        "A partition whose ISR and ELR are empty stays offline although unclean election is allowed and its replica is "
        "alive. Each pass of the two election timers, each request for an election and each reassignment makes the "
        "controller resign with an IllegalArgumentException, and so does each heartbeat that would unfence the "
        "replica: the next controller fares the same. It ends when ELR is switched off, or the removed broker is "
        "fenced. A cancelled reassignment under which an added replica led leads there.",
        "PartitionChangeBuilder.canElectLastKnownLeader; B1; KAFKA-19522; invariant 42",
        ("last-known.is-a-replica",),
        ("removed-replica-stays-last-known",),
        FindingSearch("healing-elections", "tiny", "volunteer-is-elected", without=_OLDER[:1]),
        "Forget the last known leader when it is removed, or elect it only while it is a replica. One that stays a "
        "replica must be remembered.",
    ),
    Finding(
        "min-isr-change-drops-candidates",
        "Changing min.insync.replicas empties the ELR also of an offline partition, and nobody is left to elect.",
        "The replicas return with all records, and no clean election is possible: the partition stays offline until "
        "somebody asks for an unclean one. Without the change it recovers by itself.",
        "ConfigurationControlManager; KAFKA-16540; KIP-966",
        ("min-isr.change-keeps-clean-replicas",),
        ("min-isr-change-clears-every-elr",),
        FindingSearch(_ONE_PARTITION, "tiny", "clean-candidate-kept",
                      without=("switched-off-elr-is-neglected", *_OTHER_CAUSES)),
        "Empty the ELR only where the ISR reaches the new minimum: below it nothing was committed without the ELR.",
        "config-change-offline",
    ),
    Finding(
        "padded-config",
        "A value of min.insync.replicas with blanks around it is stored as it is, and the controller cannot read it.",
        "Whatever makes the controller look at a partition of the topic ends in a NumberFormatException, and it "
        "resigns: the cluster is without a controller again and again until the value is replaced.",
        "KAFKA-20532; ReplicationControlManager.getTopicEffectiveMinIsr",
        ("config.stored-trimmed",),
        ("padded-configs-stored",),
        None,
        "Store the value that was validated, without the blanks.",
        "padded-config",
        reported="KAFKA-20532",
    ),
    Finding(
        "downgrade-drops-elr",
        "Switching ELR off leaves the ELR to the next build, which empties it though only its members could lead.",
        "A partition that is offline at the downgrade stays offline when its replicas return, although they have all "
        "records; it recovers by an unclean election, or when ELR is on again.",
        "PartitionChangeBuilder.maybePopulateTargetElr; KIP-966",
        ("elr.downgrade-writes-nothing-else", "elr.off.clears"),
        ("switched-off-elr-is-neglected",),
        FindingSearch(_ONE_PARTITION, "tiny", "clean-candidate-kept",
                      without=("min-isr-change-clears-every-elr", *_OTHER_CAUSES)),
        "Keep the ELR of a partition without an ISR until a member leads, also with the feature off.",
        "downgrade-offline",
    ),
    Finding(
        "deleted-partition-stays-indexed",
        "A deleted partition whose ISR was empty stays in the index of directories, and the controller resigns.",
        "After the topic is gone, the first heartbeat that reports a failure of the directory makes the active "
        "controller resign, and so does every retry on the next one.",
        "ReplicationControlManager; B7",
        ("topic.deletion-unindexes-directories",),
        ("deleted-partition-stays-indexed",),
        FindingSearch("kraft", "deletion", "controller-stays"),
        "Remove the partition from the index of directories whatever its ISR is.",
        "deleted-offline",
    ),
    Finding(
        "reassignment-never-completes",
        "A reassignment that is changed on the way leaves a replica both added and removed, and never completes.",
        "The partition stays in reassignment for good; its throttles stay, and the operator has to cancel.",
        "PartitionReassignmentReplicas; B10; KAFKA-19975",
        ("reassignment.retarget-replaces-both-sets",),
        ("retarget-keeps-old-reassignment",),
        FindingSearch(_ONE_PARTITION, "tiny", "reassignment-completes"),
        "Let the new target replace both sets of the old reassignment, also by an empty one.",
        "reassignment-stuck",
    ),
    Finding(
        "retargeted-replicas-removed",
        "A reassignment that is changed on the way removes replicas that the new target asks for.",
        "The reassignment ends with fewer replicas than were asked for, down to one, and reports success.",
        "ReplicationControlManager.changePartitionReassignment; B10; KIP-455",
        ("reassignment.retarget-replaces-both-sets",),
        ("retarget-keeps-old-reassignment",),
        FindingSearch(_ONE_PARTITION, "tiny", "reassignment-ends-at-target"),
        "Let the new target replace both sets of the old reassignment, also by an empty one.",
        "replication-lost",
    ),
    Finding(
        "heartbeat-of-two-passes",
        "A heartbeat that unfences a broker and reports a failed directory leaves the leader on that directory.",
        "The partition is led by a broker that cannot read its log. Later heartbeats do not report the directory "
        "again, so that nothing moves the leader away.",
        "ReplicationControlManager.processBrokerHeartbeat; B8; X2; catalogue 13",
        ("event.later-pass-sees-earlier", "heartbeat.directories-first"),
        ("passes-share-one-base",),
        FindingSearch(_ONE_PARTITION, "directories", "leader-directory-online", {"reserved": 0}, without=_OLDER),
        "Decide the second pass on what the first has left, or the failed directories first.",
    ),
    Finding(
        "all-directories-failed",
        "A report that every directory has failed is replayed as no change.",
        "The controller goes on taking all directories of the broker for online, and elects leaders there.",
        "BrokerRegistration.cloneWith; X6; KAFKA-16162; catalogue 31",
        ("registration.empty-directory-list-is-none-left",),
        ("empty-directory-list-means-no-change",),
        FindingSearch(_ONE_PARTITION, "directories", "failed-directories-unregistered", {"reserved": 0}),
        "Tell an empty list from an absent one in the record.",
    ),
    Finding(
        "added-replica-unreported",
        "A broker that becomes a replica by a reassignment never reports the directory of its log.",
        "When that directory fails, the controller does not learn of it: the broker stays leader, and producers time "
        "out while a live ISR member is not used.",
        "TopicDelta.localChanges; B12",
        ("catchup.added-replica-reports",),
        ("added-replica-unreported",),
        FindingSearch("directories", "small", "assignment-settles",
                      {"crashes": 0, "records": 0, "replication": 1, "reassignments": 1}),
        "Report the directory of a replica that is new on the broker as that of a new topic.",
        "failed-disk",
    ),
    Finding(
        "move-never-ends",
        "A move of a replica between directories need not end: broker and controller contradict each other for ever.",
        "The log that has caught up is never used, its disk space is held twice, and two records for each round are "
        "written to the metadata log. The broker asks for the new directory, is granted it, learns of it by metadata "
        "before it has swapped the logs, forgets what it was granted, and has the old directory recorded again. It "
        "goes on while the thread that moves has no turn from the answer to the metadata, nor from there until the "
        "correction has left; a throttle that is used up keeps it from its turns. kafka-log-dirs shows isFuture, and "
        "the partition epoch rises by two each time. No fault is needed.",
        "ReplicaManager.maybeUpdateTopicAssignment; ReplicaAlterLogDirsThread.addPartitions; X5; X4; B13; "
        "KAFKA-16297; invariant 47",
        ("assignment.not-corrected-during-a-move", "move.metadata-keeps-its-state"),
        ("correction-ignores-future-log",),
        FindingSearch("fair-directories", "tiny", "move-ends"),
        "Do not correct an assignment while a future log waits in the directory that it names; keep correcting where "
        "none does.",
        broker_cases=("contradiction-repeats", "contradiction-repeats-unanswered"),
    ),
    Finding(
        "leader-shuts-down",
        "A broker in controlled shutdown counts as active while it is unfenced, and may be elected.",
        "The partition is led by a broker that is about to stop; it moves once more.",
        "ReplicationControlManager.handleBrokerUnfenced; B19; KIP-841",
        ("unfence.not-active-while-shutting-down",),
        ("unfence-ignores-controlled-shutdown",),
        FindingSearch(_ONE_PARTITION, "tiny", "leader-active", without=_OLDER),
        "Ask of a broker that is being unfenced whether it is in controlled shutdown.",
    ),
    Finding(
        "unregistered-elr-member",
        "A broker that is unregistered stays in the ELR.",
        "A broker id that is registered again, perhaps by an empty machine, is eligible to lead.",
        "ReplicationControlManager.handleBrokerUnregistered; B9; X8",
        ("unregister.leaves-elr",),
        ("unregister-keeps-elr",),
        FindingSearch(_ONE_PARTITION, "tiny", "elr-registered", without=("removed-replicas-stay-in-elr", *_OLDER)),
        "Take the broker out of the ELR as an unclean shutdown does.",
    ),
)  # fmt: skip
"""A partition, or the controller, stays unavailable, or is closer to it than it should be."""

MENDED = (
    Finding(
        "dead-last-known-leader",
        "A last known leader that is not alive is elected.",
        "The partition has a leader that nobody can reach, and an unclean election is refused as not needed.",
        "PartitionChangeBuilder.electAnyLeader; B1; KAFKA-19522; catalogue 5",
        ("election.last-known.alive",),
        ("dead-last-known-leader-electable",),
        FindingSearch(_ONE_PARTITION, "tiny", "leader-active",
                      without=("unfence-ignores-controlled-shutdown", "stale-reregistration-keeps-isr")),
        "Elect the last known leader only where it may lead. Mended in 4.1.0.",
        reported="KAFKA-19522",
    ),
    Finding(
        "assignment-clears-elr",
        "Any change of a directory empties the ELR of the partition.",
        "Clean replicas lose their right to be elected; a partition may stay offline though its data is complete.",
        "ReplicationControlManager.handleAssignReplicasToDirs; B2; PR 20716; catalogue 12",
        ("assignment.keeps-elr",),
        ("assignment-clears-elr",),
        FindingSearch(_ONE_PARTITION, "tiny", "elr-leavers-have-a-reason",
                      without=("min-isr-change-clears-every-elr", "switched-off-elr-is-neglected")),
        "Give every builder the state of the ELR feature.",
        reported="PR 20716",
    ),
)  # fmt: skip
"""What a later release has mended."""

FINDINGS: tuple[Finding, ...] = (*LOSS, *UNAVAILABLE, *MENDED)
"""Every finding, worst first."""

SEARCHED = tuple(finding for finding in FINDINGS if finding.search is not None)
"""Those that an explored system shows."""
