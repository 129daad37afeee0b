"""Recoverability of `directories`: claims AG (when -> EF goal), by actions that can happen without end.

The way out never rests on a budget, or on an operator who repairs a disk or gives it up.

Goals of `directories`: the states and steps that it must reach, so that no property holds for want of cases.

Liveness of `directories`: what brokers finally tell, and what the controller finally makes of it.

`FAIR_DIRECTORIES` is the system with these properties alone: `explore` judges them. Faults have budgets, so they end.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kraftcheck.model.language.system import Fairness, Property, Setting, Step
from kraftcheck.model.language.terms import Truth
from kraftcheck.model.language.words import NO_LEADER, all_of, any_of, implies, negate, none_of
from kraftcheck.model.partition.registration import LOST
from kraftcheck.model.systems.directories.state import (
    ABSENT,
    METADATA,
    NEW,
    OFFLINE,
    SERVING,
    UNOPENED,
    UPGRADE,
    Placement,
)
from kraftcheck.model.systems.directories.system import DIRECTORIES, actions
from kraftcheck.properties.kinds import (
    fair_system,
    happens,
    leads_to,
    recovers,
    sometimes,
    strong_fairness,
    weak_fairness,
)

Way = Mapping[str, Mapping[str, Any]]

TELLS: Way = {
    "apply_metadata": {}, "send": {}, "assign": {}, "answer": {}, "lose": {"copy": False},
    "report": {"delivered": True},
}  # fmt: skip
"""Brokers apply metadata, report failures, and send assignments until they are answered."""

MOVES: Way = {"copy": {}, "request_promotion": {}, "promote": {}}  # the thread that moves a replica goes on
STOPS: Way = {"log_dir_timeout": {}}  # a broker that cannot report a failure stops

RETURNS: Way = {"start": {}, "unfence": {"delivered": True}, "elect_preferred": {}}
"""Brokers come back, and the controller tries leaderless partitions again."""


def properties(setting: Setting) -> list[Property]:
    """Claims of recovery for the setting."""
    again: Way = {"register_again": {}} if setting["start"] else {}
    tells: Way = {**TELLS, **again}
    freed: Way = {"cordon": {"cordoned": False}} if setting["cordons"] else {}
    claims = _of_failures(setting, tells)
    if setting["directories"] > 1 or not setting.rules.directories.single_directory_silent:
        claims.append(
            recovers("assignment-can-settle", "every served replica can come to be assigned to where it is", settled,
                     "invariant 44; KIP-858", ("revert-only-while-queued",),
                     rules=("move.failed-target-takes-assignment-back",),
                     when=on_file, by={**tells, **(MOVES if setting["moves"] else {})}))  # fmt: skip
    if setting["directories"] > 1 and (setting["start"] != UPGRADE or setting["crashes"]):
        claims.append(
            recovers("replica-can-be-served", "a replica that is new to its broker, or of which no disk failed, can be"
                     " served", lambda s: negate(_has_unserved(s)), "KIP-858; KIP-112",
                     ("offline-directory-stops-new-logs", "unknown-directory-stays-empty"),
                     rules=("catchup.new-partition-gets-a-log", "catchup.no-directory-offline-makes-a-log"),
                     when=_awaits_a_log, by={**tells, **freed})
        )  # fmt: skip
    if setting["moves"] and setting["directories"] > 1:
        claims.append(
            recovers("move-can-complete", "a move between working directories can complete",
                     lambda s: negate(moves(s)), "invariant 47; KIP-113", ("correction-ignores-future-log",),
                     rules=("assignment.not-corrected-during-a-move",),
                     when=moves, by={**tells, **MOVES}))  # fmt: skip
        if setting["cordons"]:
            claims.append(
                recovers("move-can-be-taken-back", "an operator can take a running move back, whatever is cordoned",
                         lambda s: negate(moves(s)), "KIP-113; KIP-1066", ("cordoned-source-keeps-move",),
                         rules=("cordoning.move-can-be-taken-back",),
                         when=lambda s: all_of(moves(s), s.left.moves > 0), by={"cancel_move": {}}))  # fmt: skip
    if setting["torn-moves"]:
        claims.append(
            recovers("broker-can-start", "a stopped broker whose disks all work can start",
                     lambda s: negate(_is_down(s)), "KIP-858; KIP-113", ("duplicate-log-stops-start",),
                     rules=("startup.keeps-the-log-that-metadata-names",),
                     when=_is_down, by={"start": {}}))  # fmt: skip
    claims.append(
        recovers("readable-log-leads", "a leaderless partition can get a leader while a candidate has a readable log",
                 lambda s: s.controller.leader >= 0, "invariant 41; KIP-858",
                 ("unknown-directory-hides-log", "registration-without-directories"),
                 rules=("catchup.readable-log-is-opened", "registration.again-once-directories-are-known"),
                 when=lambda s: has_a_candidate(s, setting), by={**tells, **_returns(setting)}))  # fmt: skip
    return claims


def _returns(setting: Setting) -> Way:
    """Brokers come back, also those that began to shut down."""
    return {**RETURNS, **({"stop": {}} if setting["clean-stops"] else {})}


def _of_failures(setting: Setting, tells: Way) -> list[Property]:
    """Claims of leaders whose directory failed, and of brokers that are fenced."""
    claims: list[Property] = []
    if setting["failures"] and setting["directories"] > 1:
        claims.append(
            recovers("failure-can-lead-away", "a leader whose directory failed can lose the leadership, or stops",
                     lambda s: negate(leads_dead(s)), "invariant 45; KIP-858",
                     ("catch-up-as-coded+added-replica-unreported", "failure-reported-once"),
                     rules=("catchup.one-table", "catchup.added-replica-reports",
                            "directory-failure.in-every-heartbeat", "move.promoted-log-serves"),
                     when=leads_dead, by={**tells, **STOPS}))  # fmt: skip
    if setting["failures"] and setting["directories"] > 1 and setting["start"] != UPGRADE:
        claims.append(
            recovers("untold-failure-stops-broker", "a leader whose directory failed stops, though nothing that it"
                     " sends arrives", lambda s: negate(leads_dead(s)), "KIP-858",
                     ("assignments-never-time-out",), rules=("assignment.into-failed-directory-stops-broker",),
                     when=leads_dead, by={"apply_metadata": {}, **STOPS}))  # fmt: skip
    if any(setting[name] for name in ("failures", "crashes", "fences")):
        claims.append(
            recovers("broker-can-return", "a broker that runs can come to be unfenced, whichever directory failed",
                     lambda s: negate(waits(s)), "invariant 37; KIP-858",
                     ("offline-replica-unreported", "single-directory-silent", "unknown-directory-is-offline"),
                     rules=("assignment.closed-replica-is-lost", "assignment.single-directory-is-silent",
                            "directory.unknown-is-online"),
                     when=waits, by={**tells, "unfence": {"delivered": True}}))  # fmt: skip
    return claims


def _is_down(s: Placement) -> Truth:
    """A broker is stopped though each of its disks works."""
    return any_of(*(none_of(h.up, h.some_offline()) for h in s.hosts))


def waits(s: Placement) -> Truth:
    """A running broker is fenced."""
    return any_of(*(all_of(h.up, s.controller.fenced.has(b)) for b, h in enumerate(s.hosts)))


def leads_dead(s: Placement) -> Truth:
    """A running broker leads whose directory has failed."""
    return any_of(*(all_of(h.up, h.replica == OFFLINE, s.controller.leader == b) for b, h in enumerate(s.hosts)))


def _unserved(s: Placement, broker: int) -> Truth:
    host = s.hosts[broker]
    closed = any_of(host.replica == ABSENT, host.replica == UNOPENED)
    return all_of(host.up, s.controller.replicas.has(broker), closed)


def _has_unserved(s: Placement) -> Truth:
    return any_of(*(_unserved(s, b) for b in range(len(s.hosts))))


def _awaits_a_log(s: Placement) -> Truth:
    """Some replica is not served, and none for want of a disk that may hold its log."""
    able = [implies(_unserved(s, b), any_of(h.known == NEW, negate(h.some_offline()))) for b, h in enumerate(s.hosts)]
    return all_of(_has_unserved(s), *able)


def on_file(s: Placement) -> Truth:
    """Every broker has registered directories; before, assignments mean nothing."""
    return none_of(*(dirs.is_empty() for dirs in s.controller.online_dirs))


def settled(s: Placement) -> Truth:
    """Every replica that is served, and not moved, is assigned to where it is."""
    slots = s.controller.directories.slots
    return all_of(
        *(
            implies(all_of(h.up, h.replica == SERVING, negate(h.moving())), slots[b] == h.actual())
            for b, h in enumerate(s.hosts)
        )
    )


def moves(s: Placement) -> Truth:
    """Some replica is moved between directories that work."""
    return any_of(*(h.moving() for h in s.hosts))


def has_a_candidate(s: Placement, setting: Setting) -> Truth:
    """A candidate that can start, or runs, and whose only readable log is complete."""
    bare = not setting["metadata-slot"]
    candidates = s.controller.isr.plus(s.controller.elr)
    able = [
        all_of(
            candidates.has(b),
            h.logs.keep(h.disks).size() == 1,
            h.whole.has(h.current()),
            none_of(negate(h.distinct_ids()), h.replica == OFFLINE),
            any_of(bare, h.disks.has(METADATA)),
        )
        for b, h in enumerate(s.hosts)
    ]
    return all_of(s.controller.leader == NO_LEADER, any_of(*able))


def goals(setting: Setting) -> list[Property]:
    """Goals of the setting: each must be witnessed, else the run is vacuous."""
    listed = [happens("shows-unfencing", "a broker is unfenced", lambda t: t.action == "unfence")]
    if not setting.rules.directories.assignment_unauthorized:
        listed.append(
            happens(
                "shows-refusal", "an assignment is refused", lambda t: False if t.event is None else t.event.refused
            )
        )
    if setting["takeovers"]:
        listed.append(happens("shows-takeover", "a controller is deposed before its decision is committed",
                              lambda t: t.action == "lose_decision"))  # fmt: skip
    if setting["records"]:
        listed.append(happens("shows-record", "a record is committed", lambda t: t.action == "write"))
    if setting["directories"] > 1:
        listed += [
            sometimes("shows-assignment", "the controller knows where a replica is",
                      lambda s: any_of(*(all_of(h.serving(), s.controller.directories.slots[b] == h.actual())
                                         for b, h in enumerate(s.hosts)))),
        ]  # fmt: skip
    if setting["failures"] and setting["directories"] > 1:
        listed.append(happens("shows-report", "a failure ends a leadership", _report_moves))
    if setting["moves"] and setting["directories"] > 1:
        listed.append(happens("shows-promotion", "a move completes, and the log is in another directory", _moves))
        if setting["failures"] and not setting.rules.directories.lost_source_reverts:
            listed.append(sometimes("shows-lost", "a replica is assigned to LOST", _lost))
    return listed


def _lost(s: Placement) -> Truth:
    return any_of(*(directory == LOST for directory in s.controller.directories.slots))


def _moves(t: Step) -> Truth:
    if t.action != "promote":
        return False
    before, after = (state.host(t.arguments["broker"]) for state in (t.before, t.after))
    return all_of(after.has_log(), negate(after.current() == before.current()))


def _report_moves(t: Step) -> Truth:
    if t.action not in ("report", "assign"):
        return False
    leader = t.before.controller.leader
    return all_of(leader >= 0, leader == t.arguments["broker"], negate(t.after.controller.leader == leader))


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


def liveness(setting: Setting) -> list[Property]:
    """The liveness properties, of all brokers together."""
    several = setting["directories"] > 1
    claims = [
        leads_to("running-broker-is-unfenced", "a fenced broker that runs is finally unfenced, or stops",
                 waits, lambda s: negate(waits(s)), "invariant 37; KIP-858",
                 ("offline-replica-unreported", "revert-only-while-queued"),
                 ("assignment.closed-replica-is-lost", "move.failed-target-takes-assignment-back")),
        leads_to("readable-log-is-led", "a leaderless partition with a candidate whose log is readable is finally led",
                 lambda s: has_a_candidate(s, setting),
                 lambda s: negate(has_a_candidate(s, setting)), "invariant 41; KIP-858",
                 ("unknown-directory-hides-log", "registration-without-directories"),
                 ("catchup.readable-log-is-opened", "registration.again-once-directories-are-known")),
    ]  # fmt: skip
    if several or not setting.rules.directories.single_directory_silent:
        claims.append(
            leads_to("assignments-settle", "every served replica is finally assigned to where it is",
                     lambda s: all_of(on_file(s), negate(settled(s))), settled,
                     "invariant 44; KIP-858", ("revert-only-while-queued", "epoch-change-forgets-promotion"),
                     ("move.failed-target-takes-assignment-back", "move.metadata-keeps-its-state"))
        )  # fmt: skip
    if several and setting["failures"]:
        claims.append(
            leads_to("failure-leads-away", "a leader whose directory failed finally leads no more, or stops",
                     leads_dead, lambda s: negate(leads_dead(s)), "invariant 45; KIP-858",
                     ("catch-up-as-coded+added-replica-unreported", "failure-reported-once"),
                     ("catchup.one-table", "catchup.added-replica-reports", "directory-failure.in-every-heartbeat"))
        )  # fmt: skip
    if several and setting["moves"]:
        claims.append(
            leads_to("move-ends", "a move between working directories finally ends",
                     moves, lambda s: negate(moves(s)), "invariant 47; KIP-113",
                     ("correction-ignores-future-log",), ("assignment.not-corrected-during-a-move",))
        )  # fmt: skip
    return claims


FAIR_DIRECTORIES = fair_system(
    DIRECTORIES, "where messages finally arrive: what brokers tell, and what the controller makes of it",
    liveness, fairness,
)  # fmt: skip
"""The system with its liveness."""
