"""Fields of any number of participants: a step that may take one out of its domain is told, and which field it is."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import pytest
from attrs import evolve, frozen

import kraftcheck as kc
from kraftcheck.model.language.layout import Range
from kraftcheck.solvers.smt.queries import PROVEN, Effort, Obligation, Questions
from kraftcheck.solvers.smt.reading.goals.prover import GoalProver
from kraftcheck.solvers.smt.theory import DOMAINS
from kraftcheck.solvers.smt.worker import rests_on
from tests.solvers.smt.asking import any_theory

CAP = "more of it is not looked at"


@frozen
class Tank:
    """Who may open it, its level, which must stay in its domain, and what is spilt, which is looked at up to a cap."""

    keys: Any
    level: Any
    spilt: Any


STEPS = {
    "keep": lambda s: evolve(s, level=kc.choose(s.level < 3, s.level + 1, 0)),
    "over": lambda s: evolve(s, level=s.level + 1),
    "spill": lambda s: evolve(s, spilt=s.spilt + 1),
    "all": lambda s: evolve(s, level=s.level + 1, spilt=s.spilt + 1),
    "under": lambda s: evolve(s, spilt=s.spilt - 1),
    "double": lambda s: evolve(s, level=s.level + s.level),
}


def prover() -> GoalProver:
    """What proves goals about any number of keys."""
    system = kc.System(
        name="tank", summary="A tank.", bounds=[kc.Bound("n", 1, 5, "how many keys", takes_any=True)],
        layout=lambda at: Tank(kc.set_below(at["n"]), Range(0, 3), Range(0, 2, cap=CAP)),
        initial=lambda setting: [kc.all_where(lambda s: {"empty": kc.all_of(s.level == 0, s.spilt == 0)})],
        properties=[kc.always("low", "the level is low", lambda s: s.level <= 1)],
        actions=[kc.Action(name, step) for name, step in STEPS.items()], scopes={"default": {"n": 2}},
    )  # fmt: skip
    return GoalProver(Questions(any_theory(system)), Effort(), time.monotonic)


@pytest.mark.parametrize(("action", "assumed", "left", "beyond_caps"), [
    ("keep", [], (), ()), ("over", [], ("level",), ("level",)), ("over", ["low"], (), ()),
    ("spill", [], ("spilt",), ()), ("all", [], ("level", "spilt"), ("level",)), ("all", ["low"], ("spilt",), ()),
    ("under", [], ("spilt",), ("spilt",)), ("double", [], ("level",), ("level",)), ("double", ["low"], (), ()),
])  # fmt: skip
def test_just_the_fields_that_a_step_may_take_out_of_their_domains_are_told(
    action: str, assumed: Sequence[str], left: tuple[str, ...], beyond_caps: tuple[str, ...]
) -> None:
    """That no field leaves is proven just where none does, from what may be assumed; beyond a cap a field may go."""
    asked, obligation = prover(), Obligation(DOMAINS[0], action)
    answer = asked.domains(obligation, assumed)
    assert (answer.result == PROVEN, rests_on(answer)) == (
        not beyond_caps, list(assumed) if not beyond_caps else [])  # fmt: skip
    assert asked.fields_left(obligation, assumed)[0] == left
    assert asked.fields_left(obligation, assumed, or_capped=True)[0] == beyond_caps
