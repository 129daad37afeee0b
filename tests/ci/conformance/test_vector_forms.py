"""Vectors of our own in the documented format: rules and forms that no vector at hand is about."""

from __future__ import annotations

from typing import Any

import pytest

from kraftcheck.ci.conformance.vectors import Vector, run_vector
from kraftcheck.ci.conformance.vectors.core import PASSED, UNSUPPORTED
from kraftcheck.model.records.fields import Fields
from tests.model.controller.controllers import KAFKA

A, B, C, D = (letter * 21 + "A" for letter in "BCDE")
"""Four directory ids."""


def check(function: str, given: dict, when: dict, then: dict) -> None:
    """The vector passes."""
    vector = Vector("own", function, Fields(given), Fields(when), Fields(then))
    outcome = run_vector(vector, KAFKA)
    assert (outcome.status, outcome.differences, outcome.reason) == (PASSED, (), "")


def partition(replicas: list[int], **fields: Any) -> dict[str, Any]:
    """A partition whose replicas are all in sync, led by the first, unless said otherwise."""
    return {
        "replicas": replicas, "directories": ["MIGRATING"] * len(replicas), "isr": replicas, "removing_replicas": [],
        "adding_replicas": [], "elr": [], "last_known_elr": [], "leader": replicas[0],
        "leader_recovery_state": "RECOVERED", "leader_epoch": 100, "partition_epoch": 200, **fields,
    }  # fmt: skip


def check_build(state: dict, when: dict, then: dict, acceptable: list[int], **given: Any) -> None:
    """A change is computed as wanted."""
    given = {
        "partition": state, "acceptable_leaders": acceptable, "min_isr": 2, "elr_enabled": False,
        "use_last_known_leader": False, "directory_assignment_supported": True, "leader_recovery_supported": True,
        "bump_leader_epoch_on_isr_shrink": False, "default_directory": "UNASSIGNED", **given,
    }  # fmt: skip
    check("build_change", given, when, {"exact": True, **then})


@pytest.mark.parametrize(
    ("change", "noop"),
    [
        ({}, True), ({"leader": 1}, False), ({"isr": []}, False), ({"replicas": [1]}, False),
        ({"removing_replicas": []}, False), ({"adding_replicas": [4]}, False), ({"elr": []}, False),
        ({"last_known_elr": []}, False), ({"leader_recovery_state": "RECOVERED"}, False),
        ({"directories": [A]}, False), ({"directories": []}, False),
    ],
)  # fmt: skip
def test_each_field_is_a_change(change: dict, noop: bool) -> None:
    """A change with any field is not without effect, also where the field is empty."""
    check("is_noop_change", {}, {"change": change}, {"noop": noop})


def test_directories_stay_with_their_replicas() -> None:
    """Kept replicas keep their directories in the new order; others get the one assigned, or the default."""
    state = partition([2, 1, 3], directories=[A, B, C], leader=1)
    change = {"leader": 1, "replicas": [3, 1, 5, 4], "directories": [C, B, D, "UNASSIGNED"]}
    when = {"target_replicas": [3, 1, 5, 4], "set_directories": {"5": D}}
    check_build(state, when, {"change": change, "leader_epoch_bump": True}, [1, 2, 3, 4, 5])


def test_directories_alone_are_a_change() -> None:
    """Assigned directories replace those of their replicas, and nothing else changes."""
    state = partition([2, 1, 3], directories=[A, B, C])
    when = {"set_directories": {"3": D, "1": "LOST"}}
    check_build(state, when, {"change": {"directories": [A, "LOST", D]}, "leader_epoch_bump": False}, [1, 2, 3])


def test_a_removed_leader_steps_down() -> None:
    """A reassignment that completes without a live new replica leaves no leader."""
    state = partition([2, 3, 0, 1], isr=[0, 1], removing_replicas=[0, 1], adding_replicas=[2, 3], leader=0)
    change = {"replicas": [2, 3], "isr": [2, 3], "removing_replicas": [], "adding_replicas": [], "leader": -1}
    when = {"target_isr": [0, 1, 2, 3]}
    check_build(state, when, {"change": change}, [], directory_assignment_supported=False, default_directory=None)


def test_the_last_known_leader_is_elected_even_if_preferred_is_asked_for() -> None:
    """With ISR and ELR empty the last known leader leads, alone and recovering."""
    state = partition([1, 2, 3, 4], isr=[], last_known_elr=[1], leader=-1)
    change = {"isr": [1], "leader": 1, "leader_recovery_state": "RECOVERING", "last_known_elr": []}
    when = {"election": "PREFERRED", "target_isr": []}
    check_build(state, when, {"change": change}, [1, 2, 3, 4], elr_enabled=True, use_last_known_leader=True, min_isr=3)


@pytest.mark.parametrize(("last_known", "cleared"), [([], {}), ([2], {"last_known_elr": []})])
def test_an_elr_member_is_elected_alone(last_known: list[int], cleared: dict) -> None:
    """An ELR member leads alone; the others stay eligible, and the last known leader is forgotten."""
    state = partition([1, 2, 3, 4], isr=[], elr=[1, 3], last_known_elr=last_known, leader=-1)
    change = {"isr": [1], "leader": 1, "elr": [3], **cleared}
    given = {"elr_enabled": True, "use_last_known_leader": True, "min_isr": 3}
    check_build(state, {"target_isr": []}, {"change": change}, [1], **given)


def usable(*brokers: tuple[int, str | None, bool]) -> dict:
    """Brokers with their racks, and whether they are fenced."""
    return {"brokers": [{"id": id_, "rack": rack, "fenced": fenced} for id_, rack, fenced in brokers]}


def test_racks_of_mixed_brokers() -> None:
    """Racks without a live broker give followers only; each placement begins one rack on."""
    given = usable(
        (11, "1", False), (10, "1", False), (30, "3", True), (31, "3", True), (20, "2", True), (21, "2", True),
        (41, "4", False), (40, "4", True),
    )  # fmt: skip
    summary = {"total_brokers": 8, "unfenced_brokers": 3, "rack_names": ["1", "2", "3", "4"]}
    check("rack_list_summary", given, {}, summary)
    placed = [[41, 11, 21, 30], [10, 20, 31, 41], [41, 21, 30, 11]]
    check("rack_list_place", given, {"replication_factors": [4, 4, 4]}, {"placements": placed})


def test_a_fenced_broker_comes_last() -> None:
    """In one rack the fenced broker is the last replica of every placement."""
    given = usable((3, None, False), (1, None, True), (2, None, False))
    placed = [[3, 2, 1], [2, 3, 1], [3, 2, 1], [2, 3, 1]]
    check("rack_list_place", given, {"replication_factors": [3] * 4}, {"placements": placed})


def test_topics_are_striped() -> None:
    """Leaders rotate until every live broker led, then the order is shuffled; one live broker leads everything."""
    when = {"start_partition": 0, "num_partitions": 5, "replication_factor": 3}
    placed = [[2, 3, 0], [3, 0, 1], [0, 1, 2], [1, 2, 3], [1, 0, 2]]
    check("place_topic", usable(*((b, None, False) for b in (0, 3, 2, 1))), when, {"placements": placed})
    when = {"num_partitions": 3, "replication_factor": 1}
    check("place_topic", usable((0, None, False), (1, None, True)), when, {"placement_counts": [[[0], 3]]})


@pytest.mark.parametrize(("factor", "fenced"), [(3, False), (0, False), (-1, False), (1, True)])
def test_topics_that_cannot_be_placed(factor: int, fenced: bool) -> None:
    """Too few brokers, no positive factor, or none live: one error."""
    when = {"num_partitions": 1, "replication_factor": factor}
    error = {"error": "INVALID_REPLICATION_FACTOR"}
    check("place_topic", usable((0, None, fenced), (1, None, True)), when, error)
    check("rack_list_place", usable((0, None, fenced), (1, None, True)), {"replication_factors": [factor]}, error)


@pytest.mark.parametrize(
    ("steps", "error"),
    [
        ([{"op": "touch", "broker": 9, "fenced": False, "metadata_offset": 0}], "NOT_REGISTERED"),
        ([{"op": "set_controlled_shutdown_offset", "broker": 9, "offset": 0}], "NOT_REGISTERED"),
        ([{"op": "set_controlled_shutdown_offset", "broker": 1, "offset": 0}], "INTERNAL"),
    ],
)
def test_sessions_of_nobody(steps: list[dict], error: str) -> None:
    """Brokers that are not tracked, or are fenced, have no session to touch or to end; the state stays."""
    given = {"session_timeout_ms": 10, "now_ms": 0}
    steps = [{"op": "register", "broker": 1, "fenced": True}, *steps]
    check("session_tracking", given, {"steps": steps}, {"error": error})
    state = {"unfenced_order": [], "has_valid_session": {"1": False}, "controlled_shutdown_offset": {"1": None}}
    check("session_tracking", given, {"steps": steps}, {"error": error, **state})


def check_scenario(given: dict, steps: list[dict], then: dict, features: dict | None = None) -> None:
    """A scenario ends as wanted."""
    switches = {"elr_enabled": False, "directory_assignment_supported": True, **(features or {})}
    check("scenario", {"features": switches, "brokers": [], "topics": {}, **given}, {"steps": steps}, then)


def brokers(*listed: int, fenced: tuple[int, ...] = ()) -> list[dict]:
    """Registered brokers with one directory each."""
    dirs = {0: [A], 1: [B], 2: [C], 3: [D]}
    return [
        {"id": b, "epoch": 100 + b, "dirs": dirs[b], "fenced": b in fenced, "in_controlled_shutdown": False}
        for b in listed
    ]


def asked(query: str, result: Any, **arguments: Any) -> dict:
    """One question and its answer."""
    return {"queries": [{"query": query, **arguments, "result": result}]}


def registering(incarnation: str, **fields: Any) -> dict:
    """A registration of broker 1 of the cluster C."""
    return {
        "op": "register_broker", "cluster_id": "C", "broker": 1, "incarnation": incarnation, "rack": None, "dirs": [A],
        "features": {}, "finalized_features": {}, "new_broker_epoch": 100, **fields,
    }  # fmt: skip


@pytest.mark.parametrize(("again", "epoch"), [("first", 100), ("second", 111)])
def test_registering_again(again: str, epoch: int) -> None:
    """The same incarnation keeps its epoch; another gets the new one."""
    steps = [registering("first"), registering(again, new_broker_epoch=111)]
    known = {"1": {"epoch": epoch, "incarnation": again, "fenced": True}}
    check_scenario({"cluster_id": "C"}, steps, {"response": {"broker_epoch": epoch}, "brokers": known})


@pytest.mark.parametrize(
    ("fields", "then"),
    [
        ({"cluster_id": "D"}, {"error": "INCONSISTENT_CLUSTER_ID"}),
        ({"dirs": [A, A]}, {"error": "INVALID_REGISTRATION", "reason": "duplicate_directory"}),
        ({"dirs": [A, "UNASSIGNED"]}, {"error": "INVALID_REGISTRATION"}),
        (
            {"features": {"metadata.version": [1, 15]}, "finalized_features": {"metadata.version": 15, "test": 1}},
            {"error": "UNSUPPORTED_VERSION", "feature": "test", "finalized": 1, "accepted_range": [0, 0]},
        ),
        ({"broker": 0, "dirs": [C]}, {"error": "DUPLICATE_BROKER_REGISTRATION"}),
    ],
)
def test_registrations_that_are_refused(fields: dict, then: dict) -> None:
    """Another cluster, directories that cannot be, features without their finalized level, a live namesake."""
    check_scenario({"cluster_id": "C", "brokers": brokers(0)}, [registering("x", **{"dirs": [D], **fields})], then)


@pytest.mark.parametrize(("broker", "expected"), [(0, A), (9, "UNASSIGNED")])
def test_default_directories(broker: int, expected: str) -> None:
    """A broker's only directory, or none that is known."""
    check_scenario({"brokers": brokers(0)}, [], asked("default_dir", expected, broker=broker))


def test_a_deleted_topic_is_in_no_index() -> None:
    """Deletion empties the indexes of ISR and ELR."""
    topic = {"foo": {"0": partition([0, 1, 2], isr=[0], elr=[1, 2], directories=[A, B, C])}}
    given = {"brokers": brokers(0, 1, 2), "topics": topic, "topic_config": {"foo": {"min.insync.replicas": "2"}}}
    then = {"queries": [{"query": f"in_any_{name}", "broker": b, "result": []} for name, b in (("elr", 1), ("isr", 0))]}
    delete = [{"op": "delete_topic", "topic": "foo"}]
    check_scenario(given, delete, {**then, "response": {"error": "NONE"}}, {"elr_enabled": True})
    unknown = [*delete, {"op": "delete_topic", "topic": "no-such-topic"}]
    check_scenario(given, unknown, {"response": {"error": "UNKNOWN_TOPIC_ID"}}, {"elr_enabled": True})


def test_fencing_several_brokers_in_turn() -> None:
    """Each broker that is fenced takes its leaderships to those that are left; the last stays in the ISR."""
    topic = {"foo": {"0": partition([0, 1, 2], directories=[A, B, C]), "1": partition([2, 1], directories=[C, B])}}
    steps = [{"op": "expire_session", "broker": b} for b in (0, 1, 2)]
    then = {
        "changes": [{"topic": "foo", "partition": i, "change": {"leader": -1}} for i in (0, 1)],
        "partitions": {"foo-0": {"isr": [2], "leader": -1}, "foo-1": {"isr": [2], "leader": -1}},
        **asked("some_leaderless", True),
    }
    check_scenario({"brokers": brokers(0, 1, 2), "topics": topic}, steps, then)


def test_growth_with_manual_and_placed_replicas() -> None:
    """Each topic answers for itself; directories of new replicas are the only ones of their brokers."""
    topics = {name: {"0": partition([0, 1], directories=[A, B])} for name in ("a", "b", "c", "d")}
    rows = [
        {"name": "a", "count": 2, "assignments": [[1, 3]]}, {"name": "b", "count": 2, "assignments": [[1]]},
        {"name": "c", "count": 4, "assignments": [[1, 0]]}, {"name": "d", "count": 2, "assignments": [[2, 0]]},
        {"name": "e", "count": 2}, {"name": "b", "count": 1},
    ]  # fmt: skip
    bad = "INVALID_REPLICA_ASSIGNMENT"
    errors = {"a": "NONE", "b": bad, "c": bad, "d": bad, "e": "UNKNOWN_TOPIC_OR_PARTITION"}
    answers = [{"topic": name, "error": error} for name, error in errors.items()]
    given = {"brokers": brokers(0, 1, 3), "topics": topics}
    then = {"response": answers, "partitions": {"a-1": {"directories": [B, D], "isr": [1, 3], "leader": 1}}}
    check_scenario(given, [{"op": "create_partitions", "topics": rows[:5]}], then)
    none = {"response": [{"topic": "b", "error": "INVALID_PARTITIONS"}]}
    check_scenario(given, [{"op": "create_partitions", "topics": rows[5:]}], none)


def test_quotas_come_before_placement() -> None:
    """An exhausted quota refuses growth, whether placed by hand or not, and creation."""
    given = {"brokers": brokers(0, 1), "topics": {"a": {"0": partition([0, 1], directories=[A, B])}}}
    for assignments in (None, [[1, 0]]):
        row = {"name": "a", "count": 2, "assignments": assignments}
        step = {"op": "create_partitions", "topics": [row], "mutation_quota_exceeded": True}
        check_scenario(given, [step], {"response": [{"topic": "a", "error": "THROTTLING_QUOTA_EXCEEDED"}]})


def test_names_that_cannot_be() -> None:
    """Only bad names are answered for."""
    error = {"error": "INVALID_TOPIC_EXCEPTION"}
    step = {"op": "validate_topic_names", "names": ["", "woo", "."], "existing_by_normalized_name": {}}
    check_scenario({}, [step], {"response": {"": error, ".": error}})


def test_assignments_before_directories() -> None:
    """Older metadata versions know no assignment of replicas to directories."""
    step = {"op": "assign_replicas_to_dirs", "broker": 0, "broker_epoch": 100, "assignments": []}
    features = {"directory_assignment_supported": False}
    check_scenario({"brokers": brokers(0)}, [step], {"error": "UNSUPPORTED_VERSION"}, features)


def test_preferred_leaders_return() -> None:
    """The balance timer seats first replicas that are in sync, and says whether it was cut short."""
    topic = {"foo": {"0": partition([0, 1], leader=1, directories=[A, B]), "1": partition([1, 0], directories=[B, A])}}
    then = {
        "response": {"more": False}, "changes": [{"topic": "foo", "partition": 0, "change": {"leader": 0}}],
        **asked("leaders_imbalanced", False),
    }  # fmt: skip
    check_scenario({"brokers": brokers(0, 1), "topics": topic}, [{"op": "balance_leaders"}], then)


def test_a_log_cannot_give_a_directory_to_two_brokers() -> None:
    """A registration read from the log with another broker's directory is a broken state, not an answer."""
    step = {"op": "install_registration", "broker": 1, "epoch": 101, "dirs": [A], "fenced": True,
            "in_controlled_shutdown": False}  # fmt: skip
    check_scenario({"brokers": brokers(0)}, [step], {"error": "ILLEGAL_STATE"})


@pytest.mark.parametrize("then", [{}, {"reason": "none"}])
def test_a_vector_that_expects_nothing_has_not_passed(then: dict[str, str]) -> None:
    """A vector without an expectation says nothing of the rules, so it is not counted as passed."""
    given, when = Fields({}), Fields({"left": [0], "right": [1]})
    outcome = run_vector(Vector("own", "assignment_equality", given, when, Fields(then)), KAFKA)
    assert (outcome.status, outcome.reason) == (UNSUPPORTED, "then: nothing is expected")
