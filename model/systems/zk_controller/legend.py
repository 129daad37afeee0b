"""How traces of `zk-controller` are drawn: ZooKeeper stands between controller and brokers."""

from __future__ import annotations

from collections.abc import Mapping

from kraftcheck.model.language.system import Legend, event, numbered, sent

OPERATOR, ZOOKEEPER, CONTROLLER, DEPOSED, BROKER = "operator", "ZooKeeper", "controller", "deposed", "broker {broker}"

_NODE = "the partition's node"
_DECISION = "a decision, through its queue"


def lanes(bounds: Mapping[str, int]) -> tuple[str, ...]:
    """The operator, ZooKeeper, the controller, a deposed one, and each broker."""
    deposed = (DEPOSED,) if bounds["depositions"] else ()
    return (OPERATOR, ZOOKEEPER, CONTROLLER, *deposed, *numbered("broker", bounds["brokers"]))


LEGEND = Legend(
    lanes,
    {
        "list_brokers": sent(ZOOKEEPER, CONTROLLER, "live brokers"),
        "read_node": sent(ZOOKEEPER, CONTROLLER, _NODE),
        "write_one": sent(CONTROLLER, ZOOKEEPER, _NODE),
        "write_all": sent(CONTROLLER, ZOOKEEPER, "the nodes of all partitions"),
        "write_one_late": sent(DEPOSED, ZOOKEEPER, _NODE),
        "write_all_late": sent(DEPOSED, ZOOKEEPER, "the nodes of all partitions"),
        "publish": sent(CONTROLLER, BROKER, _DECISION),
        "publish_late": sent(DEPOSED, BROKER, _DECISION),
        **{name: event(CONTROLLER) for name in ("finish", "abandon", "controller_fails", "depose", "recheck")},
        "resign": event(DEPOSED),
        "retry": sent(ZOOKEEPER, CONTROLLER, "a refused write"),
        "take_over": sent(CONTROLLER, ZOOKEEPER, "/controller"),
        "load": sent(ZOOKEEPER, CONTROLLER, "all nodes"),
        **{name: event(BROKER) for name in ("stop_fetcher", "act", "doze", "set_watch", "commit", "fetch", "crash")},
        "read_decisions": sent(ZOOKEEPER, BROKER, "decisions"),
        "subscribe": sent(BROKER, ZOOKEEPER, "a watch"),
        "change_isr": sent(BROKER, ZOOKEEPER, "the ISR"),
        "start": sent(BROKER, ZOOKEEPER, "/brokers/ids"),
        "reconnect": sent(BROKER, ZOOKEEPER, "/brokers/ids"),
        "lose_session": sent(ZOOKEEPER, BROKER, "session expiry"),
        "expire": event(ZOOKEEPER),
        "fail_replica": sent(BROKER, CONTROLLER, "a failed replica"),
        "create_topic": sent(OPERATOR, ZOOKEEPER, "a topic"),
        "delete_topic": sent(OPERATOR, ZOOKEEPER, "a deletion"),
        "delete_partition": sent(CONTROLLER, ZOOKEEPER, "a deletion"),
        "reassign": sent(OPERATOR, ZOOKEEPER, "a reassignment"),
        "stop_replica": sent(CONTROLLER, BROKER, "StopReplica"),
        "start_replicas": sent(ZOOKEEPER, CONTROLLER, "a reassignment"),
        "check_isr": sent(ZOOKEEPER, CONTROLLER, "the ISR"),
        "shrink_isr": sent(CONTROLLER, ZOOKEEPER, "the ISR"),
        "replace": sent(CONTROLLER, ZOOKEEPER, "the assigned replicas"),
        "complete": sent(CONTROLLER, ZOOKEEPER, "the assigned replicas"),
        "end_reassignment": sent(CONTROLLER, ZOOKEEPER, "the end of a reassignment"),
    },
    {"leader": "partitions[0].node.leader", "ISR": "partitions[0].node.isr", "version": "partitions[0].node.version",
     "assigned": "partitions[0].assigned"},
)  # fmt: skip
