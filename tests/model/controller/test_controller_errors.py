"""Every request of the controller on ints: each error that it can answer, as docs/reference lists it, and bounds."""

import ast
import re
from collections.abc import Callable
from typing import Any

import pytest
from attrs import evolve, frozen

from kraftcheck.model.controller.alter_configs import alter_config
from kraftcheck.model.controller.brokers import (
    RegistrationContext,
    RegistrationRequest,
    expire_session,
    heartbeat,
    register_broker,
    register_controller,
    unregister,
)
from kraftcheck.model.controller.commits import batches, commit, stages
from kraftcheck.model.controller.elections import DESIGNATED, MOST_DESIGNATED, PREFERRED, UNCLEAN, elect_leaders
from kraftcheck.model.controller.errors import CODES, NONE, ExcessiveBatch, RequestError, Resignation
from kraftcheck.model.controller.partitions import (
    AlterPartitionRequest,
    Assignment,
    Proposal,
    Reassignment,
    alter_partition,
    assign_replicas_to_dirs,
    reassign,
)
from kraftcheck.model.controller.state import (
    CLUSTER,
    MIN_ISR,
    NODE,
    TOPIC,
    UNCLEAN_ELECTION,
    ConfigRecord,
    Controller,
    Outcome,
    RegisterControllerRecord,
    Settings,
    is_valid,
)
from kraftcheck.model.controller.topics import (
    CreateTopicsRequest,
    Growth,
    NewTopic,
    create_partitions,
    create_topics,
    delete_topics,
)
from kraftcheck.model.records.records import Feature
from kraftcheck.model.rules.ruleset import PRESETS, parse, preset
from tests.model.controller.controllers import (
    FIXED,
    KAFKA,
    beat,
    changed,
    cluster,
    directory,
    partition,
    play,
    with_topic,
)
from tests.shared.places import ROOT

BASE = with_topic(cluster(5, fenced=(3,), leaving=(4,)), "foo", (0, 1, 2))
"""Brokers 0..2 live, 3 fenced, 4 leaving; one partition on the live ones, led by 0."""
NEW = preset("kafka-4.4.0")
FOO = BASE.topic_id("foo") or ""
LEADERLESS = changed(BASE, leader=-1, isr=(3,), replicas=(3, 4))
STRANGE = changed(changed(BASE, leader=1), isr=(1, 2), replicas=(3, 1, 2))
FEW = evolve(BASE, settings=Settings("cluster", max_records=0))  # the same where no request may write a record


def codes(outcome: Outcome[Any]) -> set[str]:
    """The errors of the rows of a reply; one that names none counts as success."""
    rows = outcome.response if isinstance(outcome.response, tuple) else ()
    return {row[1] if isinstance(row, tuple) else row.error for row in rows} - {NONE}


def answered(case: Callable[[], Outcome[Any]]) -> tuple[set[str], tuple[Any, ...]]:
    """The errors that a request is answered with, and what it writes."""
    try:
        outcome = case()
    except (RequestError, Resignation) as refusal:
        return {refusal.error}, ()
    return codes(outcome), outcome.records


@frozen
class Row:
    """A request with an error, a case that shows it, and how many records that writes all the same."""

    request: str
    error: str
    case: Callable[[], Outcome[Any]]
    records: int = 0


def register(controller: Controller = BASE, broker: int = 3, **fields: Any) -> Callable[[], Outcome[Any]]:
    """A registration of a new process, right unless said otherwise."""
    finalized = RegistrationContext({"metadata.version": 9} if fields.pop("late", False) else {})
    rules = fields.pop("rules", KAFKA)
    wanted = {"cluster_id": "cluster", "incarnation": "new", "dirs": (directory(broker),), **fields}
    return lambda: register_broker(controller, RegistrationRequest(broker=broker, **wanted), finalized, rules)


def alter(controller: Controller = BASE, sender: int = 0, epoch: int = 100, version: int = 3, **fields: Any) -> Any:
    """A proposal, right unless said otherwise."""
    p = partition(controller)
    wanted = {
        "topic": FOO, "partition": 0, "leader_epoch": int(p.leader_epoch), "partition_epoch": int(p.partition_epoch),
        "new_isr": ((0, -1), (1, -1)), **fields,
    }  # fmt: skip
    request = AlterPartitionRequest(sender, epoch, (Proposal(**wanted),), version)
    return lambda: alter_partition(controller, request, KAFKA)


def moving() -> Controller:
    """The partition moves from its leader to broker 1, who is in the ISR but for the proposal."""
    controller = changed(BASE, isr=(0, 2))
    return play(controller, reassign(controller, (Reassignment("foo", 0, (1, 2)),), KAFKA))


def assign(
    controller: Controller = BASE, broker: int = 0, epoch: int = 100, topic: str = FOO, at: int = 0
) -> Callable[[], Outcome[Any]]:
    """An assignment to the broker's directory."""
    wanted = (Assignment(directory(broker), topic, at),)
    return lambda: assign_replicas_to_dirs(controller, broker, epoch, wanted, KAFKA)


def create(controller: Controller = BASE, name: str = "new", **fields: Any) -> Callable[[], Outcome[Any]]:
    """A topic is created."""
    whole = {key: fields.pop(key) for key in ("policy", "quota_exceeded") if key in fields}
    return lambda: create_topics(controller, CreateTopicsRequest((NewTopic(name, **fields),), **whole), KAFKA)


def grow(count: int, lists: Any = None, controller: Controller = BASE, name: str = "foo", quota: bool = False) -> Any:
    """A topic gets more partitions."""
    return lambda: create_partitions(controller, (Growth(name, count, lists),), KAFKA, quota)


def elect(kind: int, controller: Controller = BASE, where: Any = (("foo", 0),)) -> Callable[[], Outcome[Any]]:
    """An election is asked for."""
    return lambda: elect_leaders(controller, kind, where, KAFKA)


def move(target: Any, controller: Controller = BASE, name: str = "foo") -> Callable[[], Outcome[Any]]:
    """A reassignment is asked for."""
    return lambda: reassign(controller, (Reassignment(name, 0, target),), KAFKA)


def configure(scope: str, name: str, key: str, value: str) -> Callable[[], Outcome[Any]]:
    """A configuration is changed."""
    return lambda: alter_config(BASE, ConfigRecord(scope, name, key, value), KAFKA)


def end(controller: Controller, broker: int) -> Callable[[], Outcome[Any]]:
    """A broker is unregistered."""
    return lambda: unregister(controller, broker, KAFKA)


def delete(*topics: str, quota: bool = False, controller: Controller = BASE) -> Callable[[], Outcome[Any]]:
    """Topics go."""
    return lambda: delete_topics(controller, topics, quota)


OLD = cluster(2, directories=False, controller_registration=False)
NO_REPLICA = changed(with_topic(cluster(3), "foo", (0, 1)), isr=(2,), leader=2)
BAD = "INVALID_REPLICA_ASSIGNMENT"
MEMBERS = ((0, -1), (1, -1), (2, -1))

ROWS = [
    Row("RegisterBroker", "INCONSISTENT_CLUSTER_ID", register(cluster_id="other")),
    Row("RegisterBroker", "DUPLICATE_BROKER_REGISTRATION", register(broker=1)),
    Row("RegisterBroker", "BROKER_ID_NOT_REGISTERED", register(is_migrating_zk_broker=True)),
    Row("RegisterBroker", "INVALID_REGISTRATION", register(dirs=())),
    Row("RegisterBroker", "INVALID_REQUEST", register(dirs=(), rules=preset("kip"))),
    Row("RegisterBroker", "INVALID_REGISTRATION", register(dirs=(1,))),
    Row("RegisterBroker", "INVALID_REGISTRATION", register(dirs=(directory(3),) * 2)),
    Row("RegisterBroker", "INVALID_REGISTRATION", register(dirs=(directory(2),))),
    Row("RegisterBroker", "INVALID_REGISTRATION", register(rules=NEW)),
    Row("RegisterBroker", "UNSUPPORTED_VERSION", register(features=(Feature("metadata.version", 1, 2),), late=True)),
    Row("ControllerRegistration", "UNSUPPORTED_VERSION",
        lambda: register_controller(OLD, RegisterControllerRecord(1))),
    Row("BrokerHeartbeat", "STALE_BROKER_EPOCH", lambda: heartbeat(BASE, evolve(beat(0), broker_epoch=7), KAFKA)),
    Row("BrokerHeartbeat", "STALE_BROKER_EPOCH", lambda: heartbeat(BASE, beat(9), KAFKA)),
    Row("UnregisterBroker", "BROKER_ID_NOT_REGISTERED", end(BASE, 9)),
    Row("UnregisterBroker", "POLICY_VIOLATION", end(FEW, 0)),
    Row("AlterPartition", "STALE_BROKER_EPOCH", alter(sender=9, epoch=109)),
    Row("AlterPartition", "STALE_BROKER_EPOCH", alter(epoch=99)),
    Row("AlterPartition", "UNKNOWN_TOPIC_ID", alter(topic="none")),
    Row("AlterPartition", "UNKNOWN_TOPIC_OR_PARTITION", alter(topic="none", version=1)),
    Row("AlterPartition", "UNKNOWN_TOPIC_OR_PARTITION", alter(partition=1)),
    Row("AlterPartition", "NOT_CONTROLLER", alter(leader_epoch=1)),
    Row("AlterPartition", "NOT_CONTROLLER", alter(partition_epoch=9)),
    Row("AlterPartition", "FENCED_LEADER_EPOCH", alter(leader_epoch=-1)),
    Row("AlterPartition", "INVALID_REQUEST", alter(sender=1, epoch=101)),
    Row("AlterPartition", "INVALID_UPDATE_VERSION", alter(partition_epoch=-1)),
    Row("AlterPartition", "INVALID_REQUEST", alter(new_isr=((0, -1), (0, -1)))),
    Row("AlterPartition", "INVALID_REQUEST", alter(new_isr=((0, -1), (-1, -1)))),
    Row("AlterPartition", "INVALID_REQUEST", alter(new_isr=((0, -1), (3, -1)))),
    Row("AlterPartition", "INVALID_REQUEST", alter(new_isr=((1, -1),))),
    Row("AlterPartition", "INVALID_REQUEST", alter(changed(BASE, recovering=True), recovering=True)),
    Row("AlterPartition", "INVALID_REQUEST", alter(new_isr=((0, -1),), recovering=True)),
    Row("AlterPartition", "INELIGIBLE_REPLICA", alter(changed(BASE, replicas=(0, 3)), new_isr=((0, -1), (3, -1)))),
    Row("AlterPartition", "INELIGIBLE_REPLICA", alter(changed(BASE, replicas=(0, 4)), new_isr=((0, -1), (4, -1)))),
    Row("AlterPartition", "INELIGIBLE_REPLICA", alter(new_isr=((0, -1), (1, 7)))),
    Row("AlterPartition", "OPERATION_NOT_ATTEMPTED",
        alter(changed(BASE, replicas=(0, 3)), topic="foo", new_isr=((0, -1), (3, -1)), version=1)),
    Row("AlterPartition", "NEW_LEADER_ELECTED", alter(moving(), new_isr=MEMBERS), records=1),
    Row("AlterPartition", "FENCED_LEADER_EPOCH", alter(moving(), topic="foo", new_isr=MEMBERS, version=1), records=1),
    Row("ElectLeaders", "INVALID_REQUEST", elect(2)),
    Row("ElectLeaders", "UNKNOWN_TOPIC_OR_PARTITION", elect(PREFERRED, where=(("bar", 0),))),
    Row("ElectLeaders", "UNKNOWN_TOPIC_OR_PARTITION", elect(PREFERRED, where=(("foo", 1),))),
    Row("ElectLeaders", "ELECTION_NOT_NEEDED", elect(PREFERRED)),
    Row("ElectLeaders", "ELECTION_NOT_NEEDED", elect(UNCLEAN)),
    Row("ElectLeaders", "PREFERRED_LEADER_NOT_AVAILABLE", elect(PREFERRED, STRANGE)),
    Row("ElectLeaders", "ELIGIBLE_LEADERS_NOT_AVAILABLE", elect(UNCLEAN, LEADERLESS)),
    Row("ElectLeaders", "POLICY_VIOLATION", elect(PREFERRED, changed(FEW, leader=1))),
    Row("ElectLeaders", "UNKNOWN_SERVER_ERROR", elect(PREFERRED, NO_REPLICA)),
    Row("AlterPartitionReassignments", "UNKNOWN_TOPIC_OR_PARTITION", move((0,), name="bar")),
    Row("AlterPartitionReassignments", BAD, move(())),
    Row("AlterPartitionReassignments", BAD, move((0, 9))),
    Row("AlterPartitionReassignments", BAD, move((0, 0))),
    Row("AlterPartitionReassignments", BAD, move(None, changed(BASE, adding=(0, 1, 2)))),
    Row("AlterPartitionReassignments", BAD, move(None, changed(BASE, adding=(0,), isr=(0,)))),
    Row("AlterPartitionReassignments", "INVALID_REPLICATION_FACTOR",
        lambda: reassign(BASE, (Reassignment("foo", 0, (0, 1)),), NEW, factor_may_change=False)),
    Row("AlterPartitionReassignments", "NO_REASSIGNMENT_IN_PROGRESS", move(None)),
    Row("AlterPartitionReassignments", "UNKNOWN_SERVER_ERROR", move((2, 1), FEW)),
    Row("AssignReplicasToDirs", "UNSUPPORTED_VERSION", assign(OLD)),
    Row("AssignReplicasToDirs", "STALE_BROKER_EPOCH", assign(epoch=99)),
    Row("AssignReplicasToDirs", "UNKNOWN_TOPIC_ID", assign(topic="none")),
    Row("AssignReplicasToDirs", "UNKNOWN_TOPIC_OR_PARTITION", assign(at=1)),
    Row("AssignReplicasToDirs", "NOT_LEADER_OR_FOLLOWER", assign(broker=3, epoch=103)),
    Row("CreateTopics", "INVALID_TOPIC_EXCEPTION", create(name="no such")),
    Row("CreateTopics", "INVALID_TOPIC_EXCEPTION", create(with_topic(BASE, "a.b", (0,)), name="a_b")),
    Row("CreateTopics", "TOPIC_ALREADY_EXISTS", create(name="foo")),
    Row("CreateTopics", "INVALID_CONFIG", create(config={"k": None})),
    Row("CreateTopics", "INVALID_CONFIG", create(config={MIN_ISR: "many"})),
    Row("CreateTopics", "INVALID_REQUEST", create(partitions=1, assignments=((0, (0,)),))),
    Row("CreateTopics", "INVALID_REQUEST", create(replication_factor=1, assignments=((0, (0,)),))),
    Row("CreateTopics", BAD, create(assignments=((0, (0,)), (0, (1,))))),
    Row("CreateTopics", BAD, create(assignments=((0, ()),))),
    Row("CreateTopics", BAD, create(assignments=((0, (9,)),))),
    Row("CreateTopics", BAD, create(assignments=((0, (0, 0)),))),
    Row("CreateTopics", BAD, create(assignments=((0, (0,)), (1, (0, 1))))),
    Row("CreateTopics", BAD, create(assignments=((0, (3, 4)),))),
    Row("CreateTopics", BAD, create(assignments=((1, (0,)),))),
    Row("CreateTopics", "INVALID_REPLICATION_FACTOR", create(replication_factor=0)),
    Row("CreateTopics", "INVALID_REPLICATION_FACTOR", create(replication_factor=-2)),
    Row("CreateTopics", "INVALID_REPLICATION_FACTOR", create(replication_factor=9)),
    Row("CreateTopics", "INVALID_REPLICATION_FACTOR", create(cluster(2, fenced=(0, 1)), replication_factor=1)),
    Row("CreateTopics", "INVALID_PARTITIONS", create(partitions=0)),
    Row("CreateTopics", "INVALID_PARTITIONS", create(partitions=-2)),
    Row("CreateTopics", "POLICY_VIOLATION", create(policy=lambda _: "POLICY_VIOLATION")),
    Row("CreateTopics", "POLICY_VIOLATION", create(FEW)),
    Row("CreateTopics", "UNKNOWN_SERVER_ERROR", create(policy=lambda _: Resignation.error)),
    Row("CreateTopics", "THROTTLING_QUOTA_EXCEEDED", create(quota_exceeded=True)),
    Row("CreatePartitions", "UNKNOWN_TOPIC_OR_PARTITION", grow(3, name="bar")),
    Row("CreatePartitions", "INVALID_PARTITIONS", grow(1)),
    Row("CreatePartitions", BAD, grow(3, ((0, 1, 2),))),
    Row("CreatePartitions", BAD, grow(2, ((0, 1),))),
    Row("CreatePartitions", BAD, grow(2, ((0, 1, 9),))),
    Row("CreatePartitions", BAD, grow(2, ((3, 4, 3),))),
    Row("CreatePartitions", "INVALID_REPLICATION_FACTOR", grow(2, controller=changed(BASE, replicas=tuple(range(9))))),
    Row("CreatePartitions", "INVALID_REQUEST",
        lambda: create_partitions(BASE, (Growth("foo", 2), Growth("foo", 3)), KAFKA)),
    Row("CreatePartitions", "POLICY_VIOLATION",
        lambda: create_partitions(BASE, (Growth("foo", 10_002),), NEW)),
    Row("CreatePartitions", "THROTTLING_QUOTA_EXCEEDED", grow(2, quota=True)),
    Row("CreatePartitions", "UNKNOWN_SERVER_ERROR", grow(2, controller=FEW)),
    Row("DeleteTopics", "UNKNOWN_TOPIC_ID", delete("none")),
    Row("DeleteTopics", "INVALID_REQUEST", delete(FOO, FOO)),
    Row("DeleteTopics", "THROTTLING_QUOTA_EXCEEDED", delete(FOO, quota=True)),
    Row("DeleteTopics", "UNKNOWN_SERVER_ERROR", delete(FOO, controller=FEW)),
    Row("IncrementalAlterConfigs", "INVALID_CONFIG", configure(TOPIC, "foo", MIN_ISR, "many")),
    Row("IncrementalAlterConfigs", "UNKNOWN_TOPIC_OR_PARTITION", configure(TOPIC, "bar", MIN_ISR, "1")),
    Row("IncrementalAlterConfigs", "BROKER_ID_NOT_REGISTERED", configure(NODE, "77", MIN_ISR, "1")),
]  # fmt: skip
"""Every way to every error; sections 3 to 5, 6.2 and 8 of the semantics reference, and the limits of a batch."""


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.request} {row.error}")
def test_a_request_is_answered_with_its_error(row: Row) -> None:
    """The case has this error and no other; nothing is written, but by the proposal that ends its own leadership."""
    errors, records = answered(row.case)
    assert errors == {row.error}
    assert len(records) == row.records


@pytest.mark.parametrize("rules", PRESETS)
def test_the_document_answers_no_directory_as_a_malformed_request(rules: str) -> None:
    """KIP-858 says INVALID_REQUEST of an empty list alone; releases and the mended rules say INVALID_REGISTRATION."""
    lists = {"none": (), "reserved": (1,), "another's": (directory(2),)}
    told = {name: answered(register(dirs=dirs, rules=PRESETS[rules]))[0] for name, dirs in lists.items()}
    refused = {"INVALID_REGISTRATION"}
    none = {"INVALID_REQUEST"} if rules == "kip" else refused
    assert told == {"none": none, "reserved": refused, "another's": refused}


def test_no_code_is_left_out() -> None:
    """Every code the controller knows is shown, and the handlers name no other."""
    named = {
        node.value
        for file in (ROOT / "model" / "controller").rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and re.fullmatch("[A-Z]+(_[A-Z]+)+", node.value)
    }
    kinds = {Resignation.kind, *(refusal.kind for refusal in Resignation.__subclasses__())}
    assert {row.error for row in ROWS} == set(CODES) - {NONE}
    assert named - kinds == set(CODES) - {NONE}


DESIGNATING = parse("fixed+designated-elections")


def small(limit: int, *names: str) -> Controller:
    """A controller whose batches hold so many records, with topics of three replicas."""
    controller = cluster(4, elr_enabled=True)
    for name in names:
        controller = with_topic(controller, name, (0, 1, 2))
    return evolve(controller, settings=evolve(controller.settings, max_records=limit))


def errors(outcome: Any) -> list[str]:
    """The error of each row."""
    return [row.error if hasattr(row, "error") else row[1] for row in outcome.response]


def test_fencing_may_be_several_batches() -> None:
    """A broker that is fenced leaves its partitions batch by batch, and the registration follows in the last."""
    controller = small(2, "a", "b", "c")
    outcome = expire_session(controller, 0, KAFKA)
    assert [len(batch) for batch in batches(outcome, 2)] == [2, 2]
    before, between, after = stages(controller, outcome, KAFKA)
    assert [int(partition(between, name).leader) for name in "abc"] == [1, 1, 0]
    assert not between.registration(0).fenced
    assert after.registration(0).fenced
    assert before.image == controller.image
    assert after == commit(controller, outcome, KAFKA)


def test_a_new_incarnation_must_fit_into_one_batch() -> None:
    """A registration ends every membership in one batch; a broker in more ISRs than fit makes the controller resign."""
    request = RegistrationRequest("cluster", 0, "new", dirs=(directory(0),))
    for limit, fits in ((4, True), (3, False)):
        controller = small(limit, "a", "b", "c")
        controller = evolve(controller, soft=controller.soft.after(10**6))
        outcome = register_broker(controller, request, RegistrationContext(), KAFKA)
        assert outcome.atomic
        assert len(outcome.records) == 4
        if fits:
            assert commit(controller, outcome, KAFKA).registration(0).fenced
            continue
        with pytest.raises(ExcessiveBatch, match="4 records cannot be one batch of 3") as refused:
            commit(controller, outcome, KAFKA)
        assert refused.value.error == "UNKNOWN_SERVER_ERROR"


def test_creations_are_limited_together() -> None:
    """Topics that together exceed the limit fail together, also where nothing would be written."""
    topics = tuple(NewTopic(name, 2, 1) for name in ("a", "b"))
    assert len(create_topics(small(6), CreateTopicsRequest(topics), KAFKA).records) == 6
    for validate_only in (False, True):
        with pytest.raises(RequestError, match="POLICY_VIOLATION"):
            create_topics(small(5), CreateTopicsRequest(topics, validate_only), KAFKA)


def test_rows_beyond_the_limit_fail_as_exceptions_do() -> None:
    """Deletions and reassignments answer the rows that exceed the limit with the error of an exception."""
    controller = small(2, "a", "b", "c")
    ids = tuple(controller.topic_id(name) for name in "abc")
    outcome = delete_topics(controller, ids)
    assert errors(outcome) == ["NONE", "NONE", "UNKNOWN_SERVER_ERROR"]
    moved = reassign(controller, tuple(Reassignment(name, 0, (1, 2, 3)) for name in "abc"), KAFKA)
    assert errors(moved) == errors(outcome)
    assert len(outcome.records) == len(moved.records) == 2
    unmoved = reassign(controller, tuple(Reassignment(name, 0, (0, 1, 2)) for name in "abc"), KAFKA)
    assert errors(unmoved) == ["NONE"] * 3


@pytest.mark.parametrize(("rules", "left"), [(KAFKA, 2), (FIXED, 0)], ids=["kafka-4.0", "fixed"])
def test_a_growth_beyond_the_limit(rules, left: int) -> None:
    """As implemented, partitions up to the limit are written although the row fails; mended, none is."""
    outcome = create_partitions(small(2, "a"), (Growth("a", 5),), rules)
    assert (errors(outcome), len(outcome.records)) == (["UNKNOWN_SERVER_ERROR"], left)


def test_elections_are_limited() -> None:
    """One request elects in no more partitions than one batch holds records."""
    controller = play(small(9, "a", "b", "c"), expire_session(small(9, "a", "b", "c"), 0, FIXED), FIXED)
    controller = changed(changed(controller, "a", leader=-1, isr=(1,)), "b", leader=-1, isr=(1,))
    assert len(elect_leaders(controller, 1, None, FIXED).records) == 2
    controller = evolve(controller, settings=evolve(controller.settings, max_records=1))
    with pytest.raises(RequestError, match="POLICY_VIOLATION"):
        elect_leaders(controller, 1, None, FIXED)


def offline(**fields: Any) -> Controller:
    """A leaderless partition of replicas 0, 1, 2 whose ISR is the fenced 0; 1 and 2 are live."""
    controller = with_topic(cluster(4, elr_enabled=False), "foo", (0, 1, 2))
    controller = play(controller, expire_session(controller, 0, KAFKA))
    return changed(controller, **{"leader": -1, "isr": (0,), **fields})


def designate(controller: Controller, leader: int, rules=DESIGNATING, topic: str = "foo") -> Any:
    """A designated election in one partition."""
    return elect_leaders(controller, DESIGNATED, ((topic, 0),), rules, (leader,))


@pytest.mark.parametrize(
    ("controller", "leader", "topic", "error"),
    [
        (offline(), 2, "none", "UNKNOWN_TOPIC_OR_PARTITION"),
        (offline(leader=1, isr=(1,)), 2, "foo", "ELECTION_NOT_NEEDED"),
        (offline(leader=1, isr=(1,)), 9, "foo", "ELECTION_NOT_NEEDED"),
        (offline(), 3, "foo", "ELIGIBLE_LEADERS_NOT_AVAILABLE"),
        (offline(), 0, "foo", "ELIGIBLE_LEADERS_NOT_AVAILABLE"),
        (offline(), 9, "foo", "ELIGIBLE_LEADERS_NOT_AVAILABLE"),
        (offline(directories=(1000, 1010, 2)), 2, "foo", "ELIGIBLE_LEADERS_NOT_AVAILABLE"),
        (offline(removing=(2,)), 2, "foo", "ELIGIBLE_LEADERS_NOT_AVAILABLE"),
    ],
    ids=["unknown", "led", "led-by-another", "no-replica", "fenced", "unregistered", "lost-directory", "leaving"],
)
def test_who_cannot_be_designated(controller: Controller, leader: int, topic: str, error: str) -> None:
    """Only a live replica on an online directory, and only while there is no leader."""
    outcome = designate(controller, leader, topic=topic)
    assert (errors(outcome), outcome.records) == ([error], ())


def test_as_the_document_says_a_leaving_replica_may_be_designated() -> None:
    """The document asks for a replica only, also for one that is being removed."""
    rules = parse("fixed+designated-elections+designated-may-be-leaving")
    assert errors(designate(offline(removing=(2,)), 2, rules)) == ["NONE"]


def test_only_the_first_thousand_are_served() -> None:
    """Designated elections beyond the limit get no answer."""
    places = tuple(("none", index) for index in range(MOST_DESIGNATED + 1))
    outcome = elect_leaders(offline(), DESIGNATED, places, DESIGNATING, (1,) * len(places))
    assert [row.partition for row in outcome.response] == list(range(MOST_DESIGNATED))


@pytest.mark.parametrize(
    ("key", "value", "valid"),
    [
        (MIN_ISR, "1", True), (MIN_ISR, "+2", True), (MIN_ISR, " 2\t", True), (MIN_ISR, "2147483647", True),
        (MIN_ISR, "0", False), (MIN_ISR, "-1", False), (MIN_ISR, "2147483648", False), (MIN_ISR, "two", False),
        (MIN_ISR, "", False), (MIN_ISR, "1.0", False), (MIN_ISR, "\u00a02", False),
        (UNCLEAN_ELECTION, "TRUE", True), (UNCLEAN_ELECTION, " false ", True), (UNCLEAN_ELECTION, "yes", False),
        (UNCLEAN_ELECTION, "", False), ("another.key", "anything", True),
    ],
)  # fmt: skip
def test_values_that_a_topic_may_have(key: str, value: str, valid: bool) -> None:
    """A min ISR is a positive 32-bit number, the other a truth; a bad value is refused at creation and later."""
    assert is_valid(key, value) is valid
    error = "NONE" if valid else "INVALID_CONFIG"
    topic = NewTopic("a", 1, 1, config={key: value})
    assert errors(create_topics(cluster(3), CreateTopicsRequest((topic,)), KAFKA)) == [error]
    live = with_topic(cluster(3), "foo", (0, 1, 2))
    if valid:
        assert alter_config(live, ConfigRecord(TOPIC, "foo", key, value), KAFKA).records
        return
    with pytest.raises(RequestError, match="INVALID_CONFIG"):
        alter_config(live, ConfigRecord(TOPIC, "foo", key, value), KAFKA)


def test_spaces_around_a_min_isr() -> None:
    """As implemented they pass the check and are fatal to the next election; mended, they are not stored."""
    live = with_topic(cluster(3), "foo", (0, 1, 2))
    padded = ConfigRecord(TOPIC, "foo", MIN_ISR, " 2")
    stored = play(live, alter_config(live, padded, KAFKA))
    with pytest.raises(Resignation, match="which is no number"):
        expire_session(stored, 0, KAFKA)
    mended = play(live, alter_config(live, padded, FIXED), FIXED)
    assert mended.min_isr(mended.topic_id("foo"), 0, FIXED.controller) == 2
    assert expire_session(mended, 0, FIXED).records


@pytest.mark.parametrize(("scope", "name"), [(NODE, "0"), (CLUSTER, "")])
def test_values_of_nodes_and_of_the_cluster(scope: str, name: str) -> None:
    """As implemented they are not looked at, and fatal to the next election; mended, bad ones are refused."""
    live = with_topic(cluster(3), "foo", (0, 1, 2))
    bad = ConfigRecord(scope, name, MIN_ISR, "many")
    with pytest.raises(Resignation):
        expire_session(play(live, alter_config(live, bad, KAFKA)), 0, KAFKA)
    with pytest.raises(RequestError, match="INVALID_CONFIG"):
        alter_config(live, bad, FIXED)
