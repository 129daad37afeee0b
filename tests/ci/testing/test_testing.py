"""`kraftcheck.testing`: the parts with which users test systems of their own."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve, frozen
from hypothesis import given, settings

import kraftcheck as kc
from kraftcheck import testing
from kraftcheck.model.language.system import Bound


@frozen
class Counter:
    """A counter."""

    count: kc.Word


def counting(most: int) -> kc.System:
    """A counter that its bound limits, and a claim that it stays at or below some number."""
    return kc.System(
        name="counting", summary="It counts.", initial=[Counter(0)], scopes={"default": {"top": 3}},
        bounds=(Bound("top", 1, 3, "where it ends"),), layout=lambda setting: Counter(kc.ints(0, setting["top"] + 1)),
        actions=lambda setting: [
            kc.Action("rise", lambda s: Counter(s.count + 1), lambda s: s.count < setting["top"]),
            kc.Action("fall", lambda s: Counter(s.count - 1), lambda s: s.count > 0),
        ],
        properties=[
            kc.always("low", "it stays low", lambda s: s.count <= most),
            kc.sometimes("rises", "it rises", lambda s: s.count > 0),
        ],
    )  # fmt: skip


FEW = settings(max_examples=50, stateful_step_count=20, derandomize=True, deadline=None, database=None)


def test_a_machine_goes_beyond_the_bounds_of_a_search() -> None:
    """The machine of a system finds at a bound that a search refuses what does not hold there, in the fewest steps."""
    testing.run(testing.machine(counting(3)), chosen=FEW)
    with pytest.raises(kc.Refusal, match=r"top = 9 is out of range 1\.\.3"):
        kc.explore(counting(3), top=9)
    with pytest.raises(testing.Violation) as found:
        testing.run(testing.machine(counting(3), top=9), chosen=FEW)
    assert len(found.value.transitions) == 4


def test_a_machine_of_a_changed_system_runs_its_rules() -> None:
    """A guard that is replaced by one that is always true enables its action in the machine of that system alone."""

    def always(self: Any, state: Any, broker: Any) -> Any:
        return {"always": state.leader == state.leader}

    plain = kc.kafka("sessions", "fixed")
    enabled = []
    for system in (plain, plain.override("shutdown.broker-follows-metadata", always), plain):
        engine = testing.machine(system).engine
        (kind,) = [number for number, action in enumerate(engine.actions) if action.name == "apply"]
        enabled.append(engine.first_enabled(engine.initial[0], kind) is not None)
    assert enabled == [False, True, False]


def test_assert_holds_judges_as_the_marker_does(tmp_path: Any) -> None:
    """It passes what holds and what is expected, and fails with the trace of what does not hold, by each engine."""
    for engine in ("explore", "simulate", "hypothesis"):
        how: dict[str, Any] = {"engine": engine, "out": tmp_path}
        how |= {} if engine == "explore" else {"runs": 50, "steps": 20}
        testing.assert_holds(counting(3), **how)
        testing.assert_holds(counting(2), expect={"low": "refuted 3"}, **how)
        testing.assert_holds(counting(2), expect={"low": "refuted"}, **how)
        with pytest.raises(AssertionError, match=r"low: it stays low\n.*(\n.*)*\n  3  rise\(\)"):
            testing.assert_holds(counting(2), **how)
        with pytest.raises(AssertionError, match="low: expected refuted, got"):
            testing.assert_holds(counting(3), expect={"low": "refuted"}, **how)


def test_what_cannot_be_asked_is_refused() -> None:
    """An unknown bound, one that is too small, and liveness of a machine are refused by name."""
    with pytest.raises(kc.Refusal, match="counting has no bound 'tip'; did you mean top"):
        testing.machine(counting(3), tip=2)
    with pytest.raises(kc.Refusal, match="top = 0 is out of range"):
        testing.machine(counting(3), top=0)
    live = evolve(counting(3), properties=[kc.eventually("ends", "it ends", lambda s: s.count == 3)])
    with pytest.raises(ValueError, match="machines check safety only; leave the liveness out: ends"):
        testing.machine(live)
    with pytest.raises(kc.Refusal, match="hypothesis"):
        testing.assert_holds(live, engine="hypothesis")
    ways_out = evolve(counting(3), properties=[kc.recovers("back", "it can be 0 again", lambda s: s.count == 0)])
    for engine in ("simulate", "hypothesis"):
        with pytest.raises(kc.Refusal, match=rf"the engine {engine} does not judge back; take the engine"):
            testing.assert_holds(ways_out, engine=engine)


def test_strategies_draw_from_a_system() -> None:
    """The interpreter of a system is there for strategies of reachable states and of enabled steps."""
    seen = set()

    @FEW
    @given(testing.reachable(testing.integers(counting(3)), steps=3))
    def draw(state: Counter) -> None:
        seen.add(state.count)

    draw()
    assert {0, 1} < seen <= {0, 1, 2, 3}
