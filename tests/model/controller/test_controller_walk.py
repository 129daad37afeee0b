"""Random walks of the controller: what holds after any requests, and what a refusal leaves."""

import random

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from kraftcheck.model.controller.alter_configs import alter_config
from kraftcheck.model.controller.brokers import (
    HeartbeatRequest,
    RegistrationContext,
    RegistrationRequest,
    expire_session,
    heartbeat,
    register_broker,
    taken_over,
    unclean_shutdown,
    unregister,
)
from kraftcheck.model.controller.commits import commit
from kraftcheck.model.controller.elections import balance_leaders, elect_leaders, elect_unclean
from kraftcheck.model.controller.errors import CODES, RequestError, Resignation
from kraftcheck.model.controller.heartbeat import Wish
from kraftcheck.model.controller.partitions import (
    AlterPartitionRequest,
    Assignment,
    Proposal,
    Reassignment,
    alter_partition,
    assign_replicas_to_dirs,
    reassign,
)
from kraftcheck.model.controller.state import MIN_ISR, TOPIC, ConfigRecord, Controller, Outcome
from kraftcheck.model.controller.topics import (
    CreateTopicsRequest,
    Growth,
    NewTopic,
    create_partitions,
    create_topics,
    delete_topics,
)
from kraftcheck.model.partition.registration import LOST, UNASSIGNED
from kraftcheck.model.records.records import Feature
from kraftcheck.model.rules.ruleset import parse
from tests.model.controller.controller_invariants import DEFECTS, Event, broken, noted_bases
from tests.model.controller.controllers import FIXED, KAFKA, cluster, directory, with_topic

BROKERS = st.integers(0, 4)
TOPICS = st.sampled_from(["foo", "bar", "baz", "none"])
REPLICAS = st.lists(BROKERS, max_size=4).map(tuple)
PLACES = st.tuples(TOPICS, st.integers(0, 2))
DIRECTORIES = st.sampled_from([UNASSIGNED, LOST, *(directory(b, n) for b in range(4) for n in range(2))])
BEHIND = st.sampled_from([0, 0, 0, -1, 1])
FAULTS = st.sampled_from(["", "", "", "cluster", "reserved", "owned", "zookeeper", "feature"])

STEPS = st.one_of(
    st.tuples(st.just("heartbeat"), BROKERS, st.booleans(), st.booleans(), st.sets(DIRECTORIES, max_size=1)),
    st.tuples(st.sampled_from(["expire", "unclean", "unregister"]), BROKERS),
    st.tuples(st.just("register"), BROKERS, st.sampled_from(["again", "clean", "unclean"]), FAULTS, st.integers(1, 3)),
    st.tuples(st.just("minimum"), TOPICS, st.sampled_from(["1", "2", "3", "many"])),
    st.tuples(st.just("create"), TOPICS, REPLICAS),
    st.tuples(st.just("grow"), TOPICS, st.integers(1, 4)),
    st.tuples(st.just("delete"), TOPICS),
    st.tuples(st.just("reassign"), PLACES, st.none() | REPLICAS),
    st.tuples(st.just("alter"), PLACES, REPLICAS, st.booleans(), BEHIND, BEHIND),
    st.tuples(st.just("assign"), BROKERS, PLACES, DIRECTORIES),
    st.tuples(st.just("elect"), st.integers(0, 3)),
    st.tuples(st.sampled_from(["balance", "sweep", "failover"])),
)


def epoch(controller: Controller, broker: int) -> int:
    """The broker's epoch; a wrong one for unknown brokers."""
    known = controller.registration(broker)
    return -7 if known is None else known.epoch


def decide(controller: Controller, step: tuple, rules) -> Outcome:
    """The outcome of one step."""
    op, *rest = step
    if op == "heartbeat":
        broker, fence, shutdown, failed = rest
        wish = Wish(fence, shutdown, controller.image.next_offset)
        return heartbeat(controller, HeartbeatRequest(broker, epoch(controller, broker), wish, tuple(failed)), rules)
    if op == "register":
        return registered(controller, *rest, rules=rules)
    if op == "failover":
        return Outcome((), None, taken_over(controller, rules.controller).soft)
    if op == "minimum":
        return alter_config(controller, ConfigRecord(TOPIC, rest[0], MIN_ISR, str(rest[1])), rules)
    if op == "create":
        topic = NewTopic(rest[0], assignments=((0, rest[1]),), config={"unclean.leader.election.enable": "true"})
        return create_topics(controller, CreateTopicsRequest((topic, NewTopic("bar"))), rules)
    if op == "delete":
        return delete_topics(controller, (controller.topic_id(rest[0]) or "none",))
    if op == "alter":
        return altered(controller, *rest, rules=rules)
    if op == "assign":
        broker, (topic, index), wanted = rest
        assignment = Assignment(wanted, controller.topic_id(topic) or "none", index)
        return assign_replicas_to_dirs(controller, broker, epoch(controller, broker), (assignment,), rules)
    simple = {
        "expire": expire_session,
        "unclean": unclean_shutdown,
        "unregister": unregister,
        "balance": balance_leaders,
        "sweep": elect_unclean,
    }
    if op in simple:
        return simple[op](controller, *rest, rules)
    if op == "grow":
        return create_partitions(controller, (Growth(*rest),), rules)
    if op == "elect":
        return elect_leaders(controller, rest[0], None, rules)
    return reassign(controller, (Reassignment(*rest[0], rest[1]),), rules)


def registered(controller: Controller, broker: int, how: str, fault: str = "", disks: int = 1, *, rules) -> Outcome:
    """A registration of the same process, or of a new one that says that the last stopped cleanly, or does not.

    It names one of two directories, or both (3), and may have a fault.
    """
    known = controller.registration(broker)
    dirs = tuple(directory(broker, number) for number in range(2) if disks >> number & 1)
    dirs = {"reserved": (LOST,), "owned": (directory((broker + 1) % 5),)}.get(fault, dirs)
    request = RegistrationRequest(
        "other" if fault == "cluster" else "cluster", broker,
        known.incarnation if how == "again" and known is not None else f"at-{controller.image.next_offset}",
        dirs=dirs, is_migrating_zk_broker=fault == "zookeeper",
        features=(Feature("metadata.version", 1, 2),) if fault == "feature" else (),
        previous_epoch=epoch(controller, broker) if how == "clean" else None,
    )  # fmt: skip
    finalized = {"metadata.version": 9} if fault == "feature" else {}
    return register_broker(controller, request, RegistrationContext(finalized), rules)


def altered(
    controller: Controller, place: tuple[str, int], isr: tuple, recovering: bool, behind: int = 0, stale: int = 0, *,
    rules,
) -> Outcome:  # fmt: skip
    """A proposal of the partition's leader, with its epochs, or with wrong ones."""
    topic_id = controller.topic_id(place[0]) or "none"
    p = controller.image.partition(topic_id, place[1])
    leader, *epochs = (0, 0, 0) if p is None else (int(p.leader), int(p.leader_epoch), int(p.partition_epoch))
    members = tuple((broker, -1) for broker in isr)
    request = Proposal(topic_id, place[1], epochs[0] + behind, epochs[1] + stale, members, recovering)
    return alter_partition(controller, AlterPartitionRequest(leader, epoch(controller, leader), (request,)), rules)


def check(before: Controller, outcome: Outcome, after: Controller) -> None:
    """What every event keeps besides the invariants: the log counts records, soft state follows the log."""
    assert after.image.next_offset == before.image.next_offset + len(outcome.records)
    fenced = {broker for broker, known in after.image.registrations.items() if known.fenced}
    assert set(after.soft.sessions.live) == after.image.registrations.keys() - fenced
    assert after.soft.sessions.tracked.keys() == after.image.registrations.keys()
    rows = outcome.response if isinstance(outcome.response, tuple) else ()
    errors = {row[1] if isinstance(row, tuple) else row.error for row in rows}
    assert errors <= CODES.keys()


def attempt(controller: Controller, step: tuple, rules) -> Outcome | str:
    """The outcome of one step, or the error that refuses it."""
    try:
        return decide(controller, step, rules)
    except (RequestError, Resignation) as refusal:
        return refusal.error


def start(elr: bool = False, **features: bool) -> Controller:
    """Four live brokers and one fenced, a topic of three partitions with a min ISR of two, and one that may lose data.

    Each broker has two directories. Epochs of brokers are offsets of the log before its end.
    """
    controller = cluster(5, fenced=(3,), disks=2, elr_enabled=elr, **features)
    controller = evolve(controller, image=evolve(controller.image, next_offset=1000))
    controller = with_topic(controller, "foo", (0, 1, 2), (1, 2, 3), (2, 0, 1), min_insync_replicas="2")
    return with_topic(controller, "baz", (0, 1), (1, 4), unclean_leader_election_enable="true")


def walk(controller: Controller, steps: list[tuple], rules) -> list[Event]:
    """The events of the steps; a refusal is no event and leaves the state as it was."""
    events = []
    for step in steps:
        image = repr(controller)
        with noted_bases() as bases:
            outcome = attempt(controller, step, rules)
        assert repr(controller) == image
        if isinstance(outcome, str):
            assert outcome in CODES
            continue
        after = commit(controller, outcome, rules)
        check(controller, outcome, after)
        events.append(Event(controller, step, outcome, after, rules, controller.features.elr_enabled, tuple(bases)))
        controller = evolve(after, soft=after.soft.after(4000))
    return events


@settings(max_examples=200, deadline=None)
@given(st.lists(STEPS, max_size=25), st.booleans())
def test_walks_under_the_rules_as_implemented(steps: list[tuple], elr: bool) -> None:
    """Whatever is asked, no invariant is broken but those that a recorded defect breaks."""
    for event in walk(start(elr), steps, KAFKA):
        assert broken(event) <= DEFECTS.keys(), event.step


@settings(max_examples=200, deadline=None)
@given(st.lists(STEPS, max_size=25), st.booleans())
def test_walks_under_the_mended_rules(steps: list[tuple], elr: bool) -> None:
    """Mended, no invariant is broken."""
    for event in walk(start(elr), steps, FIXED):
        assert not broken(event), event.step


def drawn(chance: random.Random) -> tuple:
    """A step, each kind as likely as the other."""
    topic, broker = chance.choice(["foo", "baz"]), chance.randrange(5)
    place, replicas = (topic, chance.randrange(2)), tuple(chance.sample(range(5), chance.randint(1, 3)))
    return chance.choice([
        ("heartbeat", broker, False, False, ()), ("heartbeat", broker, False, True, ()),
        ("heartbeat", broker, False, False, (directory(broker),)), ("expire", broker), ("unclean", broker),
        ("unregister", broker), ("register", broker, chance.choice(["again", "clean", "unclean"])),
        ("reassign", place, replicas), ("reassign", place, None), ("delete", topic), ("balance",), ("sweep",),
        ("failover",),
        ("alter", place, replicas, chance.random() < 0.1), ("assign", broker, place, directory(broker, 1)),
        ("assign", broker, place, directory(broker)), ("minimum", topic, chance.randint(1, 3)),
    ])  # fmt: skip


@pytest.mark.parametrize(
    ("variant", "number", "features"),
    [
        ("dead-last-known-leader-electable", 10, {"elr": True}),
        ("removed-replicas-stay-in-elr", 7, {"elr": True}),
        ("assignment-clears-elr", 36, {"elr": True}),
        ("stale-reregistration-keeps-isr", 12, {"elr_supported": False}),
        ("unregister-keeps-elr", 13, {"elr": True}),
        ("retarget-keeps-old-reassignment", 15, {}),
        ("deleted-partition-stays-indexed", 20, {"elr": True}),
        ("unfence-ignores-controlled-shutdown", 10, {}),
        ("passes-share-one-base", "one base", {}),
        ("reregistration-bumps-epoch", 31, {}),
    ],
)
def test_a_walk_finds_the_defect(variant: str, number: int | str, features: dict[str, bool]) -> None:
    """Random walks find each of these defects alone by the invariant that it breaks, and no other walk breaks it."""
    chance, walks = random.Random(7), 600
    for _ in range(walks):
        steps = [drawn(chance) for _ in range(40)]
        found = [broken(event) for event in walk(start(**features), steps, parse(f"fixed+{variant}"))]
        if any(number in numbers for numbers in found):
            assert not any(broken(event) for event in walk(start(**features), steps, FIXED))
            return
    pytest.fail(f"no invariant {number} broken in {walks} walks under {variant}")
