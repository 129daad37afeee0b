"""Loss: who is let to lead from outside ISR and ELR, and what operators throw away."""

from __future__ import annotations

from attrs import evolve

from kraftcheck.model.language.system import Property, Setting, Step
from kraftcheck.model.language.terms import Truth
from kraftcheck.model.language.words import all_of, any_of, implies, negate
from kraftcheck.model.systems.directories.state import Placement
from kraftcheck.properties.elections.outsiders import Change, by_permission, changed, only_when_allowed
from kraftcheck.properties.elections.stated import needed_isr
from kraftcheck.properties.kinds import always

CHECKED = ("election.unclean.only-where-allowed",)
"""The rule of who may lead from outside that can be broken with min ISR 1, which every scope has."""

UNASKED = ("unclean-election-unasked",)
"""What refutes the claims: with min ISR 1 no last known leader can be seated beside an ELR."""


def properties(setting: Setting) -> list[Property]:
    """Who is let to lead from outside; one broker alone has nobody outside."""
    if setting["brokers"] == 1:
        return []
    return [
        evolve(only_when_allowed(lambda t: by_permission(change(t)), CHECKED), refuted_by=UNASKED),
        always("loss-is-paid-for",
               "until a disk is thrown away, and before as many crashes and failures as min ISR, nobody from outside "
               "ISR and ELR has led", lambda s: paid_for(s, setting),
               "KIP-966", UNASKED, rules=CHECKED),
    ]  # fmt: skip


def change(t: Step) -> Change:
    """A step, as the controller of the partition sees it; whoever starts has stopped uncleanly."""
    found = changed(t.before.controller, t.after.controller, t.action)
    if t.action == "expand_isr":
        isr = t.before.controller.isr
        return evolve(found, proposed=isr.plus(isr.just(t.arguments["broker"])))
    return evolve(found, lost=found.lost.just(t.arguments["broker"])) if t.action == "start" else found


def paid_for(s: Placement, setting: Setting) -> Truth:
    """Whether nobody from outside has led, while nothing excuses it."""
    return implies(negate(excused(s, setting)), negate(s.lossy))


def excused(s: Placement, setting: Setting) -> Truth:
    """Whether records may be lost by now: an operator has changed disks, or, with ELR on, too many have failed."""
    failed = setting["crashes"] - s.left.crashes + setting["failures"] - s.left.failures
    thrown = s.left.disk_changes < setting["disk-changes"]
    return any_of(
        thrown, s.controller.unclean_election, all_of(s.controller.elr_enabled, failed >= needed_isr(s.controller))
    )


def forgiven(s: Placement, setting: Setting) -> Truth:
    """Whether claims about records say nothing more: records may be lost, and an outsider has led, or a log is gone."""
    return all_of(s.lossy, excused(s, setting))
