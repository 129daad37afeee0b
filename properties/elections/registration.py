"""The registration of a partition: membership, disjointness, reassignment sets."""

from __future__ import annotations

import itertools

from kraftcheck.model.language.anynumber import AnyReplicas, each_broker
from kraftcheck.model.language.system import Conjuncts, Property, Setting, Step
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import NO_LEADER, all_of, any_of, implies, negate, none_of, same_truth
from kraftcheck.model.systems.elections.state import Elections
from kraftcheck.properties.elections.outsiders import change
from kraftcheck.properties.kinds import always, step

OF_REASSIGNMENTS = (
    "target-is-kept", "reassignment-keeps-a-leader", "reassignment-is-under-way", "added-until-in-sync",
)  # fmt: skip
"""Claims that say nothing where replicas are not reassigned."""


def properties(setting: Setting) -> list[Property]:
    """Invariants 1-9 and 14-16."""
    claims = [*_sets(), *_reassignments()]
    # After a downgrade the state no longer says whether ELR ever was on.
    left_out = {"isr-kept-without-elr"} if setting.rules.partition.elr_downgrade else set()
    return [c for c in claims if c.id not in (left_out if setting["reassignment"] else {*left_out, *OF_REASSIGNMENTS})]


def _sets() -> list[Property]:
    """Of replicas, ISR, ELR and the last-known list."""
    return [
        always("replicas-distinct", "a partition has a replica, and no replica twice", _distinct,
               "invariant 1; PartitionRegistration", ("reassignment-repeats-replicas",),
               rules=("reassignment.no-replica-twice",)),
        always("isr-within-replicas", "every ISR member is a replica", lambda s: s.isr.within(s.replicas),
               "invariant 2; KIP-497",
               ("dead-last-known-leader-electable", "designated-elections+designated-may-be-leaving"),
               rules=("election.last-known.alive", "elect-leaders.designated-type",
                      "election.designated.not-being-removed", "reassignment.cancel.original-left",
                      "alter-partition.isr-of-replicas-with-leader")),
        always("leader-in-isr", "the leader is an ISR member",
               lambda s: implies(s.leader >= 0, s.isr.has(s.leader)),
               "invariant 3; KIP-497", ("passes-share-one-base", "removed-replicas-stay-in-elr"),
               rules=("assignment.one-pass", "heartbeat.directories-first",
                      "event.later-pass-sees-earlier", "elr.within-replicas")),
        always("leader-is-replica", "the leader is a replica",
               lambda s: implies(s.leader >= 0, s.replicas.has(s.leader)),
               "invariant 4; PartitionRegistration",
               ("dead-last-known-leader-electable", "removed-replicas-stay-in-elr"),
               rules=("election.last-known.alive", "elr.within-replicas")),
        always("isr-kept-without-elr", "while ELR was never on, the ISR is not empty",
               lambda s: implies(negate(s.elr_enabled), negate(s.isr.is_empty())),
               "invariant 5; KIP-966 motivation", ("isr-may-empty-without-elr",),
               rules=("isr.last-member-stays-without-elr",)),
        always("isr-elr-disjoint", "no broker is in both ISR and ELR", lambda s: s.isr.keep(s.elr).is_empty(),
               "invariant 6; KIP-966", ("elr-keeps-isr-members",),
               rules=("elr.excludes-isr", "election.elr.winner-alone-in-isr")),
        always("elr-within-replicas", "every ELR member is a replica",
               lambda s: implies(negate(s.elr.is_empty()), s.elr.within(s.replicas)),
               "invariant 7; KIP-966", ("removed-replicas-stay-in-elr",),
               rules=("elr.within-replicas",)),
        always("last-known-is-one-replica", "the last-known list holds at most one broker, a replica",
               lambda s: s.last_known_elr.within(s.replicas), "invariant 8; KIP-966",
               ("last-known-leader-may-be-none", "removed-replica-stays-last-known+unclean-cancel-is-silent"),
               rules=("last-known.is-a-broker", "last-known.is-a-replica",
                      "reassignment.cancel.loss-is-marked")),
        step("last-known-is-remembered",
             "a last known leader that stays a replica is remembered until there is a leader", _remembered,
             "KIP-966; B5", ("min-isr-change-clears-every-elr",
              "unclean-cancel-is-silent"),
             rules=("last-known.remembered-as-isr-empties", "last-known.is-a-broker",
                    "min-isr.change-keeps-clean-replicas", "reassignment.cancel.loss-is-marked")),
        always("last-known-while-leaderless", "with ELR on, a last known leader is kept only while there is none",
               lambda s: any_of(negate(s.elr_enabled), s.last_known_elr.is_empty(), s.leader == NO_LEADER),
               "invariant 9; KIP-966", ("assignment-clears-elr+switched-off-elr-is-neglected",
                "elr-downgrade+switched-off-elr-is-neglected"),
               rules=("assignment.keeps-elr", "last-known.forgotten-with-elr-off")),
    ]  # fmt: skip


def _reassignments() -> list[Property]:
    """Of the sets of a reassignment, and when it completes."""
    return [
        always("reassigned-are-replicas", "adding and removing replicas are replicas",
               lambda s: s.adding.plus(s.removing).within(s.replicas),
               "invariant 14; KIP-455", ("completion-keeps-removing",),
               rules=("reassignment.completion.every-build", "reassignment.plan.target-first")),
        always("adding-removing-disjoint", "no replica is both added and removed",
               lambda s: s.adding.keep(s.removing).is_empty(),
               "invariant 15; KIP-455", ("retarget-keeps-old-reassignment",),
               rules=("reassignment.retarget-replaces-both-sets",)),
        step("complete-when-in-sync", "a build under an unchanged leader leaves no completable reassignment",
             _not_completable, "invariant 16; PartitionReassignmentReplicas", ("completion-needs-every-replica",),
             rules=("reassignment.completion.every-build",)),
        step("completes-in-sync", "a reassignment completes only once every replica that stays is in sync",
             _completes_in_sync, "KIP-455; PartitionReassignmentReplicas",
             ("completion-ignores-isr", "completion-needs-adding-only"),
             rules=("reassignment.completion.in-sync", "reassignment.completion.waits-for-stayers")),
        step("reassignment-ends-at-target", "a reassignment that is requested leaves its target, and no other replica",
             lambda t: negate(t.event.misdirected),
             "KIP-455; B10", ("retarget-keeps-old-reassignment",),
             rules=("reassignment.retarget-replaces-both-sets", "reassignment.plan.target-first")),
        step("reassignment-is-under-way",
             "a reassignment that is requested is under way afterwards, or has ended with what it adds in sync",
             _under_way, "KIP-455", ("retarget-keeps-old-reassignment", "retarget-forgets-additions"),
             rules=("reassignment.retarget-replaces-both-sets", "reassignment.plan.target-first",
                    "reassignment.plan.waits-for-added")),
        step("added-until-in-sync",
             "a replica that is being added stays so until it is in sync, or is not asked for any more", _added,
             "KIP-455", ("retarget-forgets-additions",), rules=("reassignment.plan.waits-for-added",)),
        step("target-is-kept", "until another request the target of a reassignment stays, and is what its end leaves",
             _target_kept, "invariant 43; KIP-455", ("completion-sorts-replicas",),
             rules=("reassignment.completion.order-of-target",)),
        step("reassignment-keeps-a-leader", "no reassignment, nor its cancellation, leaves a led partition leaderless",
             lambda t: any_of(t.action not in ("reassign", "cancel"), t.before.leader < 0, t.after.leader >= 0),
             "KAFKA-14808; KAFKA-14424",
             ("retarget-drops-added-replicas", "cancel-ignores-permission", "unclean-cancel-is-silent"),
             rules=("reassignment.retarget-keeps-added-replicas", "reassignment.cancel.original-left",
                    "reassignment.cancel.loss-is-marked")),
    ]  # fmt: skip


def _distinct(s: Elections) -> Conjuncts:
    if isinstance(s.replicas, AnyReplicas):
        return {"there is a replica": negate(s.replicas.is_empty()), "it is a list": s.replicas.ranked()}
    slots = s.replicas.slots
    repeated = (
        (f"slots {i} and {j} differ", none_of(all_of(slots[i] == slots[j], slots[i] >= 0)))
        for i, j in itertools.combinations(range(len(slots)), 2)
    )
    return {"there is a replica": slots[0] >= 0, **dict(repeated)}


def _remembered(t: Step) -> Conjuncts:
    before: Elections = t.before
    after: Elections = t.after

    def kept(b: Word) -> Truth:
        leaderless = all_of(before.leader == NO_LEADER, after.leader == NO_LEADER, after.replicas.has(b))
        return implies(all_of(leaderless, before.last_known_elr.has(b)), after.last_known_elr.has(b))

    return each_broker(before.online_dirs, kept)


def _completes_in_sync(t: Step) -> Truth:
    # An election from outside the ISR in the same event leaves the winner alone there.
    ordinary = all_of(t.event.completed, negate(change(t).seats_outsider()), negate(t.event.from_elr))
    return implies(ordinary, t.after.replicas.within(t.after.isr))


def _not_completable(t: Step) -> Truth:
    if t.action == "set_min_isr":
        return True  # its record only clears the ELR; no build is run
    after: Elections = t.after
    stays_led = all_of(t.event.records > 0, t.before.leader == after.leader, after.leader >= 0)
    left = after.isr.minus(after.removing)
    staying = after.replicas.minus(after.removing)
    completable = all_of(
        negate(all_of(after.adding.is_empty(), after.removing.is_empty())),
        staying.within(left),
        any_of(after.removing.is_empty(), negate(left.is_empty())),
    )
    return negate(all_of(stays_led, completable))


def _under_way(t: Step) -> Truth | Conjuncts:
    """An election from outside the ISR in the same event leaves the winner alone there."""
    if t.action != "reassign":
        return True
    before: Elections = t.before
    after: Elections = t.after
    target = t.arguments["target"]
    new = target.minus(before.replicas.minus(before.adding))
    elected = negate(before.leader == after.leader)
    ended = all_of(after.adding.is_empty(), after.removing.is_empty(), any_of(new.within(after.isr), elected))

    def listed(b: Word) -> Truth:
        removed = all_of(before.replicas.has(b), negate(target.has(b)))
        under_way = all_of(same_truth(after.adding.has(b), new.has(b)), same_truth(after.removing.has(b), removed))
        return any_of(t.event.resigned, ended, under_way)

    return each_broker(before.online_dirs, listed)


def _added(t: Step) -> Conjuncts:
    """An election from outside the ISR in the same event leaves the winner alone there."""
    before: Elections = t.before
    after: Elections = t.after
    elected = negate(before.leader == after.leader)

    def waits(b: Word) -> Truth:
        asked_for = all_of(after.replicas.has(b), negate(after.removing.has(b)))
        waited = any_of(after.adding.has(b), after.isr.has(b), elected)
        return implies(all_of(before.adding.has(b), asked_for), waited)

    return each_broker(before.online_dirs, waits)


def _target_kept(t: Step) -> Truth:
    if t.action in ("reassign", "cancel"):
        return True
    before: Elections = t.before
    after: Elections = t.after
    return after.replicas.minus(after.removing).same(before.replicas.minus(before.removing))
