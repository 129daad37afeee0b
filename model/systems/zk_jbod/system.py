"""The `zk-jbod` system: actions, bounds and scopes.

The controller's handling of lost partitions, and the return of replicas.
Source: the JBOD KIP on ZooKeeper, "Partitions Restart" and "Restarted Partition Leader Selector".

Faults: disks and logs that fail, brokers that stop.
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import evolve, frozen

from kraftcheck.model.language.brokersets import BrokerSet
from kraftcheck.model.language.places import put
from kraftcheck.model.language.system import Action, Bound, Legend, Setting, System, event, events, numbered, sent
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, any_of, choose, implies, negate, pick, rule
from kraftcheck.model.rules.groups import ZkJbodRules
from kraftcheck.model.systems.parts import members, reporting
from kraftcheck.model.systems.zk_jbod.handler import Handler, ZkJbodEvent, stopped, with_host
from kraftcheck.model.systems.zk_jbod.state import (
    IDLE,
    KINDS,
    NONE,
    REMOVED,
    Controller,
    Partition,
    PartitionSet,
    ZkJbod,
    any_set,
    initial,
    layout,
    settled,
)


@rule("zk-jbod.restart.selector", source="JBOD KIP on ZooKeeper, selector",
      switches=("last-member-stays-in-isr", "restart-drops-replica", "selector-seats-dead-head"),
      says="A restarted replica leaves the ISR and stays assigned; a live ISR member leads.")  # fmt: skip
def select(partition: Partition, broker: Word, live: BrokerSet, rules: ZkJbodRules) -> Partition:
    """The partition after a broker asked to restart its replica: RestartedPartitionsLeaderSelector.

    Args:
        partition: before; OnlinePartition, or OfflinePartition where it has no leader.
        broker: who asked; it leaves the ISR and stays assigned.
        live: brokers that run.
    """
    me = partition.isr.just(broker)
    isr = partition.isr.minus(me)
    if rules.last_member_stays_in_isr:
        isr = choose(isr.is_empty(), partition.isr, isr)
    able = partition.assigned.keep(isr).minus(me)
    heir = able.first() if rules.selector_seats_dead_head else able.keep(live).first()
    led = negate(any_of(partition.leader == broker, partition.leader == NONE))
    assigned = partition.assigned.minus(me) if rules.restart_drops_replica else partition.assigned
    return evolve(
        partition, leader=choose(led, partition.leader, heir), isr=isr, assigned=assigned,
        restarted=partition.restarted.plus(me),
    )  # fmt: skip


@frozen
class Control:
    """The controller's steps, and the replication that it arranges."""

    rules: ZkJbodRules

    def may_read_requests(self, state: ZkJbod) -> dict[str, Truth]:
        """The listener on /restart_partitions is called; one that is set anew sees what is there."""
        return {"it is idle": negate(state.controller.working), "something is asked": any_set(self._taken(state))}

    @rule("zk-jbod.restart.requests-removed-last", source="JBOD KIP on ZooKeeper, Partitions Restart",
          switches=("requests-removed-first",),
          says="Requests are removed after their partitions are restarted.")  # fmt: skip
    def read_requests(self, state: ZkJbod) -> ZkJbod:
        """Parse it, and filter out partitions that are being reassigned: step 1."""
        read = self._taken(state)
        busy = _busy(state)
        todo = tuple(asked.minus(busy) for asked in read)
        after = evolve(state, controller=Controller(True, read, todo))
        if self.rules.requests_removed_first:
            after = evolve(after, node=self._removed(state, read))
        return after

    @rule("zk-jbod.restart.filtered-requests-stay", source="JBOD KIP on ZooKeeper, Partitions Restart",
          switches=("filtered-requests-removed",),
          says="Requests for partitions that are being reassigned stay.")  # fmt: skip
    def _taken(self, state: ZkJbod) -> tuple[PartitionSet, ...]:
        """What it reads: requests that are filtered out stay where they are, unless they are removed with the rest."""
        if self.rules.filtered_requests_removed:
            return state.node
        return tuple(asked.minus(_busy(state)) for asked in state.node)

    @rule("zk-jbod.restart.each-request-has-its-node", source="JBOD KIP on ZooKeeper, open question 3",
          switches=("restart-node-shared",),
          says="Each request is a node of its own, which only its reader removes.")  # fmt: skip
    def _removed(self, state: ZkJbod, read: tuple[PartitionSet, ...]) -> tuple[PartitionSet, ...]:
        """The node without what was read; a node that is shared is written empty."""
        if self.rules.restart_node_shared:
            return tuple(BrokerSet() for _ in state.node)
        return tuple(asked.minus(done) for asked, done in zip(state.node, read, strict=True))

    def may_restart(self, state: ZkJbod, broker: Word, partition: Word) -> dict[str, Truth]:
        """A request that it has read."""
        todo = pick(state.controller.todo, broker, state.controller.todo[0])
        return {"it is at work": state.controller.working, "this was asked": todo.has(partition)}

    def restart(self, state: ZkJbod, broker: Word, partition: Word) -> ZkJbod:
        """OnlinePartition to OnlinePartition with the selector; LeaderAndIsr goes to all brokers: step 2."""
        c = state.controller
        chosen = select(state.partition(partition), broker, state.live(), self.rules)
        todo = pick(c.todo, broker, c.todo[0])
        left = evolve(c, todo=put(c.todo, broker, todo.minus(todo.just(partition))))
        return evolve(state, partitions=put(state.partitions, partition, chosen), controller=left)

    def may_remove_requests(self, state: ZkJbod) -> dict[str, Truth]:
        """Everything is restarted."""
        c = state.controller
        return {"it is at work": c.working, "all are restarted": negate(any_set(c.todo))}

    def remove_requests(self, state: ZkJbod) -> ZkJbod:
        """Remove the data: step 3."""
        node = state.node if self.rules.requests_removed_first else self._removed(state, state.controller.read)
        return evolve(state, node=node, controller=_idle(state))

    def may_fail(self, state: ZkJbod) -> dict[str, Truth]:
        """In the middle of its work."""
        return {"it is at work": state.controller.working, "a failure is left": state.left.controller_failures > 0}

    def fail(self, state: ZkJbod) -> ZkJbod:
        """Another broker becomes the controller and sets its listener."""
        return evolve(state.spend("controller_failures"), controller=_idle(state))

    @rule("zk-jbod.restart.in-lock", source="JBOD KIP on ZooKeeper, Partitions Restart, steps 2 and 4",
          switches=("controller-works-without-lock",),
          says="The controller makes no other decision from the read of the requests to their removal.")  # fmt: skip
    def _lock_is_free(self, state: ZkJbod) -> Truth:
        """Whether another procedure of the controller may begin; one that fails gives the lock up."""
        return True if self.rules.controller_works_without_lock else negate(state.controller.working)

    def may_drop_broker(self, state: ZkJbod, broker: Word, partition: Word) -> dict[str, Truth]:
        """A broker that is gone leads or is in sync."""
        p = state.partition(partition)
        concerned = any_of(p.leader == broker, p.isr.has(broker))
        last = p.isr.minus(p.isr.just(broker)).is_empty()
        return {"it is gone": negate(state.host(broker).up), "it leads or is in sync": concerned,
                "it has something to lose": negate(all_of(last, p.leader == NONE)),
                "the lock is free": self._lock_is_free(state)}  # fmt: skip

    def drop_broker(self, state: ZkJbod, broker: Word, partition: Word) -> ZkJbod:
        """onBrokerFailure: the ISR loses it unless it is the last; another live member leads, or nobody."""
        p = state.partition(partition)
        isr = p.isr.minus(p.isr.just(broker))
        isr = choose(isr.is_empty(), p.isr, isr)
        leader = choose(p.leader == broker, isr.keep(state.live()).first(), p.leader)
        dropped = evolve(p, leader=leader, isr=isr)
        return evolve(state, partitions=put(state.partitions, partition, dropped))

    def may_elect(self, state: ZkJbod, partition: Word) -> dict[str, Truth]:
        """An offline partition with a live member of the ISR."""
        p = state.partition(partition)
        return {"it is offline": p.leader == NONE, "a member lives": negate(p.isr.keep(state.live()).is_empty()),
                "the lock is free": self._lock_is_free(state)}  # fmt: skip

    def elect(self, state: ZkJbod, partition: Word) -> ZkJbod:
        """OfflinePartition to OnlinePartition: the first live member."""
        p = state.partition(partition)
        led = evolve(p, leader=p.isr.keep(state.live()).first())
        return evolve(state, partitions=put(state.partitions, partition, led))

    def may_rejoin(self, state: ZkJbod, broker: Word, partition: Word) -> dict[str, Truth]:
        """A follower whose log works, of a leader whose log works."""
        p = state.partition(partition)
        another = all_of(p.leader >= 0, negate(p.leader == broker))
        return {
            "its log works": state.works(broker, partition),
            "the leader's log works": all_of(another, state.works(p.leader, partition)),
            "something is missing": negate(all_of(p.isr.has(broker), p.holds.has(broker))),
            "it is assigned": p.assigned.has(broker),
        }

    @rule("zk-jbod.restart.order-ends-with-return", source="JBOD KIP on ZooKeeper, Partitions Restart",
          switches=("restart-order-outlives-return",),
          says="An order to start a log anew ends when the replica is back.")  # fmt: skip
    def rejoin(self, state: ZkJbod, broker: Word, partition: Word) -> ZkJbod:
        """It replicates from the leader, and joins the ISR; what it was told to start anew has been."""
        p, me = state.partition(partition), BrokerSet().just(broker)
        holds = choose(p.holds.has(p.leader), p.holds.plus(me), p.holds)
        told = p.restarted if self.rules.restart_order_outlives_return else p.restarted.minus(me)
        back = evolve(p, isr=p.isr.plus(me), holds=holds, restarted=told)
        return evolve(state, partitions=put(state.partitions, partition, back))

    @rule("zk-jbod.commit.needs-every-log", source="JBOD KIP on ZooKeeper", switches=("dead-log-counts",),
          says="A record is acknowledged only when every ISR member has a log that works.")  # fmt: skip
    def may_commit(self, state: ZkJbod, partition: Word) -> dict[str, Truth]:
        """A leader whose log works, and an ISR that replicates."""
        p = state.partition(partition)
        level = [
            implies(p.isr.has(b), all_of(state.works(b, partition), p.holds.has(b))) for b in range(len(state.hosts))
        ]
        replicated: Truth = True if self.rules.dead_log_counts else all_of(*level)
        return {"the leader's log works": all_of(p.leader >= 0, state.works(p.leader, partition)),
                "its ISR replicates": replicated}  # fmt: skip

    def commit(self, state: ZkJbod, partition: Word) -> ZkJbod:
        """A record is acknowledged; who does not replicate lacks it."""
        p = state.partition(partition)
        held = [all_of(p.isr.has(b), state.works(b, partition), p.holds.has(b)) for b in range(len(state.hosts))]
        kept = evolve(p, holds=members(held))
        return evolve(state, partitions=put(state.partitions, partition, kept))

    def may_reassign(self, state: ZkJbod, partition: Word) -> dict[str, Truth]:
        """An operator moves the partition, and the controller begins with it."""
        return {"it rests": negate(state.partition(partition).busy),
                "a reassignment is left": state.left.reassignments > 0,
                "the lock is free": self._lock_is_free(state)}  # fmt: skip

    def reassign(self, state: ZkJbod, partition: Word) -> ZkJbod:
        """It is being reassigned."""
        busy = evolve(state.partition(partition), busy=True)
        return evolve(state.spend("reassignments"), partitions=put(state.partitions, partition, busy))

    def may_end_reassignment(self, state: ZkJbod, partition: Word) -> dict[str, Truth]:
        """It is being reassigned."""
        return {"it is reassigned": state.partition(partition).busy, "the lock is free": self._lock_is_free(state)}

    def end_reassignment(self, state: ZkJbod, partition: Word) -> ZkJbod:
        """Done, or cancelled; the replicas are the same in this model."""
        rests = evolve(state.partition(partition), busy=False)
        return evolve(state, partitions=put(state.partitions, partition, rests))


def _busy(state: ZkJbod) -> PartitionSet:
    return members(partition.busy for partition in state.partitions)


def _idle(state: ZkJbod) -> Controller:
    nothing = tuple(BrokerSet() for _ in state.node)
    return Controller(False, nothing, nothing)


@frozen
class Faults:
    """The actions that budgets bound."""

    rules: ZkJbodRules

    def may_break_disk(self, state: ZkJbod, broker: Word, directory: Word) -> dict[str, Truth]:
        """It worked."""
        return {"it works": negate(state.host(broker).broken.has(directory)),
                "a failure is left": state.left.disk_failures > 0}  # fmt: skip

    def break_disk(self, state: ZkJbod, broker: Word, directory: Word) -> ZkJbod:
        """The content of a disk is gone; nobody knows yet."""
        host, me = state.host(broker), BrokerSet().just(broker)
        broken = evolve(host, broken=host.broken.plus(host.broken.just(directory)))
        partitions = tuple(
            evolve(p, holds=choose(at == directory, p.holds.minus(me), p.holds))
            for at, p in zip(host.logs, state.partitions, strict=True)
        )
        return evolve(with_host(state.spend("disk_failures"), broker, broken), partitions=partitions)

    def may_spoil_log(self, state: ZkJbod, broker: Word, partition: Word) -> dict[str, Truth]:
        """It worked."""
        return {"its log works": state.works(broker, partition), "a failure is left": state.left.log_failures > 0}

    def spoil_log(self, state: ZkJbod, broker: Word, partition: Word) -> ZkJbod:
        """One log cannot be read or written any more; its directory can."""
        host, p, me = state.host(broker), state.partition(partition), BrokerSet().just(broker)
        spoiled = evolve(host, spoiled=host.spoiled.plus(host.spoiled.just(partition)))
        after = with_host(state, broker, spoiled)
        less = put(after.partitions, partition, evolve(p, holds=p.holds.minus(me)))
        return evolve(after.spend("log_failures"), partitions=less)

    def may_repair(self, state: ZkJbod, broker: Word, directory: Word) -> dict[str, Truth]:
        """Its disk has failed, and what was noticed of that is dealt with."""
        host = state.host(broker)
        return {
            "it runs": host.up,
            "the disk has failed": host.broken.has(directory),
            "the handler is idle": host.stage == IDLE,
            "a repair is left": state.left.repairs > 0,
        }

    @rule("zk-jbod.repair.new-disk-stays-empty", source="JBOD KIP on ZooKeeper, motivation",
          switches=("repaired-disk-filled",),
          says="A broker makes no log on a new disk before it is told to.")  # fmt: skip
    def repair(self, state: ZkJbod, broker: Word, directory: Word) -> ZkJbod:
        """An empty disk in its place, and a restart within the session.

        A log that was not known to be lost is not there: the broker asks for a restart as if it had failed.
        """
        host = state.host(broker)
        me = host.broken.just(directory)
        gone = [all_of(at >= 0, at == directory) for at in host.logs]
        fresh = evolve(
            stopped(host), up=True, broken=host.broken.minus(me), known=host.known.minus(me), pool=host.pool.plus(me),
            checkpoints=host.checkpoints.plus(me), spoiled=host.spoiled.minus(members(gone)),
        )  # fmt: skip
        if not self.rules.repaired_disk_filled:
            lost = members(gone)
            logs = tuple(choose(empty, NONE, at) for empty, at in zip(gone, host.logs, strict=True))
            fresh = evolve(fresh, logs=logs, lost=lost, stage=choose(lost.is_empty(), IDLE, REMOVED))
        return with_host(state.spend("repairs"), broker, fresh)

    def may_stop(self, state: ZkJbod, broker: Word) -> dict[str, Truth]:
        """It runs."""
        return {"it runs": state.host(broker).up, "a stop is left": state.left.stops > 0}

    def stop(self, state: ZkJbod, broker: Word) -> ZkJbod:
        """The process is gone; its disks keep what they have."""
        return with_host(state.spend("stops"), broker, stopped(state.host(broker)))


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
        **events(CONTROLLER, "commit", "elect", "drop_broker", "controller_fails", "end_reassignment"),
        "reassign": sent(OPERATOR, CONTROLLER, "a reassignment"),
        "repair": sent(OPERATOR, BROKER, "a new disk"),
    },
    {"leader": "partitions[0].leader", "ISR": "partitions[0].isr", "assigned": "partitions[0].assigned",
     "restarted": "partitions[0].restarted"},
)  # fmt: skip


BOUNDS = (
    Bound("brokers", 1, 4, "number of brokers; each has a replica of every partition"),
    Bound("partitions", 1, 4, "number of partitions"),
    Bound("directories", 1, 4, "directories of each broker"),
    Bound("jobs", 0, 1, "whether scheduled jobs write to the directories"),
    Bound("cleaner", 0, 1, "whether the log cleaner runs"),
    Bound("disk-failures", 0, 4, "budget: directories that fail"),
    Bound("log-failures", 0, 2, "budget: single logs that fail"),
    Bound("glitches", 0, 2, "budget: operations that fail once, on a disk that works"),
    Bound("stops", 0, 2, "budget: brokers that stop for good"),
    Bound("controller-failures", 0, 2, "budget: controllers that fail while they restart partitions"),
    Bound("reassignments", 0, 2, "budget: reassignments that begin"),
    Bound("repairs", 0, 2, "budget: failed disks that are replaced by empty ones"),
)

_BASE = {
    "brokers": 2, "partitions": 2, "directories": 2, "jobs": 0, "cleaner": 0, "disk-failures": 1, "log-failures": 0,
    "glitches": 0, "stops": 0, "controller-failures": 0, "reassignments": 0, "repairs": 0,
}  # fmt: skip

SCOPES = {
    "tiny": _BASE,
    "jobs": {**_BASE, "jobs": 1, "cleaner": 1},
    "log": {**_BASE, "log-failures": 1, "glitches": 1},
    "writers": {**_BASE, "disk-failures": 2, "stops": 1},
    "controller": {**_BASE, "directories": 1, "controller-failures": 1, "reassignments": 1},
    "repair": {**_BASE, "stops": 1, "repairs": 1},
    "small": {**_BASE, "brokers": 3, "disk-failures": 2, "stops": 1},
}


def actions(setting: Setting) -> list[Action]:
    """Steps of brokers and controller, and what goes wrong."""
    listed = [*_handler(setting), *_background(setting), *_control(setting), *_failures(setting)]
    return reporting(listed, ZkJbodEvent())


def _names(setting: Setting, *bounds: str) -> dict[str, tuple[int, ...]]:
    return {bound[:-1] if bound != "directories" else "directory": tuple(range(setting[bound])) for bound in bounds}


def _handler(setting: Setting) -> list[Action]:
    h = Handler(setting.rules.zk_jbod)
    each, both = _names(setting, "brokers"), _names(setting, "brokers", "partitions")
    kinds = {**both, "kind": KINDS}
    listed = [
        Action("fail_operation", h.fail_operation, h.may_fail_operation, kinds, "ExceptionHandler, steps 1 and 3"),
        Action("stop_cleaning", h.stop_cleaning, h.may_stop_cleaning, each, "directory offline, step 2"),
        Action("cut_checkpoints", h.cut_checkpoints, h.may_cut_checkpoints, each, "directory offline, step 3; 2.1"),
        Action("remove_logs", h.remove_logs, h.may_remove_logs, each, "directory offline, step 4; 2.2 and 2.3"),
        Action("recreate", h.recreate, h.may_recreate, both, "the replica starts anew"),
    ]
    if setting.rules.zk_jbod.restart_node_shared:
        listed += [
            Action("read_node", h.read_node, h.may_enqueue, each, "/restart_partitions is read, step 2.4"),
            Action("write_node", h.write_node, h.may_write_node, each, "/restart_partitions is written, step 2.4"),
        ]
    else:
        listed.append(Action("enqueue", h.enqueue, h.may_enqueue, each, "a sequential node, open question 3"))
    if setting["glitches"]:
        listed.append(Action("glitch", h.glitch, h.may_glitch, kinds, "open question 4"))
    return listed


def _background(setting: Setting) -> list[Action]:
    h = Handler(setting.rules.zk_jbod)
    each, both = _names(setting, "brokers"), _names(setting, "brokers", "partitions")
    listed = []
    if setting["jobs"] and setting.rules.zk_jbod.jobs_without_lock:
        disks = _names(setting, "brokers", "directories")
        listed += [
            Action("begin_job", h.begin_job, h.may_begin_job, each, "a scheduled job reads the directories"),
            Action("write_job", h.write_job, h.may_write_job, disks, "a scheduled job writes to one"),
        ]
    elif setting["jobs"]:
        listed.append(Action("run_job", h.run_job, h.may_begin_job, each, "a scheduled job, in the lock"))
    if setting["cleaner"]:
        listed += [
            Action("begin_cleaning", h.begin_cleaning, h.may_begin_cleaning, both, "the cleaner chooses a log"),
            Action("clean", h.clean, h.may_clean, each, "the cleaner writes"),
        ]
    return listed


def _control(setting: Setting) -> list[Action]:
    c = Control(setting.rules.zk_jbod)
    parts, both = _names(setting, "partitions"), _names(setting, "brokers", "partitions")
    listed = [
        Action("read_requests", c.read_requests, c.may_read_requests, {}, "Partitions Restart, step 1"),
        Action("restart", c.restart, c.may_restart, both, "Partitions Restart, step 2"),
        Action("remove_requests", c.remove_requests, c.may_remove_requests, {}, "Partitions Restart, step 3"),
        Action("rejoin", c.rejoin, c.may_rejoin, both, "a follower catches up"),
        Action("commit", c.commit, c.may_commit, parts, "a record is acknowledged"),
    ]
    if setting.rules.zk_jbod.last_member_stays_in_isr:  # else no live member is left, and no broker comes back here
        listed.append(Action("elect", c.elect, c.may_elect, parts, "OfflinePartition to OnlinePartition"))
    return listed


def _failures(setting: Setting) -> list[Action]:
    f, c = Faults(setting.rules.zk_jbod), Control(setting.rules.zk_jbod)
    each, parts = _names(setting, "brokers"), _names(setting, "partitions")
    both, disks = {**each, **parts}, _names(setting, "brokers", "directories")
    listed = []
    if setting["disk-failures"]:
        listed.append(Action("break_disk", f.break_disk, f.may_break_disk, disks, "disk failure"))
    if setting["repairs"]:
        listed.append(Action("repair", f.repair, f.may_repair, disks, "a new disk, and a broker that starts"))
    if setting["log-failures"]:
        listed.append(Action("spoil_log", f.spoil_log, f.may_spoil_log, both, "a log fails"))
    if setting["stops"]:
        listed.append(Action("stop", f.stop, f.may_stop, each, "broker failure"))
    if setting["stops"] or setting.rules.zk_jbod.disk_errors_halt:
        listed.append(Action("drop_broker", c.drop_broker, c.may_drop_broker, both, "onBrokerFailure"))
    if setting["controller-failures"]:
        listed.append(Action("controller_fails", c.fail, c.may_fail, {}, "controller failure"))
    if setting["reassignments"]:
        listed += [
            Action("reassign", c.reassign, c.may_reassign, parts, "partitions that are being reassigned"),
            Action("end_reassignment", c.end_reassignment, c.may_end_reassignment, parts, "a reassignment ends"),
        ]
    return listed


ZK_JBOD = System(
    name="zk-jbod",
    summary="brokers that outlive a failed disk, on ZooKeeper: directories go offline, partitions are restarted",
    initial=initial,
    actions=actions,
    layout=layout,
    scopes=SCOPES,
    bounds=BOUNDS,
    quiescent=settled,
    rules=(ZkJbodRules,),
    legend=LEGEND,
    quiet=lambda state: ZkJbodEvent(),
)
"""The system without its properties; `kraftcheck.properties.catalogue` adds them."""
