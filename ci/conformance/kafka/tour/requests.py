"""The requests of a tour: what each action of an explored system asks of the controller's managers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attrs import frozen

from kraftcheck.model.language.brokersets import BrokerSet, Replicas
from kraftcheck.model.language.system import Action, Outcome, Setting
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of, choose, negate
from kraftcheck.model.partition.election import LEADERLESS
from kraftcheck.model.rules.ruleset import RuleSet
from kraftcheck.model.systems.directories.control import Control
from kraftcheck.model.systems.directories.process import Process
from kraftcheck.model.systems.directories.state import Told
from kraftcheck.model.systems.elections.triggers import Triggers, start
from kraftcheck.model.systems.kraft.system import request_in_flight
from kraftcheck.model.triggers import leadership, table
from kraftcheck.model.triggers.leadership import member_checks

ARGUMENTS = {
    "broker": ("broker",), "failed": ("first",), "directory": ("first",), "clean": ("first",), "recovering": ("first",),
    "minimum": ("first",), "isr": ("second",), "dirs": ("second",), "target": ("target",),
}  # fmt: skip
"""The column of each argument of an action of `elections`."""

OF_ELECTIONS = frozenset(
    ("fence", "unfence", "heartbeat", "directories_offline", "controlled_shutdown", "unregister", "new_incarnation",
     "assign", "alter_partition", "elect_preferred", "elect_unclean", "unclean_timer", "balance_timer", "set_min_isr",
     "set_unclean_election", "enable_elr", "disable_elr", "reassign", "cancel")
)  # fmt: skip
"""Actions of `elections` that are requests or timers of Kafka's."""

CHECKED = frozenset(
    (leadership.REPLICAS, leadership.LEADER, leadership.ONE_MEMBER, leadership.NOT_ANEW, leadership.ELIGIBLE,
     table.IN_PROGRESS, table.ORIGINAL_LEFT, table.ORIGINAL_IN_ISR, table.ORIGINAL_LEADS, LEADERLESS,
     "leader is not the first replica", "topic allows unclean election", "targets are registered",
     "broker is a replica", "the controller knows its directories")
)  # fmt: skip
"""Conjuncts of guards that Kafka checks by itself: a request that the rules refuse for them can be put all the same."""

WITHOUT_CONTROLLER = frozenset(
    ("apply_metadata", "log_dir_timeout", "send", "answer", "lose", "replicate", "fail_directory", "crash",
     "lose_report", "move", "cancel_move", "copy", "request_promotion", "promote", "fail_while_promoting", "repair",
     "replace_disk", "copy_meta_properties", "cordon", "write", "stop", "lose_decision")
)  # fmt: skip
"""Actions of `directories` of which the controller learns nothing: those of brokers, disks and operators alone."""

OF_LOGS = frozenset(
    ("produce", "produce_acks_1", "fetch", "propose_expand", "propose_shrink", "receive_answer", "give_up",
     "apply_directories", "lose_alter_partition")
)  # fmt: skip
"""Further such actions of `kraft`: those of logs, and of the metadata that brokers apply."""

OUTDATED_MEMBERS = 2
"""In the column `first` of `alter_partition`, where 1 is a leader that recovers: members state earlier epochs."""

REFUSED_EARLIER = ("intrude",)
"""Actions that Kafka refuses before the managers are asked: whether the sender is allowed to."""


class TourError(ValueError):
    """A system that cannot be put to the managers as it is; the message names the action."""


@frozen
class ManagerRequest:
    """A request to the managers, in the columns of a question."""

    action: str  # the name that the driver knows it by
    # broker, first, second, target: its arguments; no target: vacant slots
    broker: Word = 0
    first: Word = 0
    second: Word = 0
    target: Replicas | None = None
    possible: Truth = True  # whether it can be put to them
    # what the controller decides, where the action itself does not tell; None: as its outcome has it
    decision: Outcome | None = None


RequestRule = Callable[[Any, Any, Mapping[str, Any]], ManagerRequest]
"""The request of a transition, from the state before, that after, and the action's arguments."""


def managed_part(system: str, state: Any) -> Any:
    """The part of a state, its first fields, that the managers have."""
    if system == "elections":
        return state
    return state.data.controller if system == "kraft" else state.controller


def managed_name(system: str) -> str:
    """The system whose controller the managers are: of one with liveness alone, `fair-...`, the one that behaves."""
    return system.removeprefix("fair-")


def check_one_partition(system: str, setting: Setting) -> None:
    """Raise `TourError` where a scope of `kraft` has a second partition: the managers are given one."""
    if system == "kraft" and setting["second"]:
        raise TourError(f"kraft at {setting.scope} has a second partition: only the first is put to the managers")


def request_of(system: str, action: Action, rules: RuleSet) -> RequestRule | None:
    """The request of an action; None: the managers are not asked; raises TourError where none is defined here."""
    if system == "elections" and action.name in OF_ELECTIONS:
        return _of_elections(action.name)
    if system not in ("elections", "directories", "kraft"):
        raise TourError(f"the actions of {system} are not put to the managers")
    silent = WITHOUT_CONTROLLER | OF_LOGS if system == "kraft" else WITHOUT_CONTROLLER
    if action.name in (*silent, *REFUSED_EARLIER):
        return None
    rules_of = {"kraft": lambda: _of_kraft(rules), "directories": lambda: _of_directories(Control(rules))}
    rule = rules_of[system]().get(action.name) if system in rules_of else None
    if rule is None:
        raise TourError(f"it is not said what {action.name} of {system} asks of the managers")
    return rule


def _of_elections(name: str) -> RequestRule:
    def request(before: Any, after: Any, arguments: Mapping[str, Any]) -> ManagerRequest:
        columns = {column: _plain(value) for key, value in arguments.items() for column in ARGUMENTS[key]}
        return ManagerRequest(name, **columns)

    return request


def _plain(value: Any) -> Any:
    return value.mask if isinstance(value, BrokerSet) else value


def _of_directories(control: Control) -> dict[str, RequestRule]:
    """The requests of brokers and operators; those of one kind differ in what the broker puts in."""

    def reported(action: str) -> RequestRule:
        def request(before: Any, after: Any, arguments: Mapping[str, Any]) -> ManagerRequest:
            host = before.host(arguments["broker"])
            return ManagerRequest(action, arguments["broker"], host.ids(host.reports(control.rules.directories)).mask)

        return request

    def started(before: Any, after: Any, arguments: Mapping[str, Any]) -> ManagerRequest:
        host = after.host(arguments["broker"])  # Missing ids are generated by then.
        clean = choose(Process(control.rules).starts_clean(before.host(arguments["broker"])), 1, 0)
        return ManagerRequest("new_incarnation", arguments["broker"], clean, host.ids(host.disks).mask)

    def registered_again(before: Any, after: Any, arguments: Mapping[str, Any]) -> ManagerRequest:
        host = before.host(arguments["broker"])
        return ManagerRequest("register_again", arguments["broker"], 0, host.ids(host.disks.plus(host.failed)).mask)

    def altered(grows: bool) -> RequestRule:
        def request(before: Any, after: Any, arguments: Mapping[str, Any]) -> ManagerRequest:
            isr = before.controller.isr
            broker = isr.just(arguments["broker"])
            return ManagerRequest("alter_partition", second=(isr.plus(broker) if grows else isr.minus(broker)).mask)

        return request

    def assigned(before: Any, after: Any, arguments: Mapping[str, Any]) -> ManagerRequest:
        return ManagerRequest("assign", arguments["broker"], before.host(arguments["broker"]).sent)

    def assigned_late(before: Any, after: Any, arguments: Mapping[str, Any]) -> ManagerRequest:
        host = before.host(arguments["broker"])
        return ManagerRequest("assign_late", arguments["broker"], host.late, host.late_stale)

    return {
        "start": started,
        "register_again": registered_again,
        "unfence": reported("heartbeat"),
        "report": reported("directories_offline"),
        "fail_while_reporting": reported("directories_offline"),
        "fence": lambda before, after, arguments: ManagerRequest("fence", arguments["broker"]),
        "shut_down": lambda before, after, arguments: ManagerRequest("controlled_shutdown", arguments["broker"]),
        "assign": assigned,
        "assign_late": assigned_late,
        "expand_isr": altered(True),
        "shrink_isr": altered(False),
        "elect_preferred": lambda before, after, arguments: ManagerRequest("elect_preferred"),
        "reassign": lambda before, after, arguments: ManagerRequest("reassign", target=arguments["target"]),
    }


def _of_kraft(rules: RuleSet) -> dict[str, RequestRule]:
    """Those of `directories`, asked of the half with the disks, and the request that a leader has in flight."""

    def placed(rule: RequestRule) -> RequestRule:
        return lambda before, after, arguments: rule(before.placement(), after.placement(), arguments)

    def altered(before: Any, after: Any, arguments: Mapping[str, Any]) -> ManagerRequest:
        controller, request = before.data.controller, request_in_flight(before, rules)
        checks = member_checks(request.isr, controller, request.stale, BrokerSet(), rules.data_plane)
        refused = negate(all_of(*checks.values()))
        decided = Triggers(rules).alter_partition(controller, request.isr, False)
        event = choose(refused, start(controller).event, decided.event)
        outdated = choose(before.data.request.stale, OUTDATED_MEMBERS, 0)
        decision = Outcome(after, Told(event, refused), decided.records)
        return ManagerRequest("alter_partition", first=outdated, second=request.isr.mask, decision=decision)

    shared = {name: placed(rule) for name, rule in _of_directories(Control(rules)).items()}
    return {**shared, "alter_partition": altered}
