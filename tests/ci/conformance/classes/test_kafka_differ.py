"""Differences between two sets of answers: found, grouped, shrunk. The model under other rules stands in for Kafka."""

import numpy as np

from kraftcheck.ci.conformance.kafka.change.cases import (
    PartitionBase,
    bases,
    exhaustive_changes,
    exhaustive_reassignments,
    random_changes,
    triggers,
    well_formed,
)
from kraftcheck.ci.conformance.kafka.change.checks import KafkaComparison, compare, shrink_cause, weight
from kraftcheck.ci.conformance.kafka.change.models import Model, model_of
from kraftcheck.ci.conformance.kafka.columns import CHANGE_INPUTS, NO_LAST_KNOWN, Columns, Rows
from kraftcheck.model.language.brokersets import Brokers
from kraftcheck.model.language.idlists import IdList
from kraftcheck.model.partition.change import complete
from kraftcheck.model.rules.ruleset import parse


class Standing:
    """The model in Kafka's place."""

    def __init__(self, rules: str, slots: int = 4) -> None:
        self._model = model_of("change", slots, parse(rules))

    def ask(self, rows: Rows) -> Rows:
        """The model's answers, as the driver gives them."""
        return self._model.answer(rows).astype(np.int32)


def compared(expected: str, actual: str, factor: int = 1) -> tuple[KafkaComparison, Model]:
    """Every case of a factor, under two rule sets."""
    model = model_of("change", 4, parse(actual))
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


def test_draws_are_well_formed_and_repeat() -> None:
    """Drawn cases are about partitions that may be, with triggers of each kind; a seed draws the same again."""
    columns, table = Columns.of(CHANGE_INPUTS, 7), random_changes(1, 7, 500, 5)
    assert np.array_equal(table, random_changes(1, 7, 500, 5))
    assert not np.array_equal(table, random_changes(2, 7, 500, 5))
    cases = [columns.read(row) for row in table]
    assert all(well_formed(columns, row) for row in table)
    assert {len(case["replicas"]) for case in cases} == {5}
    kinds = {(case["assigned"] >= 0, case["target_replicas"] != case["replicas"], case["target_isr"] != case["isr"])
             for case in cases}  # fmt: skip
    assert len(kinds) >= 4


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
    model = model_of("reassignment", 4, parse("fixed"))
    table = np.concatenate(list(exhaustive_reassignments(2, 4, 1 << 10)))
    answers = model.answer(table)
    done = model.outputs.get(answers.astype(np.int32), "completed")
    possible = model.outputs.get(answers.astype(np.int32), "revertible")
    assert 0 < done.sum() < len(table) > possible.sum() > 0
