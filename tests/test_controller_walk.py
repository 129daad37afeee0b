"""Random walks of the controller: what holds after any requests, and what a refusal leaves."""

from __future__ import annotations

from collections import Counter

from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from model.controller.alter_partition import AlterPartitionRequest, Proposal, alter_partition
from model.controller.assign_dirs import Assignment, assign_replicas_to_dirs
from model.controller.commits import commit
from model.controller.elect_leaders import balance_leaders, elect_leaders, elect_unclean
from model.controller.errors import CODES, RequestError, Resignation
from model.controller.growth import Growth, create_partitions
from model.controller.heartbeat import Wish
from model.controller.heartbeat_event import HeartbeatRequest, heartbeat
from model.controller.lifecycle import expire_session, unclean_shutdown, unregister
from model.controller.reassign import Reassignment, reassign
from model.controller.registration import RegistrationContext, RegistrationRequest, register_broker
from model.controller.state import Controller, Outcome
from model.controller.topics import CreateTopicsRequest, NewTopic, create_topics, delete_topics
from model.directories import LOST, UNASSIGNED
from model.records import PartitionChangeRecord
from model.words import NO_LEADER
from tests.controllers import FIXED, KAFKA, cluster, directory, with_topic

BROKERS = st.integers(0, 4)
TOPICS = st.sampled_from(["foo", "bar", "none"])
REPLICAS = st.lists(BROKERS, max_size=4).map(tuple)
PLACES = st.tuples(TOPICS, st.integers(0, 2))
DIRECTORIES = st.sampled_from([UNASSIGNED, LOST, *(directory(b) for b in range(4))])

STEPS = st.one_of(
    st.tuples(st.just("heartbeat"), BROKERS, st.booleans(), st.booleans(), st.sets(DIRECTORIES, max_size=1)),
    st.tuples(st.sampled_from(["expire", "unclean", "unregister"]), BROKERS),
    st.tuples(st.just("register"), BROKERS, st.booleans()),
    st.tuples(st.just("create"), TOPICS, REPLICAS),
    st.tuples(st.just("grow"), TOPICS, st.integers(1, 4)),
    st.tuples(st.just("delete"), TOPICS),
    st.tuples(st.just("reassign"), PLACES, st.none() | REPLICAS),
    st.tuples(st.just("alter"), PLACES, REPLICAS, st.booleans()),
    st.tuples(st.just("assign"), BROKERS, PLACES, DIRECTORIES),
    st.tuples(st.just("elect"), st.integers(0, 1)),
    st.tuples(st.sampled_from(["balance", "sweep"])),
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
        return heartbeat(
            controller, HeartbeatRequest(broker, epoch(controller, broker), wish, tuple(failed)), rules
        )
    if op == "register":
        broker, again = rest
        known = controller.registration(broker)
        process = known.incarnation if again and known is not None else f"at-{controller.image.next_offset}"
        request = RegistrationRequest("cluster", broker, process, dirs=(directory(broker),))
        return register_broker(controller, request, RegistrationContext(), rules)
    if op == "create":
        topic = NewTopic(rest[0], assignments=((0, rest[1]),), config={"unclean.leader.election.enable": "true"})
        return create_topics(controller, CreateTopicsRequest((topic, NewTopic("bar"))), rules)
    if op == "delete":
        return delete_topics(controller, (controller.topic_id(rest[0]) or "none",))
    if op == "alter":
        return altered(controller, *rest, rules)
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


def altered(controller: Controller, place: tuple[str, int], isr: tuple, recovering: bool, rules) -> Outcome:
    """A proposal of the partition's leader, with its epochs."""
    topic_id = controller.topic_id(place[0]) or "none"
    p = controller.image.partition(topic_id, place[1])
    known = (0, 0, 0) if p is None else (int(p.leader), int(p.leader_epoch), int(p.partition_epoch))
    members = tuple((broker, -1) for broker in isr)
    request = Proposal(topic_id, place[1], known[1], known[2], members, recovering)
    return alter_partition(controller, AlterPartitionRequest(known[0], epoch(controller, known[0]), (request,)), rules)


def check(before: Controller, outcome: Outcome, after: Controller) -> None:
    """What every event keeps: epochs count records, soft state follows the log, partitions are well formed."""
    changes = Counter((r.topic_id, r.partition_id) for r in outcome.records if isinstance(r, PartitionChangeRecord))
    for place in after.places():
        old, p = before.image.partition(place.topic_id, place.index), place.partition
        if old is not None:
            number = changes[place.topic_id, place.index]
            assert p.partition_epoch == old.partition_epoch + number
            assert 0 <= p.leader_epoch - old.leader_epoch <= number
            assert p.leader == old.leader or p.leader_epoch > old.leader_epoch
        assert len(p.directories.ids) == p.replicas.size() == len(set(p.replicas)) >= 1
        assert not set(p.isr) & set(p.elr)
        assert len(set(p.isr)) == p.isr.size()
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


def walk(steps: list[tuple], elr: bool, rules) -> list[Controller]:
    """The states after the steps, each event checked; a refusal leaves the state as it was."""
    controller = with_topic(cluster(4, fenced=(3,), elr_enabled=elr), "foo", (0, 1, 2), (1, 2, 3), (2, 0, 1))
    states = [controller]
    for step in steps:
        image = repr(controller)
        outcome = attempt(controller, step, rules)
        if isinstance(outcome, str):
            assert outcome in CODES
            assert repr(controller) == image
            continue
        after = commit(controller, outcome, rules)
        assert repr(controller) == image
        check(controller, outcome, after)
        later = after.soft.after(4000)
        controller = evolve(after, soft=later)
        states.append(controller)
    return states


@settings(max_examples=150, deadline=None)
@given(st.lists(STEPS, max_size=20), st.booleans())
def test_walks_under_the_rules_as_implemented(steps: list[tuple], elr: bool) -> None:
    """Whatever is asked, records replay, epochs count them, and a refusal changes nothing."""
    assert walk(steps, elr, KAFKA)


@settings(max_examples=150, deadline=None)
@given(st.lists(STEPS, max_size=20), st.booleans())
def test_walks_under_the_mended_rules(steps: list[tuple], elr: bool) -> None:
    """Mended, leaders are also replicas in sync, and the ELR holds replicas only."""
    for controller in walk(steps, elr, FIXED):
        for place in controller.places():
            p = place.partition
            assert p.leader == NO_LEADER or (p.isr.has(p.leader) and p.replicas.has(p.leader))
            assert set(p.elr) <= set(p.replicas)
            assert elr or not p.isr.is_empty()
