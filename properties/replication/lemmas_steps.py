"""Lemmas about steps of `replication`: what an event of the controller makes of the partition."""

from __future__ import annotations

from kraftcheck.model.language.anynumber import each_record
from kraftcheck.model.language.system import Conjuncts, Property, Step
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, any_of, implies, negate
from kraftcheck.model.systems.replication.state import ACCEPTED, STOPPED_UNCLEAN, Broker
from kraftcheck.properties.elections.stated import needed_isr
from kraftcheck.properties.kinds import step
from kraftcheck.properties.replication.leaders import each_leading
from kraftcheck.properties.replication.lemmas_logs import asked, candidates, dead, eligible

STEPS = (
    "lemma-epoch-rises-with-leader", "lemma-candidates-join-by-request", "lemma-elected-were-eligible",
    "lemma-change-ends-the-request", "lemma-min-isr-empties-elr", "lemma-restart-ends-leadership",
    "lemma-accepted-is-the-isr stays", "lemma-known-covers-candidates stays", "lemma-controller-leader-in-isr stays",
)  # fmt: skip
"""What the controller's decisions are known by: the lemmas, and invariants that stay."""


def lemmas() -> tuple[Property, ...]:
    """The lemmas; each is true of every step while ELR is on."""
    return (
        step("lemma-epoch-rises-with-leader", "another leader means a leader epoch more, and no loss is undone",
             _epoch),
        step("lemma-candidates-join-by-request", "who joins ISR or ELR was asked for, by a request that is accepted",
             _candidates),
        step("lemma-elected-were-eligible", "who is elected was in ISR or ELR, unless records are lost", _elected),
        step("lemma-change-ends-the-request", "a partition that changes ends the request in flight", _request),
        step("lemma-min-isr-empties-elr", "a step that leaves the ISR at min ISR leaves no ELR", _elr),
        step("lemma-living-candidates-stay", "who leaves ISR and ELR below min ISR has stopped uncleanly", _living),
        step("lemma-restart-ends-leadership", "who is back leads nothing, and is no candidate after an unclean stop",
             _back),
    )  # fmt: skip


def _epoch(step: Step) -> Conjuncts:
    before, after = step.before, step.after
    same = after.leader_epoch == before.leader_epoch
    return {
        "not before": after.leader_epoch >= before.leader_epoch,
        "by one": after.leader_epoch <= before.leader_epoch + 1,
        "the leader": implies(same, after.controller.leader == before.controller.leader),
        "a loss": any_of(after.lossy, negate(before.lossy)),
    }


def _candidates(step: Step) -> Conjuncts:
    before, after = step.before, step.after
    new = eligible(after).minus(eligible(before))
    accepted = all_of(*each_leading(
        after, lambda _, epoch, b: implies(epoch == after.leader_epoch, b.answer == ACCEPTED)).values())  # fmt: skip
    return {
        "asked": any_of(after.lossy, new.within(asked(before))),
        "accepted": any_of(after.lossy, new.is_empty(), all_of(after.leader_epoch == before.leader_epoch, accepted)),
    }


def _elected(step: Step) -> Truth:
    leader = step.after.controller.leader
    stays = leader == step.before.controller.leader
    return any_of(step.after.lossy, leader < 0, stays, eligible(step.before).has(leader))


def _request(step: Step) -> Truth:
    before, after = step.before, step.after
    same = all_of(
        after.leader_epoch == before.leader_epoch, after.controller.isr.same(before.controller.isr),
        after.controller.elr.same(before.controller.elr),
    )  # fmt: skip
    return any_of(same, after.request.isr.is_empty())


def _elr(step: Step) -> Truth:
    controller = step.after.controller
    return any_of(controller.elr.is_empty(), controller.isr.size() < needed_isr(controller))


def _living(step: Step) -> Truth:
    controller = step.after.controller
    at_min_isr = controller.isr.size() >= needed_isr(controller)
    leave = eligible(step.before).minus(eligible(step.after))
    return any_of(step.after.lossy, at_min_isr, leave.within(dead(step.before)))


def _back(step: Step) -> Conjuncts:
    before, after = step.before, step.after

    def loses(n: Word, b: Broker) -> Truth:
        back = all_of(negate(b.running()), after.broker(n).running())
        no_candidate = any_of(b.status != STOPPED_UNCLEAN, negate(candidates(after).has(n)))
        return any_of(after.lossy, implies(back, all_of(negate(after.controller.leader == n), no_candidate)))

    return each_record(before.brokers, loses)
