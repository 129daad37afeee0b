"""Recoverability of `elections`: claims AG (when -> EF goal), by actions that can happen without end.

The way out uses brokers that return after a clean stop, timers of the
controller, and requests that leaders make by themselves. It never uses what
destroys, what an operator has to decide (cancelling, reassigning,
configuration, elections on request), or what gives data up, except where the
topic allows that.

Goals of `elections`: the states and steps that it must reach, so that no property holds for want of cases.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kraftcheck.model.language.brokersets import BrokerSet
from kraftcheck.model.language.system import Property, Setting, Step
from kraftcheck.model.language.terms import Truth
from kraftcheck.model.language.words import NO_LEADER, all_of, any_of, negate
from kraftcheck.model.partition.registration import FIRST_LOCAL
from kraftcheck.model.systems.elections.state import Elections
from kraftcheck.properties.elections.outsiders import able_to_lead, change, working
from kraftcheck.properties.kinds import happens, recovers, sometimes

Way = Mapping[str, Mapping[str, Any]]

TIMER: Way = {"balance_timer": {}}  # the controller tries leaderless partitions again
LEADER: Way = {"alter_partition": {}}  # the leader proposes the replicas that have caught up


def properties(setting: Setting) -> list[Property]:
    """Claims of recovery for the setting."""
    returns = brokers_return(setting)

    def a_target_is_alive(s: Elections) -> Truth:
        return all_of(s.unclean_election, negate(able_to_lead(s).keep(targets(s)).is_empty()))

    claims = [
        recovers("leader-returns", "a leaderless partition can get a leader while an ISR or ELR member is registered",
                 lambda s: s.leader >= 0, "invariant 41; KIP-966", ("every-restart-is-unclean",),
                 rules=("restart.clean-keeps-elr", "directory.online-when-registered"),
                 when=lambda s: all_of(s.leader == NO_LEADER, negate(s.isr.plus(s.elr).keep(s.registered).is_empty())),
                 by={**returns, **TIMER}),
        recovers("unclean-leader-returns", "where unclean election is allowed, a live replica gives a live leader",
                 lambda s: working(s).has(s.leader), "invariant 42; KIP-631",
                 ("dead-last-known-leader-electable", "fenced-leader-acceptable"),
                 rules=("election.last-known.alive", "leader.unfenced"),
                 when=a_target_is_alive, by={**TIMER, "unclean_timer": {}}),
        recovers("isr-refills", "a leader can have every replica on a registered broker in the ISR again",
                 lambda s: replicas(s).keep(s.registered).within(s.isr), "KIP-497",
                 ("dead-last-known-leader-electable",),
                 rules=("election.last-known.alive",),
                 when=lambda s: s.leader >= 0, by={**returns, **LEADER}),
    ]  # fmt: skip
    if setting["reassignment"]:
        claims.append(
            recovers("reassignment-completes", "a led reassignment to registered targets can complete",
                     lambda s: negate(reassigning(s)), "invariant 43; KIP-455", ("completion-keeps-removing",),
                     rules=("reassignment.completion.every-build",),
                     when=lambda s: all_of(reassigning(s), s.leader >= 0, targets(s).within(s.registered)),
                     by={**returns, **LEADER, **TIMER})
        )  # fmt: skip
    return claims


def brokers_return(setting: Setting) -> Way:
    """Brokers come back and say where their replica is; a restart follows a clean stop."""
    local = tuple(FIRST_LOCAL + number for number in range(setting["directories"]))
    return {"unfence": {}, "new_incarnation": {"clean": True}, "assign": {"directory": local}}


def replicas(s: Elections) -> BrokerSet:
    """The replicas as a set."""
    return BrokerSet(s.replicas.mask)


def targets(s: Elections) -> BrokerSet:
    """The replicas that stay once a reassignment completes; any change of the partition may complete it."""
    return replicas(s).minus(s.removing)


def reassigning(s: Elections) -> Truth:
    """A replica is being added or removed."""
    return negate(all_of(s.removing.is_empty(), s.adding.is_empty()))


def goals(setting: Setting) -> list[Property]:
    """Goals of the setting: each must be witnessed, else the run is vacuous."""
    goals = [
        sometimes("shows-leaderless", "a partition without a leader", lambda s: s.leader == NO_LEADER),
        sometimes("shows-recovering", "a partition that is RECOVERING", lambda s: s.recovering),
        happens("shows-clean-election", "an ISR member takes over cleanly",
                lambda t: all_of(_moved(t), t.before.leader >= 0, t.before.isr.has(t.after.leader))),
        happens("shows-preferred-election", "a preferred election moves leadership",
                lambda t: t.action == "elect_preferred" and _moved(t)),
        happens("shows-unclean-election", "a leader is elected uncleanly", lambda t: change(t).seats_outsider()),
        happens("shows-unclean-request", "an unclean election on request seats a leader where the topic allows none",
                lambda t: t.action == "elect_unclean" and all_of(
                    negate(t.before.unclean_election), change(t).seats_outsider())),
        happens("shows-candidate-unfenced", "a leaderless partition is led as a broker is unfenced",
                lambda t: t.action == "unfence" and _moved(t)),
        happens("shows-isr-shrink", "AlterPartition shrinks the ISR",
                lambda t: t.action == "alter_partition" and negate(t.before.isr.within(t.after.isr))),
        happens("shows-isr-expansion", "AlterPartition expands the ISR",
                lambda t: t.action == "alter_partition" and negate(t.after.isr.within(t.before.isr))),
    ]  # fmt: skip
    if setting["directories"] > 1:
        goals.append(happens("shows-assignment", "the leader is assigned another directory, and leads on", _assigned))
    if setting.rules.partition.elr_available:
        goals += [
            sometimes("shows-elr", "a partition with an ELR", lambda s: negate(s.elr.is_empty())),
            sometimes("shows-empty-isr", "a partition with an empty ISR", lambda s: s.isr.is_empty()),
            happens("shows-elr-election", "an ELR member is elected", lambda t: t.event.from_elr),
            happens("shows-last-known-election", "the last known leader is elected", lambda t: t.event.last_known),
            happens("shows-last-known-kept", "the last known leader is remembered as the partition changes",
                    lambda t: all_of(t.before.leader == NO_LEADER, t.after.leader == NO_LEADER, t.event.records > 0,
                                     negate(t.before.last_known_elr.is_empty()))),
        ]  # fmt: skip
    if setting.rules.partition.designated_elections:
        goals.append(happens("shows-designated-election", "a designated leader is seated",
                             lambda t: t.action == "elect_designated" and _moved(t)))  # fmt: skip
    if setting["reassignment"]:
        goals += [
            happens("shows-reassignment", "a reassignment that adds and removes replicas gets under way",
                    lambda t: t.action == "reassign" and negate(any_of(
                        t.after.adding.is_empty(), t.after.removing.is_empty()))),
            happens("shows-completion", "a reassignment that adds a replica completes",
                    lambda t: all_of(t.event.completed, negate(t.before.adding.is_empty()), t.after.adding.is_empty())),
            happens("shows-cancel", "a reassignment is cancelled",
                    lambda t: t.action == "cancel" and t.event.records > 0),
        ]  # fmt: skip
    return goals


def _moved(t: Step) -> Truth:
    return all_of(negate(t.before.leader == t.after.leader), t.after.leader >= 0)


def _assigned(t: Step) -> Truth:
    if t.action != "assign":
        return False
    broker = t.arguments["broker"]
    now, then = t.before.directories.of(broker), t.after.directories.of(broker)
    return all_of(t.before.leader == broker, t.after.leader == broker, negate(now == then))
