"""Liveness of `sessions` once faults end: who is silent is fenced, who returns is unfenced, who wants to stop may.

`HEALING_SESSIONS` is the system whose faults may end, with these properties alone: `explore` judges them.
"""

from __future__ import annotations

from collections.abc import Callable

from attrs import evolve, frozen

from kraftcheck.model.language.system import Fairness, Property, Setting
from kraftcheck.model.language.terms import Truth
from kraftcheck.model.language.words import all_of, any_of, negate
from kraftcheck.model.systems.ending_faults import Healing, with_ending_faults
from kraftcheck.model.systems.sessions.system import SESSIONS, Peer, Sessions
from kraftcheck.properties.kinds import leads_to, weak_fairness


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


def properties(setting: Setting) -> list[Property]:
    """What finally comes about once faults have ended, of all brokers together."""
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
    properties=properties,
    fairness=fairness,
)
"""The system whose faults may end, with its liveness."""
