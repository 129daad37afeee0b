"""Machines: a wrong rule is found, the right ones run beyond every layout, and nothing passes for want of cases."""

import itertools
import re
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from attrs import evolve
from hypothesis import Phase, core, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from kraftcheck import testing
from kraftcheck.model.language.layout import Layout, LayoutError, Range
from kraftcheck.model.language.system import Action, ScopeError, Step
from kraftcheck.properties.catalogue import SYSTEMS
from kraftcheck.solvers.hypothesis.machine import (
    DiffersError,
    Implementation,
    LeavesDomainError,
    NotJudgedWarning,
    SystemMachine,
    Violation,
    demanded,
    machine,
    other_examples,
    run,
)
from kraftcheck.solvers.hypothesis.tally import Tally, VacuousRun
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.program.verdict import Vacuous
from kraftcheck.solvers.reference.interpreter import Integers, permutation
from tests.shared.places import DOCS
from tests.solvers.hypothesis.long_runs import Beyond, settings_of
from tests.toys import CLOCK, COUNTER, DIGRAPH, STUCK, VALVE, Place

ELECTIONS = SYSTEMS["elections"]
REPLICATION = SYSTEMS["replication"]

LONG = ("directories", "kraft", "replication", "unclean-recovery", "zk-controller")
"""Systems whose machines take ten seconds and more until every action is reached; they run by night."""

SHORT = settings(max_examples=40, stateful_step_count=12, derandomize=True, database=None, deadline=None)
ROUND = settings(max_examples=max(1, settings().max_examples // 6))
LENGTH = ROUND.stateful_step_count


def engine(name: str, beyond: Beyond, variant: str = "") -> Integers:
    """A shipped system beyond its layouts."""
    return Integers(SYSTEMS[name], beyond.setting(SYSTEMS[name], LENGTH, variant))


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow) if n in LONG else n for n in SYSTEMS])
def test_mended_rules_keep_every_property_beyond_the_layouts(name: str) -> None:
    """Under the mended rules no run breaks a property; no bound cuts one; every action and goal is reached.

    An action or goal counts for the system, at whichever of its settings it is reached.
    """
    settings_ = settings_of(SYSTEMS[name])
    engines = [engine(name, beyond) for beyond in settings_]
    tally = demanded(*engines)
    pairs = zip(engines, settings_, strict=True)
    run(*(machine(made, weights=beyond.weights, tally=tally) for made, beyond in pairs), chosen=ROUND, rounds=90)
    assert tally.missing() == ()
    assert not tally.cut


def test_the_example_of_the_documentation_runs() -> None:
    """The machine that docs/how-to/testing.md shows passes as it stands."""
    text = (DOCS / "how-to" / "testing.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    exec(re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)[0], names)
    names["test_elections"]()
    assert names["Machine"].tally.missing() == ()


def counted(machine_: type[SystemMachine]) -> int:
    """Steps that a machine took."""
    return sum(count for (kind, _), count in machine_.tally.counts.items() if kind == "action")


def test_nine_brokers_have_no_layout() -> None:
    """What the machines run is refused as a scope, and beyond a scope no layout holds it."""
    beyond = settings_of(REPLICATION)[0]
    setting = beyond.setting(REPLICATION, 50)
    with pytest.raises(LayoutError, match="lower a bound"):
        trace(REPLICATION, setting)
    with pytest.raises(LayoutError, match="lower a bound"):
        Layout(REPLICATION.layout(setting))
    with pytest.raises(ScopeError, match="brokers = 9 is out of range"):
        REPLICATION.setting(overrides={"brokers": 9})


@pytest.mark.parametrize(("bound", "value"), [("brokers", 1), ("broker", 9)])
def test_beyond_still_refuses(bound: str, value: int) -> None:
    """Beyond the layouts, an unknown bound and one below its smallest value are refused as ever."""
    with pytest.raises(ScopeError, match=bound):
        ELECTIONS.unlimited_setting(overrides={bound: value})


@pytest.mark.parametrize(
    ("name", "variant", "claim"),
    [
        ("elections", "fenced-leader-acceptable", "leader-active"),
        ("elections", "leader-change-keeps-epoch", "new-leader-new-epoch"),
        ("replication", "leader-change-keeps-epoch", "epochs-monotone"),
    ],
)
def test_a_wrong_rule_is_found_beyond_the_layouts(name: str, variant: str, claim: str) -> None:
    """At nine brokers a wrong rule breaks its property, with a trace that ends in the failing state."""
    made = machine(engine(name, settings_of(SYSTEMS[name])[0], f"+{variant}"))
    with pytest.raises(Violation) as raised:
        run(made, chosen=settings(SHORT, phases=[Phase.generate]))
    found = raised.value
    broken = {one.claim for one in made.engine.broken(found.transitions[-1].step.after, found.transitions[-1].step)}
    assert claim in broken
    assert f"fails: {found.broken.claim}" in str(found)


def examples_until_refuted(how: Callable[[type[SystemMachine]], None]) -> tuple[int, list[int]]:
    """Of a machine that breaks a property: how many examples it ran, and the nodes that it shows in the end."""
    made = machine(Integers(DIGRAPH, DIGRAPH.setting()), tally=Tally())
    with pytest.raises(Violation) as raised:
        how(made)
    return made.tally.examples, [one.step.after.node for one in raised.value.transitions]


def as_test_case(made: type[SystemMachine]) -> None:
    """Run a machine as unittest and pytest do, with settings that ask Hypothesis to shrink."""
    made.TestCase.settings = settings(SHORT, phases=list(Phase))
    made.TestCase("runTest").runTest()


@pytest.mark.parametrize("how", [lambda made: run(made, chosen=SHORT), as_test_case], ids=["run", "TestCase"])
def test_hypothesis_does_not_shrink(how: Callable[[type[SystemMachine]], None]) -> None:
    """Once an example fails few others are run, as by `run` so by the test case, and the run is short in the end."""
    examples, nodes = examples_until_refuted(how)
    assert nodes == [6, 7, 4, 5]
    assert examples <= SHORT.max_examples


def test_a_run_out_of_its_domain_is_shortened() -> None:
    """A step beyond a domain without a cap is shown after the steps that it needs, and no others."""
    counting = Action("add", lambda state: Place(state.node + 1))
    idling = Action("idle", lambda state: Place(state.node), guard=lambda state: state.node == 0)
    drift = evolve(DIGRAPH, layout=lambda _: Place(Range(0, 3)), actions=lambda _: [idling, counting])
    with pytest.raises(LeavesDomainError, match=r"= 4 is outside its domain 0\.\.3") as raised:
        run(machine(Integers(drift, drift.setting()), tally=Tally()), chosen=SHORT)
    assert [one.step.action for one in raised.value.transitions] == ["add"] * 4


def test_deadlock_is_found() -> None:
    """A state without an enabled action that is not quiescent is a deadlock."""
    with pytest.raises(Violation, match="deadlock does not hold"):
        run(machine(Integers(STUCK, STUCK.setting())), chosen=SHORT)


def test_a_goal_out_of_reach_fails_the_run() -> None:
    """A run that shows no case of a goal is refused as vacuous, and says what it did show."""
    clock = evolve(CLOCK, properties=lambda setting: [
        evolve(claim, predicate=lambda state: state.hand > 5) if claim.id == "noon" else claim
        for claim in CLOCK.properties(setting)
    ])  # fmt: skip
    with pytest.raises(VacuousRun, match="never reached: goal noon") as raised:
        run(machine(Integers(clock, clock.setting())), chosen=SHORT)
    assert raised.value.verdicts == (Vacuous("goal noon"),)
    assert "actions: tick" in str(raised.value)


@pytest.mark.parametrize("given", [None, 7])
def test_rounds_draw_other_examples(given: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a seed given as without, no two rounds draw the same, and each draws the same again."""
    monkeypatch.setattr(core, "global_force_seed", given)

    def drawn(suffix: str) -> list[int]:
        found: list[int] = []

        class Draws(RuleBasedStateMachine):
            @rule(number=st.integers(0, 1 << 60))
            def keep(self, number: int) -> None:
                found.append(number)

        chosen = settings(SHORT, derandomize=given is None)
        run_state_machine_as_test(other_examples(Draws, suffix), settings=chosen)
        return found

    rounds = [drawn(str(number)) for number in range(3)]
    assert len({tuple(found) for found in rounds}) == 3
    assert [drawn(str(number)) for number in range(3)] == rounds


def test_a_run_without_examples_is_vacuous() -> None:
    """No example is no pass."""
    with pytest.raises(VacuousRun, match="any example"):
        Tally().verify()


def test_a_bound_that_cuts_is_counted() -> None:
    """A step beyond the counter's domain is not taken, and counted as cut by its field."""
    made = machine(Integers(COUNTER, COUNTER.setting()))
    run(made, chosen=SHORT)
    assert made.tally.cut["count"] > 0
    assert counted(made) > 100


def test_starts_replace_the_initial_states() -> None:
    """A machine begins in the states that it is given."""
    made = machine(Integers(DIGRAPH, DIGRAPH.setting()), starts=[Place(4)], tally=Tally())
    with pytest.raises(Violation) as raised:
        run(made, chosen=SHORT)
    assert [one.step.after.node for one in raised.value.transitions] == [5]


def test_a_start_outside_the_domains_is_refused() -> None:
    """A state that the layout does not hold is no place to start in."""
    with pytest.raises(ValueError, match=r"digraph: \(state\) of a state to start in is outside"):
        machine(Integers(DIGRAPH, DIGRAPH.setting()), starts=[Place(10)])


def test_weights_prefer_actions() -> None:
    """Of two actions that are enabled, one of weight 30 is picked far more often than one of weight 1."""
    both = evolve(DIGRAPH, actions=lambda setting: [
        evolve(DIGRAPH.actions(setting)[0], name=name, guard=None) for name in ("rare", "frequent")
    ])  # fmt: skip
    example = machine(Integers(both, both.setting()), weights={"frequent": 30})()
    example.begin(start=0, omitted=0)
    picked = [move.action for choice in range(0, 60_000, 17) if (move := example.enabled(choice, 0)) is not None]
    assert picked.count(1) > 15 * picked.count(0) > 0


@pytest.mark.parametrize("count", [1, 2, 5, 18])
def test_shuffled_orders_are_fair(count: int) -> None:
    """Choice 0 is the natural order; each number comes first about as often, and before each other half of the time."""
    orders = [list(permutation(count, choice)) for choice in range(2000)]
    assert all(sorted(order) == list(range(count)) for order in orders)
    assert orders[0] == list(range(count))
    first = [order[0] for order in orders]
    assert max(map(first.count, range(count))) <= 3 * min(map(first.count, range(count)))
    for one, other in itertools.combinations(range(count), 2):
        before = sum(order.index(one) < order.index(other) for order in orders)
        assert 0.45 <= before / len(orders) <= 0.55, (one, other)


def test_what_machines_do_not_judge_is_said() -> None:
    """A machine of a system with `recovers` claims warns of them by name, at the line that asked for it."""
    with pytest.warns(NotJudgedWarning, match="^valve: not judged by machines: opens") as told:
        testing.machine(VALVE)
    assert [one.filename for one in told] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert machine(Integers(CLOCK, CLOCK.setting())).__name__ == "ClockMachine"


class Walker:
    """What implements the digraph, but that it stays where an edge leads to node 4."""

    def __init__(self, start: Place) -> None:
        self.node = start.node

    def __call__(self, step: Step) -> None:
        target = step.after.node
        self.node = target if target != 4 else self.node
        assert self.node == target, "at another node"


def differing(implementation: Implementation) -> DiffersError:
    """How an implementation is found to differ from the digraph, which breaks no property here."""
    silent = evolve(DIGRAPH, properties=())
    made = testing.machine(silent, tally=Tally(), implementation=implementation)
    with pytest.raises(DiffersError) as raised:
        run(made, chosen=SHORT)
    return raised.value


def test_an_implementation_that_differs_is_found() -> None:
    """It takes each step of a run, what it raises is told, and no step of the run can be left out."""
    found = differing(Walker)
    nodes = [one.step.after.node for one in found.transitions]
    assert nodes[-1] == 4
    assert 4 not in nodes[:-1]
    assert len(set(nodes)) == len(nodes)
    assert re.match(r"the implementation differs after follow\(.*\): AssertionError: at another node\n", str(found))
    assert isinstance(found.__cause__, AssertionError)


def test_an_implementation_that_agrees_is_asked_of_every_step() -> None:
    """One that does what the model does is called with each step of each example, and nothing fails."""
    told: list[Step] = []
    made = machine(Integers(CLOCK, CLOCK.setting()), implementation=lambda start: told.append)
    run(made, chosen=SHORT)
    assert len(told) == counted(made) > 100


def refusing(start: Place) -> Any:
    """An implementation that cannot begin."""
    raise OSError("no room")


def resting(step: Step) -> Iterator[None]:
    """What compares nothing as it is called: it is a generator."""
    yield
    raise AssertionError


@pytest.mark.parametrize(
    ("implementation", "fault"),
    [
        (lambda start: lambda step: step.after.node == 4, "it returned False; assert what must be equal"),
        (refusing, "the implementation differs at the start: OSError: no room"),
        (lambda start: resting, "it returned <generator"),
    ],
    ids=["a comparison", "at the start", "a generator"],
)
def test_an_implementation_that_compares_nothing_does_not_pass(implementation: Implementation, fault: str) -> None:
    """What is returned instead of asserted is refused, and so is one that cannot begin."""
    assert fault in str(differing(implementation))


def test_an_implementation_that_takes_no_step_is_refused() -> None:
    """What a machine makes of the first state has to be called with steps."""
    made = machine(Integers(CLOCK, CLOCK.setting()), implementation=lambda start: start)
    with pytest.raises(TypeError, match=r"the implementation is .* cannot be called with a step"):
        run(made, chosen=SHORT)


def test_nothing_is_shown_as_none() -> None:
    """A field that stands for nothing in the initial state, written as a plain int, is `none` in a run's trace."""
    led = evolve(DIGRAPH, layout=Place(Range(-1, 5, none=-1)), initial=[Place(-1)],
                 actions=[Action("lead", lambda state: Place(5))])  # fmt: skip
    with pytest.raises(Violation, match=r"\n +node = none\n.*\n +node: none -> 5"):
        run(machine(Integers(led, led.setting()), tally=Tally()), chosen=SHORT)


def test_slowness_alone_fails_no_run() -> None:
    """Settings that say nothing of time fail no machine whose steps are slow, as Hypothesis has it for its own."""
    made = machine(Integers(CLOCK, CLOCK.setting()), implementation=lambda start: lambda step: time.sleep(0.3))
    run(made, chosen=settings(max_examples=1, stateful_step_count=2), rounds=20)
    assert counted(made) > 0
