"""A constraint: states outside are judged and not followed, as TLC does, and then nothing holds."""

import itertools
import random
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from attrs import evolve, frozen

import kraftcheck as kc
from kraftcheck.ci.dataset.search.committed import refuse_constraint
from kraftcheck.model.language.system import System
from kraftcheck.solvers.exploration.explore import explore
from kraftcheck.solvers.mutants.mutate import mutate
from kraftcheck.solvers.program.parts import SystemFault
from kraftcheck.solvers.program.verdict import Holds, Incomplete, Refuted
from kraftcheck.solvers.reference.interpreter import Integers
from kraftcheck.solvers.tla.module import module
from tests.random_systems.building import build
from tests.random_systems.claims import drawing
from tests.random_systems.nodes import Node, in_rules, text
from tests.random_systems.systems import drawn
from tests.shared.explored import traced


@frozen
class Climb:
    """Two numbers that rise."""

    high: Any
    low: Any


def climb(within: Callable[[Climb], Any] | None, *more: kc.Property, top: int = 20) -> kc.System:
    """The first rises without end, the second up to the first."""
    return kc.System(
        name="climb", summary="Two numbers that rise.", layout=Climb(kc.ints(0, top), kc.ints(0, top)),
        initial=[Climb(0, 0)], within=within,
        actions=[
            kc.Action("rise", lambda state: evolve(state, high=state.high + 1)),
            kc.Action("follow", lambda state: evolve(state, low=state.low + 1), lambda state: state.low < state.high),
        ],
        properties=[
            kc.always("ordered", "low is at most high", lambda state: state.low <= state.high),
            kc.always("below-five", "high is below 5", lambda state: state.high < 5),
            kc.step("stays-below", "no step leads to 5", lambda step: step.after.high < 5),
            kc.sometimes("five", "high is 5", lambda state: state.high == 5),
            kc.sometimes("six", "high is 6", lambda state: state.high == 6),
            *more,
        ],
    )  # fmt: skip


def below_five(state: Climb) -> Any:
    """The numbers have a sum below 5."""
    return state.high + state.low < 5


CLIMB = climb(below_five)


def test_states_outside_are_judged_and_not_followed() -> None:
    """Three states are outside: claims about them and the steps there are judged, and nothing follows them."""
    found = kc.explore(climb(below_five))
    assert found.exploration is not None
    assert (found.exploration.distinct, found.exploration.outside, found.exploration.generated) == (12, 3, 16)
    for claim in ("below-five", "stays-below"):
        verdict = found.verdict(claim)
        assert isinstance(verdict, Refuted)
        assert len(verdict.trace.steps) == 5
    assert isinstance(found.verdict("five"), Holds)


def test_nothing_holds_where_a_state_is_outside() -> None:
    """Invariants, goals and deadlock are incomplete, with the number of states that were not followed."""
    found = kc.explore(climb(below_five))
    for claim in ("ordered", "six", "deadlock"):
        assert found.verdict(claim) == Incomplete("3 states are outside within=: judged, and not followed")
    assert "incomplete: 3 states are outside" in str(found)
    with pytest.raises(AssertionError, match="incomplete"):
        found.assert_holds("ordered")


def test_a_constraint_that_leaves_nothing_out_changes_nothing() -> None:
    """Where every state is within, what holds holds, and the numbers are those without a constraint."""

    def lamp(within: Any) -> kc.System:
        return evolve(climb(within, top=4), actions=lambda setting: [
            kc.Action("rise", lambda state: evolve(state, high=state.high + 1), lambda state: state.high < 4)
        ], quiescent=lambda state: state.high == 4)  # fmt: skip

    one, other = kc.explore(lamp(lambda state: state.high < 9)), kc.explore(lamp(None))
    assert one.exploration is not None
    assert other.exploration is not None
    assert (one.exploration.levels, one.exploration.outside) == (other.exploration.levels, 0)
    assert one.verdicts == other.verdicts
    assert isinstance(one.verdict("ordered"), Holds)
    assert "guards never false: rise: within" not in str(one)


def test_an_initial_state_may_be_outside() -> None:
    """It is judged, and not followed."""
    found = kc.explore(evolve(climb(below_five), initial=lambda setting: [Climb(7, 0)]))
    assert found.exploration is not None
    assert (found.exploration.distinct, found.exploration.outside) == (1, 1)
    assert isinstance(found.verdict("below-five"), Refuted)
    assert isinstance(found.verdict("deadlock"), Incomplete)


def test_a_proof_does_not_read_the_constraint() -> None:
    """What is proven holds beyond it; what fails beyond it is not proven, and not called unreachable."""
    system = climb(below_five, kc.always("below-six", "high is below 6", lambda state: state.high < 6))
    proven = kc.prove(evolve(system, layout=lambda setting: Climb(kc.ints(0, 20, cap="c"), kc.ints(0, 20, cap="c"))))
    assert isinstance(proven.verdict("ordered"), Holds)
    assert not isinstance(proven.verdict("below-six"), Holds)


def test_what_is_about_the_future_is_refused() -> None:
    """`recovers` and liveness are refused beside a constraint, and so is Spark, each in one line."""
    for claim in (
        kc.recovers("back", "it can go back", lambda state: state.high == 0),
        kc.eventually("rises", "it rises", lambda state: state.high == 3),
    ):
        with pytest.raises(kc.Refusal, match=f"property {claim.id} is about all that may follow"):
            kc.explore(climb(below_five, claim))
    with pytest.raises(kc.Refusal, match="explore natively"):
        refuse_constraint(traced(climb(below_five)), "disk")
    with pytest.raises(SystemFault, match="within= gave 3, not a truth"):
        traced(climb(lambda state: 3))


def test_mutants_keep_the_constraint() -> None:
    """The mutated system has it too."""
    system = climb(below_five)
    assert mutate(system, system.setting()).program.within is not None


def test_the_constraint_is_written_for_tlc() -> None:
    """Guards are written without it, and the configuration names it."""
    made = module(traced(climb(below_five)), "Climb", "made by a test")
    assert "CONSTRAINT Within" in made.configuration.splitlines()
    plain = module(traced(climb(None)), "Climb", "made by a test")
    assert made.text.partition("Next ==")[0] == plain.text.partition("Next ==")[0]


def constrained_systems(count: int) -> Iterator[tuple[System, tuple[Node, Any]]]:
    """Random systems with a random constraint; claims about the future are left out."""
    for seed in range(count):
        machine = drawn(seed).machine
        rule = drawing(random.Random(f"within/{seed}"), machine).draw("truth", 3)
        system, bounds = build(machine), machine.bounds
        claims = [one for one in system.properties(system.setting()) if one.kind != "recovers"]
        yield evolve(
            system, properties=lambda setting, claims=claims: claims,
            within=lambda state, rule=rule, bounds=bounds: in_rules(rule, (state, None, None, None, bounds)),
        ), (rule, claims)  # fmt: skip


def by_hand(system: System) -> tuple[int, int, int, dict[str, int]]:
    """States, those outside, generated ones, and the shortest way to break each claim, on ints alone."""
    engine, within = Integers(evolve(system, within=None), system.setting()), system.within
    assert within is not None
    level = list(dict.fromkeys(engine.initial))
    seen, outside, generated, broken = set(level), 0, len(level), dict[str, int]()
    for depth in itertools.count():
        following = []
        for state in level:
            for one in engine.broken(state, None):
                broken.setdefault(one.claim, depth)
            if not within(state):
                outside += 1
                continue
            if engine.deadlock(state):
                broken.setdefault("deadlock", depth)
            for move in engine.enabled(state):
                step = engine.take(state, move).step
                if engine.field_outside(step.after) is None:
                    generated += 1
                    for one in engine.broken(step.after, step):
                        if one.kind == "step":
                            broken.setdefault(one.claim, depth + 1)
                    following += [] if step.after in seen else [step.after]
                    seen.add(step.after)
        if not following:
            return len(seen), outside, generated, broken
        level = following
    raise AssertionError("the levels have no end")


def agree(count: int) -> int:
    """Compiled code, with its audit, finds what ints find; returns how many systems have states outside."""
    some = 0
    for system, (rule, _) in constrained_systems(count):
        found = explore(traced(system), clock=time.monotonic)
        states, outside, generated, broken = by_hand(system)
        assert (found.distinct, found.outside, found.generated) == (states, outside, generated), text(rule)
        shortest = {one.claim: one.depth for one in found.verdicts if isinstance(one.verdict, Refuted)}
        assert shortest == broken, text(rule)
        held = [one for one in found.verdicts if isinstance(one.verdict, Holds) and one.verdict.witness is None]
        assert not (outside and held), text(rule)
        some += outside > 0
    return some


def test_random_constraints_agree_with_ints() -> None:
    """States, generated states, and the shortest counterexamples are those of a naive search on ints."""
    assert agree(4) > 0


@pytest.mark.slow
def test_many_random_constraints_agree_with_ints() -> None:
    """As above, of many more."""
    assert agree(300) > 100
