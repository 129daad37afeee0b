"""Expressions from Python: what `--invariant` and `--when` take as text, the functions take too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import frozen

import kraftcheck as kc
from kraftcheck.solvers.traces.itf import document


@frozen
class Dial:
    """A number that counts round."""

    x: kc.Word


DIAL = kc.System(
    "dial", "a dial", [Dial(0)], [kc.Action("turn", lambda s: Dial(kc.choose(s.x == 3, 0, s.x + 1)))],
    Dial(kc.ints(0, 7)), [kc.always("small", "it is small", lambda s: s.x < 4)],
)  # fmt: skip


def judged(found: Any) -> Mapping[str, str]:
    """The verdicts in a word each."""
    return {claim: type(verdict).__name__ for claim, verdict in found.verdicts.items()}


def test_an_expression_is_a_property_of_the_name_that_it_is_given() -> None:
    """By name or by text it is judged beside the system's own properties, or alone where it is named."""
    both = kc.explore(DIAL, invariants={"below-five": "x < 5", "even": "x != 1"}, when="x < 3")
    assert judged(both) == {
        "small": "Holds", "below-five": "Vacuous", "even": "Refuted", "x < 3": "Holds", "deadlock": "Holds",
    }  # fmt: skip
    assert [step.action for step in both.trace("even").steps] == ["turn"]
    assert judged(kc.explore(DIAL, invariants=["x < 3"], properties=["x < 3"])) == {"x < 3": "Refuted"} | {
        "deadlock": "Holds"
    }
    assert judged(kc.prove(DIAL, invariants={"four": "x < 4"}, properties=["four"])) == {"four": "Holds"}
    assert judged(kc.simulate(DIAL, runs=2, steps=9, invariants={"two": "x < 2"}))["two"] == "Refuted"


def test_an_expression_that_is_about_no_state_is_vacuous() -> None:
    """A condition that nothing reachable satisfies makes what it conditions vacuous."""
    assert judged(kc.explore(DIAL, invariants={"big": "x == 0"}, when="x > 5"))["big"] == "Vacuous"


def test_a_trace_of_a_named_expression_is_found_by_the_command_line() -> None:
    """The trace file names the property as the command line does, which knows no names of expressions."""
    asked = kc.explore(DIAL, invariants={"low": "x < 2"})
    told = document(asked.trace("low"), asked.exploration.program, "dial", None, True)["#meta"]["kraftcheck"]
    assert (told["property"], told["options"]) == ("x < 2", {"invariant": "x < 2"})
