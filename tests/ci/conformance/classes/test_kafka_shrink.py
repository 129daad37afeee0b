"""Shrinking of differing cases, in each check: a shorter case stays a case, and still differs in the same columns."""

from collections.abc import Callable

import numpy as np
import pytest

from kraftcheck.ci.conformance.kafka.change.cases import (
    every_merge,
    every_registration,
    exhaustive_changes,
    exhaustive_reassignments,
    random_changes,
    random_ordered,
    well_formed,
)
from kraftcheck.ci.conformance.kafka.change.checks import Model, compare, shrink_cause, weight
from kraftcheck.ci.conformance.kafka.change.models import model_of
from kraftcheck.ci.conformance.kafka.columns import Rows, named
from kraftcheck.model.rules.ruleset import parse
from tests.shared.samples import one_in

FIXED = parse("fixed")

CHECKS: dict[str, tuple[Callable[[], Model], Callable[[int], Rows]]] = {
    "registration": (lambda: model_of("registration", 0, FIXED), lambda seed: every_registration()[seed::997]),
    "merge": (lambda: model_of("merge", 4, FIXED), lambda seed: every_merge()[seed::211]),
    "reassignment": (
        lambda: model_of("reassignment", 4, FIXED), lambda seed: next(exhaustive_reassignments(3, 4, 1 << 12))[seed::7]
    ),
    "change": (lambda: model_of("change", 4, FIXED), lambda seed: next(exhaustive_changes(2, 4, 1 << 12))[seed::7]),
    "change, drawn": (lambda: model_of("change", 7, FIXED), lambda seed: random_changes(seed, 7, 200, 5)),
    "ordered": (lambda: model_of("ordered", 7, FIXED), lambda seed: random_ordered(seed, 7, 80, 5)),
}  # fmt: skip
"""The model of each check, and some of its cases for a seed."""


class Mistaken:
    """The model in Kafka's place, wrong in one drawn column for one case in three that only its content tells."""

    def __init__(self, model: Model, seed: int) -> None:
        self._model, random = model, np.random.default_rng(seed)
        self._weights = random.integers(1, 1 << 20, model.inputs.width)
        self._column = int(random.integers(model.outputs.width))
        self.questions: list[Rows] = []  # every row that it was asked

    def ask(self, rows: Rows) -> Rows:
        """Its answers."""
        self.questions += list(rows)
        answers = self._model.answer(rows).astype(np.int32)
        answers[(rows.astype(np.int64) @ self._weights) % 3 == 0, self._column] += 1
        return answers


@pytest.fixture(scope="module", params=CHECKS)
def check(request: pytest.FixtureRequest) -> tuple[Model, Callable[[int], Rows]]:
    """The model of a check, compiled once, and its cases."""
    model, cases = CHECKS[request.param]
    return model(), cases


def test_a_case_is_told_without_masks() -> None:
    """Sets of brokers are in braces, after a record too; numbers that stand for none, a truth or a kind are words."""
    case = {"replicas": [0, 1], "removing": 5, "after.adding": 0, "leader": -1, "after.last_known": -2, "min_isr": 2}
    shown = "replicas=[0,1] removing={0,2} after.adding={} leader=none after.last_known=none min_isr=2"
    assert named(case) == shown
    assert named({"leader": -2, "recovery": -1, "placed": 1, "assigned": -1, "election": 2}) == (
        "leader=unchanged recovery=unchanged directories_known=yes directory_assigned_to=none election=unclean"
    )


@pytest.mark.parametrize("seed", one_in(3, range(6)))
def test_a_shorter_case_is_a_case(check: tuple[Model, Callable[[int], Rows]], seed: int) -> None:
    """Whatever differs, cases and all that shrinking asks are well-formed; the result is as short, and differs too."""
    model, cases = check
    kafka = Mistaken(model, seed)
    (*_, found) = compare(kafka, model, [cases(seed)])
    assert found.causes
    for cause in found.causes:
        shorter = shrink_cause(kafka, model, cause)
        assert shorter.columns == cause.columns
        assert (shorter.expected != shorter.actual).any()
        assert weight(model.inputs, shorter.case[None])[0] <= weight(model.inputs, cause.case[None])[0]
    assert len(kafka.questions) > len(cases(seed))
    for row in kafka.questions:
        assert well_formed(model.inputs, row), model.inputs.read(row)


@pytest.mark.parametrize(
    "columns",
    [
        {"ids": [1, 2, 3, 4, 5, 6, -1]},
        {"ids": [1, 2, 3, 4, 5, 7, 6]},
        {"isr": [6, -1, -1, -1, -1, -1, -1]},
        {"leader": 6},
        {"removing": 1, "adding": 1},
        {"replicas": [-1] * 7},
        {"target_isr": [6, -1, -1, -1, -1, -1, -1]},
        {"assigned": 6},
    ],
    ids=lambda columns: ",".join(columns),
)
def test_a_name_without_a_place_is_no_case(columns: dict[str, int | list[int]]) -> None:
    """An id or a replica that is missing, out of order or in two sets at once is no case; without that it is one."""
    model = model_of("ordered", 7, FIXED)
    full = [0, 1, 2, 3, 4, -1, -1]
    table = model.inputs.put(
        model.inputs.empty(1), ids=[1, 2, 3, 4, 5, 6, 7], replicas=full, isr=full, elr=[6, *[-1] * 6],
        last_known=[-1] * 7, leader=0, target_isr=full, target_replicas=full, assigned=-1,
    )  # fmt: skip
    assert well_formed(model.inputs, table[0])
    assert not well_formed(model.inputs, model.inputs.put(table, **columns)[0])
