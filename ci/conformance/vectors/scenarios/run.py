"""The run of a scenario: a controller is started, steps are run, and the end is judged."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attrs import frozen

from kraftcheck.ci.conformance.vectors.core import (
    MISSING,
    Function,
    Vector,
    VectorDifference,
    canonical,
    compare_values,
    whole_value,
)
from kraftcheck.ci.conformance.vectors.reassignments import (
    directory_text,
    elr_sorted,
    write_change,
    write_partition,
    write_registration,
)
from kraftcheck.ci.conformance.vectors.scenarios.given import start
from kraftcheck.ci.conformance.vectors.scenarios.queries import ScenarioEnd, answer, compare_answer
from kraftcheck.ci.conformance.vectors.scenarios.steps import StepResult, run_step
from kraftcheck.model.controller.errors import NONE, RequestError, Resignation
from kraftcheck.model.controller.state import Controller, LogRecord
from kraftcheck.model.records.fields import Fields, each
from kraftcheck.model.records.records import (
    BrokerRegistrationChangeRecord,
    FenceBrokerRecord,
    PartitionChangeRecord,
    TopicRecord,
    UnfenceBrokerRecord,
    register_record,
    registration_of,
)
from kraftcheck.model.records.replay import ReplayError
from kraftcheck.model.rules.ruleset import RuleSet

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
        changes = elr_sorted(fields.get("change")), elr_sorted(actual_row["change"])
        extra = [VectorDifference(f".{key}", value, MISSING) for key, value in fields.items() if key != "change"]
        return extra + _below("change", compare_values(*changes, "", partial=partial))

    return _rows(expected, actual, ("topic", "partition"), same)


def same_broker_changes(expected: Any, actual: Any, vector: Vector) -> Compared:
    """All changes of registrations, in order for each broker."""

    def same(expected_row: Row, actual_row: Row) -> Compared:
        return compare_values(_dirs_sorted(expected_row), _dirs_sorted(actual_row), "", partial=False)

    return _rows(expected, actual, ("broker",), same)


def compare_brokers(expected: Any, actual: Any, vector: Vector) -> Compared:
    """The fields listed of the brokers listed; directories in any order."""

    def same(expected_row: Any, actual_row: Any) -> Compared:
        return compare_values(_dirs_sorted(expected_row), _dirs_sorted(actual_row), "", partial=True)

    return _by_name(expected, expected, actual, same)


def compare_partitions(expected: Any, actual: Any, vector: Vector) -> Compared:
    """The fields and matchers listed of the partitions listed."""

    def same(expected_row: Any, actual_row: Any) -> Compared:
        if not isinstance(expected_row, dict) or not isinstance(actual_row, dict):
            return compare_values(expected_row, actual_row, "", partial=False)
        fields = {key: value for key, value in expected_row.items() if key not in _MATCHERS}
        differences = compare_values(elr_sorted(fields), elr_sorted(actual_row), "", partial=True)
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
        differences += _below(_name_text(name), same(row, match))
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
        differences += _below(name, same(expected.get(name, MISSING), actual.get(name, MISSING)))
    return differences


def _below(name: str, differences: Compared) -> Compared:
    return [
        VectorDifference(f".{name}{difference.field}", difference.expected, difference.actual)
        for difference in differences
    ]


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
    end = _run_steps(start(vector.given, rules), vector.when.read("steps", each(Fields.of)), rules)
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
            str(b): write_registration(registration) for b, registration in controller.image.registrations.items()
        },
        "serialized_brokers": _serialized(controller),
        "queries": _answers(vector.then, ScenarioEnd(controller, end.first_ids, rules)),
    }
    if not end.error:
        actual["response"] = result.response
        actual["response_matches_state"] = _matches_state(result.response, actual["partitions"])
    return {**actual, "with_reference_random": actual}


def _run_steps(controller: Controller, steps: tuple[Fields, ...], rules: RuleSet) -> ScenarioRun:
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
            "change": write_change(record.change),
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
                fields["dirs"] = [directory_text(d) for d in record.log_dirs]
        else:
            continue
        changes.append({"broker": record.broker_id, **fields})
    return changes


def _partitions(controller: Controller) -> dict[str, dict[str, Any]]:
    return {
        f"{controller.topic(place.topic_id).name}-{place.index}": write_partition(place.partition)
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
    return {str(broker): write_registration(registration_of(record)) for broker, record in stored.items()}


def _answers(then: Fields, end: ScenarioEnd) -> list[Any]:
    queries = then.read("queries", each(Fields.of)) if then.has("queries") else ()
    return [answer(end, query) for query in queries]


def _matches_state(response: Any, partitions: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether each row that succeeded tells the state after the step."""
    response_rows = response if isinstance(response, list) else []
    rows = [row for row in response_rows if row.get("error") == NONE and "partition_epoch" in row]
    for row in rows:
        state = partitions[f"{row['topic']}-{row['partition']}"]
        if any(row.get(key) != state[key] for key in ("leader", "leader_epoch", "partition_epoch", "isr")):
            return False
    return bool(rows)


def _same_answers(expected: Any, actual: Any, vector: Vector) -> list[VectorDifference]:
    """Every query's result; the answers come in the order of the queries."""
    differences = []
    for query, answer_ in zip(expected, actual, strict=True):
        name = query["query"]
        answer_differences = compare_answer(query.get("result", MISSING), answer_)
        differences += [
            VectorDifference(f".{name}{difference.field}", difference.expected, difference.actual)
            for difference in answer_differences
        ]
    return differences


def _same_nested(expected: Any, actual: Any, vector: Vector) -> list[VectorDifference]:
    """Expectations of their own, each compared as the one of that name is."""
    if not isinstance(expected, dict):
        return [VectorDifference("", expected, "an object is wanted")]
    differences = []
    for key, value in expected.items():
        if key not in _THEN or key == "with_reference_random":
            differences.append(VectorDifference(f".{key}", value, MISSING))
            continue
        for difference in _THEN[key](value, actual.get(key, MISSING), vector):
            differences.append(VectorDifference(f".{key}{difference.field}", difference.expected, difference.actual))
    return differences


def _plain(expected: Any, actual: Any, vector: Vector) -> list[VectorDifference]:
    return compare_values(expected, actual, "", partial=False)


_THEN = {
    "response": compare_response,
    "response_matches_state": _plain,
    "changes": same_changes,
    "changes_not_empty": _plain,
    "broker_changes": same_broker_changes,
    "partitions": compare_partitions,
    "brokers": compare_brokers,
    "serialized_brokers": compare_brokers,
    "creates_nothing": _plain,
    "queries": _same_answers,
    "top_level_error": _plain,
    "feature": whole_value,
    "finalized": whole_value,
    "accepted_range": whole_value,
    "with_reference_random": _same_nested,
}

FUNCTIONS = {
    "scenario": Function(
        _run,
        ("features", "static_config", "topic_config", "cluster_id", "brokers", "topics"),
        ("steps",),
        _THEN,
        ("changes_exact",),
    ),
}
"""The function of the files by name."""
