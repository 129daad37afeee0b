"""The controller of `replication` does nothing but what `elections` does, under the same rules."""

import time

import pytest
from attrs import evolve

import kraftcheck as kc
from kraftcheck.ci.systems.subject import subject
from kraftcheck.model.language.system import System
from kraftcheck.solvers.exploration.explore import explore
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.program.verdict import Holds, Refuted, Verdict

BOUNDS = {"reassignment": 0}  # nothing is reassigned in `replication tiny`


def abstract(rules: str, without: str = "") -> System:
    """`elections`, from where `replication` begins, without one action."""
    chosen, concrete = subject("elections", "tiny", BOUNDS, rules), subject("replication", "tiny", {}, rules)
    starts = [state.controller for state in concrete.system.initial(concrete.setting)]
    actions = [one for one in chosen.system.actions(chosen.setting) if one.name != without]
    return evolve(chosen.system, initial=starts, actions=actions)


def judged(rules: str, without: str = "") -> Verdict:
    """Whether `replication` refines it."""
    concrete, chosen = subject("replication", "tiny", {}, rules), subject("elections", "tiny", BOUNDS, rules)
    claims = kc.refines("refines-elections", "the controller does what elections does", abstract(rules, without),
                        lambda state: state.controller, setting=chosen.setting)  # fmt: skip
    program = trace(evolve(concrete.system, properties=claims), concrete.setting)
    return explore(program, clock=time.monotonic).verdict("refines-elections").verdict


@pytest.mark.slow
@pytest.mark.parametrize("rules", ["fixed", "kafka-4.0"])
def test_replication_refines_elections(rules: str) -> None:
    """Each of its steps is a step of `elections`, or leaves the registration as it is."""
    assert isinstance(judged(rules), Holds)


@pytest.mark.slow
def test_an_elections_that_may_do_less_is_not_refined() -> None:
    """Without AlterPartition the first change of an ISR is the step that no abstract action makes."""
    verdict = judged("fixed", without="alter_partition")
    assert isinstance(verdict, Refuted)
    assert verdict.trace.steps[-1].action == "alter_partition"


@pytest.mark.slow
def test_replication_begins_in_a_state_of_elections() -> None:
    """`elections` begins before ELR is on, and reaches the state in which `replication` begins."""
    chosen = subject("elections", "tiny", BOUNDS, "fixed")
    found = explore(trace(evolve(chosen.system, properties=()), chosen.setting), clock=time.monotonic)
    assert found.store is not None
    for state in abstract("fixed").initial(chosen.setting):
        assert found.store.identify(found.program.layout.pack(state)) is not None
