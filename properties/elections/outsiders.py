"""What properties of `elections` ask of brokers, and leaders from outside ISR and ELR."""

from __future__ import annotations

from typing import Protocol

from attrs import evolve, frozen

from kraftcheck.model.language.anynumber import brokers_where, each_broker
from kraftcheck.model.language.brokersets import Brokers, BrokerSet
from kraftcheck.model.language.system import Conjuncts, Property, Setting, Step
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, any_of, choose, implies, negate
from kraftcheck.model.partition.registration import FIRST_LOCAL, LOST, MIGRATING, UNASSIGNED
from kraftcheck.model.systems.elections.state import Elections
from kraftcheck.properties.kinds import Predicate, step

PREFERRED = ("elect_preferred", "balance_timer")  # what seats the first replica, where it may lead


class Configured(Protocol):
    """The configuration that the min ISR of a partition depends on."""

    @property
    def replicas(self) -> Brokers:
        """The replicas."""

    @property
    def min_insync_replicas(self) -> Word:
        """The topic's configuration."""


def needed_isr(s: Configured) -> Word:
    """How many ISR members a commit needs: as many as configured, or every replica where there are fewer."""
    configured, factor = s.min_insync_replicas, s.replicas.size()
    return choose(factor < configured, factor, configured)


def working(s: Elections) -> BrokerSet:
    """Brokers that are registered, neither fenced nor in controlled shutdown."""
    return s.registered.minus(s.fenced).minus(s.shutting_down)


def may_be_online(s: Elections, broker: Word) -> Truth:
    """Whether the controller was not told that a replica's directory is offline: listed, or not known where."""
    directory = s.directories.of(broker)
    unknown = any_of(directory == UNASSIGNED, directory == MIGRATING)
    listed = s.dirs_of(broker).has(directory - FIRST_LOCAL)
    return any_of(unknown, all_of(negate(directory == LOST), listed))


def able_to_lead(s: Elections) -> Brokers:
    """Working brokers whose replica may be online."""
    online: Brokers = brokers_where(s.online_dirs, lambda broker: may_be_online(s, broker))
    return online.keep(working(s))


ASKED = ("elect_unclean", "elect_designated")  # what an operator asks for: an unclean election, or a leader by name


@frozen
class ObservedStep:
    """A step as the controller of one partition sees it."""

    # before, after: the registrations
    before: Elections
    after: Elections
    action: str  # the name of the action
    proposed: BrokerSet  # the ISR that the step was asked for
    lost: BrokerSet  # who, as the step says, has stopped uncleanly, is unregistered, or has fallen behind its leader

    def elects(self) -> Truth:
        """Whether another broker leads now."""
        return all_of(negate(self.before.leader == self.after.leader), self.after.leader >= 0)

    def seats_outsider(self) -> Truth:
        """Whether who leads now was in neither ISR nor ELR, nor proposed; or is who has lost its log by the step."""
        known = self.before.isr.plus(self.before.elr).minus(self.lost).plus(self.proposed)
        return all_of(self.elects(), negate(known.has(self.after.leader)))

    def gives_up(self) -> Truth:
        """Whether eligibility is given up: an outsider leads; or a member of the ELR, asked for beside a dead ISR.

        By the right rules no ISR member is dead while the ELR has one.
        """
        isr = self.before.isr
        dead = all_of(negate(isr.is_empty()), isr.keep(able_to_lead(self.before)).is_empty())
        beside = all_of(self.elects(), self.was_asked(), dead, negate(isr.has(self.after.leader)))
        return any_of(self.seats_outsider(), beside)

    def eligible(self) -> BrokerSet:
        """Members of ISR and ELR that are replicas afterwards, and have lost nothing that the step tells of."""
        known = self.before.isr.plus(self.before.elr)
        return known.minus(self.lost).keep(self.after.replicas).keep(self.after.registered)

    def was_asked(self) -> Truth:
        """Whether the topic allows it, and no reassignment or preferred election does it; or an operator has asked."""
        by_topic = False if self.action in ("reassign", *PREFERRED) else self.before.unclean_election
        return any_of(by_topic, self.action in ASKED)


def changed(before: Elections, after: Elections, action: str) -> ObservedStep:
    """A step that proposes nobody for the ISR, and tells of nobody's loss."""
    return ObservedStep(before, after, action, before.isr.none(), before.isr.none())


def stopped_cleanly(t: Step) -> Truth:
    """Whether a new incarnation follows a clean stop that the controller can know of."""
    return all_of(t.arguments["clean"], t.before.registered.has(t.arguments["broker"]))


def change(t: Step) -> ObservedStep:
    """A step of `elections`."""
    found = changed(t.before, t.after, t.action)
    if t.action == "alter_partition":
        isr = t.arguments["isr"]
        return evolve(found, proposed=isr, lost=t.before.isr.minus(isr))
    if t.action == "unregister":
        return evolve(found, lost=found.lost.just(t.arguments["broker"]))
    if t.action == "new_incarnation":
        return evolve(found, lost=choose(stopped_cleanly(t), found.lost, found.lost.just(t.arguments["broker"])))
    return found


def properties(setting: Setting) -> list[Property]:
    """The claims on permission for an outsider to lead."""
    return [
        only_when_allowed(
            lambda t: by_permission(change(t)),
            ("election.unclean.only-where-allowed", "election.last-known.isr-and-elr-empty",
             "reassignment.never-unclean", "election.preferred.first-replica"),
        )
    ]  # fmt: skip


def only_when_allowed(predicate: Predicate, rules: tuple[str, ...]) -> Property:
    """The claim, as a system tells its steps."""
    return step(
        "unclean-only-when-allowed",
        "a leader from outside ISR and ELR was allowed, and no member can lead, or is the last known leader of neither",
        predicate, "KIP-106; KIP-966", ("unclean-election-unasked", "last-known-elected-beside-elr"), rules=rules,
    )  # fmt: skip


def by_permission(c: ObservedStep) -> Conjuncts:
    """An outsider is let to lead, and no member that could lead is passed over, but for a leader by name."""
    eligible, active, member = c.eligible(), working(c.after), negate(c.seats_outsider())
    last = all_of(c.before.elr_enabled, c.before.last_known_elr.has(c.after.leader), eligible.is_empty())
    allowed = implies(c.elects(), any_of(member, c.was_asked(), last))
    if c.action == "elect_designated":
        return {"it is allowed": allowed}

    def passed_over(b: Word) -> Truth:
        return all_of(eligible.has(b), active.has(b), may_be_online(c.after, b))

    others = each_broker(c.after.online_dirs, lambda b: implies(c.elects(), any_of(member, negate(passed_over(b)))))
    return {"it is allowed": allowed, **{f"{b} cannot lead": truth for b, truth in others.items()}}
