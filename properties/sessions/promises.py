"""The promises of sessions: silent brokers are fenced, returned ones unfenced, and a broker that shuts down may stop.

Liveness of `sessions` once faults end: who is silent is fenced, who returns is unfenced, who wants to stop may.

`HEALING_SESSIONS` is the system whose faults may end, with these properties alone: `explore` judges them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attrs import evolve, frozen

from kraftcheck.model.language.system import Conjuncts, Fairness, Property, Setting, Step
from kraftcheck.model.language.terms import Truth
from kraftcheck.model.language.words import all_of, any_of, implies, negate, word
from kraftcheck.model.systems.ending_faults import Healing, with_ending_faults
from kraftcheck.model.systems.sessions.system import SESSIONS, Peer, Sessions, Touch
from kraftcheck.properties.kinds import always, happens, leads_to, recovers, sometimes, step, weak_fairness

ROUNDS: Mapping[str, Mapping[str, Any]] = {"beat": {}, "pass_round": {}}
"""Time that goes by, with each running broker in touch."""


def properties(setting: Setting) -> list[Property]:
    """Every property of the system."""
    return [*_promises(setting), *_healing(setting), *_goals()]


def _promises(setting: Setting) -> list[Property]:
    """Of epochs, and of who is in session."""
    do = Touch(setting)
    return [
        step("epoch-of-incarnation", "a broker's epoch rises with each new process, and with nothing else",
             lambda t: word(t.event.raised) == word(t.event.registered) if t.event is not None else True,
             "invariant 31; KAFKA-16952", ("reregistration-bumps-epoch",),
             rules=("broker-epoch.of-incarnation",)),
        always("fenced-broker-may-return", "a process that ended bars no other one once its broker is fenced",
               lambda s: {f"broker {b}": negate(all_of(negate(p.up), p.fenced, do.in_session(p)))
                          for b, p in enumerate(s.brokers)},
               "KAFKA-19047; KAFKA-17793", ("sessions-by-contact",),
               rules=("session.valid-though-fenced",)),
        step("takeover-revives-no-session", "no fenced broker is in session because another controller takes over",
             lambda t: _revived(t, do), "KAFKA-19130", ("sessions-by-contact+takeover-hears-fenced-brokers",),
             rules=("session.begins-with-the-controller",)),
    ]  # fmt: skip


def _healing(setting: Setting) -> list[Property]:
    """What always can come about, as time goes by and running brokers stay in touch."""
    return [
        recovers("silent-broker-is-fenced", "a broker whose process has ended is fenced in the end",
                 lambda s: negate(any_of(*_each(s, lambda p: all_of(negate(p.up), negate(p.fenced))))),
                 "invariant 40; KAFKA-18138", ("sessions-by-contact+takeover-hears-nobody",),
                 rules=("session.begins-with-the-controller",),
                 by={**ROUNDS, "expire": {}}),
        recovers("broker-returns", "a running broker that does not shut down is unfenced in the end",
                 lambda s: negate(any_of(*_each(s, lambda p: all_of(p.up, p.fenced, negate(p.stopping))))),
                 "KAFKA-13959", ("unfence-needs-log-end",), rules=("unfence.offset-of-registration",), by=ROUNDS),
        recovers("shutdown-is-granted", "a running broker that wants to shut down is told to stop in the end",
                 lambda s: negate(any_of(*_each(s, lambda p: all_of(p.up, p.stopping)))),
                 "invariant 48; KAFKA-14292", ("shutdown-offset-moves",),
                 rules=("shutdown.offset-of-first-request",),
                 by={**ROUNDS, "expire": {}}),
        recovers("leader-steps-down", "a process that leads no longer learns of it, while it shuts down too",
                 lambda s: all_of(*(implies(p.leads, s.leader == b) for b, p in enumerate(s.brokers))),
                 "KAFKA-13858; KAFKA-14296", ("stopping-broker-ignores-metadata",),
                 rules=("shutdown.broker-follows-metadata",), by={"apply": {}}),
    ]  # fmt: skip


def _goals() -> list[Property]:
    """States and steps that are worth something to reach."""
    return [
        happens("shows-released", "a broker is told to stop after others have followed",
                _released),
        happens("shows-expiry", "a session is over", lambda t: t.action == "expire"),
        happens("shows-leader-in-touch", "a heartbeat leaves its broker the leader", _stays),
        happens("shows-registration", "a new process of a fenced broker is registered, beside an unfenced one",
                _registered),
        sometimes("shows-dead-leader", "a leader's process has ended, and nobody knows",
                  lambda s: any_of(*(all_of(s.leader == b, negate(p.up)) for b, p in enumerate(s.brokers)))),
        sometimes("shows-two-leaders", "two processes take themselves for the leader",
                  lambda s: all_of(*(p.leads for p in s.brokers[:2]))),
    ]  # fmt: skip


def _each(s: Sessions, said: Callable[[Peer], Truth]) -> list[Truth]:
    return [said(peer) for peer in s.brokers]


def _revived(t: Step, do: Touch) -> Conjuncts | Truth:
    if t.action != "take_over":
        return True
    return {
        f"broker {b}": implies(all_of(old.fenced, negate(do.in_session(old))), negate(do.in_session(new)))
        for b, (old, new) in enumerate(zip(t.before.brokers, t.after.brokers, strict=True))
    }


def _stays(t: Step) -> Truth:
    if t.action != "beat":
        return False
    leader = t.arguments["broker"]
    stays = all_of(t.before.leader == leader, t.after.leader == leader)
    return all_of(stays, negate(t.before.broker(leader).stopping))


def _registered(t: Step) -> Truth:
    if t.action != "register":
        return False
    broker = t.arguments["broker"]
    runs = all_of(t.before.broker(broker).fenced, t.after.broker(broker).up)
    return all_of(runs, any_of(*_each(t.after, lambda p: all_of(p.up, negate(p.fenced)))))


def _released(t: Step) -> Truth:
    if t.event is None:
        return False
    return all_of(t.event.released, any_of(*_each(t.before, lambda p: all_of(p.leaving, p.shutdown > 0))))


@frozen
class HealingSessions(Sessions):
    """The state, with the mark that no fault comes any more."""

    faults_over: Truth = False


def healing(setting: Setting) -> Healing:
    """Heartbeats arrive, rounds pass, sessions expire, brokers apply metadata; a process that ended may come back."""
    return {"beat": None, "pass_round": None, "expire": None, "apply": None, "register": None}


def fairness(setting: Setting) -> list[Fairness]:
    """Each running broker keeps in touch and applies metadata, time passes, and the controller checks each session."""
    each = [weak_fairness(name, each=["broker"]) for name in ("beat", "expire", "apply")]
    return [*each, weak_fairness("pass_round")]


def liveness(setting: Setting) -> list[Property]:
    """The liveness properties once faults have ended, of all brokers together."""
    return [
        _ends("dead-broker-is-fenced", "once faults end, a broker whose process has ended is fenced, or runs again",
              lambda b, s, p: all_of(negate(p.up), negate(p.fenced)), "invariant 40; KAFKA-18138",
              "sessions-by-contact+takeover-hears-nobody",
              ("session.begins-with-the-controller",)),
        _ends("running-broker-is-unfenced", "once faults end, a fenced broker that heartbeats is unfenced",
              lambda b, s, p: all_of(p.up, p.fenced, negate(p.stopping)), "KAFKA-13959",
              "unfence-needs-log-end", ("unfence.offset-of-registration",)),
        _ends("shutdown-ends", "once faults end, a running broker that wants to shut down is told to stop",
              lambda b, s, p: all_of(p.up, p.stopping), "invariant 48; KAFKA-14292", "shutdown-offset-moves",
              ("shutdown.offset-of-first-request",)),
        _ends("leader-learns", "once faults end, a process that leads no longer learns of it",
              lambda b, s, p: all_of(p.leads, negate(s.leader == b)), "KAFKA-13858; KAFKA-14296",
              "stopping-broker-ignores-metadata+shutdown-offset-moves", ("shutdown.broker-follows-metadata",)),
    ]  # fmt: skip


def _ends(
    name: str, sentence: str, waits: Callable[[int, Sessions, Peer], Truth], source: str, variant: str,
    rules: tuple[str, ...],
) -> Property:  # fmt: skip
    """Once faults have ended and some broker waits, finally none does."""

    def some(s: Sessions) -> Truth:
        return any_of(*(waits(number, s, peer) for number, peer in enumerate(s.brokers)))

    return leads_to(name, sentence, lambda s: all_of(s.faults_over, some(s)), lambda s: negate(some(s)), source,
                    (variant,), rules)  # fmt: skip


HEALING_SESSIONS = evolve(
    with_ending_faults(SESSIONS, HealingSessions, healing, "controller"),
    name="healing-sessions",
    summary="sessions, where faults may end: who is finally fenced, unfenced, and let go",
    properties=liveness,
    fairness=fairness,
)
"""The system whose faults may end, with its liveness."""
