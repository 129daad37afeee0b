"""How traces of `elections` are drawn: operators and brokers ask, the controller decides."""

from __future__ import annotations

from collections.abc import Mapping

from kraftcheck.model.language.system import Arrow, Legend, event, numbered, sent

CONTROLLER, OPERATOR, BROKER = "controller", "operator", "broker {broker}"

STRIP = {"leader": "leader", "ISR": "isr", "ELR": "elr", "replicas": "replicas", "fenced": "fenced"}
"""The partition's registration, and who may not lead it, by their paths in the state."""

CONTROLLER_ARROWS: Mapping[str, tuple[Arrow, ...]] = {
    "fence": event(CONTROLLER),
    "sweep_sessions": event(CONTROLLER),
    "unclean_timer": event(CONTROLLER),
    "balance_timer": event(CONTROLLER),
    "unfence": sent(BROKER, CONTROLLER, "heartbeat: wants to be unfenced"),
    "heartbeat": sent(BROKER, CONTROLLER, "heartbeat: wants to be unfenced, reports failed directories"),
    "controlled_shutdown": sent(BROKER, CONTROLLER, "heartbeat: wants to shut down"),
    "directories_offline": sent(BROKER, CONTROLLER, "heartbeat: reports failed directories"),
    "new_incarnation": sent(BROKER, CONTROLLER, "BrokerRegistration"),
    "assign": sent(BROKER, CONTROLLER, "AssignReplicasToDirs"),
    "alter_partition": sent("broker {leader}", CONTROLLER, "AlterPartition"),
    "unregister": sent(OPERATOR, CONTROLLER, "UnregisterBroker"),
    "elect_preferred": sent(OPERATOR, CONTROLLER, "ElectLeaders PREFERRED"),
    "elect_unclean": sent(OPERATOR, CONTROLLER, "ElectLeaders UNCLEAN"),
    "elect_designated": sent(OPERATOR, CONTROLLER, "ElectLeaders DESIGNATED"),
    "set_min_isr": sent(OPERATOR, CONTROLLER, "IncrementalAlterConfigs"),
    "set_unclean_election": sent(OPERATOR, CONTROLLER, "IncrementalAlterConfigs"),
    "enable_elr": sent(OPERATOR, CONTROLLER, "UpdateFeatures"),
    "disable_elr": sent(OPERATOR, CONTROLLER, "UpdateFeatures"),
    "reassign": sent(OPERATOR, CONTROLLER, "AlterPartitionReassignments"),
    "cancel": sent(OPERATOR, CONTROLLER, "AlterPartitionReassignments"),
}


def lanes(bounds: Mapping[str, int]) -> tuple[str, ...]:
    """The operator, the controller, and each broker."""
    return (OPERATOR, CONTROLLER, *numbered("broker", bounds["brokers"]))


LEGEND = Legend(lanes, CONTROLLER_ARROWS, STRIP)
