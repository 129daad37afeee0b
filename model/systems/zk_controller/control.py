"""The controller's procedures: each operation on ZooKeeper is a step, and the controller may fail between any two.

Source: the early controller design, A (on_broker_change, change_leaders), C (init_leaders), D (on_controller_failover).

Replica reassignment: the controller's procedure, and brokers that stop a replica.
Source: the early controller design, F (on_partitions_reassigned).
"""

from __future__ import annotations

from collections.abc import Iterable

from attrs import evolve, frozen

from kraftcheck.model.language.brokersets import BrokerSet
from kraftcheck.model.language.places import put
from kraftcheck.model.language.system import Outcome
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import NO_LEADER, all_of, any_of, choose, negate, none_of, pick, rule
from kraftcheck.model.rules.groups import ZkControllerRules
from kraftcheck.model.systems.zk_controller.state import (
    AWAKE,
    NOTHING,
    REPLACED,
    RESTING,
    SHRUNK,
    STARTED,
    UNREAD,
    WATCHING,
    Broker,
    Controller,
    Decision,
    Partition,
    Replica,
    ZkController,
    not_read,
)


@frozen
class ZkControllerEvent:
    """The events of a step besides the change of the state."""

    operations: Word = 0  # ZooKeeper operations on the critical path, one after another


@rule("zk-controller.decision.live-isr-member-first", source="early controller design, A 3.2",
      switches=("outsider-preferred", "outsider-keeps-isr"))  # fmt: skip
def decide(seen: Decision, live: BrokerSet, rules: ZkControllerRules) -> tuple[Word, BrokerSet]:
    """A live ISR member leads with the live members; without one a live replica leads alone.

    Without a node, which has version 0, `init_leaders` decides in the same way.
    """
    synced = seen.isr.keep(live)
    outsider = live.minus(seen.isr) if rules.outsider_preferred else BrokerSet()
    clean = all_of(negate(synced.is_empty()), outsider.is_empty())
    leader = choose(clean, synced.first(), choose(outsider.is_empty(), live.first(), outsider.first()))
    alone = live.just(leader)
    if rules.outsider_keeps_isr:
        alone = seen.isr
    fresh = seen.version == 0
    return choose(fresh, live.first(), leader), choose(fresh, live, choose(clean, synced, alone))


@frozen
class Control:
    """The controller's steps; `each` is how many partitions one of the model stands for."""

    rules: ZkControllerRules
    each: int

    def may_take_over(self, state: ZkController, broker: Word = NO_LEADER) -> dict[str, Truth]:
        """The watch on /controller has fired; where it does not matter which broker it is, none is named."""
        working = [all_of(b.works(), any_of(broker == NO_LEADER, broker == n)) for n, b in enumerate(state.brokers)]
        return {"there is no controller": negate(state.controller.present), "a broker lives": any_of(*working)}

    def take_over(self, state: ZkController, broker: Word = NO_LEADER) -> ZkController:
        """Create /controller; the new one's watches are new, so it looks at everything."""
        begun = evolve(state.controller, present=True, unread=True, host=broker)
        return evolve(state, controller=begun, changed=True)

    def may_load(self, state: ZkController) -> dict[str, Truth]:
        """It has taken over."""
        return {"decisions are not read yet": state.controller.unread}

    @rule("zk-controller.failover.publishes-again", source="early controller design, D",
          switches=("failover-skips-republishing",))  # fmt: skip
    def load(self, state: ZkController) -> ZkController:
        """A new controller reads every decision, and publishes them all again: step 2.1."""
        nodes = tuple(p.node for p in state.partitions)
        tell = [BrokerSet() if self.rules.failover_skips_republishing else p.replicas() for p in state.partitions]
        kept = tuple(choose(n.version > 0, t, BrokerSet()) for n, t in zip(nodes, tell, strict=True))
        return evolve(state, controller=evolve(state.controller, unread=False, decided=nodes, tell=kept))

    def may_list_brokers(self, state: ZkController) -> dict[str, Truth]:
        """A broker or topic watch has fired, and the last change is done."""
        return {"the controller is idle": state.controller.idle(), "a watch has fired": state.changed}

    def list_brokers(self, state: ZkController) -> ZkController:
        """Read /brokers/ids, which sets the watch again: step 1."""
        c = evolve(state.controller, working=True, wrote=False, live=state.registered())
        return evolve(state, controller=c, changed=False)

    def may_read_node(self, state: ZkController, partition: Word) -> dict[str, Truth]:
        """A partition whose leader is not among the live brokers: steps 2 and 3.1."""
        return {
            "its leader is not live": self._needs(state, partition),
            "it is not read yet": pick(state.controller.seen, partition, NOTHING).version == UNREAD,
        }

    def read_node(self, state: ZkController, partition: Word) -> ZkController:
        """Read leaderAndISR."""
        seen = put(state.controller.seen, partition, state.partition(partition).node)
        return evolve(state, controller=evolve(state.controller, seen=seen))

    def may_write_one(self, state: ZkController, partition: Word) -> dict[str, Truth]:
        """Step 4, one plain write for each partition."""
        return {"every node is read": self._all_read(state), **self._writable(state, partition)}

    def write_one(self, state: ZkController, partition: Word) -> Outcome:
        """Write the decision; the queues come later."""
        decided = self._decided(state, [partition])
        c = decided.controller
        after = evolve(c, tell=put(c.tell, partition, self._audience(decided, partition)))
        return Outcome(evolve(decided, controller=after), ZkControllerEvent(operations=self.each))

    def may_write_all(self, state: ZkController) -> dict[str, Truth]:
        """Steps 4 and 5 as one conditional multi."""
        wanted = [self._needs(state, p) for p in range(len(state.partitions))]
        kept = [any_of(negate(w), self._as_read(state, p)) for p, w in enumerate(wanted)]
        return {
            "a partition needs a leader": any_of(*wanted),
            "every node is read": self._all_read(state),
            "no node has changed": all_of(*kept),
        }

    def write_all(self, state: ZkController) -> Outcome:
        """Decisions of every partition, and their entries in every queue."""
        decided = self._decided(state, range(len(state.partitions)))
        for p in range(len(state.partitions)):
            decided = self.tell_all(decided, p, self._audience(decided, p), self._needs(state, p))
        return Outcome(decided, ZkControllerEvent(operations=1))

    def may_retry(self, state: ZkController, partition: Word) -> dict[str, Truth]:
        """The conditional write was refused."""
        seen = pick(state.controller.seen, partition, NOTHING)
        return {
            "every node is read": self._all_read(state),
            "it was read": seen.version >= 0,
            "it has changed": negate(seen.version == state.partition(partition).node.version),
        }

    def retry(self, state: ZkController, partition: Word) -> Outcome:
        """Forget what was read; it is read again."""
        seen = put(state.controller.seen, partition, not_read())
        return Outcome(evolve(state, controller=evolve(state.controller, seen=seen)), ZkControllerEvent(operations=1))

    def may_abandon(self, state: ZkController) -> dict[str, Truth]:
        """An outsider would be elected, and the list of live brokers is outdated."""
        outsiders = [self._outsider(state, p) for p in range(len(state.partitions))]
        return {"every node is read": self._all_read(state), "an outsider would lead": any_of(*outsiders),
                "a watch has fired": state.changed}  # fmt: skip

    def abandon(self, state: ZkController) -> Outcome:
        """The condition on the list has failed: begin anew."""
        return Outcome(self.finish(state), ZkControllerEvent(operations=1))

    def _outsider(self, state: ZkController, partition: Word) -> Truth:
        """Whether no member of the ISR as it was read is in the list."""
        c = state.controller
        seen = pick(c.seen, partition, NOTHING)
        return all_of(self._needs(state, partition), seen.version > 0, seen.isr.keep(c.live).is_empty())

    def may_publish(self, state: ZkController, broker: Word) -> dict[str, Truth]:
        """Step 5."""
        return {"something is left to tell": any_of(*(t.has(broker) for t in state.controller.tell))}

    def publish(self, state: ZkController, broker: Word) -> Outcome:
        """One write to a broker's queue, with the decisions of every affected partition."""
        c, after = state.controller, state
        for p, brokers in enumerate(c.tell):
            after = self._told(after, broker, p, c.decided[p], brokers.has(broker))
        left = tuple(brokers.minus(brokers.just(broker)) for brokers in c.tell)
        return Outcome(evolve(after, controller=evolve(c, tell=left)), ZkControllerEvent(operations=1))

    def may_finish(self, state: ZkController) -> dict[str, Truth]:
        """Every partition has a live leader, as far as the list goes, and everybody is told."""
        c = state.controller
        needs = [self._needs(state, p) for p in range(len(state.partitions))]
        return {"it changes leaders": c.working, "all are led": none_of(*needs), "all are told": c.told_all()}

    def finish(self, state: ZkController) -> ZkController:
        """Wait for the watches."""
        seen = tuple(not_read() for _ in state.partitions)
        c = evolve(state.controller, working=False, wrote=False, live=BrokerSet(), seen=seen)
        return evolve(state, controller=c)

    @rule("zk-controller.decision.outsiders-may-lead", source="early controller design, A 3.2; KAFKA-1028",
          switches=("outsiders-wait",),
          says="Without a live ISR member a live replica leads, unless outsiders are to wait.")  # fmt: skip
    @rule("zk-controller.decision.hopeless-is-left", source="early controller design, question A.1",
          switches=("hopeless-isr-emptied",))  # fmt: skip
    def _needs(self, state: ZkController, partition: Word) -> Truth:
        """A partition without a live replica keeps leader and ISR: there is none to find (question A.1)."""
        c, p = state.controller, state.partition(partition)
        leader = pick(c.decided, partition, NOTHING).leader
        possible: Truth = negate(c.live.keep(p.replicas()).is_empty())
        if self.rules.hopeless_isr_emptied:
            possible = any_of(possible, negate(leader == NO_LEADER))
        seen = pick(c.seen, partition, NOTHING)
        if self.rules.outsiders_wait:
            possible = all_of(possible, any_of(seen.version < 1, negate(seen.isr.keep(c.live).is_empty())))
        known = any_of(p.created, seen.version > 0)
        return all_of(c.working, known, negate(c.live.has(leader)), possible)

    def _all_read(self, state: ZkController) -> Truth:
        needs = enumerate(state.controller.seen)
        return all_of(*(any_of(negate(self._needs(state, p)), seen.version >= 0) for p, seen in needs))

    def _as_read(self, state: ZkController, partition: Word) -> Truth:
        listed: Truth = True
        if not self.rules.outsiders_by_old_list:
            same = all_of(negate(state.changed), state.controller.live.same(state.registered()))
            listed = any_of(negate(self._outsider(state, partition)), same)
        if self.rules.decision_write_unconditional:
            return listed
        version = pick(state.controller.seen, partition, NOTHING).version
        return all_of(listed, version == state.partition(partition).node.version)

    def _writable(self, state: ZkController, partition: Word) -> dict[str, Truth]:
        return {
            "it needs a leader": self._needs(state, partition),
            "its node has not changed": self._as_read(state, partition),
        }

    def _decided(self, state: ZkController, partitions: Iterable[Word]) -> ZkController:
        """The state with the decisions written, and remembered; partitions that need none stay."""
        after = state
        for p in partitions:
            needs = self._needs(state, p)
            now = self._decision(state, p)
            c = after.controller
            known = choose(needs, now.node, pick(c.decided, p, NOTHING))
            seen = choose(needs, not_read(), pick(c.seen, p, NOTHING))
            kept: Controller = evolve(
                c, decided=put(c.decided, p, known), seen=put(c.seen, p, seen), wrote=any_of(c.wrote, needs)
            )
            old = state.partition(p)
            after = evolve(after.with_partition(p, choose(needs, now, old)), controller=kept)
        return after

    def _decision(self, state: ZkController, partition: Word) -> Partition:
        """The partition after its decision; electing an outsider gives up what only others have."""
        old, seen = state.partition(partition), pick(state.controller.seen, partition, NOTHING)
        live = state.controller.live.keep(old.replicas())
        leader, isr = decide(seen, live, self.rules)
        none = live.is_empty()
        node = Decision(old.node.version + 1, choose(none, NO_LEADER, leader), choose(none, BrokerSet(), isr))
        lossy = all_of(negate(none), negate(seen.isr.has(leader)))
        return evolve(
            old,
            node=node,
            holds=choose(seen.version == 0, isr, choose(lossy, isr.just(leader), old.holds)),
            last=choose(none, old.last, isr),
            floor=choose(all_of(lossy, seen.version > 0), node.version, old.floor),
        )

    @rule("zk-controller.decision.every-replica-is-told", source="early controller design, question A.2",
          switches=("down-brokers-not-told",))  # fmt: skip
    def _audience(self, state: ZkController, partition: Word) -> BrokerSet:
        """Every replica is told of a decision, alive or not (question A.2)."""
        replicas = state.partition(partition).replicas()
        return replicas.keep(state.controller.live) if self.rules.down_brokers_not_told else replicas

    def tell_all(self, state: ZkController, partition: Word, brokers: BrokerSet, when: Truth) -> ZkController:
        """The partition's node in the queues of these brokers."""
        for b in range(len(state.brokers)):
            state = self._told(state, b, partition, state.partition(partition).node, all_of(when, brokers.has(b)))
        return state

    def _told(
        self, state: ZkController, broker: Word, partition: Word, decision: Decision, when: Truth
    ) -> ZkController:
        """An entry in a queue fires the watch. Of several the newest counts, unless brokers take the last."""
        b = state.broker(broker)
        r: Replica = pick(b.replicas, partition, b.replicas[0])
        newer: Truth = True if self.rules.older_decisions_followed else decision.version > r.entry.version
        entry = choose(all_of(when, newer), decision, r.entry)
        woken = choose(all_of(when, b.status == WATCHING), AWAKE, b.status)
        told: Broker = evolve(b, status=woken, replicas=put(b.replicas, partition, evolve(r, entry=entry)))
        return state.with_broker(broker, told)


@frozen
class Moves:
    """The steps of a reassignment; without the choice `decisions-one-by-one` the last ones are one multi."""

    rules: ZkControllerRules
    control: Control

    def may_reassign(self, state: ZkController, partition: Word, target: Word) -> dict[str, Truth]:
        """No reassignment of the partition is under way."""
        p = state.partition(partition)
        return {
            "the topic exists": p.exists(),
            "no reassignment is under way": p.target.is_empty(),
            "it is another place": negate(p.assigned.same(BrokerSet(target))),
            "a reassignment is left": state.left.reassignments > 0,
        }

    def reassign(self, state: ZkController, partition: Word, target: Word) -> ZkController:
        """An operator creates /brokers/partitions_reassigned/<topic>, which fires a watch."""
        asked = evolve(state.partition(partition), target=BrokerSet(target))
        return state.with_partition(partition, asked).spend("reassignments")

    def may_start_replicas(self, state: ZkController, partition: Word) -> dict[str, Truth]:
        """The watch has fired, or the controller is new."""
        c = state.controller
        return {
            "the controller is idle": c.idle(),
            "there is a request": negate(state.partition(partition).target.is_empty()),
            "it has not begun": pick(c.moved, partition, RESTING) == RESTING,
            "the partition has a leader": pick(c.decided, partition, NOTHING).version > 0,
        }

    def start_replicas(self, state: ZkController, partition: Word) -> ZkController:
        """Read the request, and have the new replicas start: steps 1 and 2. The queues get the decision to follow."""
        c, p = state.controller, state.partition(partition)
        told = pick(c.tell, partition, BrokerSet()).plus(p.target.minus(p.assigned))
        begun = evolve(c, tell=put(c.tell, partition, told), moved=put(c.moved, partition, STARTED))
        return evolve(state, controller=begun)

    @rule("zk-controller.reassignment.new-replicas-in-sync", source="early controller design, F 3.1",
          switches=("reassignment-waits-for-all", "reassignment-ignores-isr"),
          says="A reassignment completes once the new replicas are in the ISR.")  # fmt: skip
    def may_check_isr(self, state: ZkController, partition: Word) -> dict[str, Truth]:
        """From time to time, or when a watch on the ISR fires."""
        c, p = state.controller, state.partition(partition)
        level: Truth = p.target.within(p.node.isr)
        if self.rules.reassignment_waits_for_all:
            level = p.replicas().same(p.node.isr)
        if self.rules.reassignment_ignores_isr:
            level = True
        return {
            "the controller is idle": c.idle(),
            "the replicas are started": pick(c.moved, partition, RESTING) == STARTED,
            "the ISR is as it should be": level,
            "somebody can lead": self._can_lead(state, p),
        }

    def check_isr(self, state: ZkController, partition: Word) -> ZkController:
        """Read leaderAndISR: step 3."""
        version = state.partition(partition).node.version
        return self._remember(state, partition, checked=version)

    @rule("zk-controller.decision.write-is-conditional", source="early controller design, A",
          switches=("decision-write-unconditional",),
          says="A decision is written only while the node is as it was read.")  # fmt: skip
    def may_complete(self, state: ZkController, partition: Word) -> dict[str, Truth]:
        """The ISR that was read is still the one, unless nobody asks."""
        p, checked = state.partition(partition), pick(state.controller.checked, partition, UNREAD)
        same: Truth = True if self.rules.decision_write_unconditional else checked == p.node.version
        return {
            "the ISR was read": checked >= 0,
            "the node has not changed": same,
            "somebody can lead": self._can_lead(state, p),
        }

    def complete(self, state: ZkController, partition: Word) -> Outcome:
        """Steps 3.1 to 4 as one conditional multi."""
        after = self._shrunk(state, partition)
        after = self.control.tell_all(after, partition, self._concerned(state.partition(partition)), True)
        return Outcome(self._ended(self._replaced(after, partition), partition), ZkControllerEvent(operations=1))

    def shrink_isr(self, state: ZkController, partition: Word) -> Outcome:
        """Step 3.1: write the ISR, and send StopReplica; the leader is told later, which is step 4."""
        after = self._shrunk(state, partition)
        told = put(after.controller.tell, partition, self._concerned(state.partition(partition)))
        after = evolve(after, controller=evolve(after.controller, tell=told))
        return Outcome(self._remember(after, partition, moved=SHRUNK), ZkControllerEvent(operations=1))

    def may_replace(self, state: ZkController, partition: Word) -> dict[str, Truth]:
        """Step 3.1 is done."""
        return {"the ISR is written": pick(state.controller.moved, partition, RESTING) == SHRUNK}

    def replace(self, state: ZkController, partition: Word) -> Outcome:
        """Step 3.2: the topic's node has the new replicas."""
        after = self._remember(self._replaced(state, partition), partition, moved=REPLACED)
        return Outcome(after, ZkControllerEvent(operations=1))

    def may_end(self, state: ZkController, partition: Word) -> dict[str, Truth]:
        """Step 3.2 is done."""
        return {"the replicas are written": pick(state.controller.moved, partition, RESTING) == REPLACED}

    def end(self, state: ZkController, partition: Word) -> Outcome:
        """Step 3.3: the request is deleted."""
        return Outcome(self._ended(state, partition), ZkControllerEvent(operations=1))

    def may_recheck(self, state: ZkController, partition: Word) -> dict[str, Truth]:
        """It has not written yet: the conditional write is refused, or it waits."""
        return {"the ISR was read": pick(state.controller.checked, partition, UNREAD) >= 0}

    def recheck(self, state: ZkController, partition: Word) -> Outcome:
        """Look at the ISR again."""
        return Outcome(self._remember(state, partition), ZkControllerEvent(operations=1))

    def may_stop_replica(self, state: ZkController, broker: Word, partition: Word) -> dict[str, Truth]:
        """A StopReplica waits in its queue."""
        asked = state.partition(partition).stopping.has(broker)
        return {"it has a session": state.broker(broker).works(), "it is told to": asked}

    def stop_replica(self, state: ZkController, broker: Word, partition: Word) -> ZkController:
        """The replica ends, and its log is deleted."""
        p, r = state.partition(partition), state.replica(broker, partition)
        me = p.stopping.just(broker)
        ended = state.with_replica(broker, partition, evolve(r, role=NOTHING, fetching=False, entry=NOTHING))
        gone = evolve(p, stopping=p.stopping.minus(me), holds=p.holds.minus(me))
        return ended.with_partition(partition, gone)

    @rule("zk-controller.reassignment.new-replica-leads", source="early controller design, F 3.1",
          switches=("reassignment-keeps-leader",),
          says="A reassignment that removes the leader seats a new replica that lives.")  # fmt: skip
    def _can_lead(self, state: ZkController, p: Partition) -> Truth:
        """Whether the leader stays, or a new replica is known to live."""
        if self.rules.reassignment_keeps_leader:
            return True
        heirs = all_of(negate(state.changed), negate(p.target.keep(state.registered()).is_empty()))
        return any_of(p.target.has(p.node.leader), heirs)

    @rule("zk-controller.reassignment.leader-is-told", source="early controller design, F 4",
          switches=("reassignment-skips-leader",),
          says="The ISR that a reassignment writes is published to the leader and to every new replica.")  # fmt: skip
    def _concerned(self, p: Partition) -> BrokerSet:
        """Who has to hear of the new ISR; a leader that is no new replica hears of it besides its StopReplica."""
        return p.target if self.rules.reassignment_skips_leader else p.target.plus(p.target.just(p.node.leader))

    def _shrunk(self, state: ZkController, partition: Word) -> ZkController:
        """The ISR is the new replicas, one of them leads, and the others are told to stop."""
        p, c = state.partition(partition), state.controller
        leader = p.node.leader
        if not self.rules.reassignment_keeps_leader:
            leader = choose(p.target.has(leader), leader, p.target.keep(state.registered()).first())
        node = Decision(p.node.version + 1, leader, p.target)
        moved = evolve(p, node=node, last=p.target, stopping=p.assigned.minus(p.target))
        known = evolve(c, decided=put(c.decided, partition, node))
        return self._remember(evolve(state.with_partition(partition, moved), controller=known), partition)

    def _replaced(self, state: ZkController, partition: Word) -> ZkController:
        p = state.partition(partition)
        return state.with_partition(partition, evolve(p, assigned=p.target))

    def _ended(self, state: ZkController, partition: Word) -> ZkController:
        after = state.with_partition(partition, evolve(state.partition(partition), target=BrokerSet()))
        return self._remember(after, partition, moved=RESTING)

    def _remember(
        self, state: ZkController, partition: Word, *, checked: Word = UNREAD, moved: Word = STARTED
    ) -> ZkController:
        c = state.controller
        after: Controller = evolve(c, checked=put(c.checked, partition, checked), moved=put(c.moved, partition, moved))
        return evolve(state, controller=after)
