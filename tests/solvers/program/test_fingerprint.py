"""The fingerprint of a program: equal where runs are, different where one can differ."""

from collections.abc import Callable
from typing import Any

import pytest
from attrs import evolve, frozen

from kraftcheck.model.language.layout import ints
from kraftcheck.model.language.system import Action, System
from kraftcheck.model.language.words import all_of, any_of
from kraftcheck.properties.kinds import always, recovers, sometimes
from kraftcheck.solvers.program.fingerprint import Meaning, fingerprint
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.smt.theory import theory


@frozen
class Pair:
    a: int
    b: int


def step(s: Pair, by: int) -> Pair:
    """One count, of one of the two."""
    return Pair(s.a + by, s.b)


def may(s: Pair, by: int) -> Any:
    """Both are small."""
    return {"small": all_of(s.a + by < 5, s.b < 3)}


PAIR = System(
    name="pair",
    summary="Two counts.",
    initial=lambda setting: [Pair(0, 0)],
    layout=lambda setting: Pair(ints(0, 5), ints(0, 3)),
    actions=lambda setting: [Action("step", step, may, {"by": (1, 2)}), Action("rest", lambda s: s)],
    properties=lambda setting: [
        always("few", "few", lambda s: s.a < 5, refuted_by=("none",)),
        sometimes("some", "some", lambda s: s.a > 1),
        recovers("back", "back", lambda s: s.a > 3, refuted_by=("none",)),
    ],
)


def of(system: System) -> str:
    """The fingerprint for explorers."""
    return fingerprint(trace(system, system.setting()))


def with_step(effect: Callable[..., Any] = step, guard: Callable[..., Any] = may, **parts: Any) -> System:
    """The system with another first action."""
    action = Action(**{"name": "step", "effect": effect, "guard": guard, "parameters": {"by": (1, 2)}, **parts})
    return evolve(PAIR, actions=lambda setting: [action, Action("rest", lambda s: s)])


def wasteful(s: Pair, by: int) -> Any:
    """The guard, after terms that nothing needs."""
    any_of(s.b + 1 > 2, s.a == s.b)
    return {"small": all_of(s.b < 3, s.a + by < 5)}


def with_never(setting: Any) -> list[Action]:
    """The actions, and one that cannot happen."""
    never = Action("never", lambda s: Pair(s.a, s.b + 1), lambda s: {"never": False})
    return [*PAIR.actions(setting), never]


@pytest.mark.parametrize(
    "system",
    [
        with_step(guard=wasteful),
        evolve(PAIR, actions=with_never),
        evolve(PAIR, initial=lambda setting: [Pair(0, 0), Pair(0, 0)]),
        evolve(PAIR, name="other", summary="other"),
    ],
)
def test_what_no_run_shows_does_not_count(system: System) -> None:
    """Terms that nothing reads, their order, actions that never happen, and names of the system leave it as it is."""
    assert of(system) == of(PAIR)


@pytest.mark.parametrize(
    "system",
    [
        with_step(effect=lambda s, by: Pair(s.a + by, s.b + 1)),
        with_step(guard=lambda s, by: {"small": all_of(s.a + by < 5, s.b < 2)}),
        with_step(guard=lambda s, by: {"little": all_of(s.a + by < 5, s.b < 3)}),
        with_step(name="stride"),
        with_step(parameters={"by": (1, 3)}),
        evolve(PAIR, initial=lambda setting: [Pair(0, 0), Pair(1, 0)]),
        evolve(PAIR, layout=lambda setting: Pair(ints(0, 5), ints(0, 4))),
        evolve(PAIR, properties=lambda setting: PAIR.properties(setting)[1:]),
        evolve(PAIR, properties=lambda setting: [
            always("few", "few", lambda s: s.a < 4, refuted_by=("none",)), *PAIR.properties(setting)[1:]]),
        evolve(PAIR, properties=lambda setting: [
            *PAIR.properties(setting)[:2], recovers("back", "back", lambda s: s.a > 2, refuted_by=("none",))]),
        evolve(PAIR, properties=lambda setting: [
            *PAIR.properties(setting)[:2],
            recovers("back", "back", lambda s: s.a > 3, by={"step": {"by": 1}}, refuted_by=("none",))]),
        evolve(PAIR, quiescent=lambda s: s.a > 3),
    ],
)  # fmt: skip
def test_what_a_run_shows_counts(system: System) -> None:
    """Effects, guards and their names, arguments, initial states, domains, claims, ways out, and quiescence."""
    assert of(system) != of(PAIR)


def test_provers_see_free_arguments() -> None:
    """Traced for provers, what an argument may be counts, for there is no table of instances."""
    listed = [theory(system, system.setting()).program for system in (PAIR, with_step(parameters={"by": (1, 3)}))]
    assert fingerprint(listed[0]) != fingerprint(listed[1])
    assert fingerprint(listed[0]) == fingerprint(theory(PAIR, PAIR.setting()).program)
    assert Meaning.of(listed[0]).behaviour != Meaning.of(listed[1]).behaviour


def test_values_within_an_interval_count() -> None:
    """Arguments with the same ends and other values between them mean something else, also where they are free."""
    few, more = (with_step(parameters={"by": values}) for values in ((1, 3), (1, 2, 3)))
    for digest in (fingerprint, lambda program: Meaning.of(program).behaviour):
        assert digest(theory(few, few.setting()).program) != digest(theory(more, more.setting()).program)
