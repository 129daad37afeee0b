"""Claims of many conjuncts are asked for in parts, and proven only when every part is."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import z3
from attrs import frozen

from kraftcheck.model.language.layout import Range
from kraftcheck.model.language.system import Action, Property, System
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import all_of
from kraftcheck.solvers.smt.induction import prove
from kraftcheck.solvers.smt.queries import PROVEN, REFUTED, SOLVERS, Effort, Obligation
from kraftcheck.solvers.smt.theory import theory
from kraftcheck.solvers.smt.worker import PARTS, conjuncts
from kraftcheck.solvers.smt.z3terms import conjunction

PART = 12
"""Conjuncts that either solver is asked for at a time, in these tests."""

MANY = 2 * PART + 2
"""Conjuncts of the claims here: three parts, also where one is true of itself."""


@pytest.fixture(autouse=True)
def _parts(monkeypatch: pytest.MonkeyPatch) -> None:
    for solver in SOLVERS:
        monkeypatch.setitem(PARTS, solver, PART)


@frozen
class Row:
    """Words of which each bounds the next."""

    words: tuple[Word, ...]


def rises(state: Row) -> dict[str, Truth]:
    """No word is above the next."""
    return {f"word {n}": state.words[n] <= state.words[n + 1] for n in range(MANY)}


def shifted(state: Row) -> Row:
    """Each word takes the value of the one before."""
    return Row((0, *state.words[:-1]))


def falling(number: int, state: Row) -> Row:
    """As `shifted`, but one word falls to 0, below the one before."""
    words = shifted(state).words
    return Row((*words[:number], 0, *words[number + 1 :]))


def rows(effect: Callable[[Row], Row]) -> System:
    """Rows under one action."""
    return System(
        name="rows",
        summary="words that rise along a row",
        initial=lambda setting: [Row((0,) * MANY + (1,))],
        layout=lambda setting: Row(_domains()),
        actions=lambda setting: [Action("shift", effect)],
        scopes={"default": {}},
        properties=lambda setting: [
            Property("rises", "always", "No word is above the next.", rises),
            Property("starts", "always", "The first word is 0 or 1.", lambda s: s.words[0] <= 1),
        ],
    )


def _domains() -> Any:
    return (Range(0, 3),) * (MANY + 1)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("fallen", [None, 2, PART + 1, MANY])
def test_a_claim_holds_when_every_part_does(solver: str, fallen: int | None) -> None:
    """A claim in three parts that only one breaks, whichever it is, is refuted, with a step that breaks it."""
    pytest.importorskip(solver)
    system = rows(shifted if fallen is None else functools.partial(falling, fallen))
    subject = theory(system, system.setting(None, {}))
    found = prove(lambda: subject, effort=Effort(timeout=60, solver=solver), clock=time.monotonic)
    answer = found.answers[Obligation("rises", "shift")]
    assert answer.result == (PROVEN if fallen is None else REFUTED)
    assert found.proven("rises") == (fallen is None)
    if fallen is None:
        assert "invariant: rises" in answer.core
    else:
        assert answer.counterexample is not None
        assert answer.counterexample.state[fallen - 2] > 0


def test_what_parts_used_is_what_the_proof_used() -> None:
    """A premise that only one part needs is told, whichever part that is."""

    def kept(state: Row) -> Row:
        return state

    names = [f"small {n}" for n in range(MANY)]
    system = rows(kept)
    listed = [
        Property(name, "always", "One word is no more than 2.", functools.partial(_small, n))
        for n, name in enumerate(names)
    ]

    def every(state: Row) -> dict[str, Truth]:
        return {name: state.words[n] < 3 for n, name in enumerate(names)}

    together = Property("every", "step", "So is every one.", lambda t: all_of(*every(t.after).values()))
    subject = theory(_with(system, [*listed, together]), system.setting(None, {}))
    found = prove(lambda: subject, effort=Effort(timeout=60), clock=time.monotonic, only=["every"])
    assert found.proven("every")
    assert set(found.core("every")) >= {f"invariant: {name}" for name in names}


def _small(number: int, state: Row) -> Truth:
    return state.words[number] <= 2


def _with(system: System, properties: Sequence[Property]) -> System:
    return System(
        name=system.name, summary=system.summary, initial=system.initial, layout=system.layout,
        actions=system.actions, scopes=system.scopes, properties=lambda setting: properties,
    )  # fmt: skip


def test_conjuncts_are_the_conjunction() -> None:
    """Nested conjunctions come apart in order, and together they are what they were."""
    a, b, c, d = z3.Bools("a b c d")
    whole = z3.And(z3.And(a, z3.Or(b, z3.And(c, d))), z3.Not(z3.And(a, d)), d)
    parts = conjuncts(whole)
    assert [str(part) for part in parts] == ["a", "Or(b, And(c, d))", "Not(And(a, d))", "d"]
    solver = z3.Solver()
    solver.add(conjunction(parts) != whole)
    assert solver.check() == z3.unsat
