"""Sessions: what can happen next, why the rest cannot, properties after each step, going back, and documents."""

import itertools

import pytest
from attrs import evolve

from kraftcheck.ci.systems.subject import program, subject
from kraftcheck.model.language.system import System
from kraftcheck.properties.kinds import happens
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.program.verdict import DEADLOCK, RUN
from kraftcheck.solvers.reference.interpreter import Integers
from kraftcheck.solvers.stepping.session import Session, StepRefused
from kraftcheck.solvers.traces import itf
from kraftcheck.solvers.traces.render import call
from tests import toys


def session(system: System, **bounds: int) -> Session:
    """A session in the first initial state of a system at its default scope."""
    return Session.begin(trace(system, system.setting(overrides=bounds)))


def findings(walk: Session) -> dict[str, str]:
    """What the present step says of each property, by id."""
    return {status.claim.id: status.finding for status in walk.properties}


def take(walk: Session, *texts: str) -> Session:
    """The session after enabled steps that are named as traces name them."""
    for text in texts:
        walk = walk.take(next(choice.instance for choice in walk.enabled if str(choice) == text))
    return walk


def test_an_action_is_offered_with_its_arguments_or_with_the_conjuncts_that_fail() -> None:
    """From node 0 two edges can be followed; the others fail by a named conjunct, `escape` by its whole guard."""
    walk = session(toys.DIGRAPH)
    assert [str(choice) for choice in walk.enabled] == [
        "follow(edge=(source=0, target=1))", "follow(edge=(source=0, target=6))"
    ]  # fmt: skip
    reasons = {choice.action: choice.failing for choice in walk.disabled}
    assert reasons == {"follow": ("at the edge's source",), "escape": ("guard",)}
    assert len(walk.enabled) + len(walk.disabled) == walk.program.instances


@pytest.mark.parametrize("system", [toys.CLOCK, toys.DIGRAPH, toys.COUNTER, toys.STUCK, toys.VALVE, "sessions"])
def test_every_step_leads_where_the_interpreter_leads(system: System | str) -> None:
    """In the first states of each system the same steps can be taken as the interpreter takes, to the same states."""
    chosen = subject(system, None, {}, None)
    ints, traced = Integers(chosen.system, chosen.setting), program(chosen)
    queue = [Session.begin(traced, number) for number in range(len(traced.initial))]
    visited = {first.state for first in queue}
    for walk in itertools.islice(queue, 200):  # the queue grows as it is read
        expected = {}
        for move in ints.enabled(walk.state):
            step = ints.take(walk.state, move).step
            if ints.field_outside(step.after) is None:
                expected[call(step.action, step.arguments)] = step.after
        possible = [choice for choice in walk.enabled if choice.instance not in walk.beyond]
        after = {str(choice): walk.take(choice.instance) for choice in possible}
        assert {text: next_.state for text, next_ in after.items()} == expected
        assert walk.deadlock == (ints.deadlock(walk.state) is not None)
        queue += [next_ for next_ in after.values() if next_.state not in visited]
        visited |= {next_.state for next_ in after.values()}
    assert len(visited) > 1


def test_a_session_goes_back_and_the_later_one_stays() -> None:
    """Undoing, and jumping to a step, give another session; the one before still has its steps."""
    walk = take(session(toys.DIGRAPH), "follow(edge=(source=0, target=6))", "follow(edge=(source=6, target=7))")
    assert [walk.undo().state.node, walk.undo(2).state.node, walk.at(1).state.node, walk.at(0).state.node] == [
        6,
        0,
        6,
        0,
    ]
    assert (walk.state.node, len(walk.steps)) == (7, 2)
    for absent in (-1, 3):
        with pytest.raises(StepRefused, match=f"no step {absent}; the run has steps 0..2"):
            walk.at(absent)
    with pytest.raises(StepRefused, match="no step -1"):
        walk.undo(3)


def test_another_initial_state_can_be_chosen() -> None:
    """A session begins in any initial state of the program, and in no other."""
    clock = session(toys.CLOCK).program
    assert [Session.begin(clock, number).state.hand for number in (0, 1)] == [0, 1]
    with pytest.raises(StepRefused, match=r"no initial state 2; numbers are 0\.\.1"):
        Session.begin(clock, 2)


def test_properties_are_judged_at_each_step() -> None:
    """The counterexample 0 6 7 4 5 breaks both properties at its last step alone, and reaches one goal."""
    edges = [(0, 6), (6, 7), (7, 4), (4, 5)]
    walk = take(session(toys.DIGRAPH), *(f"follow(edge=(source={a}, target={b}))" for a, b in edges))
    assert findings(walk) == {
        "never-5": "fails", "never-4-to-5": "fails", "reach-5": "shown", "reach-8": "not shown"
    }  # fmt: skip
    by_step = [{s.claim.id: s.finding for s in statuses} for statuses in walk.properties_by_step()]
    assert [found["never-5"] for found in by_step] == ["holds"] * 4 + ["fails"]
    assert [found["never-4-to-5"] for found in by_step] == ["no case"] + ["holds"] * 3 + ["fails"]
    failing = {s.claim.id: s.failing for s in walk.properties if s.finding == "fails"}
    assert failing == {"never-5": ("never-5",), "never-4-to-5": ("not from 4 to 5",)}


def test_a_property_that_asks_for_recovery_is_open_where_it_fails() -> None:
    """One state neither holds nor refutes it: it is open, and without a case where it is not about the state."""
    shut = take(session(toys.VALVE), "shut()")
    assert findings(shut)["opens"] == "open"
    assert findings(shut)["shuts"] == "holds"
    assert findings(shut)["never-asked"] == "no case"
    assert findings(take(shut, "stick()"))["opens-unless-stuck"] == "no case"


def test_a_goal_about_steps_has_no_case_before_the_first() -> None:
    """Nothing happens in the initial state; the step that shows the goal shows it."""
    goal = happens("ticks-on", "The hand leaves 0.", lambda step: step.before.hand == 0)
    walk = session(evolve(toys.CLOCK, properties=[goal]))
    found = [findings(walk), findings(take(walk, "tick()")), findings(take(walk, "tick()", "tick()"))]
    assert [finding["ticks-on"] for finding in found] == ["no case", "shown", "not shown"]


def test_a_step_that_cannot_be_taken_is_refused_with_its_reason() -> None:
    """A false guard is named, so is a field that would leave its domain, and a number that is no instance."""
    walk = session(toys.COUNTER)
    arm = next(choice for choice in walk.choices if choice.action == "arm")
    with pytest.raises(StepRefused, match=r"^arm\(\) is not enabled: its guard is false$"):
        walk.take(arm.instance)
    full = take(walk, "add(n=2)", "add(n=2)")
    assert full.beyond == {1: "count = 6 is outside its domain 0..5"}
    with pytest.raises(StepRefused, match=r"^add\(n=2\) leads beyond the scope: count = 6 is outside its domain"):
        full.take(1)
    for absent in (-1, walk.program.instances):
        with pytest.raises(StepRefused, match=f"no action instance {absent}"):
            walk.take(absent)
    with pytest.raises(StepRefused, match=r"^step 2: arm\(\) is not enabled"):
        Session.along(walk.program, 0, [0, arm.instance])


@pytest.mark.parametrize(("system", "stuck"), [(toys.STUCK, True), (toys.RESTING, False)])
def test_a_state_without_steps_is_a_deadlock_unless_it_is_quiescent(system: System, stuck: bool) -> None:
    """At 3 no action is enabled: a deadlock of the one, the rest of the other."""
    walk = take(session(system), *["next()"] * 3)
    assert (walk.deadlock, walk.undo().deadlock) == (stuck, False)
    assert walk.trace().kind == (DEADLOCK if stuck else RUN)


def test_a_run_is_written_and_read_back() -> None:
    """The document of a session leads to the same session, about the property that fails, or about none."""
    walk = take(session(toys.DIGRAPH), "follow(edge=(source=0, target=6))", "follow(edge=(source=6, target=7))")
    broken = take(walk, "follow(edge=(source=7, target=4))", "follow(edge=(source=4, target=5))")
    for run, claim in ((walk.at(0), RUN), (walk, RUN), (broken, "never-5")):
        recipe = itf.recipe(run.document("tests.toys:DIGRAPH", None))
        assert (recipe.property, recipe.shortest) == (claim, False)
        back = Session.of_recipe(run.program, recipe)
        assert (back.start, back.instances, back.state) == (run.start, run.instances, run.state)


def test_a_document_whose_states_are_others_is_refused() -> None:
    """The states in a file are compared with those that the rules lead to."""
    walk = take(session(toys.DIGRAPH), "follow(edge=(source=0, target=6))")
    recipe = itf.recipe(walk.document("tests.toys:DIGRAPH", None))
    other = evolve(recipe, states=(recipe.states[0], {"node": {"#bigint": "1"}}))
    with pytest.raises(itf.TraceError, match=r"states\[1\].node"):
        Session.of_recipe(walk.program, other)
