"""What the controller keeps up: the garbage collection of hostname nodes, and the nodes of missing ids.

Source: the broker-id KIP, "Garbage Collection of ZooKeeper Nodes" and "Another Way of Looking for Missing Broker Id".
Each access to ZooKeeper is a step.
"""

from __future__ import annotations

from attrs import evolve, frozen

from kraftcheck.model.language.system import Outcome
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, any_of, choose, negate, pick, rule
from kraftcheck.model.rules.groups import BrokerIdRules
from kraftcheck.model.systems.broker_ids.startup import BrokerIdsEvent
from kraftcheck.model.systems.broker_ids.state import NONE, BrokerIds, replaced


@frozen
class Upkeep:
    """The steps of the controller under one rule set."""

    rules: BrokerIdRules

    def may_sweep(self, state: BrokerIds, id: Word) -> dict[str, Truth]:  # noqa: A002
        """The controller looks for garbage, one registered id at a time."""
        return {"id is registered": state.registered().has(id), "sweep is idle": state.swept_id < 0}

    def sweep(self, state: BrokerIds, id: Word) -> Outcome:  # noqa: A002
        """Read /brokers/ids/<id>: its hostname."""
        return Outcome(evolve(state, swept_id=id, swept_host=pick(state.places, id, 0)), BrokerIdsEvent(reads=1))

    def may_read_host(self, state: BrokerIds, name: Word) -> dict[str, Truth]:
        """The node of another hostname has the id that was read."""
        return {
            "sweep has read an id": state.swept_id >= 0,
            "no node is about to go": state.swept_node < 0,
            "hostname is another": negate(state.swept_host == name),
            "its node has that id": pick(state.hosts, name, NONE) == state.swept_id,
        }

    def read_host(self, state: BrokerIds, name: Word) -> Outcome:
        """Read /brokers/hosts/<hostname>: it is garbage."""
        return Outcome(evolve(state, swept_node=name), BrokerIdsEvent(reads=1))

    @rule("broker-id.garbage-is-as-it-was-read", source="broker-id KIP, garbage collection",
          switches=("garbage-deleted-unseen",),
          says="A hostname node is deleted only while it is as it was read.")  # fmt: skip
    def may_remove_garbage(self, state: BrokerIds) -> dict[str, Truth]:
        """It has read a node that is garbage; a conditional delete is refused where something has changed."""
        same: Truth = pick(state.hosts, state.swept_node, NONE) == state.swept_id
        if self.rules.garbage_deleted_unseen:
            same = True
        return {
            "a node is about to go": state.swept_node >= 0,
            "the registration is as it was read": self._stands(state),
            "the node is as it was read": same,
        }

    @rule("broker-id.sweep-is-conditional", source="broker-id KIP, garbage collection",
          switches=("sweep-trusts-first-read",),
          says="A hostname node is deleted only while the registration that was read still stands.")  # fmt: skip
    def _stands(self, state: BrokerIds) -> Truth:
        """Whether the id is registered from the hostname that was read; who trusts the first read does not ask."""
        if self.rules.sweep_trusts_first_read:
            return True
        owner = pick(state.sessions, state.swept_id, NONE)
        return all_of(owner >= 0, pick(state.places, state.swept_id, 0) == state.swept_host)

    def remove_garbage(self, state: BrokerIds) -> Outcome:
        """Delete /brokers/hosts/<hostname>."""
        hosts = replaced(state.hosts, state.swept_node, NONE)
        return Outcome(evolve(state, hosts=hosts, swept_node=NONE), BrokerIdsEvent(reads=1))

    def may_end_sweep(self, state: BrokerIds) -> dict[str, Truth]:
        """It has read an id."""
        return {"sweep has read an id": state.swept_id >= 0}

    def end_sweep(self, state: BrokerIds) -> Outcome:
        """All nodes of this id were looked at, or a conditional delete was refused."""
        return Outcome(evolve(state, swept_id=NONE, swept_host=NONE, swept_node=NONE), BrokerIdsEvent())

    def may_list_registered(self, state: BrokerIds) -> dict[str, Truth]:
        """Its watch on the children of /brokers/ids has fired, and it has written what it saw the last time."""
        return {
            "the children have changed": negate(state.listed.same(state.registered())),
            "nothing is left to write": all_of(state.owed.is_empty(), state.noted.keep(state.listed).is_empty()),
        }

    def list_registered(self, state: BrokerIds) -> Outcome:
        """List /brokers/ids, which sets the watch again; what came and went in between is not seen."""
        now = state.registered()
        return Outcome(evolve(state, listed=now, owed=state.listed.minus(now)), BrokerIdsEvent(reads=1))

    def may_note(self, state: BrokerIds, id: Word) -> dict[str, Truth]:  # noqa: A002
        """An id that was gone has no node yet, or one that is back still has one."""
        back = all_of(state.noted.has(id), state.listed.has(id))
        return {"its node is to change": any_of(state.owed.has(id), back)}

    def note(self, state: BrokerIds, id: Word) -> Outcome:  # noqa: A002
        """Create /brokers/missing_ids/<id>, or delete it."""
        one = state.noted.just(id)
        noted = choose(state.owed.has(id), state.noted.plus(one), state.noted.minus(one))
        return Outcome(evolve(state, noted=noted, owed=state.owed.minus(one)), BrokerIdsEvent())
