"""Liveness of `elections`: what finally happens while brokers keep their sessions and the controller its timers.

`FAIR_ELECTIONS` is the system with these properties alone: `explore` judges them, other engines do not.
"""

from __future__ import annotations

from kraftcheck.model.language.system import Fairness, Property, Setting
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import NO_LEADER, all_of, any_of, negate
from kraftcheck.model.partition.registration import FIRST_LOCAL
from kraftcheck.model.systems.elections.state import Elections
from kraftcheck.model.systems.elections.system import ELECTIONS
from kraftcheck.properties.elections.healing import replicas, targets
from kraftcheck.properties.elections.stated import able_to_lead
from kraftcheck.properties.kinds import fair_system, leads_to, strong_fairness, weak_fairness


def fairness(setting: Setting) -> list[Fairness]:
    """A fenced broker is unfenced, one that shuts down comes back, a replica is located, and timers run.

    Unfencing is strongly fair: what a broker says of its directories, again and again, may stop it only now and then.
    """
    local = tuple(FIRST_LOCAL + number for number in range(setting["directories"]))

    def stays_up(s: Elections, broker: Word) -> Truth:
        return negate(s.shutting_down.has(broker))

    return [
        strong_fairness("unfence", each=["broker"]),
        weak_fairness("assign", each=["broker"], having={"directory": local}),
        weak_fairness("new_incarnation", each=["broker"], having={"clean": True}, unless=stays_up),
        weak_fairness("balance_timer"),
        weak_fairness("unclean_timer"),
    ]


def properties(setting: Setting) -> list[Property]:
    """What is finally decided at a setting."""

    return [
        leads_to("leader-elected", "a leaderless partition gets a leader, or loses every registered candidate",
                 lambda s: all_of(s.leader == NO_LEADER, has_candidate(s)),
                 lambda s: any_of(s.leader >= 0, negate(has_candidate(s))),
                 "invariant 41; KIP-966", ("unclean-cancel-is-silent",),
                 ("restart.clean-keeps-elr", "unfence.retries-leaderless", "timer.balance")),
        leads_to("unclean-leader-elected",
                 "where unclean election is allowed, a leaderless partition gets a leader, or loses every live replica",
                 lambda s: all_of(s.leader == NO_LEADER, has_volunteer(s)),
                 lambda s: any_of(s.leader >= 0, negate(has_volunteer(s))),
                 "invariant 42; KIP-631", ("dead-last-known-leader-electable+last-known-leader-may-be-none",),
                 ("timer.unclean",)),
    ]  # fmt: skip


def has_candidate(s: Elections) -> Truth:
    """Some registered replica is in the ISR or the ELR."""
    return negate(s.isr.plus(s.elr).keep(replicas(s)).keep(s.registered).is_empty())


def has_volunteer(s: Elections) -> Truth:
    """Unclean election is allowed, and a replica that stays one may lead."""
    return all_of(s.unclean_election, negate(able_to_lead(s).keep(targets(s)).is_empty()))


FAIR_ELECTIONS = fair_system(
    ELECTIONS, "where brokers come back and timers run: what is finally decided", properties, fairness
)
"""The system with its liveness."""
