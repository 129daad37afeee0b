"""Replica lists that requests give by hand, and the partitions that are made of replica lists.

Source: `ReplicationControlManager.validateManualPartitionAssignment`,
`buildPartitionRegistration`.
"""

from __future__ import annotations

from kraftcheck.model.controller.errors import RequestError
from kraftcheck.model.controller.passes import directory_of_new_replica
from kraftcheck.model.controller.state import Controller
from kraftcheck.model.language.idlists import IdList
from kraftcheck.model.language.rule import rule
from kraftcheck.model.records.records import Ids, PartitionRecord, ids
from kraftcheck.model.rules.groups import ControllerRules, PartitionRules
from kraftcheck.model.triggers.creation import first_isr
from kraftcheck.model.triggers.reassignment import targets_registered


@rule("assignment-by-hand.registered-and-distinct",
      source="semantics 8; ReplicationControlManager.validateManualPartitionAssignment",
      says="A replica list given by hand names registered brokers, each once.")  # fmt: skip
def check_assignment(
    controller: Controller, replicas: Ids, rules: ControllerRules, factor: int | None = None
) -> None:
    """Refuse a replica list that cannot be.

    Args:
        controller: the state.
        replicas: the list.
        rules: the rule set's part for the controller.
        factor: how many replicas are wanted; None takes any number.

    Raises:
        RequestError: INVALID_REPLICA_ASSIGNMENT.
    """
    if not replicas:
        raise RequestError("INVALID_REPLICA_ASSIGNMENT", "empty")
    previous, registered = None, controller.cluster().registered
    for broker in sorted(replicas):
        if not targets_registered(IdList((broker,)), registered):
            raise RequestError("INVALID_REPLICA_ASSIGNMENT", "broker_not_registered")
        if not _takes_replicas(controller, broker, rules):
            raise RequestError("INVALID_REPLICA_ASSIGNMENT", "all_directories_cordoned")
        if broker == previous:
            raise RequestError("INVALID_REPLICA_ASSIGNMENT", "duplicate_broker")
        previous = broker
    if factor is not None and len(replicas) != factor:
        raise RequestError("INVALID_REPLICA_ASSIGNMENT", "replication_factor_differs")


@rule("assignment-by-hand.on-brokers-that-take-replicas",
      source="KIP-1066; ReplicationControlManager.validateManualPartitionAssignment",
      switches=("cordoned-brokers-assignable",),
      says="From 4.4.0 on a replica list given by hand names no broker whose directories are all cordoned, not even "
           "one that has the replica already.")  # fmt: skip
def _takes_replicas(controller: Controller, broker: int, rules: ControllerRules) -> bool:
    known = controller.registration(broker)
    return rules.cordoned_brokers_assignable or known is None or known.takes_replicas()


def new_partition(
    controller: Controller, topic_id: str, index: int, replicas: Ids, rules: PartitionRules
) -> PartitionRecord | None:
    """The record of a new partition; None when no replica is active.

    The active replicas are the ISR and the first of them leads; whether their
    directories are online is not asked.
    """
    able = IdList.of(broker for broker in replicas if controller.is_active(broker))
    if able.is_empty():
        return None
    isr = ids(first_isr(IdList(replicas), able, rules))
    placed = tuple(directory_of_new_replica(controller, broker, rules) for broker in replicas)
    return PartitionRecord(
        topic_id,
        index,
        replicas=replicas,
        isr=isr,
        leader=isr[0],
        leader_epoch=0,
        partition_epoch=0,
        directories=placed if controller.features.directories else None,
    )
