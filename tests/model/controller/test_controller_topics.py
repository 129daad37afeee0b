"""Topics and their partitions: creation, growth, deletion, elections, reassignments, assignments, AlterPartition."""

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from kraftcheck.model.controller.alter_configs import alter_config
from kraftcheck.model.controller.brokers import expire_session, unclean_shutdown
from kraftcheck.model.controller.elections import PREFERRED, balance_leaders, elect_leaders, elect_unclean
from kraftcheck.model.controller.errors import CODES, Resignation
from kraftcheck.model.controller.partitions import (
    AlterPartitionRequest,
    Assignment,
    Proposal,
    Reassignment,
    alter_partition,
    assign_replicas_to_dirs,
    ongoing,
    reassign,
)
from kraftcheck.model.controller.placement import RandomStream
from kraftcheck.model.controller.state import (
    CLUSTER,
    MIN_ISR,
    NODE,
    TOPIC,
    UNCLEAN_ELECTION,
    ConfigRecord,
    Configs,
    Controller,
    Settings,
)
from kraftcheck.model.controller.topics import (
    CreateTopicsRequest,
    Growth,
    NewTopic,
    create_partitions,
    create_topics,
    delete_topics,
    name_fault,
)
from kraftcheck.model.records.records import PartitionChangeRecord, TopicRecord
from kraftcheck.model.rules.ruleset import parse, preset
from tests.model.controller.controllers import (
    FIXED,
    KAFKA,
    changed,
    cluster,
    configured,
    created,
    directory,
    lists,
    partition,
    play,
    with_topic,
)

LIVE = cluster(4, fenced=(3,))


def create(topic: NewTopic, controller: Controller = LIVE, **request):
    """The outcome of creating one topic, and its error."""
    outcome = create_topics(controller, CreateTopicsRequest((topic,), **request), KAFKA)
    return outcome, outcome.response[0].error


@pytest.mark.parametrize(
    ("name", "existing", "reason"),
    [
        ("", {}, "empty"),
        (".", {}, "dots"),
        ("..", {}, "dots"),
        ("a" * 250, {}, "too_long"),
        ("a b", {}, "illegal_character"),
        ("é", {}, "illegal_character"),
        ("a\n", {}, "illegal_character"),
        ("a.b", {"a_b": ["a_b"]}, "collision"),
        ("a" * 249, {}, None),
        ("a.b_c-9Z", {}, None),
        ("ab", {"ab": ["never asked"]}, None),
    ],
)
def test_names(name: str, existing: dict, reason: str | None) -> None:
    """A name is refused when empty, dots, long, outside the letters, or like an existing one in metrics."""
    fault = name_fault(name, existing)
    assert (None if fault is None else fault.reason) == reason


@pytest.mark.parametrize(
    ("topic", "error"),
    [
        (NewTopic("a b", config={"k": None}), "INVALID_TOPIC_EXCEPTION"),
        (NewTopic("t", replication_factor=0, config={"k": None}), "INVALID_CONFIG"),
        (NewTopic("t", replication_factor=1, assignments=((0, (9,)),)), "INVALID_REQUEST"),
        (NewTopic("t", partitions=1, assignments=((0, (9,)),)), "INVALID_REQUEST"),
        (NewTopic("t", assignments=((0, (0,)), (0, (9,)))), "INVALID_REPLICA_ASSIGNMENT"),
        (NewTopic("t", assignments=((0, ()),)), "INVALID_REPLICA_ASSIGNMENT"),
        (NewTopic("t", assignments=((0, (0, 9)),)), "INVALID_REPLICA_ASSIGNMENT"),
        (NewTopic("t", assignments=((0, (0, 0)),)), "INVALID_REPLICA_ASSIGNMENT"),
        (NewTopic("t", assignments=((0, (0,)), (1, (0, 1)))), "INVALID_REPLICA_ASSIGNMENT"),
        (NewTopic("t", assignments=((0, (3,)),)), "INVALID_REPLICA_ASSIGNMENT"),
        (NewTopic("t", assignments=((1, (0,)),)), "INVALID_REPLICA_ASSIGNMENT"),
        (NewTopic("t", replication_factor=0, partitions=0), "INVALID_REPLICATION_FACTOR"),
        (NewTopic("t", replication_factor=-2), "INVALID_REPLICATION_FACTOR"),
        (NewTopic("t", partitions=0), "INVALID_PARTITIONS"),
        (NewTopic("t", partitions=-2), "INVALID_PARTITIONS"),
        (NewTopic("t", replication_factor=5), "INVALID_REPLICATION_FACTOR"),
    ],
)
def test_creation_errors(topic: NewTopic, error: str) -> None:
    """A topic that cannot be gets its error, writes nothing and leaves no trace but random draws."""
    outcome, found = create(topic)
    assert found == error
    assert error in CODES
    assert outcome.records == ()
    assert evolve(outcome.soft, random=LIVE.soft.random) == LIVE.soft


def test_policy_and_quota_come_last() -> None:
    """A topic that could be is refused by the policy first, then by the quota."""
    refuse = {"policy": lambda topic: "NONE" if topic.partitions != 2 else "POLICY_VIOLATION", "quota_exceeded": True}
    assert create(NewTopic("t", partitions=2), **refuse)[1] == "POLICY_VIOLATION"
    assert create(NewTopic("t", partitions=1), **refuse)[1] == "THROTTLING_QUOTA_EXCEEDED"
    assert create(NewTopic("t", partitions=0), **refuse)[1] == "INVALID_PARTITIONS"


def test_rows_fail_for_themselves() -> None:
    """In one request good topics are written, bad ones are not."""
    topics = (NewTopic("a"), NewTopic("b", partitions=0), NewTopic("c", partitions=2, replication_factor=1))
    outcome = create_topics(LIVE, CreateTopicsRequest(topics), KAFKA)
    assert [row.error for row in outcome.response] == ["NONE", "INVALID_PARTITIONS", "NONE"]
    assert [row.partitions for row in outcome.response] == [1, None, 2]
    assert [r.name for r in outcome.records if isinstance(r, TopicRecord)] == ["a", "c"]
    after = play(LIVE, outcome)
    assert after.topic_id("a") != after.topic_id("c")
    assert partition(after, "c", 1).replicas.size() == 1


def test_nothing_is_named_twice() -> None:
    """Topics named twice in one request are refused, whatever is wanted of them."""
    controller = with_topic(LIVE, "t", (0, 1))
    twice = create_topics(controller, CreateTopicsRequest((NewTopic("a"), NewTopic("b"), NewTopic("a"))), KAFKA)
    assert [row.error for row in twice.response] == ["INVALID_REQUEST", "NONE", "INVALID_REQUEST"]
    grown = create_partitions(controller, (Growth("t", 2), Growth("t", 3)), KAFKA)
    assert [row.error for row in grown.response] == ["INVALID_REQUEST"] * 2
    gone = delete_topics(controller, (controller.topic_id("t"),) * 2)
    assert [error for _, error in gone.response] == ["INVALID_REQUEST"] * 2
    assert (grown.records, gone.records) == ((), ())


def test_validating_writes_nothing() -> None:
    """Only the random draws are spent."""
    outcome, error = create(NewTopic("t"), validate_only=True)
    assert (error, outcome.records) == ("NONE", ())
    assert outcome.soft.random != LIVE.soft.random


@given(st.integers(1, 4), st.integers(1, 8), st.sets(st.integers(0, 3)), st.integers(0, 2**64 - 1))
def test_new_partitions_are_led_by_the_living(factor: int, number: int, leaving: set[int], seed: int) -> None:
    """Only active replicas are in sync, the first of them leads, directories follow the replicas."""
    controller = cluster(4, fenced=(3,), leaving=leaving - {3})
    controller = evolve(controller, soft=evolve(controller.soft, random=RandomStream(seed)))
    outcome, error = create(NewTopic("t", number, factor), controller)
    if error != "NONE":
        assert error == "INVALID_REPLICATION_FACTOR"
        assert outcome.records == ()
        return
    for record in created(outcome):
        active = [b for b in record.replicas if controller.is_active(b)]
        assert (list(record.isr), record.leader) == (active, active[0])
        assert [controller.image.directory_owner(d) for d in record.directories] == list(record.replicas)


@pytest.mark.parametrize(
    ("growth", "error"),
    [
        (Growth("none", 3), "UNKNOWN_TOPIC_OR_PARTITION"),
        (Growth("t", 2), "INVALID_PARTITIONS"),
        (Growth("t", 1), "INVALID_PARTITIONS"),
        (Growth("t", 4, ((0, 1),)), "INVALID_REPLICA_ASSIGNMENT"),
        (Growth("t", 3, ((0,),)), "INVALID_REPLICA_ASSIGNMENT"),
        (Growth("t", 3, ((0, 9),)), "INVALID_REPLICA_ASSIGNMENT"),
        (Growth("t", 3, ((3, 2),)), "INVALID_REPLICA_ASSIGNMENT"),
    ],
)
def test_growth_errors(growth: Growth, error: str) -> None:
    """Growth that cannot be gets its error and writes nothing."""
    controller = with_topic(cluster(4, fenced=(3,), leaving=(2,)), "t", (0, 1), (1, 0))
    outcome = create_partitions(controller, (growth,), KAFKA)
    assert [row.error for row in outcome.response] == [error]
    assert outcome.records == ()
    assert error in CODES


def test_a_refused_growth_may_leave_partitions_behind() -> None:
    """The code writes partitions placed before one without an active replica despite the error; mended, it does not."""
    controller = with_topic(cluster(2), "t", (0,))
    leaving = cluster(2, leaving=(1,))
    controller = evolve(controller, image=evolve(controller.image, registrations=leaving.image.registrations))
    seen = set()
    for seed in range(20):
        grown = evolve(controller, soft=evolve(controller.soft, random=RandomStream(seed)))
        outcome = create_partitions(grown, (Growth("t", 3),), KAFKA)
        assert outcome.response[0].error == "INVALID_REPLICATION_FACTOR"
        seen.add(len(outcome.records))
        assert create_partitions(grown, (Growth("t", 3),), FIXED).records == ()
    assert seen == {0, 1}


def test_configurations_are_asked_in_order() -> None:
    """The topic's own value counts, then its node's, the cluster's, the static one, the default."""
    records = [
        ConfigRecord(CLUSTER, "", "k", "cluster"),
        ConfigRecord(NODE, "1", "k", "other node"),
        ConfigRecord(NODE, "0", "k", "node"),
        ConfigRecord(TOPIC, "t", "k", "topic"),
    ]
    configs, found = Configs(), []
    for record in records:
        configs = configs.replay(record)
        found.append(configs.resolve("t", "k", "0", {"k": "static"}))
    assert Configs().resolve("t", "k", "0", {"k": "static"}) == "static"
    assert found == ["cluster", "cluster", "node", "topic"]
    assert configs.replay(ConfigRecord(TOPIC, "t", "k", None)).resolve("t", "k", "0", {}) == "node"
    assert Configs().resolve("t", MIN_ISR, "0", {}) == "1"


def test_min_isr_is_capped_by_replicas() -> None:
    """The code caps the effective min ISR by the replicas that partition 0 has now, other rules by the partition's."""
    controller = with_topic(LIVE, "t", (0, 1), (0, 1), min_insync_replicas="5")
    topic = controller.topic_id("t") or ""
    assert [controller.min_isr(topic, index, KAFKA.controller) for index in (0, 1)] == [2, 2]
    controller = changed(controller, "t", 0, replicas=(0,), isr=(0,))
    assert [controller.min_isr(topic, index, KAFKA.controller) for index in (0, 1)] == [1, 1]
    for rules in (FIXED, preset("kip")):
        assert [controller.min_isr(topic, index, rules.controller) for index in (0, 1)] == [1, 2]
        with pytest.raises(Resignation):
            controller.min_isr(topic, 2, rules.controller)
    with pytest.raises(Resignation):
        configured(controller, "t", MIN_ISR, "two").min_isr(topic, 0, KAFKA.controller)


@pytest.mark.parametrize(("first", "kafka", "fixed"), [((0,), [], [1]), ((0, 1, 2), [1], [1])])
def test_partition_zero_decides_who_is_eligible(first: tuple[int, ...], kafka: list[int], fixed: list[int]) -> None:
    """X7: where partition 0 has one replica, the code makes no ELR member of who leaves an ISR of two."""
    controller = with_topic(cluster(3, elr_enabled=True), "t", (0, 1), (0, 1), min_insync_replicas="2")
    controller = changed(controller, "t", 0, replicas=first, isr=first)
    for rules, elr in ((KAFKA, kafka), (FIXED, fixed), (preset("kip"), fixed)):
        after = play(controller, expire_session(controller, 1, rules), rules)
        assert lists(partition(after, "t", 1)) == ([0], elr, 0)


def test_a_raise_counts_for_the_partitions_it_raises() -> None:
    """X7: a min ISR raised from 1 to 2 is announced to a partition of two replicas, whatever partition 0 has."""
    controller = with_topic(cluster(3, elr_enabled=True), "t", (0, 1), (0, 1), min_insync_replicas="1")
    controller = changed(controller, "t", 0, replicas=(0,), isr=(0,))
    wanted = ConfigRecord(TOPIC, "t", MIN_ISR, "2")
    as_coded = FIXED.switched(min_isr_from_first_partition=True)
    told = [alter_config(controller, wanted, rules).records for rules in (FIXED, as_coded)]
    assert [[r.partition_id for r in one if isinstance(r, PartitionChangeRecord)] for one in told] == [[1], []]


@pytest.mark.parametrize(("value", "allowed"), [("true", True), ("TRUE", True), ("yes", False), ("", False)])
def test_unclean_election_is_a_word(value: str, allowed: bool) -> None:
    """Only the word true, in any case, allows unclean elections."""
    controller = evolve(LIVE, settings=Settings(static={UNCLEAN_ELECTION: value}))
    controller = with_topic(controller, "t", (0, 1))
    assert controller.unclean_election(controller.topic_id("t"), FIXED.partition) is allowed


def test_changing_min_isr_and_the_elr() -> None:
    """The snapshot keeps an ELR formed under another min ISR, the releases drop any, mended where the ISR suffices."""
    controller = with_topic(cluster(3, elr_enabled=True), "t", (0, 1, 2), min_insync_replicas="3")
    controller = changed(controller, "t", isr=(0,), elr=(1, 2))
    wanted = ConfigRecord(TOPIC, "t", MIN_ISR, "1")
    kept = play(controller, alter_config(controller, wanted, KAFKA))
    assert lists(partition(kept, "t")) == ([0], [1, 2], 0)
    dropped = play(controller, alter_config(controller, wanted, FIXED))
    assert lists(partition(dropped, "t")) == ([0], [], 0)
    assert alter_config(kept, wanted, KAFKA).records == ()
    beyond = ConfigRecord(TOPIC, "t", MIN_ISR, "7")  # above the replicas: as effective as 3 was, and yet a change
    assert lists(partition(play(controller, alter_config(controller, beyond, FIXED)), "t")) == ([0], [1, 2], 0)
    released = alter_config(controller, beyond, preset("kafka-4.4.0"))
    assert lists(partition(play(controller, released), "t")) == ([0], [], 0)
    other = ConfigRecord(TOPIC, "t", UNCLEAN_ELECTION, "true")
    assert alter_config(controller, other, FIXED).records == (other,)


ALLOWED = {"unclean_leader_election_enable": "true"}


def test_all_partitions_report_only_what_was_needed() -> None:
    """Asked of every partition, those that need no election are left out."""
    controller = with_topic(cluster(3), "foo", (0, 1), (1, 0), (2, 0))
    controller = changed(changed(controller, leader=1), "foo", 2, leader=-1, isr=())
    outcome = elect_leaders(controller, PREFERRED, None, KAFKA)
    assert [(row.partition, row.error) for row in outcome.response] == [
        (0, "NONE"),
        (2, "PREFERRED_LEADER_NOT_AVAILABLE"),
    ]


def test_the_timers_have_a_limit() -> None:
    """Balancing and unclean elections stop at the limit and say that there may be more."""
    controller = with_topic(cluster(2), "foo", *[(0, 1)] * 5)
    for index in range(5):
        controller = changed(controller, "foo", index, leader=1)
    assert balance_leaders(controller, KAFKA).response is False
    assert len(balance_leaders(controller, KAFKA).records) == 5
    limited = evolve(controller, settings=Settings(max_elections=3))
    assert balance_leaders(limited, KAFKA).response is True
    assert len(balance_leaders(limited, KAFKA).records) == 3


def test_the_unclean_timer_asks_the_topic() -> None:
    """Leaderless partitions get an unclean leader only where their topic allows it."""
    controller = with_topic(with_topic(cluster(2), "no", (0, 1)), "yes", (0, 1), **ALLOWED)
    for topic in ("no", "yes"):
        controller = changed(controller, topic, leader=-1, isr=())
    after = play(controller, elect_unclean(controller, KAFKA))
    assert [partition(after, topic).leader for topic in ("no", "yes")] == [-1, 0]


def asked(controller, replicas, rules=KAFKA):
    """The error of one reassignment, and the controller after it."""
    outcome = reassign(controller, (Reassignment("foo", 0, replicas),), rules)
    return outcome.response[0].error, play(controller, outcome)


@pytest.mark.parametrize(
    ("replicas", "error"),
    [
        ((), "INVALID_REPLICA_ASSIGNMENT"),
        ((0, 9), "INVALID_REPLICA_ASSIGNMENT"),
        ((0, 0), "INVALID_REPLICA_ASSIGNMENT"),
        (None, "NO_REASSIGNMENT_IN_PROGRESS"),
        ((0, 1), "NONE"),
        ((3,), "NONE"),
    ],
)
def test_answers_of_a_reassignment(replicas, error: str) -> None:
    """Targets must be registered and distinct; fenced ones are accepted; nothing to do is no error."""
    controller = with_topic(cluster(4, fenced=(3,)), "foo", (0, 1))
    found, after = asked(controller, replicas)
    assert found == error
    assert (after == controller) == (replicas != (3,))
    assert error in CODES


def test_reassignments_of_what_is_not_there() -> None:
    """Unknown topics and partitions fail their row only."""
    controller = with_topic(cluster(3), "foo", (0, 1))
    rows = (Reassignment("bar", 0, (0,)), Reassignment("foo", 7, None), Reassignment("foo", 0, (2, 1)))
    outcome = reassign(controller, rows, KAFKA)
    assert [row.error for row in outcome.response] == ["UNKNOWN_TOPIC_OR_PARTITION"] * 2 + ["NONE"]
    after = play(controller, outcome)
    assert [(row.removing, row.adding, row.replicas) for row in ongoing(after)] == [((0,), (2,), (2, 1, 0))]
    assert ongoing(after, {"foo": (1,)}) == ongoing(after, {"bar": (0,)}) == ()
    assert ongoing(after, {"foo": (0,)}) == ongoing(after)


def test_a_lookup_that_fails_fails_its_row_of_a_reassignment() -> None:
    """A ghost in the ELR that a reassignment brings back fails its row, not the request."""
    controller = with_topic(cluster(3, elr_enabled=True), "foo", (0, 2), min_insync_replicas="2")
    controller = changed(controller, replicas=(0, 1), isr=(), elr=(2,), leader=-1, adding=(1,))
    grown = reassign(controller, (Reassignment("foo", 0, (0, 1, 2)),), KAFKA)
    assert [row.error for row in grown.response] == ["UNKNOWN_SERVER_ERROR"]
    assert grown.records == ()


def test_assignments_answer_for_each_replica() -> None:
    """Unknown topics, unknown partitions and foreign replicas have errors; no-ops write nothing."""
    controller = with_topic(cluster(3), "foo", (0, 1), (1, 2))
    foo = controller.topic_id("foo")
    wanted = (
        Assignment(directory(0), "none", 0),
        Assignment(directory(0), foo, 9),
        Assignment(directory(0), foo, 1),
        Assignment(directory(0), foo, 0),
    )
    outcome = assign_replicas_to_dirs(controller, 0, 100, wanted, KAFKA)
    errors = ["UNKNOWN_TOPIC_ID", "UNKNOWN_TOPIC_OR_PARTITION", "NOT_LEADER_OR_FOLLOWER", "NONE"]
    assert [row.error for row in outcome.response] == errors
    assert set(errors) <= CODES.keys()
    assert outcome.records == ()


def test_directories_unknown_to_the_documents() -> None:
    """A broker with one directory is online wherever its replica is said to be, by KIP-858 only."""
    controller = changed(with_topic(cluster(2), "foo", (0, 1)), directories=(4711, directory(1)), leader=1)
    outcome = elect_leaders(controller, PREFERRED, None, KAFKA)
    assert [row.error for row in outcome.response] == ["PREFERRED_LEADER_NOT_AVAILABLE"]
    by_document = elect_leaders(controller, PREFERRED, None, parse("kip"))
    assert [row.error for row in by_document.response] == ["NONE"]


@pytest.mark.parametrize(("rules", "isr"), [(KAFKA, [-1]), (FIXED, [])])
def test_nobody_can_be_the_isr(rules, isr: list[int]) -> None:
    """As implemented "broker" -1 is elected where it is the last known leader; mended, nobody is."""
    controller = with_topic(cluster(3, elr_enabled=True), "foo", (1, 2), min_insync_replicas="2")
    controller = changed(controller, isr=(), elr=(1,), last_known_elr=(-1,), leader=1)
    after = play(controller, unclean_shutdown(controller, 1, rules), rules)
    assert lists(partition(after)) == (isr, [], -1)


BASE = changed(
    with_topic(cluster(7, fenced=(4,), leaving=(5,)), "foo", (0, 1, 2, 4, 5)), leader_epoch=3, partition_epoch=7
)
ALTERED = BASE.topic_id("foo")
GOOD = Proposal(ALTERED, 0, 3, 7, ((0, 100), (1, 101)))


def ask(
    proposal: Proposal, controller: Controller = BASE, sender: int = 0, version: int = 3, rules=KAFKA
) -> tuple[str, list, object]:
    """The error, the records and the answered state of one proposal."""
    if version <= 1:
        proposal = evolve(proposal, topic="foo" if proposal.topic == ALTERED else proposal.topic)
    request = AlterPartitionRequest(sender, 100 + sender, (proposal,), version)
    outcome = alter_partition(controller, request, rules)
    (row,) = outcome.response
    return row.error, list(outcome.records), row.state


CHECKS = [
    ({"leader_epoch": 4}, "NOT_CONTROLLER"),
    ({"partition_epoch": 8}, "NOT_CONTROLLER"),
    ({"leader_epoch": 2}, "FENCED_LEADER_EPOCH"),
    ({"sender": 1}, "INVALID_REQUEST"),
    ({"partition_epoch": 6}, "INVALID_UPDATE_VERSION"),
    ({"new_isr": ((0, 100), (1, 101), (1, 101), (4, 104))}, "INVALID_REQUEST"),
    ({"new_isr": ((0, 100), (6, 106), (4, 104))}, "INVALID_REQUEST"),
    ({"new_isr": ((0, 100), (-1, -1), (4, 104))}, "INVALID_REQUEST"),
    ({"new_isr": ((1, 101), (4, 104))}, "INVALID_REQUEST"),
    ({"new_isr": ()}, "INVALID_REQUEST"),
    ({"new_isr": ((0, 100), (4, 104)), "recovering": True}, "INVALID_REQUEST"),
    ({"new_isr": ((0, 100),), "recovering": True}, "INVALID_REQUEST"),
    ({"new_isr": ((0, 100), (4, 104))}, "INELIGIBLE_REPLICA"),
]
"""What breaks each check, in the order of the checks."""


@pytest.mark.parametrize("number", range(len(CHECKS)))
def test_the_first_check_that_fails_answers(number: int) -> None:
    """With a check and every later one broken, the answer is that check's; nothing is written."""
    broken: dict[str, object] = {}
    for breaks, _ in CHECKS[number:]:
        broken = {**breaks, **broken}
    sender = broken.pop("sender", 0)
    error, records, state = ask(evolve(GOOD, **broken), sender=sender)
    assert error == CHECKS[number][1]
    assert (records, state) == ([], None)


@pytest.mark.parametrize(
    ("member", "reason"),
    [((4, -1), "fenced"), ((5, -1), "leaving"), ((1, 999), "other epoch"), ((3, -1), "not registered")],
)
@pytest.mark.parametrize(("version", "error"), [(3, "INELIGIBLE_REPLICA"), (1, "OPERATION_NOT_ATTEMPTED")])
def test_ineligible_members(member: tuple[int, int], reason: str, version: int, error: str) -> None:
    """A member must be registered, neither fenced nor leaving, and of the epoch stated; old versions state none."""
    controller = BASE
    if reason == "not registered":
        gone = {broker: known for broker, known in BASE.image.registrations.items() if broker != 3}
        controller = changed(BASE, replicas=(0, 1, 3))
        controller = evolve(controller, image=evolve(controller.image, registrations=gone))
    expected = "NONE" if reason == "other epoch" and version < 3 else error
    assert ask(evolve(GOOD, new_isr=((0, 100), member)), controller, version=version)[0] == expected


def test_an_accepted_proposal_answers_the_merged_state() -> None:
    """The reply holds the state after the record, which is the state after the replay."""
    error, records, state = ask(GOOD)
    assert error == "NONE"
    assert len(records) == 1
    outcome = alter_partition(BASE, AlterPartitionRequest(0, 100, (GOOD,)), KAFKA)
    assert partition(play(BASE, outcome)) == state
    assert (list(state.isr), state.leader_epoch, state.partition_epoch) == ([0, 1], 3, 8)


def test_recovery_ends_with_a_proposal() -> None:
    """A recovering leader may stay alone and recovering, or end the recovery; it may not start one."""
    recovering = changed(BASE, isr=(0,), recovering=True)
    assert ask(evolve(GOOD, new_isr=((0, 100),), recovering=True), recovering)[0] == "NONE"
    assert ask(evolve(GOOD, recovering=True), recovering)[0] == "INVALID_REQUEST"
    error, _, state = ask(GOOD, recovering)
    assert (error, state.recovering) == ("NONE", False)
    grows = parse("kafka-4.0+recovering-isr-may-grow")
    assert ask(evolve(GOOD, recovering=True), recovering, rules=grows)[0] == "NONE"


@pytest.mark.parametrize(
    ("variant", "changes"),
    [
        ("alter-partition-ignores-broker-epoch", {"new_isr": ((0, 100), (1, 999))}),
        ("alter-partition-ignores-partition-epoch", {"partition_epoch": 6}),
        ("alter-partition-ignores-partition-epoch", {"partition_epoch": 8}),
        ("fenced-may-join-isr", {"new_isr": ((0, 100), (4, 104))}),
        ("shutting-down-may-join-isr", {"new_isr": ((0, 100), (5, 105))}),
    ],
)
def test_seeded_defects_of_the_validation(variant: str, changes: dict[str, object]) -> None:
    """Each variant accepts what the right rules refuse."""
    assert ask(evolve(GOOD, **changes))[0] != "NONE"
    assert ask(evolve(GOOD, **changes), rules=parse(f"kafka-4.0+{variant}"))[0] == "NONE"


def test_proposals_of_one_request_share_one_base() -> None:
    """Two proposals for one partition are both judged on the state before the event."""
    other = evolve(GOOD, new_isr=((0, 100),))
    outcome = alter_partition(BASE, AlterPartitionRequest(0, 100, (GOOD, other)), KAFKA)
    assert [row.error for row in outcome.response] == ["NONE", "NONE"]
    assert partition(play(BASE, outcome)).partition_epoch == 9


@pytest.mark.parametrize(
    ("rules", "error"), [("fixed", "INELIGIBLE_REPLICA"), ("kafka-4.0", "NONE"), ("kafka-4.4.0", "NONE")]
)
def test_a_member_on_an_unregistered_directory(rules: str, error: str) -> None:
    """By the right rules it is refused like a fenced one; the releases do not look at directories (X8)."""
    placed = changed(BASE, directories=(1000, 9999, 1020, 1040, 1050))
    joining = changed(placed, isr=(0, 2))
    assert ask(GOOD, joining, rules=parse(rules))[0] == error
    assert ask(GOOD, changed(BASE, isr=(0, 2)), rules=parse(rules))[0] == "NONE"
