"""Differences between two sets of answers: found, grouped, shrunk. The model under other rules stands in for Kafka."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kraftcheck.ci.conformance.kafka.change.cases import (
    PartitionBase,
    ascending,
    bases,
    compact,
    exhaustive_changes,
    exhaustive_reassignments,
    keep,
    random_changes,
    triggers,
)
from kraftcheck.ci.conformance.kafka.change.checks import KafkaComparison, compare, shrink_cause, weight
from kraftcheck.ci.conformance.kafka.change.models import ChangeModel, ReassignmentModel
from kraftcheck.ci.conformance.kafka.columns import CHANGE_INPUTS, NO_LAST_KNOWN, Columns, Rows
from kraftcheck.model.language.brokersets import Brokers
from kraftcheck.model.language.idlists import IdList
from kraftcheck.model.language.words import absent, present
from kraftcheck.model.partition.change import Target, build_change, complete
from kraftcheck.model.partition.election import BuildContext
from kraftcheck.model.partition.registration import DirectoryList, Partition, merge
from kraftcheck.model.rules.ruleset import RELEASES, parse
from tests.shared.samples import one_in


class Standing:
    """The model in Kafka's place."""

    def __init__(self, rules: str, slots: int = 4) -> None:
        self._model = ChangeModel(slots, parse(rules))

    def ask(self, rows: Rows) -> Rows:
        """The model's answers, as the driver gives them."""
        return self._model.answer(rows).astype(np.int32)


def compared(expected: str, actual: str, factor: int = 1) -> tuple[KafkaComparison, ChangeModel]:
    """Every case of a factor, under two rule sets."""
    model = ChangeModel(4, parse(actual))
    *_, last = compare(Standing(expected), model, exhaustive_changes(factor, 4, 1 << 14))
    return last, model


def test_equal_rules_do_not_differ() -> None:
    """Every case is counted, and none differs."""
    found, _ = compared("kafka-4.1.0", "kafka-4.1.0")
    assert found.cases == sum(len(table) for table in exhaustive_changes(1, 4, 1 << 14)) > 5_000
    assert (found.differences, found.causes) == (0, ())


def test_a_mend_of_the_last_known_leader_is_seen() -> None:
    """The presets of 4.1.0 and 4.1.2 differ in what one replica can show."""
    found, _ = compared("kafka-4.1.2", "kafka-4.1.0")
    assert {cause.columns for cause in found.causes} == {("last_known",), ("status", "last_known")}


def test_a_cause_is_shrunk_to_its_core() -> None:
    """The shortest case of a dead last known leader has nothing in it but that."""
    found, model = compared("kafka-4.1.0", "kafka-4.0.2")
    cause = shrink_cause(Standing("kafka-4.1.0"), model, found.causes[0])
    case = model.inputs.read(cause.case)
    assert case["last_known"] != NO_LAST_KNOWN
    assert (case["isr"], case["elr"], case["acceptable"], case["elr_on"]) == ([], [], 0, 1)
    assert weight(model.inputs, cause.case[None])[0] <= weight(model.inputs, found.causes[0].case[None])[0]
    assert cause.cases == found.causes[0].cases


@pytest.mark.parametrize("rules", one_in(7, ["kafka-4.4.0", *sorted(RELEASES), "fixed"]))
def test_rows_say_what_lists_say(rules: str) -> None:
    """The compiled rules on rows answer as the same rules do on Kafka's ordered lists of ints."""
    columns, model = Columns.of(CHANGE_INPUTS, 5), ChangeModel(5, parse(rules))
    table = random_changes(7, 5, 400, 4)
    written = 0
    for row, given in zip(model.answer(table), table, strict=True):
        written += _agree(columns.read(given), model.outputs.read(row), rules)
    assert 100 < written < 400


def _agree(case: dict[str, Any], answer: dict[str, Any], rules: str) -> bool:
    """Whether a record is written, once row and lists agree in every field."""
    p = _partition(case)
    change = build_change(p, _target(case), _context(case), parse(rules).partition)
    assert answer["status"] == (0 if change.is_noop() else 1)
    assert answer["leader"] == (change.leader.value if change.leader.present else -2)
    assert answer["recovery"] == (int(change.recovering.value) if change.recovering.present else -1)
    listed = {"isr": change.isr, "replicas": change.replicas, "elr": change.elr}
    for name, field in listed.items():
        assert (answer[f"{name}?"], answer[name]) == (int(field.present), [*field.value] if field.present else [])
    after = merge(p, change) if not change.is_noop() else p
    assert isinstance(after.directories, DirectoryList)
    assert answer["after.directories"] == [*after.directories.ids]
    assert answer["after.leader_epoch"] == after.leader_epoch
    last = [] if answer["after.last_known"] == NO_LAST_KNOWN else [answer["after.last_known"]]
    assert [*after.last_known_elr] == last
    return not change.is_noop()


def _set(mask: int) -> IdList:
    return IdList.of(b for b in range(8) if mask >> b & 1)


def _partition(case: dict[str, Any]) -> Partition:
    replicas = IdList.of(case["replicas"])
    own = tuple(3 + b if case["placed"] else 0 for b in replicas)
    known = IdList() if case["last_known"] == NO_LAST_KNOWN else IdList.of([case["last_known"]])
    return Partition(
        replicas, DirectoryList(replicas.ids, own), IdList.of(case["isr"]), IdList.of(case["elr"]), known,
        _set(case["removing"]), _set(case["adding"]), case["leader"], bool(case["recovering"]), 0, 0,
    )  # fmt: skip


def _target(case: dict[str, Any]) -> Target:
    return Target(
        IdList.of(case["target_isr"]), IdList.of(case["target_replicas"]), _set(case["target_removing"]),
        _set(case["target_adding"]), bool(case["target_recovering"]),
        lambda broker: present(20) if broker == case["assigned"] else absent(20),
    )  # fmt: skip


def _context(case: dict[str, Any]) -> BuildContext:
    return BuildContext(
        acceptable=_set(case["acceptable"]), min_isr=case["min_isr"], preferred=case["election"] == 1,
        unclean=case["election"] == 2, elr=bool(case["elr_on"]), use_last_known_leader=True,
        unclean_shutdown=_set(case["unclean_shutdown"]), directory_assignment=True, leader_recovery=True,
        bump_on_isr_shrink=False, default_directory=lambda broker: broker + 10,
    )  # fmt: skip


def test_draws_are_well_formed_and_repeat() -> None:
    """A drawn partition has its ISR and ELR among its replicas, its leader in the ISR; a seed draws the same again."""
    columns = Columns.of(CHANGE_INPUTS, 7)
    table = random_changes(1, 7, 500, 5)
    assert np.array_equal(table, random_changes(1, 7, 500, 5))
    assert not np.array_equal(table, random_changes(2, 7, 500, 5))
    kinds = set()
    for row in table:
        case = columns.read(row)
        assert len(case["replicas"]) == 5
        assert set(case["isr"]) <= set(case["replicas"]) >= set(case["elr"])
        assert not set(case["isr"]) & set(case["elr"])
        assert case["leader"] in (*case["isr"], -1)
        assert len(set(case["target_replicas"])) == len(case["target_replicas"]) > 0
        kinds.add(
            (case["assigned"] >= 0, case["target_replicas"] != case["replicas"], case["target_isr"] != case["isr"])
        )
    assert len(kinds) >= 4


def test_lists_in_slots() -> None:
    """Vacant slots go last; a set keeps its members; a mask is an ascending list."""
    lists = np.array([[-1, 3, -1, 0]], dtype=np.int32)
    assert compact(lists).tolist() == [[3, 0, -1, -1]]
    assert keep(lists, np.array([1], dtype=np.int32)).tolist() == [[0, -1, -1, -1]]
    assert ascending(np.array([5], dtype=np.int32), 3).tolist() == [[0, 2, -1]]


def test_every_trigger_of_a_small_partition() -> None:
    """Two replicas, one in sync, are altered, left, assigned, moved; a running reassignment is also cancelled."""
    plain = triggers(PartitionBase((0, 1), (0,), 0, 0), 4)
    assert len(plain) == 3 + 12 + 8 + 2 + 9
    assert len(triggers(PartitionBase((0, 1), (0,), 2, 0), 4)) == len(plain) + 2
    assert len(list(bases(2))) == 5 + 4 * 8


def test_a_straggler_blocks_completion_up_to_4_4() -> None:
    """From 4.4 on a swap ends without a replica that stays and lags (KAFKA-19975); a shrink still waits for it."""
    lists: list[Brokers] = [IdList.of([0, 1, 2, 3]), IdList.of([0, 1, 3]), IdList.of([0]), IdList.of([3])]
    assert not complete(*lists, parse("kafka-4.1.2").partition).done
    assert complete(*lists, parse("kafka-4.4.0").partition).done
    assert not complete(lists[0], lists[1], IdList.of([0, 1]), lists[3], parse("kafka-4.4.0").partition).done


def test_reassignments_are_answered() -> None:
    """Planning, ending and reverting, of all partitions with two replicas: some end, some cannot be reverted."""
    model = ReassignmentModel(4, parse("fixed"))
    table = np.concatenate(list(exhaustive_reassignments(2, 4, 1 << 10)))
    answers = model.answer(table)
    done = model.outputs.get(answers.astype(np.int32), "completed")
    possible = model.outputs.get(answers.astype(np.int32), "revertible")
    assert 0 < done.sum() < len(table) > possible.sum() > 0
