"""Loss: who is let to lead from outside ISR and ELR, who stays eligible over a stop, and what operators throw away."""

from __future__ import annotations

from attrs import evolve

from kraftcheck.model.language.system import Property, Setting, Step
from kraftcheck.model.language.terms import Truth
from kraftcheck.model.language.words import all_of, any_of, choose, implies, negate, none_of
from kraftcheck.model.systems.directories.state import Host, Placement
from kraftcheck.properties.elections.outsiders import (
    ObservedStep,
    by_permission,
    changed,
    needed_isr,
    only_when_allowed,
)
from kraftcheck.properties.kinds import always, happens, step

CHECKED = ("election.unclean.only-where-allowed",)
"""The rule of who may lead from outside that can be broken with min ISR 1, which every scope has."""

UNASKED = ("unclean-election-unasked",)
"""What refutes the claims: with min ISR 1 no last known leader can be seated beside an ELR."""


def properties(setting: Setting) -> list[Property]:
    """The claims on leaders from outside ISR and ELR; one broker alone has none."""
    elr = setting["elr"] and setting.rules.partition.elr_available
    claims = _of_restarts(setting) if setting["clean-stops"] and elr else []
    if setting["brokers"] == 1:
        return claims
    return [
        *claims,
        evolve(only_when_allowed(lambda t: by_permission(change(t)), CHECKED), refuted_by=UNASKED),
        always("loss-is-paid-for",
               "until a disk is thrown away, and before as many crashes and failures as min ISR, nobody from outside "
               "ISR and ELR has led", lambda s: paid_for(s, setting),
               "KIP-966", UNASKED, rules=CHECKED),
    ]  # fmt: skip


def change(t: Step) -> ObservedStep:
    """A step, as the controller of the partition sees it; who starts has lost its log, unless all of it was closed."""
    found = changed(t.before.controller, t.after.controller, t.action)
    if t.action == "expand_isr":
        isr = t.before.controller.isr
        return evolve(found, proposed=isr.plus(isr.just(t.arguments["broker"])))
    if t.action != "start":
        return found
    broker = t.arguments["broker"]
    return evolve(found, lost=choose(closed(t.before.host(broker)), found.lost, found.lost.just(broker)))


def closed(host: Host) -> Truth:
    """Whether the last process closed every directory, and every one works."""
    return host.clean.keep(host.disks).size() == len(host.names)


def _of_restarts(setting: Setting) -> list[Property]:
    """Who stays eligible over a stop."""
    claims = [
        step("clean-return-stays-eligible", "a member of the ELR that closed every directory, and finds all, stays",
             lambda t: implies(all_of(_starts(t, whole=True), _elr(t.before, t)), _elr(t.after, t)),
             "KIP-966; KAFKA-18635", ("every-restart-is-unclean",), rules=("restart.clean-keeps-elr",)),
        step("partial-return-is-unclean", "a broker that starts without each of its directories closed is no candidate",
             lambda t: implies(_starts(t, whole=False), none_of(_elr(t.after, t), _isr(t.after, t))), "KIP-966",
             ("clean-with-any-directory",), rules=("restart.clean-with-every-directory",)),
        happens("shows-clean-return", "a member of the ELR starts, and finds every directory closed",
                lambda t: all_of(_starts(t, whole=True), _elr(t.before, t))),
    ]  # fmt: skip
    if setting["failures"]:
        claims.append(
            happens(
                "shows-partial-return",
                "a member of the ELR starts after a clean stop, and a directory is missing",
                lambda t: all_of(_starts(t, whole=False), _elr(t.before, t), _marked(t)),
            )
        )
    if setting["records"] and not setting.rules.partition.every_restart_is_unclean:
        claims.append(
            happens(
                "shows-eligible-leader",
                "a broker leads out of the ELR once it is back, and a record was committed",
                _leads_again,
            )
        )
    return claims


def _starts(t: Step, whole: bool) -> Truth:
    """Whether a broker starts whose last process closed all of its directories, or one whose did not."""
    return t.action == "start" and closed(t.before.host(t.arguments["broker"])) == whole


def _marked(t: Step) -> Truth:
    return negate(t.before.host(t.arguments["broker"]).clean.is_empty()) if t.action == "start" else False


def _elr(s: Placement, t: Step) -> Truth:
    return s.controller.elr.has(t.arguments["broker"]) if "broker" in t.arguments else False


def _isr(s: Placement, t: Step) -> Truth:
    return s.controller.isr.has(t.arguments["broker"]) if "broker" in t.arguments else False


def _leads_again(t: Step) -> Truth:
    if t.action != "unfence":
        return False
    return all_of(t.before.written, _elr(t.before, t), t.after.controller.leader == t.arguments["broker"])


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
