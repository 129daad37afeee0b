"""Topics that come and go.

Source: the early controller design, C; its on_topic_change, and D, of which a deletion must survive a failover.
"""

from __future__ import annotations

from attrs import evolve, frozen

from kraftcheck.model.language.brokersets import BrokerSet
from kraftcheck.model.language.system import Outcome
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import none_of, pick, rule
from kraftcheck.model.rules.groups import ZkControllerRules
from kraftcheck.model.systems.zk_controller.control import ZkControllerEvent
from kraftcheck.model.systems.zk_controller.state import NOTHING, RESTING, UNREAD, ZkController, replaced


@frozen
class Topics:
    """Operators create and delete topics; the controller has the replicas of a deleted one stopped."""

    rules: ZkControllerRules

    def may_create_topic(self, state: ZkController, partition: Word) -> dict[str, Truth]:
        """It does not exist, and never did."""
        p = state.partition(partition)
        return {"it is new": none_of(p.created, p.deleted)}

    def create_topic(self, state: ZkController, partition: Word) -> Outcome:
        """/brokers/topics has a new child, which fires the controller's watch."""
        made = evolve(state.partition(partition), created=True)
        return Outcome(evolve(state.with_partition(partition, made), changed=True), ZkControllerEvent())

    def may_delete_topic(self, state: ZkController, partition: Word) -> dict[str, Truth]:
        """It exists."""
        return {"it exists": state.partition(partition).exists(), "a deletion is left": state.left.deletions > 0}

    @rule("zk-controller.deletion.is-marked-first", source="early controller design, C",
          switches=("deletion-forgets-topic",),
          says="The nodes of a deleted topic stay until its replicas are told to stop.")  # fmt: skip
    def delete_topic(self, state: ZkController, partition: Word) -> Outcome:
        """A mark, which fires the controller's watch; in the document the topic's nodes go at once."""
        left = evolve(state.left, deletions=state.left.deletions - 1)
        gone = evolve(state.partition(partition), deleted=True)
        if self.rules.deletion_forgets_topic:
            gone = evolve(gone, created=False, node=NOTHING, target=BrokerSet())
        return Outcome(evolve(state.with_partition(partition, gone), changed=True, left=left), ZkControllerEvent())

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
            c, decided=replaced(c.decided, partition, NOTHING), checked=replaced(c.checked, partition, UNREAD),
            moved=replaced(c.moved, partition, RESTING),
        )  # fmt: skip
        gone = evolve(p, stopping=p.stopping.plus(p.replicas()))
        if not self.rules.deletion_forgets_topic:
            gone = evolve(gone, created=False, node=NOTHING, target=BrokerSet())
        return Outcome(evolve(state.with_partition(partition, gone), controller=known), ZkControllerEvent(operations=1))
