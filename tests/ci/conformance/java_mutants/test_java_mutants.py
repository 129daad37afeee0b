"""Mutants of Kafka's own classes: most are noticed, soon; those that are not have a reason."""

from __future__ import annotations

import random

import pytest

from kraftcheck.ci.conformance.kafka.drivers import PACKAGE
from tests.ci.conformance.java_mutants.campaign import (
    CLASSES,
    NOTICED,
    SURVIVED,
    UNASKED,
    MutantProcess,
    asked,
    drawn,
    judged,
    mutants,
    plays,
    recorded,
    run,
    told,
)
from tests.ci.night.shards import commit

pytestmark = pytest.mark.xdist_group("kafka")

EARLY = 1_500
"""Steps within which a mutant of the sample of each change was noticed."""


def test_mutants_that_the_commit_draws_are_noticed_or_judged() -> None:
    """Two of the recorded mutants, other ones at each commit, are noticed as soon as recorded, or have a reason."""
    early = {key: (outcome, steps) for key, outcome, steps in recorded() if steps <= EARLY}
    chosen = random.Random(commit()).sample(sorted(early), 2)
    owners = [name for name in CLASSES if any(key.startswith(name.rpartition(".")[2] + ".") for key in chosen)]
    drawn_ones = [one for one in mutants(owners) if one.key in chosen]
    assert sorted(one.key for one in drawn_ones) == sorted(chosen)
    found = {one.mutant.key: (one.outcome, one.steps) for one in run(drawn_ones, plays((EARLY,), 0), 600)}
    assert found == {key: early[key] for key in chosen}


def test_the_recorded_score_reaches_the_goal() -> None:
    """Of the recorded sample 95 % of those that are not equal are noticed by `kraftcheck branch`."""
    outcomes = [outcome for _, outcome, _ in recorded()]
    noticed, missed = outcomes.count(NOTICED), outcomes.count(SURVIVED) + outcomes.count(UNASKED)
    assert noticed + missed > 150
    assert noticed >= 0.95 * (noticed + missed)


def test_every_judgement_is_of_a_mutant() -> None:
    """What is judged is made by PIT of the classes that are driven, so that no reason outlives its mutant."""
    keys = [one.key for one in mutants()]
    assert not [key for key, _ in judged() if not any(name.startswith(key) for name in keys)]


def test_a_mutant_is_noticed_and_an_equal_one_is_not() -> None:
    """A change of which records are written differs within the first sequences; one that changes nothing never does."""
    found = {one.key: one for one in mutants((f"{PACKAGE}.PartitionChangeBuilder",))}
    of_records = "PartitionChangeBuilder.changeRecordIsNoOp:55 replaced boolean return with true"
    of_nothing, sequences = "PartitionChangeBuilder.maybeUpdateRecordElr:517 negated conditional", plays((1500,))
    with MutantProcess() as kafka:
        noticed = {
            begin: asked(kafka, one, sequences)[0]
            for begin in (of_records, of_nothing) for key, one in found.items() if key.startswith(begin)
        }  # fmt: skip
    assert noticed == {of_records: True, of_nothing: False}


@pytest.mark.slow
def test_a_sample_of_mutants_is_noticed() -> None:
    """Of a drawn sample none survives without a reason, and each is noticed within a minute."""
    found = list(run(drawn(7, 40), plays(), 1200))
    assert [one.mutant.key for one in found if one.outcome == SURVIVED] == [], "\n".join(told(found))
    assert max(one.seconds for one in found) < 60
