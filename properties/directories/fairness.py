"""Liveness of `directories`: what brokers finally tell, and what the controller finally makes of it.

`FAIR_DIRECTORIES` is the system with these properties alone: `explore` judges them. Faults have budgets, so they end.
"""

from __future__ import annotations

from kraftcheck.model.language.system import Fairness, Property, Setting
from kraftcheck.model.language.words import all_of, negate
from kraftcheck.model.systems.directories.system import DIRECTORIES, actions
from kraftcheck.properties.directories import healing
from kraftcheck.properties.kinds import fair_system, leads_to, strong_fairness, weak_fairness

WORK = ("apply_metadata", "start", "stop", "send", "copy", "request_promotion", "promote", "register_again")
"""What a broker finally does when it stays able to; of these, a setting has those that it needs."""


def fairness(setting: Setting) -> list[Fairness]:
    """Brokers start, apply metadata, send and move; the controller tries leaderless partitions again.

    Heartbeats that unfence or report a failure go on until one is answered. Assignments may be lost again and again,
    and so they and their answers are strongly fair: some finally arrive.
    """
    names = {action.name for action in actions(setting)}
    each = ["broker"]
    return [
        *(weak_fairness(name, each=each) for name in WORK if name in names),
        weak_fairness("elect_preferred"),
        *(weak_fairness(name, each=each, having={"delivered": True}) for name in ("unfence", "report")),
        *(strong_fairness(name, each=each) for name in ("assign", "answer")),
    ]


def properties(setting: Setting) -> list[Property]:
    """What finally comes about; of all brokers together."""
    several = setting["directories"] > 1
    claims = [
        leads_to("running-broker-is-unfenced", "a fenced broker that runs is finally unfenced, or stops",
                 healing.waits, lambda s: negate(healing.waits(s)), "invariant 37; KIP-858",
                 ("offline-replica-unreported", "revert-only-while-queued"),
                 ("assignment.closed-replica-is-lost", "move.failed-target-takes-assignment-back")),
        leads_to("readable-log-is-led", "a leaderless partition with a candidate whose log is readable is finally led",
                 lambda s: healing.has_a_candidate(s, setting),
                 lambda s: negate(healing.has_a_candidate(s, setting)), "invariant 41; KIP-858",
                 ("unknown-directory-hides-log", "registration-without-directories"),
                 ("catchup.readable-log-is-opened", "registration.again-once-directories-are-known")),
    ]  # fmt: skip
    if several or not setting.rules.directories.single_directory_silent:
        claims.append(
            leads_to("assignments-settle", "every served replica is finally assigned to where it is",
                     lambda s: all_of(healing.on_file(s), negate(healing.settled(s))), healing.settled,
                     "invariant 44; KIP-858", ("revert-only-while-queued", "epoch-change-forgets-promotion"),
                     ("move.failed-target-takes-assignment-back", "move.metadata-keeps-its-state"))
        )  # fmt: skip
    if several and setting["failures"]:
        claims.append(
            leads_to("failure-leads-away", "a leader whose directory failed finally leads no more, or stops",
                     healing.leads_dead, lambda s: negate(healing.leads_dead(s)), "invariant 45; KIP-858",
                     ("catch-up-as-coded+added-replica-unreported", "failure-reported-once"),
                     ("catchup.one-table", "catchup.added-replica-reports", "directory-failure.in-every-heartbeat"))
        )  # fmt: skip
    if several and setting["moves"]:
        claims.append(
            leads_to("move-ends", "a move between working directories finally ends",
                     healing.moves, lambda s: negate(healing.moves(s)), "invariant 47; KIP-113",
                     ("correction-ignores-future-log",), ("assignment.not-corrected-during-a-move",))
        )  # fmt: skip
    return claims


FAIR_DIRECTORIES = fair_system(
    DIRECTORIES, "where messages finally arrive: what brokers tell, and what the controller makes of it",
    properties, fairness,
)  # fmt: skip
"""The system with its liveness."""
