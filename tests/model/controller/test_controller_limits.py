"""What bounds a request: records of one batch, partitions of one election, values of a configuration."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve

from kraftcheck.model.controller.alter_configs import alter_config
from kraftcheck.model.controller.brokers import (
    RegistrationContext,
    RegistrationRequest,
    expire_session,
    register_broker,
)
from kraftcheck.model.controller.commits import batches, commit, stages
from kraftcheck.model.controller.elections import DESIGNATED, MOST_DESIGNATED, elect_leaders
from kraftcheck.model.controller.errors import ExcessiveBatch, RequestError, Resignation
from kraftcheck.model.controller.partitions import Reassignment, reassign
from kraftcheck.model.controller.state import (
    CLUSTER,
    MIN_ISR,
    NODE,
    TOPIC,
    UNCLEAN_ELECTION,
    ConfigRecord,
    Controller,
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
from kraftcheck.model.rules.ruleset import parse
from tests.model.controller.controllers import (
    FIXED,
    KAFKA,
    changed,
    cluster,
    directory,
    partition,
    play,
    with_topic,
)

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
