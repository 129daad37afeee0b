"""The steps of a scenario: requests, timers, and records read from the log."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from attrs import asdict, evolve, frozen

from kraftcheck.ci.conformance.vectors.core import known_keys
from kraftcheck.ci.conformance.vectors.forms import directories, directory
from kraftcheck.ci.conformance.vectors.scenarios.given import config_value, registration
from kraftcheck.model.controller.alter_configs import alter_config
from kraftcheck.model.controller.assign_dirs import Assignment, assign_replicas_to_dirs
from kraftcheck.model.controller.assignments import check_assignment
from kraftcheck.model.controller.commits import commit, replay_record
from kraftcheck.model.controller.elect_leaders import balance_leaders, elect_unclean
from kraftcheck.model.controller.errors import NONE
from kraftcheck.model.controller.heartbeat import Wish
from kraftcheck.model.controller.heartbeat_event import HeartbeatRequest, expired_heartbeat, heartbeat
from kraftcheck.model.controller.lifecycle import directories_offline, expire_session, unclean_shutdown, unregister
from kraftcheck.model.controller.records import CLUSTER, NODE, TOPIC, ConfigRecord, LogRecord, RegisterControllerRecord
from kraftcheck.model.controller.registration import register_controller
from kraftcheck.model.controller.state import Controller, Outcome
from kraftcheck.model.records.fields import Fields, choice, each, flag, integer, integers, long, text
from kraftcheck.model.records.records import (
    BrokerRegistrationChangeRecord,
    FenceBrokerRecord,
    TopicRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
)
from kraftcheck.model.rules.ruleset import RuleSet

T = TypeVar("T")


@frozen
class StepResult:
    """The result of a step: the state after it, its records, and its response as a plain value."""

    controller: Controller
    records: tuple[LogRecord, ...] = ()
    response: Any = None


Step = Callable[[Controller, Fields, RuleSet], StepResult]


def result_of(
    controller: Controller, outcome: Outcome[T], rules: RuleSet, write: Callable[[T], Any] = lambda response: None
) -> StepResult:
    """The step of an event: its outcome committed, its response written."""
    return StepResult(commit(controller, outcome, rules), outcome.records, write(outcome.response))


def broker(step: Fields) -> int:
    """The broker that a step is about."""
    return step.read("broker", integer)


def epoch(controller: Controller, step: Fields) -> int:
    """The broker epoch of a step: the current one where it names none."""
    registration = controller.registration(broker(step))
    return step.read_or("broker_epoch", long, -1 if registration is None else registration.epoch)


def _install(controller: Controller, step: Fields, rules: RuleSet) -> StepResult:
    """The offset of the record only matters to who asks for it."""
    record = registration(step)
    controller = replay_record(controller, record, rules)
    offset = step.read_or("record_offset", long, None)
    if offset is not None:
        offsets = {**controller.image.registration_offsets, record.broker_id: offset}
        controller = evolve(controller, image=evolve(controller.image, registration_offsets=offsets))
    return StepResult(controller, (record,))


def _replayed(controller: Controller, record: LogRecord, rules: RuleSet) -> StepResult:
    return StepResult(replay_record(controller, record, rules), (record,))


def _remove(controller: Controller, step: Fields, rules: RuleSet) -> StepResult:
    return _replayed(controller, UnregisterBrokerRecord(broker(step), epoch(controller, step)), rules)


def _set_fenced(controller: Controller, step: Fields, rules: RuleSet) -> StepResult:
    kinds = choice("registration_change_record", "dedicated_fence_record")
    fences = step.read("fenced", flag)
    change: LogRecord = BrokerRegistrationChangeRecord(broker(step), epoch(controller, step), 1 if fences else -1)
    if step.read_or("record_kind", kinds, "registration_change_record") == "dedicated_fence_record":
        kind = FenceBrokerRecord if fences else UnfenceBrokerRecord
        change = kind(broker(step), epoch(controller, step))
    return _replayed(controller, change, rules)


def _mark(controller: Controller, step: Fields, rules: RuleSet) -> StepResult:
    record = BrokerRegistrationChangeRecord(broker(step), epoch(controller, step), in_controlled_shutdown=1)
    return _replayed(controller, record, rules)


def _load_topic(controller: Controller, step: Fields, rules: RuleSet) -> StepResult:
    return _replayed(controller, TopicRecord(step.read("topic", text), step.read("topic_id", text)), rules)


def _check_epoch(controller: Controller, step: Fields, rules: RuleSet) -> StepResult:
    controller.check_epoch(broker(step), step.read("broker_epoch", long))
    return StepResult(controller, response={"error": NONE})


def _heartbeat_request(controller: Controller, step: Fields) -> HeartbeatRequest:
    wish = Wish(
        fence=step.read_or("want_fence", flag, False),
        shutdown=step.read_or("want_shutdown", flag, False),
        metadata_offset=step.read("metadata_offset", long),
    )
    failed = step.read("offline_dirs", directories) if step.has("offline_dirs") else ()
    return HeartbeatRequest(broker(step), epoch(controller, step), wish, failed)


def _heartbeat(controller: Controller, step: Fields, rules: RuleSet) -> StepResult:
    offset = step.read_or("registration_offset", long, None)
    outcome = heartbeat(controller, _heartbeat_request(controller, step), rules, offset)
    return result_of(controller, outcome, rules, asdict)


def _expired_heartbeat(controller: Controller, step: Fields, rules: RuleSet) -> StepResult:
    return result_of(controller, expired_heartbeat(controller, _heartbeat_request(controller, step), rules), rules)


def _advance(controller: Controller, step: Fields, rules: RuleSet) -> StepResult:
    return StepResult(evolve(controller, soft=controller.soft.after(step.read("ms", long))))


def _offline(controller: Controller, step: Fields, rules: RuleSet) -> StepResult:
    failed = step.read("dirs", directories)
    outcome = directories_offline(controller, broker(step), epoch(controller, step), failed, rules)
    return result_of(controller, outcome, rules)


def _assign(controller: Controller, step: Fields, rules: RuleSet) -> StepResult:
    rows = [known_keys(row, "dir", "topic", "partition") for row in step.read("assignments", each(Fields.of))]
    assignments = tuple(
        Assignment(
            row.read("dir", directory), topic_id(controller, row.read("topic", text)), row.read("partition", integer)
        )
        for row in rows
    )
    outcome = assign_replicas_to_dirs(controller, broker(step), epoch(controller, step), assignments, rules)
    answers = zip(rows, outcome.response, strict=True)
    response = [{**row.data, "error": result.error} for row, result in answers]
    return evolve(result_of(controller, outcome, rules), response=response)


def topic_id(controller: Controller, name: str) -> str:
    """The id of a topic; an unknown name stands for an unknown id."""
    return controller.topic_id(name) or f"unknown:{name}"


def _set_config(controller: Controller, step: Fields, rules: RuleSet) -> StepResult:
    scope = step.read("scope", choice(TOPIC, NODE, CLUSTER))
    name = "" if scope == CLUSTER else step.read("name", text)
    value = step.read("value", config_value) if step.has("value") else None
    record = ConfigRecord(scope, name, step.read("key", text), value)
    return result_of(controller, alter_config(controller, record, rules), rules)


def _check_assignment(controller: Controller, step: Fields, rules: RuleSet) -> StepResult:
    factor = step.read_or("expected_replication_factor", integer, None)
    check_assignment(controller, step.read("replicas", integers), rules.controller, factor)
    return StepResult(controller, response={"error": NONE})


def _register_controller(controller: Controller, step: Fields, rules: RuleSet) -> StepResult:
    record = RegisterControllerRecord(step.read("controller", integer), step.read_or("incarnation", text, ""))
    return result_of(controller, register_controller(controller, record), rules)


def _write_more(more: bool) -> dict[str, bool]:
    return {"more": more}


STEPS: Mapping[str, tuple[tuple[str, ...], Step]] = {
    "install_registration": (
        ("broker", "epoch", "dirs", "fenced", "in_controlled_shutdown", "rack", "record_offset", "incarnation",
         "features", "listeners", "is_migrating_zk_broker"),
        _install,
    ),
    "remove_registration": (("broker", "broker_epoch"), _remove),
    "set_fenced": (("broker", "broker_epoch", "fenced", "record_kind"), _set_fenced),
    "mark_in_controlled_shutdown": (("broker", "broker_epoch"), _mark),
    "load_topic_record": (("topic", "topic_id"), _load_topic),
    "check_broker_epoch": (("broker", "broker_epoch"), _check_epoch),
    "heartbeat": (
        ("broker", "broker_epoch", "want_fence", "want_shutdown", "metadata_offset", "registration_offset",
         "offline_dirs"),
        _heartbeat,
    ),
    "heartbeat_processed_too_late": (
        ("broker", "broker_epoch", "want_fence", "want_shutdown", "metadata_offset", "registration_offset",
         "offline_dirs"),
        _expired_heartbeat,
    ),
    "advance_time": (("ms",), _advance),
    "expire_session": (("broker",), lambda c, step, rules: result_of(c, expire_session(c, broker(step), rules), rules)),
    "unregister_broker": (("broker",), lambda c, step, rules: result_of(c, unregister(c, broker(step), rules), rules)),
    "unclean_shutdown": (
        ("broker",), lambda c, step, rules: result_of(c, unclean_shutdown(c, broker(step), rules), rules)
    ),
    "directories_offline": (("broker", "broker_epoch", "dirs"), _offline),
    "assign_replicas_to_dirs": (("broker", "broker_epoch", "assignments"), _assign),
    "set_config": (("scope", "name", "key", "value"), _set_config),
    "validate_assignment": (("replicas", "expected_replication_factor"), _check_assignment),
    "register_controller": (("controller", "incarnation"), _register_controller),
    "balance_leaders": ((), lambda c, step, rules: result_of(c, balance_leaders(c, rules), rules, _write_more)),
    "elect_unclean_for_leaderless": (
        (), lambda c, step, rules: result_of(c, elect_unclean(c, rules), rules, _write_more)
    ),
}  # fmt: skip
"""The keys and the run of each step, by name; requests with rows are in `requests` beside this file."""

