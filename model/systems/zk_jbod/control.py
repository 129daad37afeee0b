"""The controller's handling of lost partitions, and the return of replicas.

Source: the JBOD KIP on ZooKeeper, "Partitions Restart" and "Restarted Partition Leader Selector".
"""

from __future__ import annotations

from attrs import evolve, frozen

from kraftcheck.model.language.brokersets import BrokerSet
from kraftcheck.model.language.system import Outcome
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, any_of, choose, implies, negate, pick, rule
from kraftcheck.model.rules.groups import ZkJbodRules
from kraftcheck.model.systems.zk_jbod.errors import NONE
from kraftcheck.model.systems.zk_jbod.handler import ZkJbodEvent
from kraftcheck.model.systems.zk_jbod.state import Controller, Partition, PartitionSet, ZkJbod, any_set, replaced


@rule("zk-jbod.restart.selector", source="JBOD KIP on ZooKeeper, selector",
      switches=("last-member-stays-in-isr", "restart-drops-replica", "selector-seats-dead-head"),
      says="A restarted replica leaves the ISR and stays assigned; a live ISR member leads.")  # fmt: skip
def select(partition: Partition, broker: Word, live: BrokerSet, rules: ZkJbodRules) -> Partition:
    """The partition after a broker asked to restart its replica: RestartedPartitionsLeaderSelector.

    Args:
        partition: before; OnlinePartition, or OfflinePartition where it has no leader.
        broker: who asked; it leaves the ISR and stays assigned.
        live: brokers that run.
        rules: the rule set.
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
    def read_requests(self, state: ZkJbod) -> Outcome:
        """Parse it, and filter out partitions that are being reassigned: step 1."""
        read = self._taken(state)
        busy = _busy(state)
        todo = tuple(asked.minus(busy) for asked in read)
        after = evolve(state, controller=Controller(True, read, todo))
        if self.rules.requests_removed_first:
            after = evolve(after, node=self._removed(state, read))
        return Outcome(after, ZkJbodEvent())

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

    def restart(self, state: ZkJbod, broker: Word, partition: Word) -> Outcome:
        """OnlinePartition to OnlinePartition with the selector; LeaderAndIsr goes to all brokers: step 2."""
        c = state.controller
        chosen = select(state.partition(partition), broker, state.live(), self.rules)
        todo = pick(c.todo, broker, c.todo[0])
        left = evolve(c, todo=replaced(c.todo, broker, todo.minus(todo.just(partition))))
        return Outcome(
            evolve(state, partitions=replaced(state.partitions, partition, chosen), controller=left), ZkJbodEvent()
        )

    def may_remove_requests(self, state: ZkJbod) -> dict[str, Truth]:
        """Everything is restarted."""
        c = state.controller
        return {"it is at work": c.working, "all are restarted": negate(any_set(c.todo))}

    def remove_requests(self, state: ZkJbod) -> Outcome:
        """Remove the data: step 3."""
        node = state.node if self.rules.requests_removed_first else self._removed(state, state.controller.read)
        return Outcome(evolve(state, node=node, controller=_idle(state)), ZkJbodEvent())

    def may_fail(self, state: ZkJbod) -> dict[str, Truth]:
        """In the middle of its work."""
        return {"it is at work": state.controller.working, "a failure is left": state.left.controller_failures > 0}

    def fail(self, state: ZkJbod) -> Outcome:
        """Another broker becomes the controller and sets its listener."""
        left = evolve(state.left, controller_failures=state.left.controller_failures - 1)
        return Outcome(evolve(state, controller=_idle(state), left=left), ZkJbodEvent())

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

    def drop_broker(self, state: ZkJbod, broker: Word, partition: Word) -> Outcome:
        """onBrokerFailure: the ISR loses it unless it is the last; another live member leads, or nobody."""
        p = state.partition(partition)
        isr = p.isr.minus(p.isr.just(broker))
        isr = choose(isr.is_empty(), p.isr, isr)
        leader = choose(p.leader == broker, isr.keep(state.live()).first(), p.leader)
        dropped = evolve(p, leader=leader, isr=isr)
        return Outcome(evolve(state, partitions=replaced(state.partitions, partition, dropped)), ZkJbodEvent())

    def may_elect(self, state: ZkJbod, partition: Word) -> dict[str, Truth]:
        """An offline partition with a live member of the ISR."""
        p = state.partition(partition)
        return {"it is offline": p.leader == NONE, "a member lives": negate(p.isr.keep(state.live()).is_empty()),
                "the lock is free": self._lock_is_free(state)}  # fmt: skip

    def elect(self, state: ZkJbod, partition: Word) -> Outcome:
        """OfflinePartition to OnlinePartition: the first live member."""
        p = state.partition(partition)
        led = evolve(p, leader=p.isr.keep(state.live()).first())
        return Outcome(evolve(state, partitions=replaced(state.partitions, partition, led)), ZkJbodEvent())

    def may_rejoin(self, state: ZkJbod, broker: Word, partition: Word) -> dict[str, Truth]:
        """A follower whose log works, of a leader whose log works."""
        p = state.partition(partition)
        another = all_of(p.leader >= 0, negate(p.leader == broker))
        return {
            "its log works": state.works(broker, partition),
            "the leader's log works": all_of(another, state.works(p.leader, partition)),
            "something is missing": negate(all_of(p.isr.has(broker), p.holds.has(broker))),
            "it is assigned": p.assigned.has(broker),
        }  # fmt: skip

    @rule("zk-jbod.restart.order-ends-with-return", source="JBOD KIP on ZooKeeper, Partitions Restart",
          switches=("restart-order-outlives-return",),
          says="An order to start a log anew ends when the replica is back.")  # fmt: skip
    def rejoin(self, state: ZkJbod, broker: Word, partition: Word) -> Outcome:
        """It replicates from the leader, and joins the ISR; what it was told to start anew has been."""
        p, me = state.partition(partition), BrokerSet().just(broker)
        holds = choose(p.holds.has(p.leader), p.holds.plus(me), p.holds)
        told = p.restarted if self.rules.restart_order_outlives_return else p.restarted.minus(me)
        back = evolve(p, isr=p.isr.plus(me), holds=holds, restarted=told)
        return Outcome(evolve(state, partitions=replaced(state.partitions, partition, back)), ZkJbodEvent())

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

    def commit(self, state: ZkJbod, partition: Word) -> Outcome:
        """A record is acknowledged; who does not replicate lacks it."""
        p = state.partition(partition)
        mask: Word = 0
        for b in range(len(state.hosts)):
            mask = mask | choose(all_of(p.isr.has(b), state.works(b, partition), p.holds.has(b)), 1 << b, 0)
        kept = evolve(p, holds=BrokerSet(mask))
        return Outcome(evolve(state, partitions=replaced(state.partitions, partition, kept)), ZkJbodEvent())

    def may_reassign(self, state: ZkJbod, partition: Word) -> dict[str, Truth]:
        """An operator moves the partition, and the controller begins with it."""
        return {"it rests": negate(state.partition(partition).busy),
                "a reassignment is left": state.left.reassignments > 0,
                "the lock is free": self._lock_is_free(state)}  # fmt: skip

    def reassign(self, state: ZkJbod, partition: Word) -> Outcome:
        """It is being reassigned."""
        left = evolve(state.left, reassignments=state.left.reassignments - 1)
        busy = evolve(state.partition(partition), busy=True)
        return Outcome(evolve(state, partitions=replaced(state.partitions, partition, busy), left=left), ZkJbodEvent())

    def may_end_reassignment(self, state: ZkJbod, partition: Word) -> dict[str, Truth]:
        """It is being reassigned."""
        return {"it is reassigned": state.partition(partition).busy, "the lock is free": self._lock_is_free(state)}

    def end_reassignment(self, state: ZkJbod, partition: Word) -> Outcome:
        """Done, or cancelled; the replicas are the same in this model."""
        rests = evolve(state.partition(partition), busy=False)
        return Outcome(evolve(state, partitions=replaced(state.partitions, partition, rests)), ZkJbodEvent())


def _busy(state: ZkJbod) -> PartitionSet:
    mask: Word = 0
    for number, partition in enumerate(state.partitions):
        mask = mask | choose(partition.busy, 1 << number, 0)
    return BrokerSet(mask)


def _idle(state: ZkJbod) -> Controller:
    nothing = tuple(BrokerSet() for _ in state.node)
    return Controller(False, nothing, nothing)
