"""The `zk-controller` system: actions, bounds and scopes."""

from __future__ import annotations

from model.system import Action, Bound, Setting, System
from model.systems.zk_controller.control import Control
from model.systems.zk_controller.hosts import Faults, Hosts
from model.systems.zk_controller.state import initial, layout, settled

BOUNDS = (
    Bound("brokers", 1, 4, "number of brokers; each has a replica of every partition"),
    Bound("partitions", 1, 3, "number of partitions"),
    Bound("each", 1, 100_000, "partitions that one of the model stands for, when operations are counted"),
    Bound("new-topic", 0, 1, "whether the last partition is created later"),
    Bound("stops", 0, 3, "budget: broker processes that die"),
    Bound("session-losses", 0, 2, "budget: live brokers that lose their ZooKeeper session"),
    Bound("controller-failures", 0, 2, "budget: controllers that fail"),
    Bound("replica-failures", 0, 1, "budget: single replicas that fail on a live broker"),
    Bound("isr-changes", 0, 3, "budget: changes of the ISR by leaders"),
)

_BASE = {
    "brokers": 2, "partitions": 1, "each": 10_000, "new-topic": 0, "stops": 1, "session-losses": 0,
    "controller-failures": 1, "replica-failures": 0, "isr-changes": 1,
}  # fmt: skip

SCOPES = {
    "tiny": _BASE,
    "sessions": {**_BASE, "session-losses": 1, "stops": 0},
    "replica": {**_BASE, "replica-failures": 1, "stops": 0},
    "pair": {**_BASE, "partitions": 2, "each": 5_000, "isr-changes": 0},
    "topic": {**_BASE, "new-topic": 1},
    "small": {**_BASE, "brokers": 3, "session-losses": 1, "controller-failures": 0},
}


def actions(setting: Setting) -> list[Action]:
    """Steps of the controller and of brokers, and what goes wrong."""
    return [*_controller(setting), *_brokers(setting), *_failures(setting)]


def _controller(setting: Setting) -> list[Action]:
    c = Control(setting.rules, setting["each"])
    each, hosts = {"partition": tuple(range(setting["partitions"]))}, {"broker": tuple(range(setting["brokers"]))}
    listed = [
        Action("list_brokers", c.list_brokers, c.may_list_brokers, {}, "change_leaders, step 1"),
        Action("read_node", c.read_node, c.may_read_node, each, "change_leaders, steps 2 and 3.1"),
        Action("finish", c.finish, c.may_finish, {}, "change_leaders ends"),
    ]
    if setting.rules.decisions_one_by_one:
        listed.append(Action("write_one", c.write_one, c.may_write_one, each, "change_leaders, step 4"))
    else:
        listed.append(Action("write_all", c.write_all, c.may_write_all, {}, "change_leaders, steps 4 and 5 as a multi"))
    if not setting.rules.decision_write_unconditional:
        listed.append(Action("retry", c.retry, c.may_retry, each, "a conditional write is refused"))
    if not setting.rules.outsiders_by_old_list:
        listed.append(Action("abandon", c.abandon, c.may_abandon, {}, "the list of live brokers has changed"))
    if setting.rules.decisions_one_by_one or setting["controller-failures"]:
        listed.append(Action("publish", c.publish, c.may_publish, hosts, "change_leaders, step 5"))
    if setting["controller-failures"]:
        listed += [
            Action("take_over", c.take_over, c.may_take_over, {}, "on_controller_failover, step 1"),
            Action("load", c.load, c.may_load, {}, "on_controller_failover, step 2.1"),
            Action("controller_fails", c.fail, c.may_fail, {}, "controller failure"),
        ]
    return listed


def _brokers(setting: Setting) -> list[Action]:
    h = Hosts(setting.rules)
    each = {"broker": tuple(range(setting["brokers"]))}
    both = {**each, "partition": tuple(range(setting["partitions"]))}
    listed = [
        Action("stop_fetcher", h.stop_fetcher, h.may_stop_fetcher, both, "on_leader_assignment_change, 2.1.1, 2.2.1"),
        Action("act", h.act, h.may_act, both, "on_leader_assignment_change, 2.1.2, 2.2.2"),
        Action("doze", h.doze, h.may_doze, each, "the watch on the queue is set again"),
        Action("commit", h.commit, h.may_commit, both, "a record is acknowledged"),
        Action("fetch", h.fetch, h.may_fetch, both, "a follower catches up or is cut"),
        Action("read_decisions", h.read_decisions, h.may_read_decisions, each, "on_broker_startup, steps 1 to 3"),
        Action("subscribe", h.subscribe, h.may_subscribe, each, "on_broker_startup, step 4"),
    ]
    if setting.rules.watch_set_after_read:
        listed.append(Action("set_watch", h.set_watch, h.may_set_watch, each, "the watch as an operation of its own"))
    if setting["isr-changes"]:
        members = {**both, "member": tuple(range(setting["brokers"]))}
        listed.append(Action("change_isr", h.change_isr, h.may_change_isr, members, "the leader updates the ISR"))
    if setting["stops"] or setting["replica-failures"]:
        listed.append(Action("start", h.start, h.may_start, each, "on_broker_startup"))
    return listed


def _failures(setting: Setting) -> list[Action]:
    f = Faults(setting.rules)
    each = {"broker": tuple(range(setting["brokers"]))}
    both = {**each, "partition": tuple(range(setting["partitions"]))}
    listed = []
    if setting["stops"]:
        listed.append(Action("crash", f.crash, f.may_crash, each, "broker failure"))
    if setting["stops"] or setting["replica-failures"]:
        listed.append(Action("expire", f.expire, f.may_expire, each, "ZooKeeper session expiry"))
    if setting["session-losses"]:
        listed += [
            Action("lose_session", f.lose_session, f.may_lose_session, each, "ZooKeeper session expiry"),
            Action("reconnect", f.reconnect, f.may_reconnect, each, "a new ZooKeeper session"),
        ]
    if setting["replica-failures"]:
        listed.append(Action("fail_replica", f.fail_replica, f.may_fail_replica, both, "question A.3"))
    if setting["new-topic"]:
        last = {"partition": (setting["partitions"] - 1,)}
        listed.append(Action("create_topic", f.create_topic, f.may_create_topic, last, "on_topic_change"))
    return listed


ZK_CONTROLLER = System(
    name="zk-controller",
    summary="the first controller, on ZooKeeper: leaders chosen by one broker, told through a queue for each",
    initial=initial,
    actions=actions,
    layout=layout,
    scopes=SCOPES,
    bounds=BOUNDS,
    quiescent=settled,
    rules=True,
)
"""The system without its properties; `properties.catalogue` adds them."""
