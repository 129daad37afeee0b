"""How traces of `unclean-recovery` are drawn: the tool asks brokers for their logs, and the controller to elect."""

from __future__ import annotations

from collections.abc import Mapping

from kraftcheck.model.language.system import Legend, event, numbered, sent

OPERATOR, TOOL, CONTROLLER, BROKER = "operator", "tool", "controller", "broker {broker}"


def lanes(bounds: Mapping[str, int]) -> tuple[str, ...]:
    """The operator, the tool, the controller, and each broker."""
    return (OPERATOR, TOOL, CONTROLLER, *numbered("broker", bounds["brokers"]))


LEGEND = Legend(
    lanes,
    {
        "start": sent(OPERATOR, TOOL, "a run"),
        "answer": sent(BROKER, TOOL, "GetReplicaLogInfo"),
        "tick": event(TOOL),
        "decide": event(TOOL),
        "request": sent(TOOL, CONTROLLER, "ElectLeaders DESIGNATED"),
        "interrupt": sent(OPERATOR, TOOL, "SIGTERM"),
        "finish": sent(TOOL, OPERATOR, "exit status"),
        "fail": event(BROKER),
        "fail_tool": event(TOOL),
        "replace_disk": sent(OPERATOR, BROKER, "another disk"),
        "fail_disk": event(BROKER),
        "come_back": sent(BROKER, CONTROLLER, "heartbeat: wants to be unfenced"),
        "write": event(CONTROLLER),
        "replicate": event(BROKER),
    },
    {"leader": "partitions[0].leader", "ISR": "partitions[0].isr", "ELR": "partitions[0].elr",
     "leader epoch": "partitions[0].epoch", "chosen": "partitions[0].chosen"},
)  # fmt: skip
