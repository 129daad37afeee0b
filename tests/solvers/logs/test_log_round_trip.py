"""What the model's own controller writes is explained: requests are drawn, and each batch of records is a question."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from attrs import define, evolve, frozen

from kraftcheck.ci.conformance.kafka.fuzz.model import HALTED, RESIGNED, ModelController, Request
from kraftcheck.ci.conformance.kafka.fuzz.requests import Draws, drawn_plan
from kraftcheck.ci.conformance.kafka.fuzz.run import REQUESTS, drawn_brokers
from kraftcheck.ci.logs.releases import NEWEST_LEVELS
from kraftcheck.model.controller.brokers import fenced, taken_over
from kraftcheck.model.controller.commits import replay_record
from kraftcheck.model.controller.partitions import (
    UNCHECKED,
    AlterPartitionRequest,
    Assignment,
    Proposal,
    alter_partition,
    assign_replicas_to_dirs,
)
from kraftcheck.model.controller.state import TOPIC, ClearElrRecord, ConfigRecord, Controller, LogRecord, Outcome
from kraftcheck.model.language.idlists import IdList
from kraftcheck.model.partition.registration import UNASSIGNED
from kraftcheck.model.records.codecs import encode
from kraftcheck.model.records.records import Feature, PartitionChangeRecord, RegisterBrokerRecord
from kraftcheck.model.rules.ruleset import RIGHT, parse
from kraftcheck.solvers.logs.explain.explain import (
    Explanation,
    ReplayedBatch,
    explain,
    explain_model_records,
    plain_record,
)
from kraftcheck.solvers.logs.explain.state import (
    ELR_FEATURE,
    METADATA_VERSION,
    Batch,
    FeatureRecord,
    LogEntry,
    ModelRecord,
    State,
    features,
)
from kraftcheck.solvers.logs.memo.ledger import MemoisedBatch, compact
from kraftcheck.solvers.logs.memo.replay import MemoisedReplay
from tests.model.controller.controllers import changed, with_topic
from tests.solvers.logs.test_log_hash_order import cluster

WEIGHTS = {"alter": 40, "reassign": 24, "assign": 12, "wait": 1, "elect": 8, "heartbeat": 40, "create": 8, "delete": 1}
"""How often requests are drawn; those of partitions more often than the fuzz draws them."""

DRAWN = tuple(draw for kind, (draw, weight) in REQUESTS.items() for _ in range(WEIGHTS.get(kind, weight)))

LENGTH = 150


@define
class Recorder(ModelController):
    """The model's controller, which keeps the records of its last answer."""

    written: tuple[LogRecord, ...] = ()

    def _committed(self, outcome: Outcome[Any]) -> list[str] | None:
        self.written = (*self.written, *outcome.records)
        return super()._committed(outcome)


@frozen
class Answered:
    """A request that wrote records, what explains them, and how many explanations the replay with a memo finds."""

    request: Request
    before: State
    explanation: Explanation
    count: int


def answered(version: str, seed: int, number: int) -> Iterator[Answered]:
    """A sequence of requests on a new cluster: each that writes records is explained on the state of the log, twice."""
    rules, plan = parse(f"kafka-{version}"), drawn_plan(seed, number, LENGTH)
    draws = Draws(plan.brokers)
    brokers, elr = drawn_brokers(draws, plan.wide), not version.startswith("3.") and not draws.percent(30)
    world = Recorder.start(version, rules, elr, few=False, wide=plan.wide)
    levels = {METADATA_VERSION: NEWEST_LEVELS[version], ELR_FEATURE: int(elr)}
    world.controller = evolve(world.controller, features=features(levels, {}))
    state, replay = State(world.controller, levels), MemoisedReplay(lambda level: rules)
    replay.restart_at(state)
    for numbers in plan.steps:
        step = Draws(numbers)
        request, world.written = step.pick(DRAWN)(world, brokers, step), ()
        if request is None or _names_one_partition_twice(request):
            continue
        answer = world.answer(request)
        if answer == HALTED:
            return
        if answer == RESIGNED or request.kind == "fail-over":
            state = evolve(state, controller=taken_over(state.controller, RIGHT.controller))
            replay.restart_at(state)
        records = tuple(_logged(request, world.written))
        if not records:
            continue
        base = state.controller.image.next_offset
        entries = tuple(_entry(base + place, record) for place, record in enumerate(records))
        batch = Batch(base, base + len(records) - 1, 0, entries, "")
        found = explain(state, batch, rules)
        assert [*map(plain_record, found.records)] == [*map(plain_record, records)]
        (outcome,) = replay.replay([compact(batch)])
        yield Answered(request, state, found, _count(outcome))
        state = found.after
        assert replay.state.at(0).controller.image == state.at(0).controller.image
        world.controller = evolve(world.controller, features=state.controller.features)


def _count(outcome: ReplayedBatch | MemoisedBatch) -> int:
    if isinstance(outcome, MemoisedBatch):
        return outcome.count
    assert outcome.explanation is not None
    return outcome.explanation.count


def _entry(offset: int, record: ModelRecord) -> LogEntry:
    """A record as a log has it."""
    if isinstance(record, ConfigRecord):
        kind = 2 if record.scope == TOPIC else 4
        data = {"resourceType": kind, "resourceName": record.name, "name": record.key, "value": record.value}
        return LogEntry(offset, "CONFIG_RECORD", 0, data)
    if isinstance(record, FeatureRecord):
        return LogEntry(offset, "FEATURE_LEVEL_RECORD", 0, {"name": record.name, "featureLevel": record.level})
    if isinstance(record, ClearElrRecord):
        return LogEntry(offset, "CLEAR_ELR_RECORD", 0, {"topicName": record.topic})
    encoded = encode(record)  # type: ignore[arg-type]
    return LogEntry(offset, encoded["type"], encoded["version"], encoded["data"])


def _logged(request: Request, written: Sequence[LogRecord]) -> Iterator[ModelRecord]:
    """The records as a log has them: brokers support every level, and a switch of ELR has its own."""
    supported = (Feature(METADATA_VERSION, 1, max(NEWEST_LEVELS.values())), Feature(ELR_FEATURE, 0, 1))
    for record in written:
        yield evolve(record, features=supported) if isinstance(record, RegisterBrokerRecord) else record
    if request.after is not None:
        yield FeatureRecord(ELR_FEATURE, int(request.line.endswith("on")))


def _names_one_partition_twice(request: Request) -> bool:
    """Whether both rows of a reassignment are decided on one partition: of the second, the log does not show that."""
    rows = [row.rpartition("/")[0] for row in request.line.split()[1].split(";")] if request.kind == "reassign" else []
    return len(set(rows)) < len(rows)


def explained(version: str, seed: int, count: int) -> list[Answered]:
    """All answers of some sequences, each of which must be explained."""
    answers = [one for number in range(count) for one in answered(version, seed, number)]
    for one in answers:
        assert one.explanation.explained, (one.request.line, one.explanation.records, one.explanation.nearest)
        assert one.count == one.explanation.count
    return answers


def test_what_the_newest_controller_writes_is_explained() -> None:
    """Hundreds of drawn requests on 4.4.0 are explained, reassignments that complete on the way among them."""
    answers = explained("4.4.0", 8, 24)
    kinds = Counter(one.request.kind for one in answers)
    assert min(kinds[kind] for kind in ("heartbeat", "register", "reassign", "assign", "alter", "config")) > 20
    assert {"elect", "unregister", "grow", "delete", "elr", "balance"} <= kinds.keys()
    ended = Counter(one.request.kind for one in answers if _completes(one))
    assert {"alter", "assign", "reassign"} <= ended.keys()


def _completes(one: Answered) -> bool:
    """Whether a change of the answer ends a reassignment."""
    changes = (record for record in one.explanation.records if isinstance(record, PartitionChangeRecord))
    for record in changes:
        before = one.before.controller.image.partition(record.topic_id, record.partition_id)
        after = one.explanation.after.controller.image.partition(record.topic_id, record.partition_id)
        if before is not None and after is not None and before.reassigning() and not after.reassigning():
            return True
    return False


@pytest.mark.slow
@pytest.mark.parametrize("version", NEWEST_LEVELS)
@pytest.mark.parametrize("seed", range(2, 6))
def test_what_every_controller_writes_is_explained(version: str, seed: int) -> None:
    """Thousands of drawn requests on each release are explained."""
    assert len(explained(version, seed, 150)) > 2_500


RULES = parse("kafka-4.4.0")
BROKERS = (3, 5, 17, 34, 1000)


def reassigning(replicas: Sequence[int], removing: Sequence[int], adding: Sequence[int], isr: Sequence[int],
                leader: int) -> Controller:  # fmt: skip
    """One partition that is being reassigned, on five brokers, two of which share a slot of a hash set."""
    lists = {"removing": IdList.of(removing), "adding": IdList.of(adding)}
    return changed(with_topic(cluster(BROKERS), "foo", tuple(replicas)), isr=tuple(isr), leader=leader, **lists)


def explanation_of_batch(controller: Controller, records: Sequence[LogRecord]) -> Explanation:
    """What explains some records, which are one batch."""
    base, state = controller.image.next_offset, State(controller, {METADATA_VERSION: 33, ELR_FEATURE: 1})
    return explain_model_records(state, Batch(base, base + len(records) - 1, 0, (), ""), tuple(records), RULES)


def explanation_of(controller: Controller, records: Sequence[LogRecord]) -> Explanation:
    """What explains one change, which ends the reassignment."""
    (record,) = records
    assert isinstance(record, PartitionChangeRecord)
    assert record.change.replicas.present
    return explanation_of_batch(controller, records)


def test_a_proposal_whose_end_a_completion_cuts_off() -> None:
    """The leader proposes itself, and is removed by what it proposes: the record shows the order of the others only."""
    controller = reassigning((34, 1000, 3, 17), (3, 17), (34, 1000), (34, 3), 3)
    for record in fenced(controller, 17, RULES):
        controller = replay_record(controller, record, RULES)
    (place,) = controller.places()
    leader = controller.registration(3)
    assert leader is not None
    members = tuple((broker, UNCHECKED) for broker in (1000, 34, 3))
    proposal = Proposal(place.topic_id, 0, int(place.partition.leader_epoch), int(place.partition.partition_epoch),
                        members)  # fmt: skip
    outcome = alter_partition(controller, AlterPartitionRequest(3, leader.epoch, (proposal,)), RULES)
    found = explanation_of(controller, outcome.records)
    assert found.explained
    assert found.steps[0].candidate.action == "alter_partition"
    assert found.steps[0].candidate.arguments["isr"] == (1000, 34, 3)


def test_an_assignment_that_ends_a_reassignment() -> None:
    """The ISR is complete since an election; a directory that is told builds the partition, which ends the move."""
    controller = reassigning((34, 17), (17,), (34,), (34,), 34)
    controller = changed(controller, directories=(UNASSIGNED, 1017))
    (place,) = controller.places()
    broker = controller.registration(34)
    assert broker is not None
    wanted = (Assignment(broker.dirs[0], place.topic_id, 0),)
    outcome = assign_replicas_to_dirs(controller, 34, broker.epoch, wanted, RULES)
    found = explanation_of(controller, outcome.records)
    assert found.explained
    assert found.steps[0].candidate.action == "assign"


def test_a_lost_directory_of_a_replica_that_is_taken_out() -> None:
    """A lost directory is told of a replica that the same build takes out: of the two records neither names it."""
    controller = reassigning((34, 17), (17,), (34,), (34, 17), 17)
    (place,) = controller.places()
    broker = controller.registration(17)
    assert broker is not None
    outcome = assign_replicas_to_dirs(controller, 17, broker.epoch, (Assignment(9999, place.topic_id, 0),), RULES)
    assert len(outcome.records) == 2
    found = explanation_of_batch(controller, outcome.records)
    assert [step.candidate.action for step in found.steps] == ["assign"]


@pytest.mark.parametrize("rows", [((9999, "a"), (9999, "b")), ((9999, "b"), (1017, "a")), ((17, "b"), (9999, "a"))])
def test_lost_directories_of_two_partitions_in_one_request(rows: tuple[tuple[int, str], ...]) -> None:
    """Both rows of a request are written before the first partition is led away, and one event explains them."""
    controller = cluster(BROKERS)
    for topic in ("a", "b"):
        controller = with_topic(controller, topic, (17, 34))
    topics = {controller.topic(place.topic_id).name: place.topic_id for place in controller.places()}
    broker = controller.registration(17)
    assert broker is not None
    wanted = tuple(Assignment(directory, topics[topic], 0) for directory, topic in rows)
    outcome = assign_replicas_to_dirs(controller, 17, broker.epoch, wanted, RULES)
    found = explanation_of_batch(controller, outcome.records)
    assert found.explained
    assert {step.candidate.action for step in found.steps} == {"assign"}


def test_a_leader_that_still_recovers_proposes_itself() -> None:
    """The proposal of a leader that has not recovered, whose directory is lost, leaves the partition RECOVERING."""
    controller = changed(with_topic(cluster(BROKERS), "foo", (17, 34)), isr=(17,), leader=17, recovering=True)
    controller = changed(controller, directories=(9999, 1034))
    (place,) = controller.places()
    leader = controller.registration(17)
    assert leader is not None
    epochs = int(place.partition.leader_epoch), int(place.partition.partition_epoch)
    proposal = Proposal(place.topic_id, 0, *epochs, ((17, UNCHECKED),), recovering=True)
    outcome = alter_partition(controller, AlterPartitionRequest(17, leader.epoch, (proposal,)), RULES)
    found = explanation_of_batch(controller, outcome.records)
    assert [step.candidate.action for step in found.steps] == ["alter_partition"]
