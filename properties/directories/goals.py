"""Goals of `directories`: the states and steps that it must reach, so that no property holds for want of cases."""

from __future__ import annotations

from kraftcheck.model.language.system import Property, Setting, Step
from kraftcheck.model.language.terms import Truth
from kraftcheck.model.language.words import all_of, any_of, negate
from kraftcheck.model.partition.registration import LOST
from kraftcheck.model.systems.directories.state import Placement
from kraftcheck.properties.kinds import happens, sometimes


def properties(setting: Setting) -> list[Property]:
    """Goals of the setting: each must be witnessed, else the run is vacuous."""
    listed = [
        happens("shows-unfencing", "a broker is unfenced", lambda t: t.action == "unfence"),
    ]  # fmt: skip
    if not setting.rules.directories.assignment_unauthorized:
        listed.append(happens("shows-refusal", "an assignment is refused", _refused))
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


def _refused(t: Step) -> Truth:
    return False if t.event is None else t.event.refused


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
