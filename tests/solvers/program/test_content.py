"""Claims that no state and no step of the domains could break are vacuous, whoever judges them."""

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve, frozen

import kraftcheck as kc
from kraftcheck.model.language.terms import Graph
from kraftcheck.solvers.program.evaluation import evaluated
from kraftcheck.solvers.program.premises import NO_PROPERTIES, is_valid
from kraftcheck.solvers.program.trace import trace
from tests.shared.commands import kraftcheck


@frozen
class Dial:
    """A dial from 0 to 4, and a lamp."""

    at: kc.Word
    lit: kc.Truth


def dial(*claims: kc.Property) -> kc.System:
    """A dial that is turned from 0 to 3 and back to 0; it never comes to 4."""
    return kc.System(
        name="dial", summary="A dial.", layout=lambda _: Dial(kc.ints(0, 4), kc.truth()),
        initial=lambda _: [Dial(0, False)],
        actions=lambda _: [kc.Action("turn", lambda s: Dial(kc.choose(s.at < 3, s.at + 1, 0), kc.negate(s.lit)))],
        properties=list(claims),
    )  # fmt: skip


EMPTY: dict[str, kc.Property] = {
    "true": kc.always("c", "C.", lambda s: True),
    "domain": kc.always("c", "C.", lambda s: s.at <= 4),
    "either": kc.always("c", "C.", lambda s: kc.any_of(s.at < 2, s.at >= 2)),
    "implied": kc.always("c", "C.", lambda s: kc.implies(s.at == 2, s.at < 3)),
    "chosen": kc.always("c", "C.", lambda s: kc.choose(s.at < 2, s.at, 1) <= 1),
    "two fields": kc.always("c", "C.", lambda s: kc.any_of(s.lit, s.at < 2, kc.negate(kc.all_of(s.lit, s.at == 4)))),
    "step, true": kc.step("c", "C.", lambda t: True),
    "step, domain": kc.step("c", "C.", lambda t: t.after.at <= 4),
    "step, either": kc.step("c", "C.", lambda t: kc.any_of(t.before.at < 2, t.before.at >= 2)),
    "step, implied": kc.step("c", "C.", lambda t: kc.implies(t.after.at == 2, t.after.at < 3)),
}
"""Claims that are true of all words of the dial."""

FULL: dict[str, kc.Property] = {
    "unreached": kc.always("c", "C.", lambda s: s.at != 4),
    "one word of ten": kc.always("c", "C.", lambda s: kc.any_of(s.at != 4, kc.negate(s.lit))),
    "step, by the rules": kc.step("c", "C.", lambda t: t.after.lit != t.before.lit),
    "step, unreached": kc.step("c", "C.", lambda t: t.after.at <= 3),
}
"""Claims that hold, and that some word of the dial would break."""


@pytest.mark.parametrize("name", EMPTY)
def test_a_claim_that_nothing_could_break_is_vacuous(name: str) -> None:
    """Search, proof and walks call it vacuous, in the words of vacuous claims."""
    system = dial(EMPTY[name])
    said = f"every {'step' if 'step' in name else 'state'} that the domains allow satisfies it, so it checks nothing"
    for found in (kc.explore(system), kc.prove(system), kc.simulate(system, runs=4, steps=9)):
        told = found.verdict("c")
        assert isinstance(told, kc.Vacuous), found.engine
        assert told.reason == said
        assert found.exit_code == 21


@pytest.mark.parametrize("name", FULL)
def test_a_claim_that_some_word_would_break_holds(name: str) -> None:
    """A claim that only the rules keep is no empty one."""
    found = kc.explore(dial(FULL[name]))
    assert isinstance(found.verdict("c"), kc.Holds)
    assert found.exit_code == 0


EVERY_STATE: dict[str, kc.Property] = {
    "true": kc.sometimes("c", "C.", lambda s: True),
    "domain": kc.sometimes("c", "C.", lambda s: s.at <= 4),
    "either": kc.sometimes("c", "C.", lambda s: kc.any_of(s.at < 2, s.at >= 2)),
}
"""Goals that any state of the dial would show."""


@pytest.mark.parametrize("name", EVERY_STATE)
def test_a_goal_that_any_state_shows_is_vacuous(name: str) -> None:
    """Search and walks call it vacuous: that it is reached says nothing of the rules."""
    for found in (kc.explore(dial(EVERY_STATE[name])), kc.simulate(dial(EVERY_STATE[name]), runs=4, steps=9)):
        told = found.verdict("c")
        assert isinstance(told, kc.Vacuous), found.engine
        assert told.reason == "every state that the domains allow satisfies it, so it shows nothing"
        assert found.exit_code == 21
    assert kc.explore(dial(kc.sometimes("c", "C.", lambda s: s.at <= 3))).exit_code == 0


@pytest.mark.parametrize(("text", "code"), [("at <= 4", 21), ("1 < 2", 21), ("at <= 3", 0), ("at == 4", 21)])
def test_a_constant_expression_is_not_found(text: str, code: int) -> None:
    """A search for what every state satisfies finds nothing out, and does not pass."""
    ran = kraftcheck("explore", "tests.solvers.program.test_content:EMPTY_DIAL", "--quiet", "--find", text)
    said = "every state that the domains allow satisfies it, so it shows nothing"
    assert (ran.code, said in ran.out, "found in" in ran.out) == (code, code == 21 and text != "at == 4", code == 0)
    words = {"at <= 3": "found in 0 steps", "at == 4": "not reachable"}.get(text, "nothing is shown")
    assert ran.last == f"{words} (exit {code})"


IDLE: dict[str, kc.System] = {
    "no action": evolve(dial(FULL["step, unreached"]), actions=lambda _: [], quiescent=lambda s: True),
    "never enabled": evolve(
        dial(FULL["step, unreached"]), quiescent=lambda s: True,
        actions=lambda _: [kc.Action("turn", lambda s: Dial(4, s.lit), lambda s: s.at == 3)],
    ),
}  # fmt: skip
"""Dials that nobody turns."""


@pytest.mark.parametrize("name", IDLE)
def test_a_claim_about_steps_without_a_step_is_vacuous(name: str) -> None:
    """Where no step is taken a claim about steps says nothing."""
    found = kc.explore(IDLE[name])
    assert (type(found.verdict("c")), found.exit_code) == (kc.Vacuous, 21)


def test_a_system_without_properties_does_not_pass() -> None:
    """Nothing but deadlock is judged, which is said with the exit code of vacuous verdicts, unless that was asked."""
    for found in (kc.explore(dial()), kc.simulate(dial(), runs=4, steps=9)):
        assert found.verdict("deadlock") == kc.Vacuous("deadlock", NO_PROPERTIES)
        assert found.exit_code == 21
    with pytest.raises(kc.Refusal, match="no claim to prove"):
        kc.prove(dial())
    alone = kc.explore(dial(FULL["unreached"]), properties=["deadlock"])
    assert isinstance(alone.verdict("deadlock"), kc.Holds)
    assert alone.exit_code == 0


def test_the_command_line_says_so(tmp_path: Path) -> None:
    """Exit code 21 from `explore` and `simulate`, and the verdict in the document."""
    name = "tests.solvers.program.test_content:EMPTY_DIAL"
    assert kraftcheck("explore", name, "--quiet").last == "1 vacuous, 1 holds (exit 21)"
    ran = kraftcheck("simulate", name, "--runs", 5, "--steps", 5, "--quiet", "--json", tmp_path / "walks.json")
    assert (ran.code, ran.last) == (21, "nothing found in 5 runs, not a proof, 1 vacuous (exit 21)")
    assert list(json.loads((tmp_path / "walks.json").read_text())["vacuous"]) == ["c"]


EMPTY_DIAL = dial(EMPTY["either"])


TRUTHS: list[Callable[[Any, Any], Any]] = [
    lambda x, y: kc.any_of(x < y, x >= y), lambda x, y: x < y, lambda x, y: x + y >= x, lambda x, y: x * y <= 36,
    lambda x, y: x * y < 36, lambda x, y: kc.any_of(x != 5, y != 6), lambda x, y: kc.implies(x == y, x + y == 2 * x),
    lambda x, y: (x - y) * (x - y) >= 0, lambda x, y: kc.choose(x > y, x - y, y - x) >= 0,
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(TRUTHS)))
def test_a_truth_is_valid_where_every_word_satisfies_it(number: int) -> None:
    """What boxes decide of small words is what all words say, one by one."""
    graph = Graph()
    x, y = graph.variable("x", 0, 6), graph.variable("y", 0, 6)
    truth = graph.lift(TRUTHS[number](x, y))
    pairs = itertools.product(range(7), repeat=2)
    every = all(evaluated([truth], {x.index: a, y.index: b})[truth.index] for a, b in pairs)
    assert is_valid(truth) == every


def test_what_boxes_do_not_decide_has_content() -> None:
    """A truth about words of sixty bits that no interval tells is not called empty."""
    graph = Graph()
    x, y = graph.variable("x", 0, 1 << 60), graph.variable("y", 0, 1 << 60)
    assert not is_valid(graph.lift(kc.any_of(x != y, y <= x)))


def test_hidden_goals_leave_empty_claims_out() -> None:
    """No run is looked for that shows a premise of a claim that says nothing."""
    program = trace(dial(EMPTY["implied"]), dial(EMPTY["implied"]).setting())
    assert program.premises["c"].goal == ""
    assert program.sometimes == ()
