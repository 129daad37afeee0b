"""Batches that involve several partitions: the memo gives the plain explanation, or leaves the batch to it."""

from collections.abc import Sequence

import pytest
from attrs import evolve

from kraftcheck.model.controller.brokers import (
    RegistrationContext,
    RegistrationRequest,
    fenced,
    heartbeat,
    leaving,
    register_broker,
    unfenced,
)
from kraftcheck.model.controller.commits import replay_record
from kraftcheck.model.controller.elections import PREFERRED, elect_leaders
from kraftcheck.model.controller.state import CLUSTER, NODE, TOPIC, UNCLEAN_ELECTION, ConfigRecord, Controller
from kraftcheck.model.language.idlists import IdList
from kraftcheck.model.language.words import present
from kraftcheck.model.partition.registration import LOST, DirectoryList
from kraftcheck.model.records.codecs import encode
from kraftcheck.model.records.records import Feature, PartitionChangeRecord, Record, RegisterBrokerRecord
from kraftcheck.model.rules.ruleset import RuleSet
from kraftcheck.solvers.logs.explain.explain import ReplayedBatch, explain
from kraftcheck.solvers.logs.explain.state import Batch, EntryError, LogEntry, State
from kraftcheck.solvers.logs.memo.ledger import MemoisedBatch, compact
from kraftcheck.solvers.logs.memo.replay import MemoisedReplay
from tests.model.controller.controllers import FIXED, beat, changed, cluster, directory, with_topic

LEVELS = {"metadata.version": 27}


def batch(controller: Controller, records: Sequence[Record]) -> Batch:
    """A batch of these records after a state."""
    first = controller.image.next_offset
    entries = [LogEntry(first + n, d["type"], d["version"], d["data"]) for n, d in enumerate(map(encode, records))]
    return Batch(first, first + len(entries) - 1, 1, tuple(entries), "here")


def explanation_counts(
    controller: Controller, records: Sequence[Record], *before: Controller, replay: MemoisedReplay | None = None,
    rules: RuleSet = FIXED,
) -> tuple[int, int, bool]:  # fmt: skip
    """How many explanations there are, and how many are found by a replay that looks up; whether it did.

    Args:
        controller: the state before the records.
        records: what is explained.
        before: states in which the replay was earlier.
        replay: one that has learnt already; None takes a fresh one.
        rules: those of that replay.
    """
    state, log_batch = State(controller, LEVELS), batch(controller, records)
    replay = replay or MemoisedReplay(lambda level: rules)
    for earlier in before:
        replay.restart_at(State(earlier, LEVELS))
    replay.restart_at(state)
    (batch_replay,) = replay.replay([compact(log_batch)])
    plain = explain(state, log_batch, rules)
    if isinstance(batch_replay, MemoisedBatch):
        return plain.count, batch_replay.count, True
    assert isinstance(batch_replay, ReplayedBatch)
    assert batch_replay.explanation is not None
    return plain.count, batch_replay.explanation.count, False


def without_leaders(partitions: int) -> Controller:
    """Partitions that have lost their leader, which is back: a preferred election and an unclean one write the same."""
    controller = with_topic(cluster(3), "foo", *[(0, 1)] * partitions)
    for index in range(partitions):
        controller = changed(controller, index=index, leader=-1, isr=(0,))
    return controller


def elections(controller: Controller, *indices: int) -> list[Record]:
    """What preferred elections write."""
    places = tuple(("foo", index) for index in indices)
    return list(elect_leaders(controller, PREFERRED, places, FIXED).records)  # type: ignore[arg-type]


@pytest.mark.parametrize("partitions", [1, 2, 3])
def test_explanations_multiply(partitions: int) -> None:
    """Each of several changes may have been either election, so that a batch has as many explanations as ways."""
    controller = without_leaders(partitions)
    assert explanation_counts(controller, elections(controller, *range(partitions))) == (
        2**partitions,
        2**partitions,
        True,
    )


def test_a_partition_that_changes_twice_is_not_looked_up() -> None:
    """What is known of a partition holds before the batch, so a second change of it is explained with the first."""
    controller = without_leaders(1)
    change = elections(controller, 0)
    counts = explanation_counts(controller, [*change, *change])
    assert counts == (0, 0, False)


def test_an_unfenced_broker_elects_elsewhere_too() -> None:
    """Unfencing visits every leaderless partition, also of other brokers; without their elections it is unexplained."""
    controller = changed(with_topic(cluster(3, fenced=(2,)), "foo", (0, 1)), leader=-1, isr=(0,))
    records = list(unfenced(controller, 2, FIXED))
    assert len(records) == 2
    assert explanation_counts(controller, records) == (1, 1, True)  # type: ignore[arg-type]
    assert explanation_counts(controller, records[:1])[:2] == (0, 0)  # type: ignore[arg-type]


def test_a_broker_that_leaves_is_asked_for_all_partitions() -> None:
    """A controlled shutdown that goes on changes every partition that it can; one change alone is none of its."""
    controller = with_topic(cluster(3), "foo", (0, 1, 2), (0, 1, 2))
    controller = evolve(
        controller, image=evolve(controller.image, registrations={
            **controller.image.registrations, 0: evolve(controller.image.registrations[0], in_controlled_shutdown=True)
        }),
    )  # fmt: skip
    records = list(leaving(controller, 0, FIXED))
    assert len(records) == 2
    assert explanation_counts(controller, records) == (1, 1, False)  # type: ignore[arg-type]
    assert explanation_counts(controller, records[:1]) == (0, 0, False)  # type: ignore[arg-type]


def test_a_fence_without_one_of_its_changes_is_unexplained() -> None:
    """A broker that is fenced leaves each of its partitions: a change left out, or for another, is missed."""
    controller = with_topic(cluster(4), "foo", (0, 1, 2), (1, 2, 0), (1, 2, 3))
    records = list(fenced(controller, 0, FIXED))
    assert len(records) == 3
    assert explanation_counts(controller, records) == (1, 1, True)  # type: ignore[arg-type]
    for missing in (0, 1):
        rest = [record for n, record in enumerate(records) if n != missing]
        assert explanation_counts(controller, rest)[:2] == (0, 0)  # type: ignore[arg-type]


@pytest.mark.parametrize("scope", [TOPIC, NODE, CLUSTER])
def test_what_is_configured_counts_from_then_on(scope: str) -> None:
    """Unclean elections are allowed for the topic, the controller's node or the cluster: a fence then elects."""
    plain = changed(with_topic(cluster(3), "foo", (0, 1)), isr=(0,))
    record = ConfigRecord(scope, {TOPIC: "foo", NODE: "7", CLUSTER: ""}[scope], UNCLEAN_ELECTION, "true")
    allowed = replay_record(plain, record, FIXED)
    active = evolve(allowed, settings=evolve(allowed.settings, node="7"))
    clean, unclean = list(fenced(plain, 0, FIXED)), list(fenced(active, 0, FIXED))
    assert clean != unclean
    assert explanation_counts(active, unclean, plain, allowed) == (1, 1, True)  # type: ignore[arg-type]
    assert explanation_counts(active, clean, plain, allowed)[:2] == (0, 0)  # type: ignore[arg-type]
    assert explanation_counts(plain, clean, active) == (1, 1, True)  # type: ignore[arg-type]


def test_events_that_no_captured_log_has() -> None:
    """A heartbeat that fences and tells of a failed directory, and an amended registration, are each one event."""
    controller = with_topic(cluster(3), "foo", (0, 1, 2), (1, 2, 0))
    registrations = controller.image.registrations
    two = {**registrations, 0: evolve(registrations[0], dirs=(directory(0), directory(0, 1)))}
    controller = evolve(controller, image=evolve(controller.image, registrations=two))
    heartbeat_records = list(heartbeat(controller, beat(0, fence=True, failed=(directory(0),)), FIXED).records)
    assert len(heartbeat_records) > 3
    assert explanation_counts(controller, heartbeat_records) == (1, 1, False)  # type: ignore[arg-type]
    assert explanation_counts(controller, heartbeat_records[:-1])[:2] == (1, 1)  # type: ignore[arg-type]
    supported = (Feature("metadata.version", 1, 27),)
    request = RegistrationRequest("cluster", 0, "process-0", (), supported, dirs=(directory(0, 1),))
    amendment = list(register_broker(controller, request, RegistrationContext(LEVELS), FIXED).records)
    assert len(amendment) > 1  # the replicas in the other directory no longer lead
    assert explanation_counts(controller, amendment) == (1, 1, True)  # type: ignore[arg-type]


@pytest.mark.parametrize("replicas", [(1, 9), (2, 1), (1, 2, 3)])
@pytest.mark.parametrize("directories", [None, (777, 778), (directory(1), 777), (directory(2), directory(1))])
def test_a_fence_with_other_replicas_is_unexplained(
    replicas: tuple[int, ...], directories: tuple[int, ...] | None
) -> None:
    """A fence sets no replicas: a change that does, with brokers and directories that nobody knows, is none of its."""
    controller = with_topic(cluster(4), "foo", (0, 1, 2), (1, 2, 0))
    first, *rest = fenced(controller, 0, FIXED)
    assert isinstance(first, PartitionChangeRecord)
    change = evolve(first.change, replicas=present(IdList(replicas)))
    if directories is not None:
        change = evolve(change, directories=present(DirectoryList(replicas, directories)))
    assert explanation_counts(controller, [evolve(first, change=change), *rest])[:2] == (0, 0)  # type: ignore[list-item]


@pytest.mark.parametrize(("replicas", "reason"), [((1, 1), "broker 1 is named twice"), ((-1, 1), "-1 is no broker")])
def test_a_change_whose_replicas_are_no_brokers_is_refused(replicas: tuple[int, ...], reason: str) -> None:
    """No controller writes such a list: the record is refused with its offset, its field and the reason."""
    controller = with_topic(cluster(4), "foo", (0, 1, 2), (1, 2, 0))
    first, *rest = fenced(controller, 0, FIXED)
    assert isinstance(first, PartitionChangeRecord)
    record = evolve(first, change=evolve(first.change, replicas=present(IdList(replicas))))
    with pytest.raises(EntryError, match=f"offset {controller.image.next_offset}: .*replicas: {reason}"):
        explanation_counts(controller, [record, *rest])  # type: ignore[list-item]


def test_a_registration_with_a_reserved_directory_is_unexplained() -> None:
    """No broker can register such a directory, and no property trips over it."""
    controller = with_topic(cluster(3), "foo", (0, 1, 2))
    record = RegisterBrokerRecord(0, controller.image.next_offset, "another", log_dirs=(LOST, directory(0)))
    assert explanation_counts(controller, [record]) == (0, 0, False)
