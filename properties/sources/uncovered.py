"""Rules that no property checks, each with the reason, and with a variant that something else notices."""

from __future__ import annotations

from collections.abc import Mapping

_RELEASES = "releases differ in it, both ways keep all properties of `elections`, and `kraftcheck conform` asks each"
_CHOSEN = "which of several right choices is made is no promise; `kraftcheck conform` compares it with Kafka's builder"
_STEPS = "it refuses a request that would change nothing that is promised; the conformance tour compares the answers"
_CONTROLLER = "only the controller on ints has it, which is not explored; tests/model/controller asks it by requests"
_PLACEMENT = "placement is not explored; the vectors of Kafka's own tests are, in `kraftcheck conform --vectors`"
_DOCUMENT = "the document and the code differ in it, and both ways keep all properties of `directories`"

UNCOVERED: dict[str, str] = {
    "isr.shrink.bumps-leader-epoch": _RELEASES,
    "last-known.noted-on-leader-loss": _RELEASES,
    "election.last-known.is-replica": "where last-known.is-a-replica is kept, no state has another; "
    "`kraftcheck conform` asks the releases that keep neither",
    "elr.listed-in-hash-order": _CHOSEN,
    "election.clean.keeps-valid-leader": _CHOSEN,
    "election.preferred.first-replica": _CHOSEN,
    "directories.migrating-lists-made-anew": "explored systems keep a map of directories, not a list; "
    "`kraftcheck conform` compares the replay of every such record",
    "election.clean.from-previous-isr": "it feeds a metric and decides nothing; a vector of Kafka's own tests asks it",
    "alter-partition.leader-epoch-current": "an outdated request is dropped from the settled state, so that no scope "
    "has one to accept; tests/model/controller and the vectors ask every answer",
    "alter-partition.sender-leads": "explored systems let the leader send only; tests/model/controller asks the others",
    "alter-partition.sender-of-current-incarnation": _CONTROLLER,
    "alter-partition.moved-leadership-is-answered": _CONTROLLER,
    "election.preferred.only-when-needed": _STEPS,
    "election.unclean.only-leaderless": _STEPS,
    "assignment.own-replicas-only": _STEPS,
    "assignment-by-hand.registered-and-distinct": _STEPS,
    "registration.overwrites-everything": "it is how the record is replayed; `kraftcheck conform` compares it",
    "config.topic-written-only-where-it-differs": _CONTROLLER,
    "config.node-values-checked": _CONTROLLER,
    "config.min-isr-of-brokers-with-elr": _CONTROLLER,
    "config.resolution-order": _CONTROLLER,
    "config.stored-trimmed": _CONTROLLER,
    "topic.creation.rows-are-independent": _CONTROLLER,
    "topic.deletion.removes-partitions": _CONTROLLER,
    "topic.growth.all-or-nothing": _CONTROLLER,
    "topic.growth.factor-of-first-in-map": _CONTROLLER,
    "event.batches-of-records": _CONTROLLER,
    "session.registration-forgets-offset": _CONTROLLER,
    "session.expiry-longest-silent": _CONTROLLER,
    "shutdown.controlled-while-leading": _CONTROLLER,
    "unfence.registration-applied": "only the controller on ints has it; explored brokers ask only when it is so, "
    "unfence.asked-when-caught-up, which `unfenced-when-caught-up` checks",
    "heartbeat.expired-counts-as-contact": _CONTROLLER,
    "cordoning.reported-by-heartbeat": _CONTROLLER,
    "registration.amendment-moves-leaders": _CONTROLLER,
    "registration.record-is-written-last": _CONTROLLER,
    "registration.supports-finalized-features": _CONTROLLER,
    "session.of-each-contact": _CONTROLLER,
    "assignment-by-hand.on-brokers-that-take-replicas": _CONTROLLER,
    "cordoning.of-each-directory-cordons-the-broker": _CONTROLLER,
    "session.expiry-in-table-order": _CONTROLLER,
    "reassignment.factor-kept-on-request": _CONTROLLER,
    "topic.creation.partitions-are-limited": _CONTROLLER,
    "topic.creation.policy-answers-for-its-row": _CONTROLLER,
    "topic.growth.partitions-are-limited": _CONTROLLER,
    "config.unsupported-skipped-at-replay": _CONTROLLER,
    "registration.live-broker-is-duplicate": _CONTROLLER,
    "registration.directories-own-and-unreserved": _CONTROLLER,
    "reassignment.rows-are-independent": _CONTROLLER,
    "broker-epoch.current": _CONTROLLER,
    "directory-id.first-hundred-reserved": "explored systems number directories from one on; a vector asks it of ids",
    "session.expiry-fences": "`sessions` has its own fencing; tests/model/controller asks the controller's by requests",
    "shutdown.granted-when-followed": "`sessions` has its own answer to a shutdown; a vector asks the controller's",
    "timer.balance": "`elections` has its own timers; tests/model/controller asks the controller's",
    "timer.unclean": "`elections` has its own timers; a vector asks the controller's",
    "placement.striped-over-racks": _PLACEMENT,
    "placement.unfenced-leader": _PLACEMENT,
    "placement.factor-can-be-met": _PLACEMENT,
    "directory-failure.reported-without-waiting": _DOCUMENT,
    "directory-failure.unreported-stops-broker": _DOCUMENT,
}
"""Rule id to reason."""

NOTICED: Mapping[str, tuple[str, str]] = {
    "isr.shrink.bumps-leader-epoch":
        ("bump-on-isr-shrink",
         "ReplicationControlManagerTest.testCancelReassignPartitions#isr_grows_but_incomplete"),
    "last-known.noted-on-leader-loss":
        ("partition.elr:by_leadership:drop-condition:2",
         "tests/model/partition/test_change.py::test_the_last_known_leader_of_later_releases"),
    "election.last-known.is-replica":
        ("partition.election:_last_known_electable:drop-condition:2",
         "PartitionChangeBuilderTest.testUncleanLeaderElection#v2.1"),
    "elr.listed-in-hash-order":
        ("partition.elr:populate:neighbour:2",
         "PartitionChangeBuilderTest.testUncleanLeaderElection#v2.1"),
    "election.clean.keeps-valid-leader":
        ("partition.election:elect:one-branch:1",
         "PartitionChangeBuilderTest.testElectLeader#v0.5"),
    "election.preferred.first-replica":
        ("partition.election:elect:one-branch:1",
         "PartitionChangeBuilderTest.testElectLeader#v0.5"),
    "directories.migrating-lists-made-anew":
        ("partition.registration:_merged_directories:neighbour:1",
         "PartitionChangeBuilderTest.testUncleanSetsLeaderRecoveringState#recovery"),
    "election.clean.from-previous-isr":
        ("partition.registration:election_was_clean:drop-condition:2",
         "PartitionRegistrationTest.testElectionWasClean#3"),
    "alter-partition.leader-epoch-current":
        ("triggers.alter_partition:current_checks:negate:1",
         "ReplicationControlManagerTest.testInvalidAlterPartitionRequests#isr_without_leader"),
    "alter-partition.sender-leads":
        ("triggers.alter_partition:sender_check:drop-condition:1",
         "ReplicationControlManagerTest.testInvalidAlterPartitionRequests#not_leader"),
    "alter-partition.sender-of-current-incarnation":
        ("controller.alter_partition:alter_partition:swap-arguments:1",
         "ReplicationControlManagerTest.testAlterPartitionHandleUnknownTopicIdOrName#v0"),
    "alter-partition.moved-leadership-is-answered":
        ("controller.alter_partition:_answer:negate:1",
         "ReplicationControlManagerTest.testInvalidAlterPartitionRequests#not_leader"),
    "election.preferred.only-when-needed":
        ("triggers.table:needs_preferred:negate:1",
         "ReplicationControlManagerTest.testReassignPartitionsHandlesNewReassignmentThatRemovesPreviouslyAddingReplicas#second"),
    "election.unclean.only-leaderless":
        ("triggers.table:needs_leader:negate:1",
         "ReplicationControlManagerTest.testElectUncleanLeaders_WithoutElr#all.unavailable"),
    "assignment.own-replicas-only":
        ("controller.assign_dirs:_error:neighbour:2",
         "ReplicationControlManagerTest.testHandleAssignReplicasToDirs#0"),
    "assignment-by-hand.registered-and-distinct":
        ("controller.assignments:check_assignment:neighbour:1",
         "ReplicationControlManagerTest.testCreatePartitionsFailsWithManualAssignmentWithAllFenced#one_active"),
    "registration.overwrites-everything":
        ("records.brokers:registration_of:swap-arguments:1",
         "BrokerRegistrationTest.testFromRecordAndToRecord#2"),
    "config.topic-written-only-where-it-differs":
        ("controller.alter_configs:alter_config:negate:1",
         "ReplicationControlManagerTest.testMaybeTriggerUncleanLeaderElectionForLeaderlessPartitions#dynamic_cluster.sweep"),
    "config.node-values-checked":
        ("controller.alter_configs:_checked:swap-arguments:2",
         "ReplicationControlManagerTest.testMaybeTriggerUncleanLeaderElectionForLeaderlessPartitions#dynamic_topic.sweep"),
    "config.min-isr-of-brokers-with-elr":
        ("controller.alter_configs:_fixed_by_elr:negate:2",
         "tests/model/controller/test_elr_index.py::test_a_cleared_elr_stays_indexed"),
    "config.resolution-order":
        ("controller.configs:Configs.resolve:swap-arguments:1",
         "ReplicationControlManagerTest.testEligibleLeaderReplicas_EffectiveMinIsr#0"),
    "config.stored-trimmed":
        ("padded-configs-stored",
         "tests/model/controller/test_controller_limits.py::test_spaces_around_a_min_isr"),
    "topic.creation.rows-are-independent":
        ("controller.topics.topics:create_topics:negate:2",
         "ReplicationControlManagerTest.testCreateTopics#no_brokers"),
    "topic.deletion.removes-partitions":
        ("controller.topics.topics:delete_topics:negate:1",
         "ReplicationControlManagerTest.testDeleteTopicsWithMutationQuotaExceeded#0"),
    "topic.growth.all-or-nothing":
        ("controller.topics.growth:_add:negate:1",
         "ReplicationControlManagerTest.testCreatePartitionsISRInvariants#0"),
    "topic.growth.factor-of-first-in-map":
        ("controller.topics.growth:_lists:neighbour:1",
         "ReplicationControlManagerTest.testCreatePartitionsISRInvariants#0"),
    "event.batches-of-records":
        ("controller.commits:batches:negate:1",
         "ClusterControlManagerTest.testRegisterBrokerRecordVersion#3.3-IV3"),
    "session.registration-forgets-offset":
        ("controller.heartbeat:Sessions.register:swap-arguments:1",
         "ReplicationControlManagerTest.testCreateTopicsWithConfigs#valid"),
    "session.expiry-longest-silent":
        ("controller.heartbeat:Sessions.stale:negate:1",
         "BrokerHeartbeatManagerTest.testFindOneStaleBroker#1"),
    "shutdown.controlled-while-leading":
        ("controller.heartbeat:_from_unfenced:one-branch:1",
         "BrokerHeartbeatManagerTest.testCalculateNextBrokerState#5"),
    "unfence.registration-applied":
        ("controller.heartbeat:_from_fenced:negate:1",
         "ReplicationControlManagerTest.testCreateTopics#exists"),
    "heartbeat.expired-counts-as-contact":
        ("controller.heartbeat_event:expired_heartbeat:skip-field:1",
         "ReplicationControlManagerTest.testProcessExpiredBrokerHeartbeat#0"),
    "cordoning.reported-by-heartbeat":
        ("controller.lifecycle:directories_cordoned:negate:1",
         "tests/model/controller/test_cordoned.py::test_the_registration_changes_when_others_are_named"),
    "registration.amendment-moves-leaders":
        ("amendment-keeps-leaders",
         "tests/model/controller/test_controller_lifecycle.py::test_an_amendment_and_the_leaders_on_other_directories"),
    "registration.record-is-written-last":
        ("registration-is-one-batch",
         "tests/model/controller/test_sessions.py::test_a_registration_of_many_records"),
    "registration.supports-finalized-features":
        ("metadata-version-range-required",
         "ClusterControlManagerTest.testRegisterBrokerRecordVersion#3.3-IV3"),
    "session.of-each-contact":
        ("sessions-by-contact",
         "tests/model/controller/test_controller_errors.py::test_a_request_is_answered_with_its_error"),
    "assignment-by-hand.on-brokers-that-take-replicas":
        ("cordoned-brokers-assignable",
         "tests/model/controller/test_later_requests.py::test_a_list_given_by_hand_and_a_cordoned_broker"),
    "cordoning.of-each-directory-cordons-the-broker":
        ("records.brokers:Registration.takes_replicas:and-or:1",
         "ReplicationControlManagerTest.testCreateTopics#exists"),
    "session.expiry-in-table-order":
        ("sessions-by-contact",
         "tests/model/controller/test_controller_errors.py::test_a_request_is_answered_with_its_error"),
    "reassignment.factor-kept-on-request":
        ("factor-change-can-be-forbidden",
         "tests/model/controller/test_later_requests.py::test_a_reassignment_may_forbid_another_factor"),
    "topic.creation.partitions-are-limited":
        ("created-partitions-uncounted",
         "tests/model/controller/test_later_requests.py::test_a_creation_of_too_many_partitions_is_refused_whole"),
    "topic.creation.policy-answers-for-its-row":
        ("controller.topics.topics:_check_allowed:negate:1",
         "ReplicationControlManagerTest.testCreateTopics#exists"),
    "topic.growth.partitions-are-limited":
        ("added-partitions-uncounted",
         "tests/model/controller/test_controller_errors.py::test_a_request_is_answered_with_its_error"),
    "config.unsupported-skipped-at-replay":
        ("-unsupported-configs-kept",
         "ReplicationControlManagerTest.testCreateTopicsWithConfigs#valid"),
    "registration.live-broker-is-duplicate":
        ("controller.registration:register_broker:negate:1",
         "ClusterControlManagerTest.testRegisterBrokerRecordVersion#3.3-IV3"),
    "registration.directories-own-and-unreserved":
        ("no-directories-is-invalid-request",
         "ClusterControlManagerTest.testRegisterWithDuplicateDirectoryId#no_dirs"),
    "reassignment.rows-are-independent":
        ("controller.reassign:reassign:negate:1",
         "ReplicationControlManagerTest.testReassignPartitions#completed_by_isr_v0"),
    "broker-epoch.current":
        ("controller.state:Controller.check_epoch:negate:1",
         "ClusterControlManagerTest.testReplay#epoch_ok"),
    "directory-id.first-hundred-reserved":
        ("partition.directories:is_reserved:negate:1",
         "DirectoryIdTest.testMigratingIsReserved#0"),
    "session.expiry-fences":
        ("controller.lifecycle:expire_session:skip-field:1",
         "tests/model/controller/test_controller_lifecycle.py::test_an_expired_session_is_gone"),
    "shutdown.granted-when-followed":
        ("controller.heartbeat:Sessions.next_state:negate:1",
         "BrokerHeartbeatManagerTest.testCalculateNextBrokerState#9"),
    "timer.balance":
        ("controller.passes:imbalanced:negate:1",
         "tests/model/controller/test_controller_partitions.py::test_the_timers_have_a_limit"),
    "timer.unclean":
        ("controller.elect_leaders:elect_unclean:negate:1",
         "ReplicationControlManagerTest.testMaybeTriggerUncleanLeaderElectionForLeaderlessPartitions#none.sweep"),
    "placement.striped-over-racks":
        ("controller.topics.placement:RackList.place:off-by-one:1",
         "StripedReplicaPlacerTest.testRackListWithMultipleRacks#1"),
    "placement.unfenced-leader":
        ("controller.topics.placement:_leader:negate:1",
         "StripedReplicaPlacerTest.testRackListWithMultipleRacks#1"),
    "placement.factor-can-be-met":
        ("controller.topics.placement:check_factor:negate:1",
         "StripedReplicaPlacerTest.testAvoidFencedReplicaIfPossibleOnSingleRack#2"),
    "directory-failure.reported-without-waiting":
        ("reports-wait-for-assignments",
         "tests/model/systems/test_directories_moves.py::test_a_report_waits_for_no_assignment"),
    "directory-failure.unreported-stops-broker":
        ("systems.directories.process:Process.may_time_out:negate:1",
         "tests/model/systems/test_directories_moves.py::test_the_timeout_stops_a_broker_that_cannot_report"),
}  # fmt: skip
"""By rule a variant, a choice or an operator mutant of its function, and who notices it.

That is a vector of Kafka's own tests, by its id, or a test of the rules on ints.
"""
