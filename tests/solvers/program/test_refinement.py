"""Refinement: a system refines another where each step is one there, or none; a trace ends with one that is not."""

import threading
import time
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve, frozen
from hypothesis import settings

import kraftcheck as kc
from kraftcheck.model.language.system import Property
from kraftcheck.solvers.hypothesis.machine import Violation, machine, run
from kraftcheck.solvers.program.parts import SystemFault
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.program.verdict import Holds, Refuted, Unknown, Vacuous
from kraftcheck.solvers.reference.interpreter import Integers
from kraftcheck.solvers.smt.induction import prove
from kraftcheck.solvers.smt.queries import Effort
from kraftcheck.solvers.smt.runs.bounded import check_bounded, check_inductive
from kraftcheck.solvers.smt.theory import theory
from kraftcheck.solvers.tla.module import module
from tests.examples.commit_refined import FAULTY, REFINING

EFFORT = Effort(timeout=20)


@frozen
class Count:
    """A number, and what nobody outside sees."""

    n: Any
    spare: Any


def counter(*more: Property, by: int = 1, start: int = 0, top: int = 8) -> kc.System:
    """A number that rises by one step or another, and a part that turns."""
    return kc.System(
        "counter", "A number rises.", layout=Count(kc.ints(0, top), kc.truth()), initial=[Count(start, False)],
        actions=[
            kc.Action("rise", lambda s, d: evolve(s, n=s.n + d), lambda s, d: s.n + d <= top,
                      {"d": tuple(range(1, by + 1))}),
            kc.Action("turn", lambda s: evolve(s, spare=kc.negate(s.spare))),
        ],
        properties=more,
    )  # fmt: skip


ABSTRACT = counter(by=2)


def claims(mapping: Any = lambda s: s, abstract: kc.System = ABSTRACT, **more: Any) -> tuple[Property, Property]:
    """That a counter refines an abstract one."""
    return kc.refines("refines", "it rises as the abstract one", abstract, mapping, **more)


def judged(system: kc.System) -> Any:
    """The verdict about refinement."""
    return kc.explore(system).verdict("refines")


def test_a_step_of_the_abstract_system_refines_it() -> None:
    """A counter by ones refines one by ones and twos; one by threes does not, and the trace ends with that step."""
    assert isinstance(judged(counter(*claims())), Holds)
    verdict = judged(counter(*claims(), by=3))
    assert isinstance(verdict, Refuted)
    assert [step.arguments for step in verdict.trace.steps] == [{"d": 3}]
    assert verdict.trace.failing == ("a step of counter, or none",)


def test_a_step_that_changes_nothing_there_stutters() -> None:
    """What the mapping forgets may change by any step; halving makes every other step one that changes nothing."""
    half = counter(by=1, top=4)
    assert isinstance(judged(counter(*claims(lambda s: Count(s.n // 2, False), half))), Holds)
    assert isinstance(judged(counter(*claims(lambda s: Count(s.n * 2, False), counter(by=1, top=16)))), Refuted)


def test_initial_states_have_to_be_initial_there() -> None:
    """A counter that begins elsewhere is refuted without a step, by every engine that judges it."""
    system = counter(*claims(), start=1)
    verdict = judged(system)
    assert isinstance(verdict, Refuted)
    assert (verdict.trace.steps, verdict.trace.failing) == ((), ("an initial state of counter",))
    subject = theory(system, system.setting())
    assert not prove(lambda: subject, effort=EFFORT, clock=time.monotonic).proven("refines")
    for check in (check_bounded, check_inductive):
        found = check(subject, ["refines"], 1, EFFORT, threading.Event())["refines"]
        assert isinstance(found, Refuted)
        assert found.trace.steps == ()
    (broken,) = Integers(system, system.setting()).broken(Count(1, False), None)
    assert broken.claim == "refines"
    result = kc.prove(system, properties=["refines"])
    assert isinstance(result.verdict("refines"), Refuted)


def test_described_initial_states_are_mapped_too() -> None:
    """Both systems may describe their initial states; one state too many refutes the claim."""

    def system(least: int) -> kc.System:
        abstract = evolve(ABSTRACT, initial=lambda setting: kc.all_where(lambda s: s.n > 1))
        concrete = counter(*claims(abstract=abstract))
        return evolve(concrete, initial=lambda setting: kc.all_where(lambda s: s.n > least))

    assert isinstance(judged(system(2)), Holds)
    verdict = judged(system(0))
    assert isinstance(verdict, Refuted)
    assert (verdict.trace.initial.n, verdict.trace.steps) == (1, ())


def test_a_state_outside_the_abstract_layout_is_none() -> None:
    """A step into a value that the abstract field does not have is no step there, though its action would allow it."""
    abstract = counter(by=1, top=3)
    verdict = judged(counter(*claims(abstract=abstract)))
    assert isinstance(verdict, Refuted)
    assert len(verdict.trace.steps) == 4
    assert "a state of counter" in verdict.trace.failing


def test_a_mapping_that_shows_nothing_is_vacuous() -> None:
    """Where no step changes the abstract state, the claim is vacuous; without its goal it is unknown."""
    claim, goal = claims(lambda s: Count(0, False))
    assert isinstance(judged(counter(claim, goal)), Vacuous)
    assert isinstance(judged(counter(claim)), Unknown)


def test_the_abstract_steps_may_be_named() -> None:
    """`by` names the candidates with their arguments; what it leaves out, or the abstract action lacks, refutes."""

    def by(step: kc.Step) -> list[tuple[str, dict[str, Any]]]:
        return [("rise", {"d": step.arguments["d"]})] if step.action == "rise" else [("turn", {})]

    assert isinstance(judged(counter(*claims(by=by))), Holds)
    assert isinstance(judged(counter(*claims(by=lambda step: []))), Refuted)
    assert isinstance(judged(counter(*claims(by=by), by=3)), Refuted)
    three = counter(by=3)
    tripled = claims(abstract=evolve(three, actions=lambda setting: [
        evolve(action, parameters={"d": (1, 2)} if action.parameters else {}) for action in three.actions(setting)
    ]), by=by)  # fmt: skip
    assert isinstance(judged(counter(*tripled, by=3)), Refuted)


def test_what_does_not_fit_is_refused() -> None:
    """A mapping to another shape, an unknown action and other arguments are refused in one line."""
    for wrong, message in (
        (claims(lambda s: s.n), r"the mapping gives no state of counter: .*\w"),
        (claims(by=lambda step: [("fall", {})]), "counter has no action 'fall'; it has rise, turn"),
        (claims(by=lambda step: [("rise", {})]), "counter: rise takes d"),
    ):
        system = counter(*wrong)
        with pytest.raises(SystemFault, match=message):
            trace(system, system.setting())


def test_symmetry_does_not_hide_an_initial_state() -> None:
    """Of states that differ by names alone, each is mapped: one that is initial nowhere refutes the claim."""

    @frozen
    class Pair:
        who: tuple[Any, ...]
        rest: Any

    layout = Pair((kc.ints(0, 1),) * 2, kc.truth())
    turn = kc.Action("turn", lambda s: evolve(s, rest=kc.negate(s.rest)))
    abstract = kc.System("abstract", "a", [Pair((0, 1), False)], [turn], layout)
    both = [Pair((0, 1), False), Pair((1, 0), False)]
    concrete = kc.System(
        "pair", "p", both, [turn], layout, kc.refines("refines", "r", abstract, lambda s: s),
        symmetries=[kc.Symmetry("pair", 2, tuples=("who",))],
    )  # fmt: skip
    verdict = kc.explore(concrete, symmetry=True).verdict("refines")
    assert isinstance(verdict, Refuted)
    assert verdict.trace.initial.who == (1, 0)


def test_hypothesis_judges_the_initial_state() -> None:
    """A run of Hypothesis that begins in a state that is initial nowhere else fails."""
    engine = Integers(counter(*claims(), start=1), ABSTRACT.setting())
    with pytest.raises(Violation, match="refines"):
        run(machine(engine), chosen=settings(max_examples=5, stateful_step_count=3, derandomize=True, database=None))


def test_two_phase_commit_refines_commit() -> None:
    """It is explored and proven; where the coordinator commits too early, it is refuted by the first commit."""
    assert isinstance(kc.explore(REFINING).verdict("refines-commit"), Holds)
    assert isinstance(kc.prove(REFINING, properties=["refines-commit"]).verdict("refines-commit"), Holds)
    verdict = kc.explore(FAULTY).verdict("refines-commit")
    assert isinstance(verdict, Refuted)
    assert verdict.trace.steps[-1].action == "hear_commit"
    assert len(verdict.trace.steps) == 6


def test_the_claim_is_written_for_tlc(tmp_path: Path) -> None:
    """The property of TLA+ is about the initial state and about every step."""
    system = counter(*claims())
    made = module(trace(system, system.setting()), "Counter", "made by a test")
    text = made.text.partition("refines ==")[2]
    assert "/\\" in text.partition("[][")[0]
    assert "PROPERTY refines" in made.configuration
