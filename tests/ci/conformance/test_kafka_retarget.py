"""Reassignments that get another target: the managers of a release, and the controller on ints."""

from __future__ import annotations

import itertools
import random
from typing import Any

import numpy as np
import pytest

from kraftcheck.ci.conformance.kafka.build import Build
from kraftcheck.ci.conformance.kafka.drivers import TOUR, JavaProcess
from kraftcheck.ci.conformance.kafka.tour.model import answer_columns, step_columns
from kraftcheck.ci.conformance.kafka.tour.run import SNAPSHOTS
from kraftcheck.model.controller.partitions import Reassignment, reassign
from kraftcheck.model.language.layout import Layout
from kraftcheck.model.records.records import PartitionChangeRecord, ids
from kraftcheck.model.rules.ruleset import parse
from kraftcheck.model.systems.elections.system import ELECTIONS
from tests.model.controller.controllers import changed, cluster, partition, play, with_topic

pytestmark = pytest.mark.xdist_group("kafka")

BROKERS = 3
LAYOUT = Layout(ELECTIONS.layout(ELECTIONS.setting("default", rules=parse("fixed"))))
LISTS = [order for size in (1, 2, 3) for order in itertools.permutations(range(BROKERS), size)]


def cases() -> list[dict[str, Any]]:
    """Some permutations of all replicas while some come or go, and some other targets."""
    draw, every = random.Random(1), []
    for replicas, target in itertools.product(LISTS, LISTS):
        permutes = sorted(replicas) == sorted(target) and len(target) == BROKERS
        for marks in itertools.product("-XA", repeat=len(replicas)):
            removing, adding = ([b for b, m in zip(replicas, marks, strict=True) if m == mark] for mark in "XA")
            isr = tuple(sorted(draw.sample(replicas, draw.randint(1, len(replicas))), key=replicas.index))
            case = {"replicas": replicas, "removing": tuple(sorted(removing)), "adding": tuple(sorted(adding)),
                    "isr": isr, "leader": draw.choice(isr), "target": target}  # fmt: skip
            if draw.randrange(12 if permutes else 200) == 0:
                every.append(case)
    return every


def question(case: dict[str, Any]) -> np.ndarray[Any, Any]:
    """The case in the columns of the driver; all brokers are live, ELR is off."""
    columns, everyone = step_columns(LAYOUT, BROKERS), (1 << BROKERS) - 1
    row = columns.empty(1)

    def padded(brokers: tuple[int, ...]) -> list[list[int]]:
        return [[*brokers, *[-1] * (BROKERS - len(brokers))]]

    masks = {name: sum(1 << b for b in case[name]) for name in ("isr", "removing", "adding")}
    directories = [[3 if broker in case["replicas"] else 1 for broker in range(BROKERS)]]
    return columns.put(
        row, replicas=padded(case["replicas"]), directories=directories, last_known_elr=-2, leader=case["leader"],
        registered=everyone, online_dirs=[[1] * BROKERS], min_insync_replicas=1, target=padded(case["target"]), **masks,
    )  # fmt: skip


def model_answer(case: dict[str, Any], rules: str) -> tuple[Any, ...]:
    """How many records the model writes, whether they have each list, and the partition after them."""
    chosen = parse(rules)
    controller = with_topic(cluster(BROKERS), "foo", case["replicas"])
    lists = {name: case[name] for name in ("isr", "removing", "adding")}
    controller = changed(controller, leader=case["leader"], **lists)
    outcome = reassign(controller, (Reassignment("foo", 0, case["target"]),), chosen)
    fields = [
        tuple(bool(getattr(record.change, name).present) for name in ("replicas", "removing", "adding"))
        for record in outcome.records if isinstance(record, PartitionChangeRecord)
    ] or [(False, False, False)]  # fmt: skip
    p = partition(play(controller, outcome, chosen))
    return (len(outcome.records), *fields, ids(p.replicas), ids(p.removing), ids(p.adding), int(p.leader))


def test_another_target_while_a_reassignment_runs() -> None:
    """A permutation of three replicas while some come or go, and other targets, are answered as 4.1.2's managers do."""
    every, outputs = cases(), answer_columns(LAYOUT, BROKERS)
    rows = np.concatenate([question(case) for case in every])
    with JavaProcess(Build("4.1.2"), TOUR, [str(BROKERS), "1", SNAPSHOTS, "reassign"], outputs) as kafka:
        answers = [outputs.read(row) for row in kafka.ask(rows)]
    expected = [
        (
            answer["records"], tuple(bool(answer[f"record0.{name}?"]) for name in ("replicas", "removing", "adding")),
            tuple(answer["after.replicas"]), members(answer["after.removing"]), members(answer["after.adding"]),
            answer["after.leader"],
        ) for answer in answers
    ]  # fmt: skip
    assert [model_answer(case, "kafka-4.1.2") for case in every] == expected
    alone = [case for case, answer in zip(every, expected, strict=True) if answer[1] == (True, False, False)]
    assert sum(bool(case["removing"] and case["adding"]) for case in alone) > 10
    assert [model_answer(case, "fixed") for case in every] != expected


def members(mask: int) -> tuple[int, ...]:
    """A set as the driver writes it."""
    return tuple(broker for broker in range(BROKERS) if mask >> broker & 1)
