"""The brokers' steps: they start, act on decisions, replicate and change the ISR.

Source: the early controller design, B (on_leader_assignment_change) and E (on_broker_startup).
"""

from __future__ import annotations

from attrs import evolve, frozen

from kraftcheck.model.language.brokersets import BrokerSet
from kraftcheck.model.language.system import Outcome
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, any_of, choose, implies, negate, none_of, rule
from kraftcheck.model.rules.groups import ZkControllerRules
from kraftcheck.model.systems.zk_controller.control import ZkControllerEvent
from kraftcheck.model.systems.zk_controller.state import (
    AWAKE,
    DEAF,
    NOTHING,
    READ,
    STARTING,
    WATCHING,
    Decision,
    Partition,
    Replica,
    ZkController,
)


@frozen
class Hosts:
    """The brokers' steps under one rule set."""

    rules: ZkControllerRules

    def may_start(self, state: ZkController, broker: Word) -> dict[str, Truth]:
        """Its old session has expired."""
        b = state.broker(broker)
        return {"it does not run": negate(b.up), "its session is gone": negate(b.registered)}

    def start(self, state: ZkController, broker: Word) -> ZkController:
        """The process begins, and registers."""
        begun = evolve(state.broker(broker), up=True, registered=True, status=STARTING)
        return evolve(state.with_broker(broker, begun), changed=True)

    def may_read_decisions(self, state: ZkController, broker: Word) -> dict[str, Truth]:
        """It has a new session."""
        b = state.broker(broker)
        return {"it has a session": b.works(), "it has not read yet": b.status == STARTING}

    def read_decisions(self, state: ZkController, broker: Word) -> ZkController:
        """Become leader or follower of each partition: steps 1 to 3 of on_broker_startup."""
        b = state.broker(broker)
        replicas = tuple(
            choose(p.failed.has(broker), r, self._read(r, choose(p.replicas().has(broker), p.node, NOTHING), broker))
            for p, r in zip(state.partitions, b.replicas, strict=True)
        )
        return state.with_broker(broker, evolve(b, status=READ, replicas=replicas))

    @rule("zk-controller.backlog-outdated", source="early controller design, E", switches=("backlog-revives-replica",))
    def _read(self, r: Replica, node: Decision, broker: Word) -> Replica:
        """After a start, what the queue has of a partition without a replica here is outdated."""
        entry = r.entry
        if not self.rules.backlog_revives_replica:
            entry = choose(node.version == 0, NOTHING, entry)
        return Replica(node, _follows(node, broker), entry)

    def may_subscribe(self, state: ZkController, broker: Word) -> dict[str, Truth]:
        """It has read the decisions."""
        return {"it has read": state.broker(broker).status == READ}

    @rule("zk-controller.backlog-read", source="early controller design, E", switches=("subscription-ignores-backlog",))
    def subscribe(self, state: ZkController, broker: Word) -> ZkController:
        """A broker that subscribes to its queue (step 4) reads what already is in it, too."""
        b = state.broker(broker)
        backlog: Truth = False if self.rules.subscription_ignores_backlog else b.has_entries()
        return state.with_broker(broker, evolve(b, status=choose(backlog, AWAKE, WATCHING)))

    def may_stop_fetcher(self, state: ZkController, broker: Word, partition: Word) -> dict[str, Truth]:
        """Steps 2.1.1 and 2.2.1."""
        r = state.replica(broker, partition)
        if self.rules.leads_before_fetcher_stops:
            return {"it leads and fetches": all_of(state.broker(broker).up, r.role.leader == broker, r.fetching)}
        return {
            "its queue is read": state.broker(broker).status == AWAKE,
            "the entry is news": self._news(r),
            "its fetcher runs": r.fetching,
        }

    def stop_fetcher(self, state: ZkController, broker: Word, partition: Word) -> ZkController:
        """The fetcher to the old leader ends."""
        stopped = evolve(state.replica(broker, partition), fetching=False)
        return state.with_replica(broker, partition, stopped)

    @rule("zk-controller.leader.fetcher-stops-first", source="early controller design, B 2.1",
          switches=("leads-before-fetcher-stops",))  # fmt: skip
    def may_act(self, state: ZkController, broker: Word, partition: Word) -> dict[str, Truth]:
        """A broker leads, or follows another leader, once its fetcher has stopped: steps 2.1.2 and 2.2.2."""
        r = state.replica(broker, partition)
        stopped: Truth = implies(self._news(r), negate(r.fetching))
        if self.rules.leads_before_fetcher_stops:
            stopped = True
        return {
            "its queue is read": state.broker(broker).status == AWAKE,
            "there is an entry": r.entry.version > 0,
            "its fetcher has stopped": stopped,
        }

    def act(self, state: ZkController, broker: Word, partition: Word) -> ZkController:
        """Become leader or follower; what it has followed already is ignored."""
        r, failed = state.replica(broker, partition), state.partition(partition).failed.has(broker)
        news = all_of(self._news(r), negate(failed))
        follows = _follows(r.entry, broker)
        if self.rules.leads_before_fetcher_stops:
            follows = any_of(follows, r.fetching)
        taken = Replica(choose(news, r.entry, r.role), choose(news, follows, r.fetching), NOTHING)
        return state.with_replica(broker, partition, taken)

    @rule("zk-controller.broker.older-decisions-ignored", source="early controller design, D",
          switches=("older-decisions-followed",))  # fmt: skip
    def _news(self, r: Replica) -> Truth:
        """A broker follows a decision of its queue only where it is newer than its own."""
        if self.rules.older_decisions_followed:
            return all_of(r.entry.version > 0, negate(r.entry.version == r.role.version))
        return r.entry.version > r.role.version

    def may_doze(self, state: ZkController, broker: Word) -> dict[str, Truth]:
        """The queue is empty."""
        b = state.broker(broker)
        return {"its queue is read": b.status == AWAKE, "nothing is in it": negate(b.has_entries())}

    def doze(self, state: ZkController, broker: Word) -> ZkController:
        """The read that found nothing has set the watch."""
        after = DEAF if self.rules.watch_set_after_read else WATCHING
        return state.with_broker(broker, evolve(state.broker(broker), status=after))

    def may_set_watch(self, state: ZkController, broker: Word) -> dict[str, Truth]:
        """Only where reading and watching are two operations."""
        return {"no watch is set": state.broker(broker).status == DEAF}

    def set_watch(self, state: ZkController, broker: Word) -> ZkController:
        """Watch the queue from now on."""
        return state.with_broker(broker, evolve(state.broker(broker), status=WATCHING))

    def may_commit(self, state: ZkController, broker: Word, partition: Word) -> dict[str, Truth]:
        """A leader, as it thinks, whose ISR, as it thinks, fetches from it."""
        isr = state.replica(broker, partition).role.isr
        fetching = [
            implies(all_of(isr.has(b), negate(broker == b)), state.fetches_from(b, partition, broker))
            for b in range(len(state.brokers))
        ]
        return {
            "it leads": state.leads(broker, partition),
            "its ISR fetches": all_of(*fetching),
            "no outsider has taken over": negate(_given_up(state, broker, partition)),
        }

    def commit(self, state: ZkController, broker: Word, partition: Word) -> ZkController:
        """A record is acknowledged: only this ISR is sure to have it, and the leader, which wrote it."""
        p, isr = state.partition(partition), state.replica(broker, partition).role.isr
        kept = p.holds.keep(isr.plus(isr.just(broker)))
        return state.with_partition(partition, evolve(p, holds=kept))

    def may_fetch(self, state: ZkController, broker: Word, partition: Word) -> dict[str, Truth]:
        """Its fetcher runs, and who it fetches from leads."""
        leader = state.replica(broker, partition).role.leader
        return {
            "its fetcher runs": state.fetches_from(broker, partition, leader),
            "the other leads": all_of(leader >= 0, negate(leader == broker), state.leads(leader, partition)),
            "no outsider has taken over": negate(_given_up(state, leader, partition)),
        }

    def fetch(self, state: ZkController, broker: Word, partition: Word) -> ZkController:
        """Its log becomes the leader's: longer, or cut."""
        p, leader = state.partition(partition), state.replica(broker, partition).role.leader
        me = p.holds.just(broker)
        holds = choose(p.holds.has(leader), p.holds.plus(me), p.holds.minus(me))
        return state.with_partition(partition, evolve(p, holds=holds))

    @rule("zk-controller.isr.update-is-conditional", source="early controller design, B",
          switches=("isr-update-unconditional", "leavers-rejoin"))  # fmt: skip
    def may_change_isr(self, state: ZkController, broker: Word, partition: Word, member: Word) -> dict[str, Truth]:
        """A leader changes the ISR only where the node is as it knows it, and takes back only replicas."""
        p, role = state.partition(partition), state.replica(broker, partition).role
        level = all_of(state.fetches_from(member, partition, broker), p.holds.has(member), p.holds.has(broker))
        if not self.rules.leavers_rejoin:
            level = all_of(level, p.replicas().has(member))
        unchanged: Truth = role.version == p.node.version
        if self.rules.isr_update_unconditional:
            unchanged = True
        return {
            "it leads": all_of(state.leads(broker, partition), state.broker(broker).registered),
            "the member is another": negate(member == broker),
            "it leaves, or is level": any_of(role.isr.has(member), level),
            "the node has not changed": unchanged,
            "a change is left, or a new replica joins": any_of(state.left.isr_changes > 0, _joins(p, role.isr, member)),
        }

    def change_isr(self, state: ZkController, broker: Word, partition: Word, member: Word) -> Outcome:
        """Write leaderAndISR with the ISR changed by one member."""
        p, r = state.partition(partition), state.replica(broker, partition)
        one = r.role.isr.just(member)
        isr = choose(r.role.isr.has(member), r.role.isr.minus(one), r.role.isr.plus(one))
        node = Decision(p.node.version + 1, broker, isr)
        after = state.with_replica(broker, partition, evolve(r, role=node))
        cost = choose(_joins(p, r.role.isr, member), 0, 1)
        written = after.with_partition(partition, evolve(p, node=node, last=isr))
        return Outcome(written.spend("isr_changes", cost), ZkControllerEvent(operations=1))


def _follows(decision: Decision, broker: Word) -> Truth:
    """Whether the decision makes the broker a follower of somebody."""
    return none_of(decision.leader < 0, decision.leader == broker)


def _joins(partition: Partition, isr: BrokerSet, member: Word) -> Truth:
    """Whether a replica joins that a reassignment waits for; such a change has no budget."""
    return all_of(partition.target.has(member), negate(isr.has(member)))


def _given_up(state: ZkController, broker: Word, partition: Word) -> Truth:
    """Whether a leader is older than the election of an outsider, which gave up whatever it has."""
    return state.replica(broker, partition).role.version < state.partition(partition).floor
