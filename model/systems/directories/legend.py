"""How traces of `directories` are drawn: brokers report where replicas are, and which directories failed."""

from __future__ import annotations

from collections.abc import Mapping

from kraftcheck.model.language.system import Arrow, Legend, event, sent
from kraftcheck.model.systems.elections.legend import BROKER, CONTROLLER, CONTROLLER_ARROWS, OPERATOR, STRIP, lanes

DIRECTORY_ARROWS: Mapping[str, tuple[Arrow, ...]] = {
    **{name: CONTROLLER_ARROWS[name] for name in ("fence", "unfence", "elect_preferred", "reassign")},
    "start": sent(BROKER, CONTROLLER, "BrokerRegistration"),
    "register_again": sent(BROKER, CONTROLLER, "BrokerRegistration"),
    "report": sent(BROKER, CONTROLLER, "heartbeat: reports failed directories"),
    "lose_report": event(BROKER),
    "fail_while_reporting": event(BROKER),
    "log_dir_timeout": event(BROKER),
    "fail_directory": event(BROKER),
    "crash": event(BROKER),
    "shut_down": CONTROLLER_ARROWS["controlled_shutdown"],
    "stop": event(BROKER),
    "send": event(BROKER),
    "lose": event(BROKER),
    "copy": event(BROKER),
    "promote": event(BROKER),
    "request_promotion": event(BROKER),
    "assign": sent(BROKER, CONTROLLER, "AssignReplicasToDirs"),
    "assign_late": sent(BROKER, CONTROLLER, "AssignReplicasToDirs, an abandoned one"),
    "intrude": sent(BROKER, CONTROLLER, "AssignReplicasToDirs for another broker"),
    "answer": sent(CONTROLLER, BROKER, "answer to AssignReplicasToDirs"),
    "move": sent(OPERATOR, BROKER, "AlterReplicaLogDirs"),
    "cancel_move": sent(OPERATOR, BROKER, "AlterReplicaLogDirs"),
    "repair": sent(OPERATOR, BROKER, "a new disk"),
    "replace_disk": sent(OPERATOR, BROKER, "another disk"),
    "copy_meta_properties": sent(OPERATOR, BROKER, "a copy of meta.properties"),
}

LEGEND = Legend(
    lanes,
    {
        **DIRECTORY_ARROWS,
        "apply_metadata": sent(CONTROLLER, BROKER, "metadata records"),
        "expand_isr": sent("broker {leader}", CONTROLLER, "AlterPartition"),
        "shrink_isr": sent("broker {leader}", CONTROLLER, "AlterPartition"),
        "replicate": sent("broker {leader}", BROKER, "records"),
        "write": event("broker {leader}"),
    },
    {"directories": "controller.directories", **{label: f"controller.{path}" for label, path in STRIP.items()}},
)
