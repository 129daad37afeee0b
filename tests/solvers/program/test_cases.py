"""A claim about some states only is no pass unless its goal has shown one of them."""

import pytest
from attrs import evolve

from kraftcheck.model.language.words import any_of
from kraftcheck.properties.kinds import always, sometimes
from kraftcheck.solvers.program.verdict import Holds, Unknown, Vacuous
from tests.shared.shelf import explored
from tests.toys import CLOCK


@pytest.mark.parametrize(
    ("goals", "verdict"),
    [
        ([sometimes("late", "the clock shows its last hand", lambda s: s.hand == 1)], Holds),
        ([sometimes("late", "the clock shows a hand that it has not", lambda s: s.hand > 1)], Vacuous),
        ([sometimes("early", "the clock shows its first hand", lambda s: s.hand == 0)], Unknown),
        ([], Unknown),
    ],
    ids=["shown", "never shown", "another goal", "no goal"],
)
def test_a_case_that_nothing_shows_is_no_pass(goals: list[object], verdict: type) -> None:
    """It holds where the goal is reached, is vacuous where it is not, and unknown where no such goal is judged."""
    claim = evolve(always("odd", "a hand is not negative", lambda s: any_of(s.hand == 0, s.hand == 1)), case="late")
    found = explored(evolve(CLOCK, properties=lambda _: (claim, *goals)))
    assert {one.claim: type(one.verdict) for one in found.verdicts}["odd"] is verdict
