"""The `zk-controller` system: actions, bounds and scopes."""

from __future__ import annotations

from kraftcheck.model.language.system import Action, Bound, Setting, System
from kraftcheck.model.language.words import rule
from kraftcheck.model.rules.groups import ZkControllerRules
from kraftcheck.model.systems.zk_controller.control import Control
from kraftcheck.model.systems.zk_controller.deposed import Deposed
from kraftcheck.model.systems.zk_controller.faults import Faults
from kraftcheck.model.systems.zk_controller.hosts import Hosts
from kraftcheck.model.systems.zk_controller.legend import LEGEND
from kraftcheck.model.systems.zk_controller.moves import Moves
from kraftcheck.model.systems.zk_controller.start import initial, layout, settled
from kraftcheck.model.systems.zk_controller.topics import Topics

BOUNDS = (
    Bound(
        "brokers",
        1,
        4,
        "number of brokers; each has a replica of every partition, but for the last where replicas are reassigned",
    ),
    Bound("partitions", 1, 3, "number of partitions"),
    Bound("each", 1, 100_000, "partitions that one of the model stands for, when operations are counted"),
    Bound("new-topic", 0, 1, "whether the last partition is created later"),
    Bound("stops", 0, 3, "budget: broker processes that die"),
    Bound("session-losses", 0, 2, "budget: live brokers that lose their ZooKeeper session"),
    Bound("controller-failures", 0, 2, "budget: controllers that fail"),
    Bound("replica-failures", 0, 1, "budget: single replicas that fail on a live broker"),
    Bound("isr-changes", 0, 3, "budget: changes of the ISR by leaders"),
    Bound("controller-is-broker", 0, 1, "whether the controller is one of the brokers, and goes when that one goes"),
    Bound("depositions", 0, 1, "budget: controllers that lose their session in the middle of a change, and go on"),
    Bound("reassignments", 0, 1, "budget: requests for other replicas"),
    Bound("deletions", 0, 1, "budget: topics that are deleted"),
)

_BASE = {
    "brokers": 2, "partitions": 1, "each": 10_000, "new-topic": 0, "stops": 1, "session-losses": 0,
    "controller-failures": 1, "replica-failures": 0, "isr-changes": 1, "depositions": 0, "reassignments": 0,
    "deletions": 0, "controller-is-broker": 0,
}  # fmt: skip

SCOPES = {
    "tiny": _BASE,
    "sessions": {**_BASE, "session-losses": 1, "stops": 0},
    "replica": {**_BASE, "replica-failures": 1, "stops": 0},
    "pair": {**_BASE, "partitions": 2, "each": 5_000, "isr-changes": 0},
    "topic": {**_BASE, "new-topic": 1},
    "deletion": {**_BASE, "deletions": 1},
    "reassignment": {**_BASE, "reassignments": 1},
    "deposed": {**_BASE, "controller-failures": 0, "stops": 2, "depositions": 1, "isr-changes": 0},
    "small": {**_BASE, "brokers": 3, "session-losses": 1, "controller-failures": 0},
}


def actions(setting: Setting) -> list[Action]:
    """Steps of the controller and of brokers, and what goes wrong."""
    return [
        *_controller(setting), *_deposed(setting), *_moves(setting), *_topics(setting), *_brokers(setting),
        *_failures(setting),
    ]  # fmt: skip


@rule("zk-controller.decision.one-transaction", source="early controller design, A 4",
      switches=("decisions-one-by-one",),
      says="Decisions and their queue entries are written as one conditional transaction.")  # fmt: skip
@rule("zk-controller.decision.outsider-by-current-list", source="early controller design, A",
      switches=("outsiders-by-old-list",),
      says="A leader from outside the ISR is chosen only by a current list of live brokers.")  # fmt: skip
def _controller(setting: Setting) -> list[Action]:
    c = Control(setting.rules.zk_controller, setting["each"])
    each, hosts = {"partition": tuple(range(setting["partitions"]))}, {"broker": tuple(range(setting["brokers"]))}
    listed = [
        Action("list_brokers", c.list_brokers, c.may_list_brokers, {}, "change_leaders, step 1"),
        Action("read_node", c.read_node, c.may_read_node, each, "change_leaders, steps 2 and 3.1"),
        Action("finish", c.finish, c.may_finish, {}, "change_leaders ends"),
    ]
    if setting.rules.zk_controller.decisions_one_by_one:
        listed.append(Action("write_one", c.write_one, c.may_write_one, each, "change_leaders, step 4"))
    else:
        listed.append(Action("write_all", c.write_all, c.may_write_all, {}, "change_leaders, steps 4 and 5 as a multi"))
    if not setting.rules.zk_controller.decision_write_unconditional:
        listed.append(Action("retry", c.retry, c.may_retry, each, "a conditional write is refused"))
    if not setting.rules.zk_controller.outsiders_by_old_list:
        listed.append(Action("abandon", c.abandon, c.may_abandon, {}, "the list of live brokers has changed"))
    if setting.rules.zk_controller.decisions_one_by_one or _is_replaced(setting) or setting["reassignments"]:
        listed.append(Action("publish", c.publish, c.may_publish, hosts, "change_leaders, step 5"))
    if _is_replaced(setting):
        listed += [
            Action("take_over", c.take_over, c.may_take_over, hosts if setting["controller-is-broker"] else {},
                   "on_controller_failover, step 1"),
            Action("load", c.load, c.may_load, {}, "on_controller_failover, step 2.1"),
        ]  # fmt: skip
    if setting["controller-failures"]:
        f = Faults(setting.rules.zk_controller)
        listed.append(Action("controller_fails", f.fail, f.may_fail, {}, "controller failure"))
    return listed


def _is_replaced(setting: Setting) -> bool:
    return any(setting[bound] for bound in ("controller-failures", "depositions", "controller-is-broker"))


@rule("zk-controller.failover.old-writes-are-fenced", source="early controller design, D; KAFKA-1096",
      switches=("controller-writes-unfenced", "zombie-refreshes-epoch"),
      says="The writes of a controller that was deposed are refused.")  # fmt: skip
def _deposed(setting: Setting) -> list[Action]:
    if not setting["depositions"]:
        return []
    d = Deposed(Control(setting.rules.zk_controller, setting["each"]))
    each, hosts = {"partition": tuple(range(setting["partitions"]))}, {"broker": tuple(range(setting["brokers"]))}
    listed = [
        Action("depose", d.depose, d.may_depose, {}, "the controller's session expires"),
        Action("resign", d.resign, d.may_resign, {}, "a deposed controller learns of it"),
    ]
    rules = setting.rules.zk_controller
    if rules.controller_writes_unfenced or rules.zombie_refreshes_epoch:
        listed.append(Action("publish_late", d.publish_late, d.may_publish_late, hosts, "step 5 by a deposed one"))
        if setting.rules.zk_controller.decisions_one_by_one:
            listed.append(
                Action("write_one_late", d.write_one_late, d.may_write_one_late, each, "step 4 by a deposed one")
            )
        else:
            listed.append(
                Action("write_all_late", d.write_all_late, d.may_write_all_late, {}, "the multi by a deposed one")
            )
    return listed


def _moves(setting: Setting) -> list[Action]:
    if not setting["reassignments"]:
        return []
    m = Moves(setting.rules.zk_controller, Control(setting.rules.zk_controller, setting["each"]))
    everyone, each = (1 << setting["brokers"]) - 1, {"partition": tuple(range(setting["partitions"]))}
    targets = tuple(everyone - (1 << b) for b in range(setting["brokers"] - 1))
    listed = [
        Action("reassign", m.reassign, m.may_reassign, {**each, "target": targets}, "an operator asks"),
        Action("start_replicas", m.start_replicas, m.may_start_replicas, each, "on_partitions_reassigned, 1 and 2"),
        Action("check_isr", m.check_isr, m.may_check_isr, each, "on_partitions_reassigned, step 3"),
        Action("recheck", m.recheck, m.may_recheck, each, "a conditional write is refused, or made later"),
    ]
    if setting.rules.zk_controller.decisions_one_by_one:
        listed += [
            Action("shrink_isr", m.shrink_isr, m.may_complete, each, "on_partitions_reassigned, step 3.1"),
            Action("replace", m.replace, m.may_replace, each, "on_partitions_reassigned, step 3.2"),
            Action("end_reassignment", m.end, m.may_end, each, "on_partitions_reassigned, step 3.3"),
        ]
    else:
        listed.append(Action("complete", m.complete, m.may_complete, each, "on_partitions_reassigned, 3.1 to 4"))
    return listed


def _topics(setting: Setting) -> list[Action]:
    t, listed = Topics(setting.rules.zk_controller), []
    each = {"partition": tuple(range(setting["partitions"]))}
    if setting["new-topic"]:
        last = {"partition": (setting["partitions"] - 1,)}
        listed.append(Action("create_topic", t.create_topic, t.may_create_topic, last, "on_topic_change"))
    if setting["deletions"]:
        listed += [
            Action("delete_topic", t.delete_topic, t.may_delete_topic, each, "an operator asks"),
            Action("delete_partition", t.delete_partition, t.may_delete_partition, each, "on_topic_change"),
        ]
    return listed


@rule("zk-controller.broker.reading-sets-the-watch", source="ZooKeeper watches; early controller design, B",
      switches=("watch-set-after-read",), says="The read that finds a queue empty sets the watch.")  # fmt: skip
def _brokers(setting: Setting) -> list[Action]:
    h = Hosts(setting.rules.zk_controller)
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
    if setting.rules.zk_controller.watch_set_after_read:
        listed.append(Action("set_watch", h.set_watch, h.may_set_watch, each, "the watch as an operation of its own"))
    if setting["reassignments"] or setting["deletions"]:
        m = Moves(setting.rules.zk_controller, Control(setting.rules.zk_controller, setting["each"]))
        listed.append(Action("stop_replica", m.stop_replica, m.may_stop_replica, both, "StopReplica"))
    if setting["isr-changes"] or setting["reassignments"]:
        members = {**both, "member": tuple(range(setting["brokers"]))}
        listed.append(Action("change_isr", h.change_isr, h.may_change_isr, members, "the leader updates the ISR"))
    if setting["stops"] or setting["replica-failures"]:
        listed.append(Action("start", h.start, h.may_start, each, "on_broker_startup"))
    return listed


def _failures(setting: Setting) -> list[Action]:
    f = Faults(setting.rules.zk_controller)
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
    rules=(ZkControllerRules,),
    legend=LEGEND,
)
"""The system without its properties; `kraftcheck.properties.catalogue` adds them."""
