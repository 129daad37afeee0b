"""ELR, recovery state and ISR: the brokers that may become leader later, and the mark of a loss."""

from __future__ import annotations

from kraftcheck.model.language.system import Conjuncts, Property, Setting, Step
from kraftcheck.model.language.terms import Truth
from kraftcheck.model.language.words import NO_LEADER, all_of, any_of, choose, implies, negate
from kraftcheck.model.systems.elections.state import Elections
from kraftcheck.properties.elections.outsiders import able_to_lead, change, needed_isr, stopped_cleanly
from kraftcheck.properties.kinds import always, step


def properties(setting: Setting) -> list[Property]:
    """Invariants 13, 17, 33-36 and the rules of the ELR around them."""
    return [*_elr_and_recovery(), *_changes()]


def _elr_and_recovery() -> list[Property]:
    """Of the ELR, and of the recovery state."""
    return [
        always("elr-registered", "every ELR member is registered", lambda s: s.elr.within(s.registered),
               "invariant 13; KIP-966", ("unregister-keeps-elr",),
               rules=("unregister.leaves-elr",)),
        always("elr-empty-at-min-isr", "at min ISR nobody else needs to be eligible",
               lambda s: any_of(s.isr.size() < needed_isr(s), s.elr.is_empty()),
               "KIP-966; KAFKA-16540", ("elr-kept-at-min-isr", "min-isr-change-keeps-elr", "elr-winner-keeps-elr",
                "elr-downgrade+switched-off-elr-is-neglected"),
               rules=("elr.empty-at-min-isr", "min-isr.change-clears-elr",
                      "min-isr.change-clears-elr-while-off", "election.elr.others-leave-at-min-isr")),
        always("recovering-alone", "a RECOVERING partition has at most one ISR member",
               lambda s: any_of(negate(s.recovering), s.isr.size() <= 1),
               "invariant 17; KIP-704", ("recovering-isr-may-grow",),
               rules=("alter-partition.recovering-isr-of-one",)),
        step("recovering-after-unclean-election",
             "RECOVERING starts only with a lone new leader from outside ISR and ELR, and an empty ELR",
             _recovery_starts, "invariant 33; KIP-704", ("unclean-election-keeps-elr",),
             rules=("election.unclean.clears-elr",)),
        step("recovering-ends-by-leader", "RECOVERING ends only by AlterPartition",
             lambda t: True if t.action == "alter_partition" else implies(t.before.recovering, t.after.recovering),
             "invariant 33; KIP-704", ("election-clears-recovering",),
             rules=("election.clean.keeps-recovering",)),
        step("loss-is-marked", "a leader from outside ISR and ELR means RECOVERING",
             lambda t: implies(change(t).seats_outsider(), t.after.recovering),
             "invariant 33, converse; KIP-704",
             ("unclean-without-recovering", "unclean-cancel-is-silent",
              "alter-partition-erases-recovering+passes-share-one-base+alter-partition-ignores-directories"),
             rules=("election.unclean.marks-recovering", "reassignment.cancel.loss-is-marked",
                    "alter-partition.unclean-election-keeps-recovering", "assignment.one-pass",
                    "heartbeat.directories-first", "event.later-pass-sees-earlier",
                    "election.designated.unclean-unless-eligible",
                    "reassignment.cancel.back-to-originals")),
    ]  # fmt: skip


def _changes() -> list[Property]:
    """How ISR, ELR and leader may change."""
    return [
        step("unclean-request-is-granted",
             "an unclean election on request gives a leaderless partition with a live replica a leader",
             _request_granted, "semantics 3; unclean-recovery KIP", ("unclean-request-obeys-topic",),
             rules=("election.unclean.request-overrides-topic",)),
        step("isr-grows-by-leader", "a broker enters the ISR by AlterPartition, or alone as the elected leader",
             _isr_grows, "invariant 34; KIP-497; B11", ("unfence-rejoins-isr", "unclean-cancel-is-silent"),
             rules=("unfence.does-not-rejoin-isr", "reassignment.cancel.loss-is-marked")),
        step("isr-leavers-stay-eligible", "below min ISR, a replica that leaves the ISR cleanly enters the ELR",
             _leavers_eligible, "invariant 35; KIP-966", ("assignment-clears-elr",),
             rules=("assignment.keeps-elr", "elr.isr-leavers-stay-eligible")),
        step("elr-leavers-have-a-reason", "a broker leaves the ELR only for the ISR, at min ISR, with ELR off for "
             "an ISR that has members, or for cause", _elr_leavers, "invariant 36; KIP-966",
             ("assignment-clears-elr", "elr-downgrade+switched-off-elr-is-neglected",
              "min-isr-change-clears-every-elr"),
             rules=("assignment.keeps-elr", "elr.off.clears", "elr.downgrade-writes-nothing-else",
                    "min-isr.change-keeps-clean-replicas")),
        step("clean-candidate-kept", "no event but an unclean stop costs the last clean ISR or ELR member its right",
             _candidate_kept, "invariant 41; KIP-966; KAFKA-16540",
             ("min-isr-change-clears-every-elr", "every-restart-is-unclean",
              "elr-downgrade+switched-off-elr-is-neglected"),
             rules=("min-isr.change-keeps-clean-replicas", "restart.clean-keeps-elr",
                    "elr.isr-leavers-stay-eligible", "elr.off.clears", "elr.downgrade-writes-nothing-else")),
        step("elr-elected-last", "an ELR member is elected only when the ISR has no member",
             lambda t: negate(t.event.over_isr), "KIP-966", ("elr-elected-over-isr",),
             rules=("election.elr.only-when-isr-empty",)),
        step("unclean-stop-loses-eligibility", "a broker back from an unclean stop is in neither ISR nor ELR",
             _unclean_stop, "KIP-966; KAFKA-15586",
             ("elr-keeps-unclean-replicas", "dead-last-known-leader-electable",
              "elr-downgrade+switched-off-elr-is-neglected"),
             rules=("elr.excludes-unclean-stops", "election.last-known.alive",
                    "elr.off.excludes-lost-replicas", "restart.unclean-leaves-elr-while-off")),
        step("clean-restart-keeps-elr", "a clean restart leaves an ELR member eligible", _clean_restart,
             "KIP-966; KAFKA-18635", ("every-restart-is-unclean",),
             rules=("restart.clean-keeps-elr",)),
    ]  # fmt: skip


def _moved(t: Step) -> Truth:
    return all_of(negate(t.before.leader == t.after.leader), t.after.leader >= 0)


def _recovery_starts(t: Step) -> Conjuncts:
    starts = all_of(negate(t.before.recovering), t.after.recovering)
    return {
        "the leader is new": implies(starts, _moved(t)),
        "it is an outsider": implies(starts, change(t).gives_up()),
        "it is alone in the ISR": implies(starts, t.after.isr.same(t.after.isr.just(t.after.leader))),
        "the ELR is empty": implies(starts, t.after.elr.is_empty()),
    }


def _request_granted(t: Step) -> Truth:
    if t.action != "elect_unclean":
        return True
    before: Elections = t.before
    able = able_to_lead(before).keep(before.replicas).minus(before.removing)
    return implies(all_of(before.leader == NO_LEADER, negate(able.is_empty())), t.after.leader >= 0)


def _isr_grows(t: Step) -> Truth:
    if t.action == "alter_partition":
        return True
    grown = negate(t.after.isr.within(t.before.isr))
    elected = all_of(_moved(t), t.after.isr.same(t.after.isr.just(t.after.leader)))
    return implies(grown, elected)


def _leavers_eligible(t: Step) -> Truth:
    before: Elections = t.before
    after: Elections = t.after
    left = before.isr.minus(after.isr).keep(after.replicas).keep(after.registered).minus(t.event.unclean_shutdown)
    below = all_of(before.elr_enabled, after.isr.size() < needed_isr(before), negate(change(t).gives_up()))
    return implies(below, left.within(after.elr))


def _elr_leavers(t: Step) -> Truth:
    before: Elections = t.before
    after: Elections = t.after
    left = before.elr.minus(after.elr).minus(after.isr).keep(after.replicas).keep(after.registered)
    left = left.minus(t.event.unclean_shutdown)
    minimum = needed_isr(after if t.action == "set_min_isr" else before)
    off = all_of(negate(before.elr_enabled), negate(after.isr.is_empty()))
    return any_of(left.is_empty(), after.isr.size() >= minimum, change(t).gives_up(), off)


def _candidate_kept(t: Step) -> Truth:
    """An unclean election may pass clean candidates over; an operator who unregisters a broker gives it up."""
    before: Elections = t.before
    # With ELR off the last ISR member is waited for, and others are eligible only where there is none.
    eligible = choose(any_of(before.elr_enabled, before.isr.is_empty()), before.elr, before.elr.none())
    clean = before.isr.plus(eligible).keep(before.replicas).keep(before.registered)
    if t.action == "unregister":
        clean = clean.minus(clean.just(t.arguments["broker"]))
    if t.action == "new_incarnation":
        clean = choose(stopped_cleanly(t), clean, clean.minus(clean.just(t.arguments["broker"])))
    # What the leader proposes has all data, so a reassignment may complete to it.
    able = before.isr.plus(before.elr)
    able = able.plus(t.arguments["isr"]) if t.action == "alter_partition" else able
    left = able.keep(t.after.isr.plus(t.after.elr))
    return any_of(clean.is_empty(), change(t).gives_up(), negate(left.is_empty()))


def _unclean_stop(t: Step) -> Truth:
    if t.action != "new_incarnation":
        return True
    broker = t.arguments["broker"]
    # Without ELR the last member stays in the ISR, whatever it has lost.
    stays = all_of(negate(t.before.elr_enabled), t.after.isr.has(broker))
    return implies(negate(stopped_cleanly(t)), any_of(stays, negate(t.after.isr.plus(t.after.elr).has(broker))))


def _clean_restart(t: Step) -> Truth:
    if t.action != "new_incarnation":
        return True
    broker = t.before.elr.just(t.arguments["broker"])
    # While ISR and ELR together hold the broker, a clean stop gives no reason to forget it.
    kept = t.before.elr.keep(broker).within(t.after.elr)
    return implies(all_of(t.before.elr_enabled, stopped_cleanly(t), negate(change(t).gives_up())), kept)
