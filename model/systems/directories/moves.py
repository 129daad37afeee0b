"""Moves of a replica between directories of one broker, and the queue of assignments that they and metadata fill.

Source: `ReplicaAlterLogDirsThread`, `AssignmentsManager`; KIP-858, KIP-113.
"""

from __future__ import annotations

from attrs import evolve, frozen

from kraftcheck.model.language.system import Conjuncts, Outcome
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, any_of, choose, negate, rule, word
from kraftcheck.model.rules.ruleset import RuleSet
from kraftcheck.model.systems.directories.host import ABSENT, ACCEPTED, IDLE, NOTHING, QUEUED, Slots
from kraftcheck.model.systems.directories.state import Placement, decided
from kraftcheck.model.systems.elections import system as guards
from kraftcheck.model.systems.elections.passes import gate, start
from kraftcheck.model.systems.elections.triggers import Triggers


@frozen
class Moves:
    """The effects and guards of AlterReplicaLogDirs and AssignReplicasToDirs under one rule set."""

    rules: RuleSet

    def may_move(self, state: Placement, broker: Word, slot: Word) -> Conjuncts:
        """An operator asks for another directory; refused while any directory is offline, or a move runs."""
        host = state.host(broker)
        return {
            "replica is served": host.serving(),
            "every directory works": negate(host.some_offline()),
            "no move runs": host.future == NOTHING,
            "it is another directory": negate(host.current() == slot),
            "a move is left": state.left.moves > 0,
        }

    def move(self, state: Placement, broker: Word, slot: Word) -> Placement:
        """AlterReplicaLogDirs: an empty future log is made."""
        host = evolve(state.host(broker), future=slot, copied=False, promotion=IDLE)
        return state.spend("moves").with_host(broker, host)

    def may_cancel(self, state: Placement, broker: Word) -> Conjuncts:
        """An operator asks for the directory where the replica is."""
        return {"a move runs": state.host(broker).moving(), "a move is left": state.left.moves > 0}

    def cancel(self, state: Placement, broker: Word) -> Placement:
        """AlterReplicaLogDirs back: the future log is deleted, its assignment taken back."""
        host = state.host(broker)
        reverted = host.enqueue(negate(host.promotion == IDLE), host.actual())
        reverted = evolve(reverted, future=NOTHING, copied=False, promotion=IDLE)
        return state.spend("moves").with_host(broker, reverted)

    def may_copy(self, state: Placement, broker: Word) -> Conjuncts:
        """The future log is behind."""
        host = state.host(broker)
        return {"a move runs": host.moving(), "future log is behind": negate(host.copied)}

    def copy(self, state: Placement, broker: Word) -> Placement:
        """The future log catches up."""
        return state.with_host(broker, evolve(state.host(broker), copied=True))

    def may_request(self, state: Placement, broker: Word) -> Conjuncts:
        """The future log is level for the first time."""
        host = state.host(broker)
        return {
            "a move runs": host.moving(),
            "future log is level": host.copied,
            "no assignment was asked for": host.promotion == IDLE,
        }

    def request(self, state: Placement, broker: Word) -> Placement:
        """The assignment of the future log's directory is queued."""
        host = state.host(broker)
        asked = host.enqueue(True, host.directory(host.future))
        return state.with_host(broker, evolve(asked, promotion=QUEUED))

    @rule("move.promoted-when-level",
          source="KIP-113; semantics 6.6; ReplicaAlterLogDirsThread.maybePromoteFutureReplica",
          switches=("promotion-ignores-offsets",),
          says="A future log replaces the current one only when it has caught up.")  # fmt: skip
    @rule("move.promoted-when-accepted",
          source="KIP-858; semantics 6.6; ReplicaAlterLogDirsThread.maybePromoteFutureReplica",
          switches=("promotion-unacknowledged",),
          says="A future log replaces the current one only after the controller has accepted its "
               "directory.")  # fmt: skip
    def may_promote(self, state: Placement, broker: Word) -> Conjuncts:
        """The controller has accepted the assignment, and the future log is level."""
        host = state.host(broker)
        return {
            "a move runs": host.moving(),
            "assignment is accepted": any_of(
                self.rules.directories.promotion_unacknowledged, host.promotion == ACCEPTED
            ),
            "future log is level": any_of(self.rules.directories.promotion_ignores_offsets, host.copied),
        }

    def promote(self, state: Placement, broker: Word) -> Placement:
        """The future log becomes the current one; the old one is deleted."""
        host = state.host(broker)
        level = all_of(host.copied, host.whole.has(host.current()))
        old, new = host.disks.just(host.current()), host.disks.just(host.future)
        after = evolve(
            host,
            logs=host.logs.minus(old).plus(new),
            whole=host.whole.minus(old).plus(choose(level, new, Slots())),
            future=NOTHING, copied=False, promotion=IDLE,
        )  # fmt: skip
        return state.with_host(broker, after)

    def may_send(self, state: Placement, broker: Word) -> Conjuncts:
        """One request is in flight at a time; what is no replica any more is dropped, not sent."""
        host = state.host(broker)
        return {
            "broker runs": host.up,
            "an assignment waits": negate(host.ready == NOTHING),
            "none is in flight": host.sent == NOTHING,
            "broker is a replica": negate(host.replica == ABSENT),
        }

    def send(self, state: Placement, broker: Word) -> Placement:
        """AssignReplicasToDirs leaves the broker."""
        host = state.host(broker)
        return state.with_host(broker, evolve(host, sent=host.ready, ready=NOTHING, answered=False))

    def may_assign(self, state: Placement, broker: Word) -> Conjuncts:
        """The controller processes the request in flight; else NOT_LEADER_OR_FOLLOWER or STALE_BROKER_EPOCH."""
        host = state.host(broker)
        return {
            **guards.may_assign(state.controller, broker, host.sent),
            "a request is in flight": all_of(host.up, negate(host.sent == NOTHING)),
            "it is not processed": negate(host.answered),
        }

    def assign(self, state: Placement, broker: Word) -> Outcome:
        """AssignReplicasToDirs."""
        host = state.host(broker)
        told = self._assigned(state, broker, host.sent)
        return decided(state.with_host(broker, evolve(host, answered=True)), told, self.rules.directories)

    @rule("assignment.offline-directory-leads-away", source="KIP-858; catalogue 46; semantics 6.2",
          switches=("offline-assignment-ignored",),
          says="An assignment to an offline directory ends the broker's leadership and ISR membership.")  # fmt: skip
    def _assigned(self, state: Placement, broker: Word, directory: Word) -> Outcome:
        if not self.rules.directories.offline_assignment_ignored:
            return Triggers(self.rules).assign(state.controller, broker, directory)
        # The defect: the entry changes, and nothing else.
        changed = evolve(state.controller, directories=state.controller.directories.moved(broker, directory))
        written = choose(directory == state.assigned(broker), 0, 1)
        return Outcome(changed, evolve(start(state.controller).event, records=written, partition_epoch_bumps=written))

    def may_answer(self, state: Placement, broker: Word) -> Conjuncts:
        """The reply is on its way."""
        host = state.host(broker)
        return {"a request is in flight": negate(host.sent == NOTHING), "it is processed": host.answered}

    def answer(self, state: Placement, broker: Word) -> Placement:
        """The reply arrives; a move whose assignment it confirms is accepted."""
        host = state.host(broker)
        confirmed = all_of(host.moving(), host.directory(host.future) == host.sent)
        promotion = choose(confirmed, ACCEPTED, host.promotion)
        return state.with_host(broker, evolve(host, sent=NOTHING, answered=False, promotion=promotion))

    def may_lose(self, state: Placement, broker: Word, copy: Truth) -> Conjuncts:
        """A request or its reply is lost or late; a copy may still be on its way."""
        host = state.host(broker)
        able = all_of(state.left.copies > 0, negate(host.answered), host.late == NOTHING)
        return {
            "a request is in flight": negate(host.sent == NOTHING),
            "a copy may survive": any_of(negate(copy), able),
        }

    def lose(self, state: Placement, broker: Word, copy: Truth) -> Placement:
        """It is sent again, unless a newer assignment waits or the replica is gone."""
        host = state.host(broker)
        again = host.enqueue(all_of(host.ready == NOTHING, negate(host.replica == ABSENT)), host.sent)
        lost = evolve(again, sent=NOTHING, answered=False, late=choose(copy, host.sent, host.late))
        return state.spend("copies", word(copy)).with_host(broker, lost)

    def may_assign_late(self, state: Placement, broker: Word) -> Conjuncts:
        """A copy of an abandoned request reaches the controller."""
        return {"a copy is under way": negate(state.host(broker).late == NOTHING)}

    @rule("assignment.abandoned-is-refused", source="KIP-858; semantics 6.5",
          switches=("abandoned-assignments-accepted",),
          says="A copy of an assignment that its broker has given up is refused.")  # fmt: skip
    @rule("assignment.of-current-incarnation", source="KIP-858; semantics 6.2",
          switches=("assignment-ignores-broker-epoch",),
          says="An assignment of an earlier incarnation is refused.")  # fmt: skip
    def assign_late(self, state: Placement, broker: Word) -> Outcome:
        """The controller processes it, or refuses it: STALE_BROKER_EPOCH, NOT_LEADER_OR_FOLLOWER.

        The right rule also refuses what is out of order; no request of Kafka's says so much.
        """
        host = state.host(broker)
        known = guards.may_assign(state.controller, broker, host.late)
        current = True if self.rules.directories.assignment_ignores_broker_epoch else negate(host.late_stale)
        ordered = all_of(negate(host.late_stale), not self.rules.directories.abandoned_assignments_accepted)
        accepted = all_of(current, negate(ordered), *known.values())
        spent = state.with_host(broker, evolve(host, late=NOTHING, late_stale=False))
        done = decided(spent, self._assigned(state, broker, host.late), self.rules.directories)
        refused = decided(spent, nothing(state), self.rules.directories, True)
        return choose_outcome(accepted, done, refused)

    @rule("assignment.authorized", source="KIP-858", switches=("assignment-unauthorized",),
          says="An assignment needs CLUSTER_ACTION on CLUSTER.")  # fmt: skip
    def intrude(self, state: Placement, broker: Word, directory: Word) -> Outcome:
        """A client without CLUSTER_ACTION on CLUSTER sends an assignment: CLUSTER_AUTHORIZATION_FAILED."""
        if self.rules.directories.assignment_unauthorized:
            return decided(state, self._assigned(state, broker, directory), self.rules.directories)
        return decided(state, nothing(state), self.rules.directories, True)

    def may_intrude(self, state: Placement, broker: Word, directory: Word) -> Conjuncts:
        """The request names a replica and its current broker epoch."""
        return dict(guards.may_assign(state.controller, broker, directory))


def nothing(state: Placement) -> Outcome:
    """The controller's outcome of an event that changes nothing."""
    return Outcome(state.controller, start(state.controller).event)


def choose_outcome(condition: Truth, then: Outcome, otherwise: Outcome) -> Outcome:
    """One of two outcomes, the second of which writes no record."""
    written = tuple(gate(change, condition) for change in then.records)
    chosen = choose(condition, then.state, otherwise.state)
    return Outcome(chosen, choose(condition, then.event, otherwise.event), written)
