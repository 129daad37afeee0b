"""A map of nobody holds no word: what its words would be below may be nothing, and claims are asked of that too."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
import z3
from attrs import evolve, frozen

import kraftcheck as kc
from kraftcheck.solvers.certificates.quantifiers import DefiningReader
from kraftcheck.solvers.smt.induction import prove
from kraftcheck.solvers.smt.queries import Effort, Questions
from kraftcheck.solvers.smt.reading.quantified.engine import QuantifiedReader
from kraftcheck.solvers.smt.theory import Theory
from kraftcheck.solvers.smt.z3terms import Z3Reader
from tests.solvers.smt.asking import any_theory


@frozen
class Pointers:
    """For each of `n` one of `m`, a truth for each of `m`, and whether the system is on."""

    points: Any
    held: Any
    on: Any


def first(s: Pointers) -> Any:
    """Whether the first points to the first; false of nobody."""
    return kc.get(s.points, 0, otherwise=1) == 0


def empty(s: Pointers) -> Any:
    """Whether there is nothing to point to."""
    return kc.each(kc.keys(s.held), lambda k: False)


def initial(_: Any) -> list[Any]:
    """Everybody points to the first."""
    return [kc.all_where(lambda s: {
        "on": kc.negate(s.on), "held": kc.each(kc.keys(s.held), lambda k: kc.negate(kc.get(s.held, k))),
        "points": kc.each(kc.keys(s.points), lambda k: kc.get(s.points, k) == 0),
    })]  # fmt: skip


def actions(b: Any) -> list[Any]:
    """Who may be turned on, and who points where."""
    given = {"k": kc.numbers_below(b["n"]), "v": kc.numbers_below(b["m"])}
    return [
        kc.Action("turn", lambda s: evolve(s, on=True), lambda s: kc.any_of(first(s), empty(s))),
        kc.Action("move", lambda s, k, v: evolve(s, points=kc.put(s.points, k, v)), lambda s, **_: kc.negate(s.on),
                  given),
    ]  # fmt: skip


def system(claim: Callable[[Any], Any], least: int = 0) -> kc.System:
    """The system with a claim, and a least number of both."""
    return kc.System(
        name="pointers", summary="who points to whom", initial=initial, actions=actions, quiescent=lambda s: True,
        layout=lambda b: Pointers(kc.map_below(b["n"], kc.word_below(b["m"])), kc.map_below(b["m"], kc.truth()),
                                  kc.truth()),
        bounds=[kc.Bound(name, least, 4, name, takes_any=True) for name in ("n", "m")],
        scopes={"default": {"n": 2, "m": 2}}, properties=[kc.always("claim", "what is claimed", claim)],
    )  # fmt: skip


def points(s: Pointers) -> Any:
    """That the first is pointed to by the first while the system is on: false of nobody."""
    return kc.any_of(kc.negate(s.on), first(s))


POINTERS = system(lambda s: kc.any_of(kc.negate(s.on), first(s), empty(s)))
"""With a claim that is true of nobody as well."""


def verdict(made: kc.System, **options: Any) -> str:
    """What a proof for any number of both says."""
    (row,) = kc.prove(made, n="any", m="any", cache=False, **options).rows
    return row.verdict


def test_a_claim_that_fails_of_nobody_is_not_proven() -> None:
    """What is false where a map is empty, and true of any other number, is refuted."""
    made = system(points)
    assert kc.explore(made, n=0, m=0, cache=False).refuted
    assert not kc.explore(made, n=2, m=2, cache=False).refuted
    assert verdict(made) == "refuted 1"
    assert verdict(made, search_states=0) == "unknown"
    assert verdict(system(points, least=1)) == "holds"


def test_a_claim_that_fails_of_nobody_alone_is_proven_of_the_others() -> None:
    """That steps leave each word that there is below its number is shown, and used."""
    proof = prove(lambda: any_theory(POINTERS), effort=Effort(timeout=20.0), clock=time.monotonic)
    assert (proof.proven("claim"), [*proof.faults()]) == (True, [])
    beyond = kc.Action("beyond", lambda s: evolve(s, points=kc.put(s.points, 0, kc.get(s.points, 0, otherwise=0) + 1)))
    made = evolve(POINTERS, actions=lambda b: [*actions(b), beyond])
    proof = prove(lambda: any_theory(made), effort=Effort(timeout=20.0), clock=time.monotonic)
    assert [*proof.faults()] == ["points"]


def of_nobody(read: Z3Reader, of: Theory, said: Callable[[], list[Any]], n: int, m: int) -> bool:
    """Whether a state of so many is among those that are spoken of."""
    numbers = of.program.graph.notes.numbers
    solver = z3.Solver(ctx=read.context)
    solver.add(read.expression(of.state_truths()["claim"]), *said())
    solver.add(read.expression(numbers["n"]) == n, read.expression(numbers["m"]) == m)
    return bool(solver.check() == z3.sat)


@pytest.mark.parametrize("kind", ["quantified", "certificate"])
@pytest.mark.parametrize(("n", "m", "there"), [(0, 0, True), (0, 1, True), (2, 1, True), (1, 0, False), (3, 0, False)])
def test_what_is_read_with_quantifiers_has_empty_maps(kind: str, n: int, m: int, there: bool) -> None:
    """States of nobody are among them; those of somebody who points to nobody are not, for there is none."""
    of = any_theory(system(lambda s: kc.any_of(s.on, first(s))))
    if kind == "certificate":
        read = DefiningReader(of.program.graph)
        assert of_nobody(read, of, lambda: [*Questions(of, read).domains().values()], n, m) == there
    else:
        reader = QuantifiedReader(of.program.graph)
        assert of_nobody(reader, of, lambda: [*reader.meanings, *reader.ranges()], n, m) == there
