"""Liveness of `elections`: what finally happens while brokers keep their sessions and the controller its timers.

`FAIR_ELECTIONS` is the system with these properties alone: `explore` judges them, other engines do not.

Liveness of `elections` once faults end and operators rest: what a partition finally comes back to.

`HEALING_ELECTIONS` is the system whose faults may end, with these properties alone: `explore` judges them.
"""

from __future__ import annotations

from attrs import evolve, frozen

from kraftcheck.model.language.brokersets import BrokerSet, Replicas
from kraftcheck.model.language.layout import subset_of
from kraftcheck.model.language.system import Action, Fairness, Outcome, Property, Setting
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import NO_LEADER, all_of, any_of, choose, negate
from kraftcheck.model.partition.registration import FIRST_LOCAL
from kraftcheck.model.systems.elections.state import Elections
from kraftcheck.model.systems.elections.system import ELECTIONS
from kraftcheck.model.systems.ending_faults import Healing, with_ending_faults
from kraftcheck.properties.elections.healing import reassigning, replicas, targets
from kraftcheck.properties.elections.outsiders import able_to_lead, working
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
    """The liveness properties at a setting."""

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


@frozen
class HealingElections(Elections):
    """The state with what liveness asks for besides."""

    faults_over: Truth = False  # no fault comes any more
    # the replicas of the reassignment that was asked for last; empty: none since the last cancellation
    asked: BrokerSet = BrokerSet()  # noqa: RUF009


def healing(setting: Setting) -> Healing:
    """Brokers come back after a clean stop and say where their replica is; timers run, and the leader asks for its ISR.

    A broker that works is not started again; who was unregistered may come back, and need not.
    """
    here, everything = local(setting), BrokerSet.of(range(setting["directories"])).mask

    def comes_back(s: Elections, broker: Word, clean: Truth, dirs: BrokerSet) -> Truth:
        works = all_of(s.registered.has(broker), negate(s.shutting_down.has(broker)))
        return all_of(clean, dirs.mask == everything, negate(works))

    return {
        "unfence": None,
        "assign": lambda s, broker, directory: any_of(*(directory == one for one in here)),
        "new_incarnation": comes_back,
        "alter_partition": lambda s, isr, recovering: all_of(negate(recovering), s.isr.within(isr)),
        "balance_timer": None,
        "unclean_timer": None,
    }


def remembering(action: Action) -> Action:
    """A reassignment, or its cancellation, with what was asked for last noted; any other action as it is."""
    if action.name not in ("reassign", "cancel"):
        return action

    def noting(state: HealingElections, **arguments: Replicas) -> Outcome:
        done = action.outcome(state, arguments)
        target = BrokerSet(arguments["target"].mask) if arguments else BrokerSet()
        return evolve(done, state=evolve(done.state, asked=choose(done.event.resigned, state.asked, target)))

    return evolve(action, effect=noting)


def active_replicas(s: Elections) -> BrokerSet:
    """The replicas that may be in the ISR: registered, unfenced, not shutting down."""
    return replicas(s).keep(working(s))


def lasting_fairness(setting: Setting) -> list[Fairness]:
    """Registered brokers come back, and say where their replica is; leadership is balanced."""

    def stays(s: Elections, broker: Word) -> Truth:
        return negate(s.shutting_down.has(broker))

    return [
        weak_fairness("unfence", each=["broker"]),
        weak_fairness("assign", each=["broker"], having={"directory": local(setting)}),
        weak_fairness("new_incarnation", each=["broker"], having={"clean": True}, unless=stays),
        weak_fairness("balance_timer"),
    ]


def local(setting: Setting) -> tuple[int, ...]:
    """The directories of each broker, as assignments name them."""
    return tuple(FIRST_LOCAL + number for number in range(setting["directories"]))


def proposing() -> Fairness:
    """A leader that lacks active replicas in its ISR asks for them, once they have caught up."""

    def needless(s: Elections, isr: BrokerSet) -> Truth:
        return any_of(negate(isr.same(active_replicas(s))), isr.same(s.isr))

    return weak_fairness("alter_partition", each=["isr"], having={"recovering": False}, unless=needless)


def lasting(setting: Setting) -> list[Property]:
    """The liveness properties once faults have ended."""

    def led(s: HealingElections) -> Truth:
        return all_of(s.faults_over, s.leader >= 0)

    def waits(s: HealingElections, able: Truth) -> Truth:
        return all_of(s.faults_over, s.leader == NO_LEADER, able)

    claims = [
        leads_to("leader-is-elected", "once faults end, a leaderless partition with a registered candidate is led",
                 lambda s: waits(s, has_candidate(s)), lambda s: s.leader >= 0, "invariant 41; KIP-966",
                 ("unclean-cancel-is-silent", "elr-downgrade+switched-off-elr-is-neglected"),
                 ("restart.clean-keeps-elr", "unfence.retries-leaderless", "elr.off.clears")),
        leads_to("volunteer-is-elected", "once faults end, a live replica leads where unclean election is allowed",
                 lambda s: waits(s, has_volunteer(s)), lambda s: s.leader >= 0, "invariant 42; KIP-631",
                 ("dead-last-known-leader-electable+last-known-leader-may-be-none",), ("timer.unclean",),
                 fairness=[weak_fairness("unclean_timer")]),
        leads_to("isr-is-refilled", "once faults end, a led partition gets every registered replica into its ISR",
                 led, lambda s: replicas(s).keep(s.registered).within(s.isr), "KIP-497",
                 ("dead-last-known-leader-electable", "removed-replicas-stay-in-elr"),
                 ("election.last-known.alive", "elr.within-replicas"), fairness=[proposing()]),
        leads_to("recovery-ends", "once faults end, a led partition is RECOVERING only while no other replica is "
                 "registered",
                 lambda s: all_of(led(s), s.recovering),
                 lambda s: any_of(negate(s.recovering), replicas(s).keep(s.registered).size() <= 1),
                 "invariant 33; KIP-704", ("recovering-isr-may-grow", "unfence-rejoins-isr"),
                 ("alter-partition.recovering-isr-of-one", "unfence.does-not-rejoin-isr"), fairness=[proposing()]),
        leads_to("preferred-leader-leads", "once faults end, the first replica leads, if it is registered",
                 lambda s: all_of(led(s), s.registered.has(s.replicas.first())),
                 lambda s: s.leader == s.replicas.first(), "KIP-460; semantics 3",
                 ("dead-last-known-leader-electable", "removed-replicas-stay-in-elr"),
                 ("timer.balance", "election.last-known.alive"), fairness=[proposing()]),
    ]  # fmt: skip
    if setting["reassignment"]:
        claims.append(
            leads_to("reassignment-ends-as-asked",
                     "once faults end, a led reassignment to registered brokers ends with the replicas asked for last",
                     lambda s: all_of(led(s), reassigning(s), targets(s).within(s.registered)),
                     _as_asked, "invariant 43; KIP-455",
                     ("retarget-keeps-old-reassignment", "completion-keeps-removing", "completion-needs-every-replica"),
                     ("reassignment.completion.every-build",), fairness=[proposing()])
        )  # fmt: skip
    return claims


def _as_asked(s: HealingElections) -> Truth:
    asked = any_of(s.asked.is_empty(), replicas(s).same(s.asked))
    return all_of(negate(reassigning(s)), asked)


_ENDING = with_ending_faults(ELECTIONS, HealingElections, healing, "operator")

HEALING_ELECTIONS = evolve(
    _ENDING,
    name="healing-elections",
    summary="elections, whose faults may end: what a partition finally comes back to",
    layout=lambda setting: evolve(_ENDING.layout(setting), asked=BrokerSet(subset_of(setting["brokers"]))),
    actions=lambda setting: [remembering(action) for action in _ENDING.actions(setting)],
    properties=lasting,
    fairness=lasting_fairness,
)
"""The system whose faults may end, with its liveness."""
