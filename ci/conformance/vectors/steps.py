"""The steps of a scenario: requests, timers, and records read from the log."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from typing import Any, TypeVar

from attrs import asdict, evolve, frozen

from kraftcheck.ci.conformance.vectors import forms
from kraftcheck.ci.conformance.vectors.core import Unsupported, Watched, read_rows, read_step
from kraftcheck.model.controller import brokers
from kraftcheck.model.controller.alter_configs import alter_config
from kraftcheck.model.controller.commits import commit, replay_record
from kraftcheck.model.controller.elections import PREFERRED, UNCLEAN, balance_leaders, elect_leaders, elect_unclean
from kraftcheck.model.controller.errors import NONE
from kraftcheck.model.controller.heartbeat import Wish
from kraftcheck.model.controller.partitions import (
    Altered,
    AlterPartitionRequest,
    Assignment,
    Proposal,
    Reassignment,
    alter_partition,
    assign_replicas_to_dirs,
    check_assignment,
    reassign,
)
from kraftcheck.model.controller.state import (
    CLUSTER,
    NODE,
    TOPIC,
    ConfigRecord,
    Controller,
    LogRecord,
    Outcome,
    RegisterControllerRecord,
)
from kraftcheck.model.controller.topics import (
    UNSET,
    Created,
    CreateTopicsRequest,
    Growth,
    NewTopic,
    create_partitions,
    create_topics,
    delete_topics,
    name_fault,
)
from kraftcheck.model.records.fields import Fields, choice, each, flag, integer, integers, long, text
from kraftcheck.model.records.records import (
    BrokerRegistrationChangeRecord,
    FenceBrokerRecord,
    TopicRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
    ids,
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
    record = forms.register_record_of(step, "broker")
    controller = replay_record(controller, record, rules)
    offset = step.read_or("record_offset", long, None)
    if offset is not None:
        offsets = {**controller.image.registration_offsets, record.broker_id: offset}
        controller = evolve(controller, image=evolve(controller.image, registration_offsets=offsets))
    return StepResult(controller, (record,))


def _replayed(controller: Controller, record: LogRecord, rules: RuleSet) -> StepResult:
    return StepResult(replay_record(controller, record, rules), (record,))


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


def _check_epoch(controller: Controller, step: Fields, rules: RuleSet) -> StepResult:
    controller.check_epoch(broker(step), step.read("broker_epoch", long))
    return StepResult(controller, response={"error": NONE})


def _heartbeat_request(controller: Controller, step: Fields) -> brokers.HeartbeatRequest:
    wish = Wish(
        fence=step.read_or("want_fence", flag, False),
        shutdown=step.read_or("want_shutdown", flag, False),
        metadata_offset=step.read("metadata_offset", long),
    )
    failed = step.read("offline_dirs", forms.directories) if step.has("offline_dirs") else ()
    return brokers.HeartbeatRequest(broker(step), epoch(controller, step), wish, failed)


def _heartbeat(controller: Controller, step: Fields, rules: RuleSet) -> StepResult:
    offset = step.read_or("registration_offset", long, None)
    outcome = brokers.heartbeat(controller, _heartbeat_request(controller, step), rules, offset)
    return result_of(controller, outcome, rules, asdict)


def _offline(controller: Controller, step: Fields, rules: RuleSet) -> StepResult:
    failed = step.read("dirs", forms.directories)
    outcome = brokers.directories_offline(controller, broker(step), epoch(controller, step), failed, rules)
    return result_of(controller, outcome, rules)


def _assign(controller: Controller, step: Fields, rules: RuleSet) -> StepResult:
    def assignment(row: Watched) -> Assignment:
        place = row.read("dir", forms.directory), topic_id(controller, row.read("topic", text))
        return Assignment(*place, row.read("partition", integer))

    assignments = read_rows(step, "assignments", assignment)
    outcome = assign_replicas_to_dirs(controller, broker(step), epoch(controller, step), assignments, rules)
    answers = zip(step.data["assignments"], outcome.response, strict=True)
    response = [{**row, "error": result.error} for row, result in answers]
    return evolve(result_of(controller, outcome, rules), response=response)


def topic_id(controller: Controller, name: str) -> str:
    """The id of a topic; an unknown name stands for an unknown id."""
    return controller.topic_id(name) or f"unknown:{name}"


def _set_config(controller: Controller, step: Fields, rules: RuleSet) -> StepResult:
    scope = step.read("scope", choice(TOPIC, NODE, CLUSTER))
    name = step.read("name", text) if scope != CLUSTER or step.has("name") else ""
    value = step.read("value", forms.config_value) if step.has("value") else None
    record = ConfigRecord(scope, "" if scope == CLUSTER else name, step.read("key", text), value)
    return result_of(controller, alter_config(controller, record, rules), rules)


def _check_assignment(controller: Controller, step: Fields, rules: RuleSet) -> StepResult:
    factor = step.read_or("expected_replication_factor", integer, None)
    check_assignment(controller, step.read("replicas", integers), rules.controller, factor)
    return StepResult(controller, response={"error": NONE})


def _register_controller(controller: Controller, step: Fields, rules: RuleSet) -> StepResult:
    record = RegisterControllerRecord(step.read("controller", integer), step.read_or("incarnation", text, ""))
    return result_of(controller, brokers.register_controller(controller, record), rules)


def _quota(step: Fields) -> bool:
    return step.read_or("mutation_quota_exceeded", flag, False)


def _create_topics(controller: Controller, step: Fields, rules: RuleSet) -> StepResult:
    def topic(row: Watched) -> NewTopic:
        return NewTopic(
            name=row.read("name", text),
            partitions=row.read_or("num_partitions", integer, UNSET),
            replication_factor=row.read_or("replication_factor", integer, UNSET),
            assignments=tuple(enumerate(row.read_or("assignments", each(integers), ()))),
            config=row.read_or("config", forms.configuration, {}),
        )

    topics = read_rows(step, "topics", topic)
    request = CreateTopicsRequest(topics, step.read_or("validate_only", flag, False), _quota(step))
    outcome = create_topics(controller, request, rules)
    return result_of(controller, outcome, rules, lambda rows: list(map(_created, rows)))


def _created(row: Created) -> dict[str, Any]:
    numbers = {"num_partitions": row.partitions, "replication_factor": row.replication_factor}
    numbers_present = {key: value for key, value in numbers.items() if value is not None}
    return {"topic": row.name, "error": row.error, **numbers_present}


def _create_partitions(controller: Controller, step: Fields, rules: RuleSet) -> StepResult:
    def growth(row: Watched) -> Growth:
        lists = row.read_or("assignments", each(integers), None)
        return Growth(row.read("name", text), row.read("count", integer), lists)

    growths = read_rows(step, "topics", growth)
    outcome = create_partitions(controller, growths, rules, _quota(step))
    return result_of(controller, outcome, rules, _writer(topic="topic", error="error"))


def _writer(**attributes: str) -> Callable[[Iterable[Any]], list[dict[str, Any]]]:
    """A writer of rows: each key, and where its value is in a row."""
    values = {key: attrgetter(path) for key, path in attributes.items()}
    return lambda rows: [{key: value(row) for key, value in values.items()} for row in rows]


def _delete_topic(controller: Controller, step: Fields, rules: RuleSet) -> StepResult:
    id_ = topic_id(controller, step.read("topic", text))
    outcome = delete_topics(controller, (id_,), _quota(step))
    return result_of(controller, outcome, rules, lambda rows: {"error": rows[0][1]})


def _check_names(controller: Controller, step: Fields, rules: RuleSet) -> StepResult:
    existing = step.read_or("existing_by_normalized_name", Fields.of, Fields({}))
    existing_names = {name: existing.read(name, each(text)) for name in existing.data}
    response = {}
    for name in step.read("names", each(text)):
        fault = name_fault(name, existing_names)
        if fault is not None:
            collides = {} if fault.collides_with is None else {"collides_with": fault.collides_with}
            response[name] = {"error": "INVALID_TOPIC_EXCEPTION", **collides}
    return StepResult(controller, response=response)


def _alter_partition(controller: Controller, step: Fields, rules: RuleSet) -> StepResult:
    version = step.read_or("api_version", integer, 3)

    def proposal(row: Watched) -> Proposal:
        name = row.read("topic", text)
        return Proposal(
            topic=name if version <= 1 else topic_id(controller, name),
            partition=row.read("partition", integer),
            leader_epoch=row.read("leader_epoch", integer),
            partition_epoch=row.read("partition_epoch", integer),
            new_isr=row.read("new_isr", each(forms.pair(integer, long))),
            recovering=row.read_or("leader_recovery_state", forms.recovering, False),
        )

    proposals = read_rows(step, "partitions", proposal)
    request = AlterPartitionRequest(broker(step), epoch(controller, step), proposals, version)
    names = [row["topic"] for row in step.data["partitions"]]

    def write(altered: tuple[Altered, ...]) -> list[dict[str, Any]]:
        return [_altered(name, row) for name, row in zip(names, altered, strict=True)]

    return result_of(controller, alter_partition(controller, request, rules), rules, write)


def _altered(topic: str, row: Altered) -> dict[str, Any]:
    answer: dict[str, Any] = {"topic": topic, "partition": row.proposal.partition, "error": row.error}
    if row.state is None:
        return answer
    return {
        **answer,
        "leader": row.state.leader,
        "leader_epoch": row.state.leader_epoch,
        "isr": list(ids(row.state.isr)),
        "partition_epoch": row.state.partition_epoch,
        "leader_recovery_state": forms.RECOVERY[int(row.state.recovering)],
    }


def _elect_leaders(controller: Controller, step: Fields, rules: RuleSet) -> StepResult:
    kind = {"PREFERRED": PREFERRED, "UNCLEAN": UNCLEAN}.get(step.read("type", text), -1)
    partitions = step.read_or("partitions", each(forms.pair(text, integer)), None)
    outcome = elect_leaders(controller, kind, partitions, rules)
    return result_of(controller, outcome, rules, _writer(topic="topic", partition="partition", error="error"))


def _reassign(controller: Controller, step: Fields, rules: RuleSet) -> StepResult:
    def reassignment(row: Watched) -> Reassignment:
        replicas = row.read_or("replicas", integers, None)
        return Reassignment(row.read("topic", text), row.read("partition", integer), replicas)

    rows = read_rows(step, "partitions", reassignment)
    write = _writer(topic="reassignment.topic", partition="reassignment.partition", error="error")
    return result_of(controller, reassign(controller, rows, rules), rules, write)


def _register_broker(controller: Controller, step: Fields, rules: RuleSet) -> StepResult:
    finalized = step.read_or("finalized_features", Fields.of, Fields({}))
    keys = ("listeners", "features", "rack", "dirs", "is_migrating_zk_broker")
    parts = {"incarnation": step.read("incarnation", text), **forms.known_parts(step, *keys)}
    if parts["incarnation"] == "*":
        parts["incarnation"] = f"fresh:{controller.image.next_offset}"
    request = brokers.RegistrationRequest(
        step.read_or("cluster_id", text, None), broker(step),
        previous_epoch=step.read_or("previous_broker_epoch", long, None), **parts,
    )  # fmt: skip
    context = brokers.RegistrationContext(
        finalized={name: finalized.read(name, integer) for name in finalized.data},
        new_epoch=step.read_or("new_broker_epoch", long, None),
    )
    outcome = brokers.register_broker(controller, request, context, rules)
    return result_of(controller, outcome, rules, lambda epoch: {"broker_epoch": epoch})


def _more(more: bool) -> dict[str, bool]:
    return {"more": more}


STEPS: Mapping[str, Step] = {
    "install_registration": _install,
    "remove_registration": lambda c, step, rules: _replayed(
        c, UnregisterBrokerRecord(broker(step), epoch(c, step)), rules
    ),
    "set_fenced": _set_fenced,
    "mark_in_controlled_shutdown": _mark,
    "load_topic_record": lambda c, step, rules: _replayed(
        c, TopicRecord(step.read("topic", text), step.read("topic_id", text)), rules
    ),
    "check_broker_epoch": _check_epoch,
    "heartbeat": _heartbeat,
    "heartbeat_processed_too_late": lambda c, step, rules: result_of(
        c, brokers.expired_heartbeat(c, _heartbeat_request(c, step), rules), rules
    ),
    "advance_time": lambda c, step, _: StepResult(evolve(c, soft=c.soft.after(step.read("ms", long)))),
    "expire_session": lambda c, step, rules: result_of(c, brokers.expire_session(c, broker(step), rules), rules),
    "unregister_broker": lambda c, step, rules: result_of(c, brokers.unregister(c, broker(step), rules), rules),
    "unclean_shutdown": lambda c, step, rules: result_of(c, brokers.unclean_shutdown(c, broker(step), rules), rules),
    "directories_offline": _offline,
    "assign_replicas_to_dirs": _assign,
    "set_config": _set_config,
    "validate_assignment": _check_assignment,
    "register_controller": _register_controller,
    "balance_leaders": lambda c, step, rules: result_of(c, balance_leaders(c, rules), rules, _more),
    "elect_unclean_for_leaderless": lambda c, step, rules: result_of(c, elect_unclean(c, rules), rules, _more),
    "create_topics": _create_topics,
    "create_partitions": _create_partitions,
    "delete_topic": _delete_topic,
    "validate_topic_names": _check_names,
    "alter_partition": _alter_partition,
    "elect_leaders": _elect_leaders,
    "reassign": _reassign,
    "register_broker": _register_broker,
}
"""The run of each step, by name."""


def run_step(controller: Controller, step: Watched, rules: RuleSet) -> StepResult:
    """One step; raises Unsupported for one that is not known, and what the rules raise when it fails."""
    op = step.read("op", text)
    if op not in STEPS:
        raise Unsupported(f"unknown step {op}")
    return read_step(step, lambda step: STEPS[op](controller, step, rules))
