"""How traces of `broker-ids` are drawn: machines look for their id in ZooKeeper."""

from __future__ import annotations

from collections.abc import Mapping

from kraftcheck.model.language.system import Legend, event, numbered, sent

SWEEP, ZOOKEEPER, MACHINE, OPERATOR = "sweep", "ZooKeeper", "machine {machine}", "operator"


def lanes(bounds: Mapping[str, int]) -> tuple[str, ...]:
    """The operator, what removes garbage, ZooKeeper, and each machine."""
    return (OPERATOR, SWEEP, ZOOKEEPER, *numbered("machine", bounds["machines"]))


LEGEND = Legend(
    lanes,
    {
        "start": event(MACHINE),
        "decide": sent(ZOOKEEPER, MACHINE, "/brokers/hosts"),
        "read_used_ids": sent(ZOOKEEPER, MACHINE, "/brokers/topics"),
        "list_ids": sent(ZOOKEEPER, MACHINE, "/brokers/ids"),
        "register": sent(MACHINE, ZOOKEEPER, "/brokers/ids"),
        "record": sent(MACHINE, ZOOKEEPER, "/brokers/hosts"),
        "come_back": sent(MACHINE, ZOOKEEPER, "/brokers/ids"),
        "lose_session": sent(ZOOKEEPER, MACHINE, "session expiry"),
        "expire": event(ZOOKEEPER),
        "create_topic": event(ZOOKEEPER),
        "stop": event(MACHINE),
        "lose_disk": event(MACHINE),
        "rename": event(MACHINE),
        "rewrite_host": sent(OPERATOR, ZOOKEEPER, "/brokers/hosts"),
        "sweep": sent(ZOOKEEPER, SWEEP, "/brokers/ids"),
        "read_host": sent(ZOOKEEPER, SWEEP, "/brokers/hosts"),
        "remove_garbage": sent(SWEEP, ZOOKEEPER, "/brokers/hosts"),
        "end_sweep": event(SWEEP),
    },
    {"registered at": "places", "hosts": "hosts", "used ids": "used"},
)
