"""Replica reassignment: the controller's procedure, and brokers that stop a replica.

Source: the early controller design, F (on_partitions_reassigned).
"""

from __future__ import annotations

from attrs import evolve, frozen

from kraftcheck.model.language.brokersets import BrokerSet
from kraftcheck.model.language.system import Outcome
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, any_of, choose, negate, pick, rule
from kraftcheck.model.rules.groups import ZkControllerRules
from kraftcheck.model.systems.zk_controller.control import Control, ZkControllerEvent
from kraftcheck.model.systems.zk_controller.state import (
    NOTHING,
    REPLACED,
    RESTING,
    SHRUNK,
    STARTED,
    UNREAD,
    Controller,
    Decision,
    Partition,
    ZkController,
    replaced,
)


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

    def reassign(self, state: ZkController, partition: Word, target: Word) -> Outcome:
        """An operator creates /brokers/partitions_reassigned/<topic>, which fires a watch."""
        left = evolve(state.left, reassignments=state.left.reassignments - 1)
        asked = evolve(state.partition(partition), target=BrokerSet(target))
        return Outcome(evolve(state.with_partition(partition, asked), left=left), ZkControllerEvent())

    def may_start_replicas(self, state: ZkController, partition: Word) -> dict[str, Truth]:
        """The watch has fired, or the controller is new."""
        c = state.controller
        return {
            "the controller is idle": c.idle(),
            "there is a request": negate(state.partition(partition).target.is_empty()),
            "it has not begun": pick(c.moved, partition, RESTING) == RESTING,
            "the partition has a leader": pick(c.decided, partition, NOTHING).version > 0,
        }

    def start_replicas(self, state: ZkController, partition: Word) -> Outcome:
        """Read the request, and have the new replicas start: steps 1 and 2. The queues get the decision to follow."""
        c, p = state.controller, state.partition(partition)
        told = pick(c.tell, partition, BrokerSet()).plus(p.target.minus(p.assigned))
        begun = evolve(c, tell=replaced(c.tell, partition, told), moved=replaced(c.moved, partition, STARTED))
        return Outcome(evolve(state, controller=begun), ZkControllerEvent())

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

    def check_isr(self, state: ZkController, partition: Word) -> Outcome:
        """Read leaderAndISR: step 3."""
        version = state.partition(partition).node.version
        return Outcome(self._remember(state, partition, checked=version), ZkControllerEvent())

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
        told = replaced(after.controller.tell, partition, self._concerned(state.partition(partition)))
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

    def stop_replica(self, state: ZkController, broker: Word, partition: Word) -> Outcome:
        """The replica ends, and its log is deleted."""
        p, r = state.partition(partition), state.replica(broker, partition)
        me = p.stopping.just(broker)
        ended = state.with_replica(broker, partition, evolve(r, role=NOTHING, fetching=False, entry=NOTHING))
        gone = evolve(p, stopping=p.stopping.minus(me), holds=p.holds.minus(me))
        return Outcome(ended.with_partition(partition, gone), ZkControllerEvent())

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
        known = evolve(c, decided=replaced(c.decided, partition, node))
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
        after: Controller = evolve(
            c, checked=replaced(c.checked, partition, checked), moved=replaced(c.moved, partition, moved)
        )
        return evolve(state, controller=after)
