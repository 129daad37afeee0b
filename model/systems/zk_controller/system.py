"""The `zk-controller` system: actions, bounds and scopes.

Faults of brokers: crashes, expired sessions, failed replicas.
Source: the early controller design, E (on_broker_startup) and question A.3.

A controller that was deposed: its session has expired, it does not know, and its writes are under way.
Source: the early controller design, D, which has no such controller; Kafka's controller epoch is the later answer.

Topics that come and go.
Source: the early controller design, C; its on_topic_change, and D, of which a deletion must survive a failover.
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import evolve, frozen

from kraftcheck.model.language.brokersets import BrokerSet
from kraftcheck.model.language.places import put
from kraftcheck.model.language.system import Action, Bound, Legend, Outcome, Setting, System, event, numbered, sent
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, any_of, choose, negate, none_of, pick, rule
from kraftcheck.model.rules.groups import ZkControllerRules
from kraftcheck.model.systems.parts import reporting
from kraftcheck.model.systems.zk_controller.control import Control, Moves, ZkControllerEvent
from kraftcheck.model.systems.zk_controller.hosts import Hosts
from kraftcheck.model.systems.zk_controller.state import (
    NOTHING,
    RESTING,
    STARTING,
    UNREAD,
    Broker,
    ZkController,
    blank,
    initial,
    layout,
    settled,
)


@frozen
class Faults:
    """Processes that die, sessions that end, replicas that fail."""

    rules: ZkControllerRules

    def may_fail(self, state: ZkController) -> dict[str, Truth]:
        """The controller dies or loses its session."""
        return {
            "there is a controller": state.controller.present,
            "a failure is left": state.left.controller_failures > 0,
        }

    def fail(self, state: ZkController) -> ZkController:
        """/controller is gone, and what it knew."""
        return evolve(state.spend("controller_failures"), controller=blank(len(state.partitions)), changed=False)

    def may_crash(self, state: ZkController, broker: Word) -> dict[str, Truth]:
        """It runs."""
        return {"it runs": state.broker(broker).up, "a stop is left": state.left.stops > 0}

    def crash(self, state: ZkController, broker: Word) -> ZkController:
        """The process is gone; session, queue and log stay."""
        return _crashed(state, broker).spend("stops")

    def may_expire(self, state: ZkController, broker: Word) -> dict[str, Truth]:
        """The session of a process that is gone."""
        b = state.broker(broker)
        return {"it is registered": b.registered, "it does not run": negate(b.up)}

    def expire(self, state: ZkController, broker: Word) -> ZkController:
        """/brokers/ids/<id> goes, which fires the controller's watch."""
        gone = evolve(state.broker(broker), registered=False)
        return evolve(state.with_broker(broker, gone), changed=True)

    def may_lose_session(self, state: ZkController, broker: Word) -> dict[str, Truth]:
        """It is cut off from ZooKeeper for longer than its session."""
        return {"it works": state.broker(broker).works(), "a session loss is left": state.left.session_losses > 0}

    def lose_session(self, state: ZkController, broker: Word) -> ZkController:
        """Its node and its watches go; it leads and follows as before."""
        cut = evolve(state.broker(broker), registered=False, status=STARTING)
        gone = evolve(state.with_broker(broker, cut).spend("session_losses"), changed=True)
        return _without_controller(gone, broker)

    def may_reconnect(self, state: ZkController, broker: Word) -> dict[str, Truth]:
        """It runs without a session."""
        b = state.broker(broker)
        return {"it runs": b.up, "it has no session": negate(b.registered)}

    def reconnect(self, state: ZkController, broker: Word) -> ZkController:
        """A new session: it registers, and reads everything again."""
        back = evolve(state.broker(broker), registered=True)
        return evolve(state.with_broker(broker, back), changed=True)

    def may_fail_replica(self, state: ZkController, broker: Word, partition: Word) -> dict[str, Truth]:
        """One replica of a live broker fails (question A.3)."""
        return {
            "it runs": state.broker(broker).up,
            "its replica works": state.replica(broker, partition).role.version > 0,
            "a failure is left": state.left.replica_failures > 0,
        }

    @rule("zk-controller.replica.failure-halts-broker", source="early controller design, question A.3",
          switches=("replica-failure-unnoticed",))  # fmt: skip
    def fail_replica(self, state: ZkController, broker: Word, partition: Word) -> ZkController:
        """A broker of which a replica fails halts; where nobody notices, it lives on without the replica."""
        if not self.rules.replica_failure_unnoticed:
            return _crashed(state, broker).spend("replica_failures")
        p, r = state.partition(partition), state.replica(broker, partition)
        dead = state.with_partition(partition, evolve(p, failed=p.failed.plus(p.failed.just(broker))))
        dead = dead.with_replica(broker, partition, evolve(r, role=NOTHING, fetching=False))
        return dead.spend("replica_failures")


def _crashed(state: ZkController, broker: Word) -> ZkController:
    b = state.broker(broker)
    idle = tuple(evolve(r, role=NOTHING, fetching=False) for r in b.replicas)
    down: Broker = evolve(b, up=False, status=STARTING, replicas=idle)
    healed = tuple(evolve(p, failed=p.failed.minus(p.failed.just(broker))) for p in state.partitions)
    return _without_controller(evolve(state.with_broker(broker, down), partitions=healed), broker)


def _without_controller(state: ZkController, broker: Word) -> ZkController:
    """A controller on this broker goes with it, and what it knew; the next one looks at everything."""
    gone = all_of(state.controller.present, state.controller.host == broker)
    c = choose(gone, blank(len(state.partitions)), state.controller)
    return evolve(state, controller=c, changed=all_of(state.changed, negate(gone)))


@frozen
class Deposed:
    """Its steps. Where every write is conditional on who is controller, it can only learn that it is not."""

    control: Control

    def _may_write(self, state: ZkController) -> Truth:
        """Whether ZooKeeper takes its writes; with an epoch, once it has that of a new controller."""
        return True if self.control.rules.controller_writes_unfenced else state.controller.present

    def may_depose(self, state: ZkController) -> dict[str, Truth]:
        """A controller that is at work loses its session, and goes on."""
        c = state.controller
        return {
            "there is a controller": c.present,
            "it has something to write": any_of(c.working, negate(c.told_all())),
            "no other is deposed": negate(state.deposed.present),
            "a loss is left": state.left.depositions > 0,
        }

    def depose(self, state: ZkController) -> ZkController:
        """/controller is gone, and it has not heard of it."""
        gone = evolve(state, controller=blank(len(state.partitions)), deposed=state.controller, changed=False)
        return gone.spend("depositions")

    def may_resign(self, state: ZkController) -> dict[str, Truth]:
        """It hears that its session has expired, or a write of its is refused."""
        return {"there is one": state.deposed.present}

    def resign(self, state: ZkController) -> ZkController:
        """It forgets what it knew."""
        return evolve(state, deposed=blank(len(state.partitions)))

    def may_write_all_late(self, state: ZkController) -> dict[str, Truth]:
        """As for one that is controller: ZooKeeper does not ask who writes."""
        may = self.control.may_write_all(_swapped(state))
        return {**may, "its writes are taken": self._may_write(state)}

    def write_all_late(self, state: ZkController) -> Outcome:
        """Decisions of an earlier time."""
        done = self.control.write_all(_swapped(state))
        return evolve(done, state=_swapped(done.state))

    def may_write_one_late(self, state: ZkController, partition: Word) -> dict[str, Truth]:
        """As for one that is controller."""
        may = self.control.may_write_one(_swapped(state), partition)
        return {**may, "its writes are taken": self._may_write(state)}

    def write_one_late(self, state: ZkController, partition: Word) -> Outcome:
        """A decision of an earlier time."""
        done = self.control.write_one(_swapped(state), partition)
        return evolve(done, state=_swapped(done.state))

    def may_publish_late(self, state: ZkController, broker: Word) -> dict[str, Truth]:
        """It has something left to tell."""
        wanted: Truth = all_of(*self.control.may_publish(_swapped(state), broker).values())
        return {"there is one": state.deposed.present, "something is left to tell": wanted,
                "its writes are taken": self._may_write(state)}  # fmt: skip

    def publish_late(self, state: ZkController, broker: Word) -> Outcome:
        """A queue gets decisions of an earlier time."""
        done = self.control.publish(_swapped(state), broker)
        return evolve(done, state=_swapped(done.state))


def _swapped(state: ZkController) -> ZkController:
    """The state with the two controllers in each other's place."""
    return evolve(state, controller=state.deposed, deposed=state.controller)


@frozen
class Topics:
    """Operators create and delete topics; the controller has the replicas of a deleted one stopped."""

    rules: ZkControllerRules

    def may_create_topic(self, state: ZkController, partition: Word) -> dict[str, Truth]:
        """It does not exist, and never did."""
        p = state.partition(partition)
        return {"it is new": none_of(p.created, p.deleted)}

    def create_topic(self, state: ZkController, partition: Word) -> ZkController:
        """/brokers/topics has a new child, which fires the controller's watch."""
        made = evolve(state.partition(partition), created=True)
        return evolve(state.with_partition(partition, made), changed=True)

    def may_delete_topic(self, state: ZkController, partition: Word) -> dict[str, Truth]:
        """It exists."""
        return {"it exists": state.partition(partition).exists(), "a deletion is left": state.left.deletions > 0}

    @rule("zk-controller.deletion.is-marked-first", source="early controller design, C",
          switches=("deletion-forgets-topic",),
          says="The nodes of a deleted topic stay until its replicas are told to stop.")  # fmt: skip
    def delete_topic(self, state: ZkController, partition: Word) -> ZkController:
        """A mark, which fires the controller's watch; in the document the topic's nodes go at once."""
        gone = evolve(state.partition(partition), deleted=True)
        if self.rules.deletion_forgets_topic:
            gone = evolve(gone, created=False, node=NOTHING, target=BrokerSet())
        return evolve(state.with_partition(partition, gone).spend("deletions"), changed=True)

    def may_delete_partition(self, state: ZkController, partition: Word) -> dict[str, Truth]:
        """It sees the mark; where there is none, it remembers a topic that is not listed any more."""
        c, p = state.controller, state.partition(partition)
        known: Truth = p.created
        if self.rules.deletion_forgets_topic:
            known = pick(c.decided, partition, NOTHING).version > 0
        return {"the controller is idle": c.idle(), "the topic is deleted": p.deleted, "it knows of it": known}

    def delete_partition(self, state: ZkController, partition: Word) -> Outcome:
        """Send StopReplica to every replica, and remove the topic's nodes, in one multi."""
        c, p = state.controller, state.partition(partition)
        known = evolve(
            c, decided=put(c.decided, partition, NOTHING), checked=put(c.checked, partition, UNREAD),
            moved=put(c.moved, partition, RESTING),
        )  # fmt: skip
        gone = evolve(p, stopping=p.stopping.plus(p.replicas()))
        if not self.rules.deletion_forgets_topic:
            gone = evolve(gone, created=False, node=NOTHING, target=BrokerSet())
        return Outcome(evolve(state.with_partition(partition, gone), controller=known), ZkControllerEvent(operations=1))


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
    makers = (_controller, _deposed, _moves, _topics, _brokers, _failures)
    return reporting([action for maker in makers for action in maker(setting)], ZkControllerEvent())


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
    quiet=lambda state: ZkControllerEvent(),
)
"""The system without its properties; `kraftcheck.properties.catalogue` adds them."""
