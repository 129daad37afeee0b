"""What a certificate defines is what a system does: by every state, step and claim of drawn systems."""

import itertools
import random
from typing import Any

import pytest
import z3
from attrs import evolve, frozen

import kraftcheck as kc
from kraftcheck.ci.prove.check_certificate import DefinedSystem
from kraftcheck.ci.prove.comparison import remarks
from kraftcheck.model.language.system import ANY
from kraftcheck.solvers.certificates.certificate import definition
from kraftcheck.solvers.certificates.witnesses import Witnesses
from kraftcheck.solvers.smt.theory import theory
from tests.shared.any_number import MAJORITY
from tests.solvers.smt.runs.graphs import NODES, PLACES, Drawn, Place, drawn, of

INVARIANTS, STEPS, ACTIONS = ("first", "second"), ("third",), ("go", "leap")
NAMES = ("initially", "next", "domain: node", *(f"invariant: {name}" for name in INVARIANTS),
         *(f"action: {name}" for name in ACTIONS), *(f"{name}, step: third" for name in ACTIONS))  # fmt: skip


@frozen
class Read:
    """The definitions of a text, as Z3 reads them, by their names."""

    truths: dict[str, Any]

    def value(self, name: str, before: Place, after: Place = (0, 0), way: int = 0) -> bool:
        """The value of a definition, where each action has the same argument."""
        words = [z3.BitVec("$node", 3), z3.Bool("$flag"), z3.BitVec("$node'", 3), z3.Bool("$flag'")]
        arguments = [(z3.BitVec(f"${action}.way", 1), z3.BitVecVal(way, 1)) for action in ACTIONS]
        values = [value for node, flag in (before, after) for value in (z3.BitVecVal(node, 3), z3.BoolVal(bool(flag)))]
        found = z3.simplify(z3.substitute(self.truths[name], *zip(words, values, strict=True), *arguments))
        assert z3.is_true(found) or z3.is_false(found), found
        return z3.is_true(found)


def read(one: Drawn) -> Read:
    """What is defined of a system; who reads it knows no annotations."""
    text = definition(of(one.system()), INVARIANTS, STEPS)
    asked = "".join(f"(assert |{name}|)" for name in NAMES)
    return Read(dict(zip(NAMES, z3.parse_smt2_string(text + asked), strict=True)))


@pytest.mark.parametrize("seed", range(5))
def test_a_definition_is_of_the_states_and_steps_that_there_are(seed: int) -> None:
    """Initial states, the layout, invariants, and of each action its steps and what is claimed of them."""
    one = drawn(seed)
    defined = read(one)
    for place in PLACES:
        assert defined.value("initially", place) == (place in one.initial)
        for name in INVARIANTS:
            assert defined.value(f"invariant: {name}", place) == (place in one.good[name])
    assert [defined.value("domain: node", (node, 0)) for node in range(8)] == [node < NODES for node in range(8)]
    for place, way in itertools.product(PLACES, (0, 1)):
        to = {name: one.steps[name, way].get(place) for name in ACTIONS}
        for after in PLACES:
            taken = [defined.value(f"action: {name}", place, after, way) for name in ACTIONS]
            assert taken == [to[name] == after for name in ACTIONS]
            assert defined.value("next", place, after, way) == any(taken)
        for name, after in to.items():
            if after in PLACES:
                assert defined.value(f"{name}, step: third", place, way=way) != one.breaks("third", place, after)


def test_what_is_claimed_of_nothing_is_named() -> None:
    """Invariants of all states, actions that invariants never enable, and step properties of all steps; no other."""
    seen, pairs = set[str](), [*itertools.product(PLACES, PLACES)]
    for seed in range(6):
        one, dice = drawn(seed), random.Random(seed)
        good = {name: dice.choice((PLACES, one.good[name])) for name in INVARIANTS}
        one = evolve(one, good=good, allowed={"third": dice.choice((pairs, one.allowed["third"]))})
        held = [place for place in PLACES if all(place in good[name] for name in INVARIANTS)]
        gone = [place for place in PLACES if place not in held]
        never = {("leap", way): dict.fromkeys(gone, (0, 0)) for way in (0, 1)} if gone else {}
        one = evolve(one, steps={**one.steps, **never})
        wanted = {f"invariant: {name}" for name in INVARIANTS if {*good[name]} == {*PLACES}}
        wanted |= {f"action: {name}" for (name, _) in never}
        ends = [(place, to) for led in one.steps.values() for place, to in led.items()]
        wanted |= {"step: third"} if all(not one.breaks("third", *end) for end in ends) else set()
        assert remarks(DefinedSystem(definition(of(one.system()), INVARIANTS, STEPS)))["of_nothing"] == sorted(
            wanted
        ), seed
        seen |= wanted
    assert seen == {"invariant: first", "invariant: second", "action: leap", "step: third"}


def test_a_set_of_initial_states_is_defined_before_them() -> None:
    """Where initial states ask for a size, its set has a definition, which a reader of SMT-LIB needs."""
    few = evolve(MAJORITY, initial=lambda setting: [kc.all_where(lambda s: {"few lead": s.leaders.size() < 2})])
    text = definition(theory(few, few.setting(None, {"voters": ANY}, proof=True)), (), ())
    asked = z3.parse_smt2_string(text + "(assert |initial: few lead|)")
    assert text.index("|set 1|") < text.index("|initial: few lead|")
    assert len(asked) == 1


@pytest.mark.parametrize("seed", range(6))
def test_a_witness_is_what_it_is_asked_for(seed: int) -> None:
    """Initial states, a state without an invariant, steps without a claim about steps, and a step from invariants."""
    one = drawn(seed)
    asked = Witnesses(of(one.system()))
    starts = asked.starts(len(PLACES))
    assert len(starts) == len({*starts})
    assert {*starts} == {*one.initial}
    assert len(asked.starts(1)) == 1
    for name, good in one.good.items():
        found = asked.against(name)
        assert found is None if {*good} == {*PLACES} else found is not None and found.state not in good
    steps = {name: [(place, way) for (by, way), led in one.steps.items() if by == name for place in led]
             for name in ACTIONS}  # fmt: skip
    broken = {name for (name, _), led in one.steps.items() for end in led.items() if one.breaks("third", *end)}
    breaking = [*asked.breaking("third")]
    assert {found.action.action for found in breaking if found.action} == broken
    for found in breaking:
        assert found.action is not None
        state, (way,) = (found.state[0], found.state[1]), found.action.leaves
        assert one.breaks("third", state, one.steps[found.action.action, way][state])
    for name, ends in steps.items():
        taken, good = asked.enabling(name, INVARIANTS), [place for place in PLACES if not _broken(one, place)]
        within = [end for end in ends if end[0] in good and one.steps[name, end[1]][end[0]][0] < NODES]
        assert (taken is None) == (not within)
        assert taken is None or (taken.state, taken.action and taken.action.leaves[0]) in within


def _broken(one: Drawn, place: Place) -> bool:
    return any(one.breaks(name, None, place) for name in INVARIANTS)
