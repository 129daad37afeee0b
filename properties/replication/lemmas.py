"""Lemmas of `replication`: what must hold besides its invariants for some of them to be inductive."""

from __future__ import annotations

from collections.abc import Callable

from kraftcheck.model.language.anynumber import each_record
from kraftcheck.model.language.system import ANY, Conjuncts, Property, Setting
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import NO_LEADER, all_of, any_of, choose, implies, negate
from kraftcheck.model.systems.replication.endless import unbounded
from kraftcheck.model.systems.replication.log import of_each
from kraftcheck.model.systems.replication.state import ACCEPTED, NONE, OVERTAKEN, UNKNOWN, Broker, Replication
from kraftcheck.properties.elections.lemmas import of_controller
from kraftcheck.properties.elections.outsiders import needed_isr
from kraftcheck.properties.kinds import always
from kraftcheck.properties.replication import lemmas_commits, lemmas_logs
from kraftcheck.properties.replication.durability import each_leading, each_led, needed_isr_at
from kraftcheck.properties.replication.lemmas_logs import step_lemmas

DECIDED = ("controller", "lossy")  # what events of the controller decide


def lemmas(setting: Setting) -> tuple[Property, ...]:
    """The lemmas at a setting; each is true in every reachable state, and explored as such."""
    return (
        always("lemma-history-is-current", "the metadata log has the current leader, and none of later epochs",
               _history),
        always("lemma-nobody-is-ahead", "no broker has applied a leader epoch that is not written yet",
               lambda s: each_record(s.brokers, lambda _, b: b.epoch <= s.leader_epoch)),
        always("lemma-answers-answer-something", "an answer is under way only to a proposal that is pending",
               lambda s: each_record(s.brokers, lambda _, b: any_of(b.answer == NONE, b.pending()))),
        always("lemma-request-is-the-leaders", "a request in flight is what the leader has proposed, if it still leads",
               _request),
        always("lemma-accepted-is-the-isr", "an accepted proposal that nothing overtook is the controller's ISR",
               lambda s: _leaders(s, lambda b: implies(b.answer == ACCEPTED, b.proposed.same(s.controller.isr)))),
        always("lemma-accepted-while-current-is-known",
               "an accepted proposal of a leader that has applied all metadata is the ISR that it knows",
               lambda s: _leaders(s, lambda b: implies(
                   all_of(_is_accepted(b), b.current), b.proposed.same(b.isr)))),
        always("lemma-known-covers-candidates", "what a leader was told, or will be, covers ISR and ELR at min ISR",
               lambda s: _leaders(s, lambda b: _covered(s, b)),
               rests_on=(("lemma-one-min-isr", "lemma-controller-elr-empty-at-min-isr", "metadata-match",
                          "lemma-request-is-the-leaders", "lemma-history-is-current", "lemma-nobody-is-ahead",
                          "lemma-controller-leader-in-isr", "lemma-accepted-is-the-isr",
                          "lemma-accepted-while-current-is-known"),)),
        *_of_any_number(setting),
        *_of_logs(setting),
        *of_controller(setting),
    )  # fmt: skip


def _of_any_number(setting: Setting) -> tuple[Property, ...]:
    """What the layout of a fixed number of brokers says: all have registered, and none follows itself."""
    if setting["brokers"] != ANY:
        return ()
    return (
        always("lemma-running-is-registered", "who runs has registered",
               lambda s: each_record(s.brokers, lambda n, b: implies(b.running(), s.controller.registered.has(n)))),
        always("lemma-no-end-of-its-own", "no leader fetches from itself",
               lambda s: each_record(s.brokers, lambda n, b: b.end_of(n) == UNKNOWN)),
        *_one_min_isr(setting),
    )  # fmt: skip


def _one_min_isr(setting: Setting) -> tuple[Property, ...]:
    """What the layout of a fixed number says while nobody may configure or reassign."""
    if setting["config-changes"] or setting["reassignments"]:
        return ()
    return (
        always("lemma-one-min-isr", "every leader goes, or will go, by the controller's min ISR",
               lambda s: {**_led_by_min_isr(s), **each_leading(
                   s, lambda _, __, b: b.min_isr == needed_isr(s.controller))}),
    )  # fmt: skip


def _led_by_min_isr(s: Replication) -> Conjuncts:
    def yet_to_lead(n: Word, epoch: Word, leader: Word) -> Truth:
        b = s.broker(n)
        waits = all_of(leader == n, b.running(), b.epoch < epoch, s.leader_epoch > epoch)
        return implies(waits, needed_isr_at(s, epoch) == needed_isr(s.controller))

    return {f"{name}, once it leads": truth for name, truth in each_led(s, yet_to_lead).items()}


def _of_logs(setting: Setting) -> tuple[Property, ...]:
    """What keeps committed records safe; without ELR some of it is false, and so are the claims that it is for."""
    if not (setting["elr"] and setting.rules.partition.elr_available):
        return ()
    steps = step_lemmas() if setting["brokers"] == ANY and unbounded(setting) else ()
    return (*lemmas_logs.lemmas(setting), *lemmas_commits.lemmas(setting), *steps)


def _leaders(s: Replication, claim: Callable[[Broker], Truth]) -> Conjuncts:
    """A claim about each broker that leads in the current leader epoch."""
    return each_leading(s, lambda _, epoch, b: implies(epoch == s.leader_epoch, claim(b)))


def _request(s: Replication) -> Conjuncts:
    asked = negate(s.request.isr.is_empty())
    return each_record(
        s.brokers,
        lambda n, b: implies(
            all_of(asked, s.controller.leader == n, b.running()),
            all_of(b.epoch == s.leader_epoch, b.current, b.proposed.same(s.request.isr)),
        ),
    )


def _is_accepted(b: Broker) -> Truth:
    return any_of(b.answer == ACCEPTED, b.answer == OVERTAKEN)


def _covered(s: Replication, b: Broker) -> Truth:
    known = choose(_is_accepted(b), b.proposed, b.isr)
    candidates = s.controller.isr.plus(s.controller.elr)
    return implies(known.size() >= b.min_isr, candidates.within(known))


def _history(s: Replication) -> Conjuncts:
    parts = of_each(s.leaders, lambda e, leader: implies(s.leader_epoch < e, leader == NO_LEADER))
    return {**parts, "the current leader": s.leader_at(s.leader_epoch) == s.controller.leader}
