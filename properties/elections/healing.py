"""Recoverability of `elections`: claims AG (when -> EF goal), by actions that can happen without end.

The way out uses brokers that return after a clean stop, timers of the
controller, and requests that leaders make by themselves. It never uses what
destroys, what an operator has to decide (cancelling, reassigning,
configuration, elections on request), or what gives data up, except where the
topic allows that.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kraftcheck.model.language.brokersets import BrokerSet
from kraftcheck.model.language.system import Property, Setting
from kraftcheck.model.language.terms import Truth
from kraftcheck.model.language.words import NO_LEADER, all_of, negate
from kraftcheck.model.partition.registration import FIRST_LOCAL
from kraftcheck.model.systems.elections.state import Elections
from kraftcheck.properties.elections.stated import able_to_lead, working
from kraftcheck.properties.kinds import recovers

Way = Mapping[str, Mapping[str, Any]]

TIMER: Way = {"balance_timer": {}}
"""The controller tries leaderless partitions again."""

LEADER: Way = {"alter_partition": {}}
"""The leader proposes the replicas that have caught up."""


def properties(setting: Setting) -> list[Property]:
    """Claims of recovery for the setting."""
    returns = brokers_return(setting)

    def a_target_is_alive(s: Elections) -> Truth:
        return all_of(s.unclean_election, negate(able_to_lead(s).keep(targets(s)).is_empty()))

    claims = [
        recovers("leader-returns", "a leaderless partition can get a leader while an ISR or ELR member is registered",
                 lambda s: s.leader >= 0, "invariant 41; KIP-966", ("every-restart-is-unclean",),
                 rules=("restart.clean-keeps-elr", "directory.online-when-registered"),
                 when=_has_a_candidate, by={**returns, **TIMER}),
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
                     when=_can_complete, by={**returns, **LEADER, **TIMER})
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


def _has_a_candidate(s: Elections) -> Truth:
    return all_of(s.leader == NO_LEADER, negate(s.isr.plus(s.elr).keep(s.registered).is_empty()))


def reassigning(s: Elections) -> Truth:
    """A replica is being added or removed."""
    return negate(all_of(s.removing.is_empty(), s.adding.is_empty()))


def _can_complete(s: Elections) -> Truth:
    return all_of(reassigning(s), s.leader >= 0, targets(s).within(s.registered))
