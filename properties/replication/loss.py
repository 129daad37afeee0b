"""Loss: which may happen, by whose permission or after how many deaths, and claims that no other does.

Nothing here asks an election whether it was clean. What is lost is told from the logs; who was let to lead from the
two registrations; permission from the topic's configuration and from what operators have asked for; deaths from their
budget.
"""

from __future__ import annotations

from attrs import evolve

from kraftcheck.model.language.anynumber import each_record, some_records
from kraftcheck.model.language.system import Conjuncts, Property, Setting, Step
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, any_of, choose, implies, negate
from kraftcheck.model.systems.replication.state import STOPPED_UNCLEAN, Broker, Replication
from kraftcheck.properties.elections.outsiders import (
    ObservedStep,
    by_permission,
    changed,
    needed_isr,
    only_when_allowed,
    working,
)
from kraftcheck.properties.kinds import always, happens, sometimes, step

VARIANTS = ("unclean-election-unasked", "last-known-elected-beside-elr")
"""Elections that lose what nobody has allowed to be lost."""

CHECKED = ("election.unclean.only-where-allowed", "election.last-known.isr-and-elr-empty")
"""The rules of who may lead from outside."""

REGISTERING = ("register", "start")  # the actions by which a process comes back, in `replication` and in `kraft`

PAID = "without permission, and before as many deaths as min ISR, nobody from outside ISR and ELR has led"
PASSED_OVER = (
    "a new leader that runs has every acknowledged record, but by permission or after as many deaths as min ISR; and "
    "no outsider that lacks one leads beside an ISR or ELR member that has all"
)


def properties(setting: Setting) -> list[Property]:
    """The claims on leaders from outside, and on their losses."""
    return [
        only_when_allowed(lambda t: by_permission(change(t)), CHECKED),
        always("loss-is-paid-for", PAID, lambda s: paid_for(s, excused(s, setting)), "KIP-966", VARIANTS,
               rules=CHECKED,
               rests_on=(("lemma-living-quorum", "lemma-elr-as-configured", "lemma-deaths-are-counted",
                          "lemma-controller-leader-in-isr"),)),
        step("no-survivor-passed-over", PASSED_OVER, lambda t: survivors_lead(t, change(t), excused(t.after, setting)),
             "KIP-966", VARIANTS, rules=CHECKED),
        *_goals(setting),
    ]  # fmt: skip


def _goals(setting: Setting) -> list[Property]:
    """That the claims have something to say, and that what they allow happens."""
    claims = []
    dies = min(setting["unclean-stops"], setting["min-isr"] - 1) > 0
    if dies or setting["fences"]:
        claims.append(
            happens(
                "shows-succession",
                "while none may be lost, a record is acknowledged and a leader elected that "
                "runs; after a death, where one is allowed",
                lambda t: _succeeds(t, excused(t.after, setting), died(t.after, setting) >= int(dies)),
            )
        )
    if setting["unclean-stops"]:
        claims.append(happens("shows-expiry", "the session of a broker that has died is over", _expires))
        if setting["loss"] and setting["records"]:
            claims.append(happens("shows-unflushed", "a broker dies, and a record was not flushed", _unflushed))
    elr = setting["elr"] and setting.rules.partition.elr_available
    if elr and setting["unclean-stops"] >= setting["min-isr"]:
        claims.append(
            sometimes(
                "shows-paid-loss",
                "after as many deaths as min ISR an outsider has led, without permission",
                lambda s: all_of(s.lossy, negate(permitted(s, setting))),
            )
        )
    return claims


def _succeeds(t: Step, excuse: Truth, died_: Truth) -> Truth:
    leader = t.after.controller.leader
    led = any_of(*some_records(t.after.brokers, lambda n, b: all_of(leader == n, b.running())))
    return all_of(change(t).elects(), led, t.after.acknowledged > 0, died_, negate(excuse))


def _expires(t: Step) -> Truth:
    if t.action != "fence":
        return False
    broker = t.arguments["broker"]
    return all_of(negate(t.before.broker(broker).running()), t.after.controller.fenced.has(broker))


def _unflushed(t: Step) -> Truth:
    if t.action != "crash":
        return False
    broker = t.arguments["broker"]
    before, after = t.before.broker(broker).log.end(), t.after.broker(broker).log.end()
    return negate(after == before)


def change(t: Step) -> ObservedStep:
    """A step of `replication`, or of the half of `kraft` that is, as the controller sees it."""
    before: Replication = t.before
    found = changed(before.controller, t.after.controller, t.action)
    if t.action == "alter_partition":
        return evolve(found, proposed=before.request.isr)
    if t.action in REGISTERING:
        back = t.arguments["broker"]
        died_ = before.broker(back).status == STOPPED_UNCLEAN
        return evolve(found, lost=choose(died_, found.lost.just(back), found.lost))
    return found


def died(s: Replication, setting: Setting) -> Word:
    """How many processes have died."""
    return s.deaths if "unclean-stops" in setting.freed else setting["unclean-stops"] - s.left.unclean_stops


def untouched(s: Replication, setting: Setting) -> Truth:
    """Whether the effective min ISR is that of the start: nobody has configured or reassigned."""
    return all_of(s.left.config_changes == setting["config-changes"], s.left.reassignments == setting["reassignments"])


def quorum(s: Replication, setting: Setting) -> Word:
    """How many logs an acknowledged record was in: once the min ISR may have been another one, one for certain."""
    return choose(untouched(s, setting), needed_isr(s.controller), 1)


def permitted(s: Replication, setting: Setting) -> Truth:
    """Whether the topic allows unclean elections, or an operator has asked for one, or for a leader by name."""
    return any_of(s.controller.unclean_election, s.left.unclean_elections < setting["unclean-elections"])


def excused(s: Replication, setting: Setting, failed: Word = 0) -> Truth:
    """Whether records may be lost by now: by permission, or, with ELR on, after as many deaths as min ISR.

    `failed` counts what else a log was lost by.
    """
    dead = died(s, setting) + failed >= quorum(s, setting)
    return any_of(permitted(s, setting), all_of(s.controller.elr_enabled, dead))


def forgiven(s: Replication, excuse: Truth) -> Truth:
    """Whether claims about records say nothing more: records may be lost, and an outsider has led.

    While none has, nothing is forgiven, whatever was permitted and whoever has died.
    """
    return all_of(s.lossy, excuse)


def paid_for(s: Replication, excuse: Truth) -> Truth:
    """No outsider has led while no record may be lost."""
    return implies(negate(excuse), negate(s.lossy))


def survivors_lead(t: Step, seen: ObservedStep, excuse: Truth) -> Conjuncts:
    """A new leader that runs has what was acknowledged; told from logs, and from who is in ISR and ELR before.

    Args:
        seen: the step as the controller sees it.
        excuse: whether records may be lost after it.
    """
    after: Replication = t.after
    controller = after.controller

    def complete(b: Broker) -> Truth:
        return b.log.agrees(after.committed, after.acknowledged)

    def elected(n: Word, b: Broker) -> Truth:
        return all_of(seen.elects(), controller.leader == n, b.running())

    survives = any_of(*some_records(after.brokers, lambda n, b: all_of(
        seen.eligible().has(n), working(controller).has(n), b.running(), complete(b))))  # fmt: skip
    beside = all_of(seen.seats_outsider(), negate(seen.was_asked()), survives)
    asked = any_of(negate(excuse), beside)
    return each_record(after.brokers, lambda n, b: implies(all_of(elected(n, b), asked), complete(b)))
