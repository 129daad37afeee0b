"""Vectors that are scenarios: a controller starts, steps are run, the end is asked about and compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from attrs import frozen

from kraftcheck.ci.conformance.vectors import forms
from kraftcheck.ci.conformance.vectors.core import (
    MISSING,
    Compare,
    Function,
    Unsupported,
    Vector,
    VectorDifference,
    Watched,
    all_read,
    below,
    canonical,
    compare_values,
    same_members,
    whole_value,
)
from kraftcheck.ci.conformance.vectors.steps import StepResult, run_step
from kraftcheck.model.controller.commits import replay_all
from kraftcheck.model.controller.errors import NONE, RequestError, Resignation
from kraftcheck.model.controller.partitions import (
    directory_of_new_replica,
    imbalanced,
    in_elr,
    in_isr,
    leaderless,
    led_by,
    ongoing,
)
from kraftcheck.model.controller.state import TOPIC, ConfigRecord, Controller, Features, LogRecord, Place, Settings
from kraftcheck.model.records.fields import Fields, FormError, each, flag, integer, integers, text
from kraftcheck.model.records.records import (
    BrokerRegistrationChangeRecord,
    FenceBrokerRecord,
    PartitionChangeRecord,
    Registration,
    TopicRecord,
    UnfenceBrokerRecord,
    partition_record,
    register_record,
    registration_of,
)
from kraftcheck.model.records.replay import ReplayError
from kraftcheck.model.rules.ruleset import RuleSet

SWITCHES = {
    "elr_enabled": "elr_enabled",
    "elr_supported": "elr_supported",
    "leader_recovery_supported": "leader_recovery",
    "bump_leader_epoch_on_isr_shrink": "bump_on_isr_shrink",
    "directory_assignment_supported": "directories",
    "controlled_shutdown_recorded": "controlled_shutdown",
    "controller_registration_supported": "controller_registration",
}
"""The switches of the vectors, and the fields of `Features` they stand for."""


def start(given: Fields, rules: RuleSet) -> Controller:
    """The controller in the state that a scenario gives."""
    configured = given.read("static_config", forms.configuration) if given.has("static_config") else {}
    static = {key: value for key, value in configured.items() if value is not None}
    settings = Settings(cluster_id=given.read_or("cluster_id", text, None), static=static)
    controller = Controller(features=_features(given.read("features", Fields.of)), settings=settings)
    records: list[LogRecord] = []
    for fields in given.read("brokers", each(Watched.of)) if given.has("brokers") else ():
        with all_read(fields, "unknown key {} of a registration", "op", "record_offset"):
            records.append(forms.register_record_of(fields, "id"))
    return replay_all(controller, [*records, *_topics(given), *_configs(given)], rules)


def _features(fields: Fields) -> Features:
    for key in fields.data:
        if key not in SWITCHES and key != "metadata_version":
            raise Unsupported(f"unknown feature {key}")
    switched = {name: fields.read(key, flag) for key, name in SWITCHES.items() if fields.has(key)}
    switched.setdefault("elr_supported", switched.get("elr_enabled", False))
    return Features(**switched)


def _topics(given: Fields) -> list[LogRecord]:
    topics = given.read_or("topics", Fields.of, Fields({}))
    records: list[LogRecord] = []
    for name in topics.data:
        records.append(TopicRecord(name, f"given:{name}"))
        partitions = topics.read(name, Fields.of)
        for index in partitions.data:
            if not index.isdecimal():
                raise FormError(f"{partitions.key(index)}: an index is wanted")
            p = partitions.read(index, forms.read_partition)
            records.append(partition_record(p, f"given:{name}", int(index)))
    return records


def _configs(given: Fields) -> list[LogRecord]:
    topics = given.read_or("topic_config", Fields.of, Fields({}))
    return [
        ConfigRecord(TOPIC, name, key, value)
        for name in topics.data
        for key, value in topics.read(name, forms.configuration).items()
    ]


@frozen
class ScenarioEnd:
    """The end of a scenario."""

    controller: Controller  # the state
    first_ids: Mapping[str, str]  # the id that each topic name stood for first
    rules: RuleSet


Query = Callable[[ScenarioEnd, Fields], Any]


def names(controller: Controller, places: tuple[Place, ...]) -> list[str]:
    """Partitions by topic and index."""
    return [f"{controller.topic(place.topic_id).name}-{place.index}" for place in places]


def _broker(query: Fields) -> int:
    return query.read("broker", integer)


def _topic(end: ScenarioEnd, query: Fields) -> str | None:
    return end.controller.topic_id(query.read("topic", text))


def _partitions_of(end: ScenarioEnd, query: Fields) -> Mapping[int, Any]:
    topic = _topic(end, query)
    return {} if topic is None else end.controller.topic(topic).partitions


def _reassignments(end: ScenarioEnd, query: Fields) -> list[dict[str, Any]]:
    topics = query.read("topics", Fields.of) if query.has("topics") else None
    indexes = None if topics is None else {name: topics.read(name, integers) for name in topics.data}
    keys = ("topic", "partition", "removing", "adding", "replicas")
    return [{key: getattr(row, key) for key in keys} for row in ongoing(end.controller, indexes)]


def _min_isr(end: ScenarioEnd, query: Fields) -> int | None:
    """Kafka knows one for the whole topic, by its partition 0."""
    topic = _topic(end, query)
    return None if topic is None else end.controller.min_isr(topic, 0, end.rules.controller)


def _session(end: ScenarioEnd, query: Fields) -> dict[str, int] | None:
    session = end.controller.soft.sessions.tracked.get(_broker(query))
    if session is None:
        return None
    return {"last_contact_ms": session.last_contact, "metadata_offset": session.metadata_offset}


def _known(end: ScenarioEnd, query: Fields, holds: Callable[[Registration], Any]) -> bool:
    """Whether something holds of a broker's registration; of no registration nothing does."""
    registration = end.controller.registration(_broker(query))
    return registration is not None and bool(holds(registration))


def _has_online_dir(end: ScenarioEnd, query: Fields) -> bool:
    place = query.read("dir", forms.directory)
    return _known(end, query, lambda known: known.has_online_dir(place, end.rules.partition))


def _configs_of(end: ScenarioEnd, query: Fields) -> dict[str, str]:
    return dict(end.controller.configs.of(TOPIC, query.read("topic", text)))


def _id_differs(end: ScenarioEnd, query: Fields) -> bool:
    topic = _topic(end, query)
    return topic is not None and topic != end.first_ids[query.read("topic", text)]


def _default_dir(end: ScenarioEnd, query: Fields) -> str:
    return forms.directory_text(directory_of_new_replica(end.controller, _broker(query), end.rules.partition))


QUERIES: Mapping[str, Query] = {
    "led_by": lambda end, q: names(end.controller, led_by(end.controller, _broker(q))),
    "in_any_isr": lambda end, q: names(end.controller, in_isr(end.controller, _broker(q))),
    "in_any_elr": lambda end, q: names(end.controller, in_elr(end.controller, _broker(q))),
    "list_reassignments": _reassignments,
    "leaders_imbalanced": lambda end, q: bool(imbalanced(end.controller)),
    "some_leaderless": lambda end, q: bool(leaderless(end.controller)),
    "effective_min_isr": _min_isr,
    "fenced_brokers": lambda end, q: [b for b, known in end.controller.image.registrations.items() if known.fenced],
    "usable_brokers": lambda end, q: [forms.write_usable(b) for b in end.controller.usable_brokers()],
    "default_dir": _default_dir,
    "has_online_dir": _has_online_dir,
    "is_unfenced": lambda end, q: _known(end, q, lambda known: not known.fenced),
    "in_controlled_shutdown": lambda end, q: _known(end, q, lambda known: known.in_controlled_shutdown),
    "is_registered": lambda end, q: _known(end, q, lambda known: True),
    "registration_offset": lambda end, q: end.controller.image.registration_offsets.get(_broker(q)),
    "session": _session,
    "topic_exists": lambda end, q: _topic(end, q) is not None,
    "partition_exists": lambda end, q: q.read("partition", integer) in _partitions_of(end, q),
    "num_partitions_of": lambda end, q: len(_partitions_of(end, q)),
    "topic_config": lambda end, q: _configs_of(end, q).get(q.read("key", text)),
    "topic_configs": _configs_of,
    "topic_id_differs_from_first_incarnation": _id_differs,
}
"""The answer of each query, by name."""


def answer(end: ScenarioEnd, query: Watched) -> Any:
    """The answer to one query; raises Unsupported for a query or argument that is not known."""
    name = query.read("query", text)
    if name not in QUERIES:
        raise Unsupported(f"unknown query {name}")
    with all_read(query, f"unknown argument {{}} of query {name}", "result"):
        return QUERIES[name](end, query)


Row = Mapping[str, Any]
Compared = list[VectorDifference]


def compare_response(expected: Any, actual: Any, vector: Vector) -> Compared:
    """The keys listed; rows by what they name, and no further rows; further names only where names are rows."""
    if isinstance(expected, list):
        return _rows(expected, actual, ("dir", "topic", "partition"), _listed_keys)
    if not isinstance(expected, dict) or not isinstance(actual, dict):
        return compare_values(expected, actual, "", partial=False)
    if actual and all(isinstance(value, dict) for value in actual.values()):
        return _by_name(dict.fromkeys((*expected, *actual)), expected, actual, _listed_keys)
    return _listed_keys(expected, actual)


def same_changes(expected: Any, actual: Any, vector: Vector) -> Compared:
    """All changes, in order for each partition; with `changes_exact: false` at least the fields listed."""
    partial = vector.then.data.get("changes_exact") is False

    def same(expected_row: Row, actual_row: Row) -> Compared:
        fields = {key: value for key, value in expected_row.items() if key not in ("topic", "partition")}
        changes = forms.elr_sorted(fields.get("change")), forms.elr_sorted(actual_row["change"])
        extra = [VectorDifference(f".{key}", value, MISSING) for key, value in fields.items() if key != "change"]
        return extra + below(".change", compare_values(*changes, "", partial=partial))

    return _rows(expected, actual, ("topic", "partition"), same)


def same_broker_changes(expected: Any, actual: Any, vector: Vector) -> Compared:
    """All changes of registrations, in order for each broker."""

    return _rows(expected, actual, ("broker",), partial(_same_but_dirs, partial=False))


def compare_brokers(expected: Any, actual: Any, vector: Vector) -> Compared:
    """The fields listed of the brokers listed; directories in any order."""

    return _by_name(expected, expected, actual, partial(_same_but_dirs, partial=True))


def compare_partitions(expected: Any, actual: Any, vector: Vector) -> Compared:
    """The fields and matchers listed of the partitions listed."""

    def same(expected_row: Any, actual_row: Any) -> Compared:
        if not isinstance(expected_row, dict) or not isinstance(actual_row, dict):
            return compare_values(expected_row, actual_row, "", partial=False)
        fields = {key: value for key, value in expected_row.items() if key not in _MATCHERS}
        differences = compare_values(forms.elr_sorted(fields), forms.elr_sorted(actual_row), "", partial=True)
        for key in expected_row.keys() & _MATCHERS.keys():
            if not _MATCHERS[key](actual_row, expected_row[key]):
                differences.append(VectorDifference(f".{key}", expected_row[key], actual_row))
        return differences

    return _by_name(expected, expected, actual, same)


_MATCHERS: Mapping[str, Callable[[Row, Any], bool]] = {
    "replicas_set": lambda p, wanted: isinstance(wanted, list) and set(wanted) == set(p["replicas"]),
    "isr_equals_replicas": lambda p, wanted: wanted is (p["isr"] == p["replicas"]),
    "leader_is_first_isr": lambda p, wanted: wanted is (p["isr"][:1] == [p["leader"]]),
    "leader_not": lambda p, wanted: type(wanted) is int and wanted != p["leader"],
    "leader_in_replicas": lambda p, wanted: wanted is (p["leader"] in p["replicas"]),
}


def _listed_keys(expected: Any, actual: Any) -> Compared:
    if isinstance(expected, dict):
        expected = {key: value for key, value in expected.items() if key != "reason"}
    return compare_values(expected, actual, "", partial=True)


def _rows(expected: Any, actual: Any, names: Sequence[str], same: Callable[[Any, Any], Compared]) -> Compared:
    """Rows with equal names are paired in their order; what is left over on a side differs."""
    if not _are_rows(expected) or not _are_rows(actual):
        return [VectorDifference("", expected, actual)]
    differences = []
    unmatched = list(actual)
    for row in expected:
        name = _name(row, names)
        match = next((candidate for candidate in unmatched if _name(candidate, names) == name), None)
        if match is None:
            differences.append(VectorDifference(f".{_name_text(name)}", row, MISSING))
            continue
        unmatched.remove(match)
        differences += below(f".{_name_text(name)}", same(row, match))
    return differences + [VectorDifference(f".{_name_text(_name(row, names))}", MISSING, row) for row in unmatched]


def _are_rows(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(row, dict) for row in value)


def _name(row: Row, names: Sequence[str]) -> list[Any]:
    return [canonical(row.get(name)) for name in names]


def _name_text(name: list[Any]) -> str:
    return "-".join(str(part) for part in name if part is not None)


def _by_name(names: Any, expected: Any, actual: Any, same: Callable[[Any, Any], Compared]) -> Compared:
    if not isinstance(expected, dict) or not isinstance(actual, dict):
        return [VectorDifference("", expected, actual)]
    differences = []
    for name in names:
        differences += below(f".{name}", same(expected.get(name, MISSING), actual.get(name, MISSING)))
    return differences


def _same_but_dirs(expected: Any, actual: Any, partial: bool) -> Compared:
    return compare_values(_dirs_sorted(expected), _dirs_sorted(actual), "", partial=partial)


def _dirs_sorted(row: Any) -> Any:
    if not isinstance(row, dict) or not isinstance(row.get("dirs"), list):
        return row
    return {**row, "dirs": sorted(map(str, canonical(row["dirs"])))}


@frozen
class ScenarioRun:
    """How a scenario ended: what its last step did, its error with details, and the first id of each topic."""

    last: StepResult
    error: Mapping[str, Any]
    first_ids: Mapping[str, str]


def _run(vector: Vector, rules: RuleSet) -> dict[str, Any]:
    end = _run_steps(start(vector.given, rules), vector.when.read("steps", each(Watched.of)), rules)
    controller, result = end.last.controller, end.last
    actual = {
        **end.error,
        "top_level_error": end.error.get("error", NONE),
        "changes": _changes(controller, result.records),
        "changes_not_empty": any(isinstance(record, PartitionChangeRecord) for record in result.records),
        "broker_changes": _broker_changes(result.records),
        "creates_nothing": not any(isinstance(record, TopicRecord) for record in result.records),
        "partitions": _partitions(controller),
        "brokers": {
            str(b): forms.write_registration(registration) for b, registration in controller.image.registrations.items()
        },
        "serialized_brokers": _serialized(controller),
        "queries": _answers(vector.then, ScenarioEnd(controller, end.first_ids, rules)),
    }
    if not end.error:
        actual["response"] = result.response
        actual["response_matches_state"] = _matches_state(result.response, actual["partitions"])
    return {**actual, "with_reference_random": actual}


def _run_steps(controller: Controller, steps: tuple[Watched, ...], rules: RuleSet) -> ScenarioRun:
    """The end of the steps; a failure ends them, and is the scenario's own only in the last one."""
    result, first_ids = StepResult(controller), _first_ids(controller, {})
    for number, step in enumerate(steps):
        before = result.controller
        try:
            result = run_step(before, step, rules)
        except (RequestError, Resignation, ReplayError) as failure:
            error = _error(failure)
            if number < len(steps) - 1:
                error["error"] = f"{error['error']} in step {number}"
            return ScenarioRun(StepResult(before), error, first_ids)
        first_ids = _first_ids(result.controller, first_ids)
    return ScenarioRun(result, {}, first_ids)


def _error(failure: RequestError | Resignation | ReplayError) -> dict[str, Any]:
    if isinstance(failure, RequestError):
        return {"error": failure.error, **failure.details}
    return {"error": failure.kind}


def _first_ids(controller: Controller, earlier: Mapping[str, str]) -> dict[str, str]:
    return {**{topic.name: topic_id for topic_id, topic in controller.image.topics.items()}, **earlier}


def _changes(controller: Controller, records: tuple[LogRecord, ...]) -> list[dict[str, Any]]:
    return [
        {
            "topic": controller.topic(record.topic_id).name,
            "partition": record.partition_id,
            "change": forms.write_change(record.change),
        }
        for record in records
        if isinstance(record, PartitionChangeRecord)
    ]


def _broker_changes(records: tuple[LogRecord, ...]) -> list[dict[str, Any]]:
    changes = []
    for record in records:
        fields: dict[str, Any] = {}
        if isinstance(record, FenceBrokerRecord | UnfenceBrokerRecord):
            fields["fenced"] = isinstance(record, FenceBrokerRecord)
        elif isinstance(record, BrokerRegistrationChangeRecord):
            if record.fenced:
                fields["fenced"] = record.fenced == 1
            if record.in_controlled_shutdown:
                fields["in_controlled_shutdown"] = True
            if record.log_dirs is not None:
                fields["dirs"] = [forms.directory_text(d) for d in record.log_dirs]
        else:
            continue
        changes.append({"broker": record.broker_id, **fields})
    return changes


def _partitions(controller: Controller) -> dict[str, dict[str, Any]]:
    return {
        f"{controller.topic(place.topic_id).name}-{place.index}": forms.write_partition(place.partition)
        for place in controller.places()
    }


def _serialized(controller: Controller) -> dict[str, dict[str, Any]]:
    """The registrations as the metadata version stores them."""
    features = controller.features
    stored = {
        broker: register_record(
            registration, controlled_shutdown=features.controlled_shutdown, directories=features.directories
        )
        for broker, registration in controller.image.registrations.items()
    }
    return {str(broker): forms.write_registration(registration_of(record)) for broker, record in stored.items()}


def _answers(then: Fields, end: ScenarioEnd) -> list[Any]:
    return [answer(end, query) for query in then.read("queries", each(Watched.of))] if then.has("queries") else []


def _matches_state(response: Any, partitions: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether each row that succeeded tells the state after the step."""
    response_rows = response if isinstance(response, list) else []
    rows = [row for row in response_rows if row.get("error") == NONE and "partition_epoch" in row]
    for row in rows:
        state = partitions[f"{row['topic']}-{row['partition']}"]
        if any(row.get(key) != state[key] for key in ("leader", "leader_epoch", "partition_epoch", "isr")):
            return False
    return bool(rows)


def _same_answers(expected: Any, actual: Any, vector: Vector) -> Compared:
    """Every query's result, in the order of the queries; lists of brokers, partitions and reassignments are sets.

    Membership of an index may be asked for as a truth: whether it lists anything.
    """
    differences: Compared = []
    for query, found in zip(expected, actual, strict=True):
        result = query.get("result", MISSING)
        found = bool(found) if isinstance(result, bool) and isinstance(found, list) else found
        differences += below(f".{query['query']}", same_members(result, found, vector))
    return differences


def _same_nested(expected: Any, actual: Any, vector: Vector) -> Compared:
    """Expectations of their own, each compared as the one of that name is."""
    if not isinstance(expected, dict):
        return [VectorDifference("", expected, "an object is wanted")]
    differences: Compared = []
    for key, value in expected.items():
        if key not in _THEN or key == "with_reference_random":
            differences.append(VectorDifference(f".{key}", value, MISSING))
        else:
            differences += below(f".{key}", _THEN[key](value, actual.get(key, MISSING), vector))
    return differences


_THEN: Mapping[str, Compare] = {
    "response": compare_response, "changes": same_changes, "broker_changes": same_broker_changes,
    "partitions": compare_partitions, "brokers": compare_brokers, "serialized_brokers": compare_brokers,
    "queries": _same_answers, "with_reference_random": _same_nested,
    **dict.fromkeys(
        ("response_matches_state", "changes_not_empty", "creates_nothing", "top_level_error", "feature", "finalized",
         "accepted_range"),
        whole_value,
    ),
}  # fmt: skip
"""What a scenario may expect, and how each is compared."""

FUNCTIONS: Mapping[str, Function] = {"scenario": Function(_run, _THEN, ("changes_exact",))}  # the function by name
