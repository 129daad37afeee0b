"""Logs of clusters with any broker ids: the order of Kafka's hash set is in the records, and survives the memo."""

from collections.abc import Sequence

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from kraftcheck.model.controller.brokers import fenced
from kraftcheck.model.controller.commits import replay_record
from kraftcheck.model.controller.partitions import Reassignment, reassign
from kraftcheck.model.controller.state import Controller, Features, Settings
from kraftcheck.model.controller.topics import Growth, create_partitions
from kraftcheck.model.language.idlists import FULL_SLOT, IdList, hash_order
from kraftcheck.model.language.words import present
from kraftcheck.model.records.records import PartitionChangeRecord, PartitionRecord, RegisterBrokerRecord, ids
from kraftcheck.model.rules.ruleset import RuleSet, parse
from kraftcheck.solvers.logs.memo import ledger, steps
from kraftcheck.solvers.logs.memo.replay import MemoisedReplay
from kraftcheck.solvers.logs.memo.situation import ShapeNames, names_of, numbers_of
from tests.model.controller.controllers import changed, with_topic
from tests.solvers.logs.test_log_quick_cases import explanation_counts

KAFKA = parse("kafka-4.4.0")
BROKER_IDS = st.integers(0, 40) | st.sampled_from((48, 64, 128, 1 << 16, 3 << 16, (1 << 31) - 1))


def cluster(brokers: Sequence[int], elr: bool = True) -> Controller:
    """A controller with these brokers, live, each with a directory."""
    controller = Controller(features=Features(elr_enabled=elr), settings=Settings(cluster_id="cluster"))
    for broker in brokers:
        record = RegisterBrokerRecord(broker, 1 + broker, f"process-{broker}", fenced=False, log_dirs=(1000 + broker,))
        controller = replay_record(controller, record, KAFKA)
    return controller


def explanations(controller: Controller, records: Sequence[object], replay: MemoisedReplay) -> tuple[int, int, bool]:
    """How many explanations records have, how many the memoised replay finds, and whether it found them there."""
    return explanation_counts(controller, records, replay=replay, rules=KAFKA)  # type: ignore[arg-type]


def rules_of(level: int | None) -> RuleSet:
    """One rule set for every level."""
    return KAFKA


def with_elr(brokers: Sequence[int], elr: Sequence[int], isr: Sequence[int]) -> Controller:
    """One partition on brokers, below a min ISR of all of them, led by the first of its ISR."""
    controller = with_topic(cluster(brokers), "foo", tuple(brokers), min_insync_replicas=str(len(brokers)))
    return changed(controller, isr=tuple(isr), elr=tuple(elr), leader=isr[0])


@given(st.sets(BROKER_IDS, min_size=1, max_size=FULL_SLOT), st.randoms(), st.booleans())
def test_a_hash_set_lists_names_as_it_lists_ids(brokers: set[int], random: object, elr: bool) -> None:
    """Names keep the order of ids, and with ELR that of a hash set made of any of them, in any order of insertion."""
    ordered = tuple(sorted(brokers))
    names = numbers_of(ordered, elr)
    assert names is not None
    assert list(names) == sorted(set(names))
    assert numbers_of(names, elr) == names
    if elr:
        shuffled = list(ordered)
        random.shuffle(shuffled)  # type: ignore[attr-defined]
        name_of = dict(zip(ordered, names, strict=True))
        cut = len(shuffled) // 2
        assert hash_order([name_of[b] for b in shuffled[:cut]], [name_of[b] for b in shuffled[cut:]]) == tuple(
            name_of[b] for b in hash_order(shuffled[:cut], shuffled[cut:])
        )


def test_more_ids_than_share_a_slot_are_not_renamed() -> None:
    """Nine ids, one of them 16, may fill a slot; below 16 any number keeps its order, and without ELR none matters."""
    assert numbers_of((*range(8), 16), True) is None
    assert numbers_of((*range(8), 16), False) == tuple(range(9))
    assert numbers_of(tuple(range(3, 16)), True) == tuple(range(13))


@pytest.mark.parametrize(
    ("brokers", "leaver", "elr"),
    [((1, 2, 3), 2, (2, 3)), ((15, 31, 32), 15, (32, 15)), ((1, 16, 34), 1, (16, 1)), ((1, 17, 33), 17, (33, 17)),
     ((5, (1 << 31) - 1, 1 << 16), 5, (1 << 16, 5))],
)  # fmt: skip
def test_a_fence_lists_the_elr_in_hash_order(brokers: tuple[int, ...], leaver: int, elr: tuple[int, ...]) -> None:
    """The broker that leaves joins the ELR where the hash set has it, on the plain path and on that of the memo."""
    before = with_elr(brokers, [b for b in elr if b != leaver], [b for b in brokers if b == leaver or b not in elr])
    records = list(fenced(before, leaver, KAFKA))
    change = next(record for record in records if isinstance(record, PartitionChangeRecord))
    assert ids(change.change.elr.value) == elr
    replay = MemoisedReplay(rules_of)
    assert explanations(before, records, replay) == (1, 1, True)  # type: ignore[arg-type]
    other = evolve(change, change=evolve(change.change, elr=evolve(change.change.elr, value=IdList(elr[::-1]))))
    wrong = [other if record is change else record for record in records]
    assert explanations(before, wrong, replay)[:2] == (0, 0)


CLUSTERS = ((1, 2, 3), (15, 31, 32), (1, 16, 34), (14, 30, 47), (16, 32, 48), (1, 17, 33), (33, 48, 64))


def memo_and_plain(replay: MemoisedReplay) -> tuple[int, int]:
    """Explanations of a fence in each of several clusters, in sum, on the plain path and with one memo for all."""
    plain = memoised = 0
    for brokers in CLUSTERS:
        for leaver in brokers[1:]:
            elr = [b for b in brokers[1:] if b != leaver]
            before = with_elr(brokers, elr, [brokers[0], leaver])
            counts = explanations(before, list(fenced(before, leaver, KAFKA)), replay)
            plain, memoised = plain + counts[0], memoised + counts[1]
            assert counts[2]
    return plain, memoised


def test_one_memo_serves_clusters_with_any_ids() -> None:
    """What the memo learns in one cluster holds in the next, or is not used there: each fence is explained in each."""
    assert memo_and_plain(MemoisedReplay(rules_of)) == (2 * len(CLUSTERS), 2 * len(CLUSTERS))


def test_names_that_forget_the_hash_order_show(monkeypatch: pytest.MonkeyPatch) -> None:
    """With names in the order of ids alone, the memo misses explanations that the plain path has."""

    def forgetful(*arguments: object) -> ShapeNames:
        names = names_of(*arguments)  # type: ignore[arg-type]
        return ShapeNames(names.brokers, names.directories, names.renamed)

    for module in (ledger, steps):
        monkeypatch.setattr(module, "names_of", forgetful)
    replay, missed = MemoisedReplay(rules_of), 0
    for brokers in CLUSTERS:
        before = with_elr(brokers, [brokers[2]], brokers[:2])
        plain, memoised, from_memo = explanations(before, list(fenced(before, brokers[1], KAFKA)), replay)
        missed += not from_memo or plain != memoised
    assert missed > 0


def test_a_permutation_while_a_reassignment_runs_is_explained() -> None:
    """A target that orders all replicas anew keeps both old sets (B10): a record of the replicas alone."""
    controller = with_topic(cluster((34, 1, 16)), "foo", (34, 1, 16))
    controller = changed(controller, isr=(1, 16), leader=1, adding=(34,), removing=(1, 16))
    outcome = reassign(controller, (Reassignment("foo", 0, (34, 16, 1)),), KAFKA)
    (record,) = outcome.records
    assert isinstance(record, PartitionChangeRecord)
    assert ids(record.change.replicas.value) == (34, 16, 1)
    assert not record.change.removing.present
    assert explanations(controller, [record], MemoisedReplay(rules_of))[0] == 1
    wrong = evolve(record, change=evolve(record.change, leader=present(16)))
    assert explanations(controller, [wrong], MemoisedReplay(rules_of))[0] == 0


def test_growth_with_the_factor_of_another_partition_is_explained() -> None:
    """Of three partitions the map lists the third first: new ones have its replicas, not those of partition 0."""
    controller = changed(with_topic(cluster((0, 1, 2)), "foo", (0,), (1,), (1,)), index=2, replicas=(1, 2))
    outcome = create_partitions(controller, (Growth("foo", 4, ((2, 0),)),), KAFKA)
    assert [row.error for row in outcome.response] == ["NONE"]
    assert explanations(controller, outcome.records, MemoisedReplay(rules_of))[0] == 1
    (record,) = outcome.records
    assert isinstance(record, PartitionRecord)
    one = evolve(record, replicas=(2,), isr=(2,), leader=2, directories=record.directories[:1])
    assert explanations(controller, [one], MemoisedReplay(rules_of))[0] == 0
