"""How traces of `zk-jbod` are drawn: brokers lose directories, and the controller restarts their partitions."""

from __future__ import annotations

from collections.abc import Mapping

from kraftcheck.model.language.system import Legend, event, numbered, sent

OPERATOR, ZOOKEEPER, CONTROLLER, BROKER = "operator", "ZooKeeper", "controller", "broker {broker}"


def lanes(bounds: Mapping[str, int]) -> tuple[str, ...]:
    """The operator, ZooKeeper, the controller, and each broker."""
    return (OPERATOR, ZOOKEEPER, CONTROLLER, *numbered("broker", bounds["brokers"]))


_ON_BROKERS = (
    "fail_operation", "stop_cleaning", "cut_checkpoints", "remove_logs", "recreate", "rejoin", "break_disk",
    "begin_job", "write_job", "begin_cleaning", "clean", "run_job", "glitch", "spoil_log", "stop",
)  # fmt: skip

LEGEND = Legend(
    lanes,
    {
        **{name: event(BROKER) for name in _ON_BROKERS},
        "read_node": sent(ZOOKEEPER, BROKER, "/restart_partitions"),
        "write_node": sent(BROKER, ZOOKEEPER, "/restart_partitions"),
        "enqueue": sent(BROKER, ZOOKEEPER, "a node of its own below /restart_partitions"),
        "read_requests": sent(ZOOKEEPER, CONTROLLER, "/restart_partitions"),
        "remove_requests": sent(CONTROLLER, ZOOKEEPER, "/restart_partitions"),
        "restart": sent(CONTROLLER, BROKER, "LeaderAndIsr"),
        "commit": event(CONTROLLER),
        "elect": event(CONTROLLER),
        "drop_broker": event(CONTROLLER),
        "controller_fails": event(CONTROLLER),
        "reassign": sent(OPERATOR, CONTROLLER, "a reassignment"),
        "end_reassignment": event(CONTROLLER),
        "repair": sent(OPERATOR, BROKER, "a new disk"),
    },
    {"leader": "partitions[0].leader", "ISR": "partitions[0].isr", "assigned": "partitions[0].assigned",
     "restarted": "partitions[0].restarted"},
)  # fmt: skip
