"""Engines, each alone: a query leaves nothing behind, a proof names what it rests on, and is of every conjunct."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from kraftcheck.model.language.sequences import Sequence as Words
from kraftcheck.model.language.sequences import every
from kraftcheck.model.language.terms import Graph, Term
from kraftcheck.model.language.words import all_of, implies, negate
from kraftcheck.solvers.smt.queries import PROVEN, UNDECIDED, Effort, SolverAnswer
from kraftcheck.solvers.smt.reading.quantified.engine import QuantifiedEngine
from kraftcheck.solvers.smt.reading.z3_endless import NOT_SHOWN, TIMEOUT, EndlessEngine, conjuncts_of
from kraftcheck.solvers.smt.worker import Z3Engine
from kraftcheck.solvers.smt.z3terms import Z3Reader, conjunction
from tests.solvers.smt.asking import premises_of

EFFORT = Effort(timeout=20)

Ask = Callable[[Sequence[Any]], SolverAnswer]
"""Asks an engine whether some truths all hold."""


def asked(of: type, graph: Graph, symbols: Sequence[Term], known: Mapping[str, Any], **choices: Any) -> Ask:
    """An engine that has premises, by their names."""
    read, terms = Z3Reader(), {name: graph.lift(truth) for name, truth in known.items()}
    premises = premises_of(read, symbols, terms)
    if of is Z3Engine:
        small = Z3Engine(premises, EFFORT)
        return lambda goals: small.check(conjunction(read.expression(graph.lift(goal)) for goal in goals))
    engine: Any = (
        EndlessEngine(premises, EFFORT, read, choices.get("clock", time.monotonic)) if of is EndlessEngine
        else QuantifiedEngine(premises, EFFORT)
    )  # fmt: skip
    return lambda goals: engine.refute(conjuncts_of([graph.lift(goal) for goal in goals]))


def sets(*names: str) -> tuple[Graph, list[Words], list[Term]]:
    """Sets without end, and their symbols."""
    graph = Graph()
    words = [Words.of_state(graph, name, 0, 1, truths=True) for name in names]
    return graph, words, [one.symbol for one in words if one.symbol is not None]


def links(of: type) -> tuple[Ask, list[Any]]:
    """An engine that knows a first truth, that each but the last but one implies the next, and something beside."""
    if of is Z3Engine:
        graph = Graph()
        truths: list[Any] = [graph.truth_variable(f"truth {number}") for number in range(7)]
        symbols = truths
    else:
        graph, (one,), symbols = sets("one")
        truths = [one.at(place) for place in range(7)]
    known = {f"{n} to {n + 1}": implies(truths[n], truths[n + 1]) for n in (0, 1, 2, 4, 5)}
    return asked(of, graph, symbols, {"beside": truths[6], "first": truths[0], **known}), truths


@pytest.mark.parametrize("of", [Z3Engine, EndlessEngine, QuantifiedEngine])
def test_an_engine_proves_the_same_whatever_it_was_asked_before(of: type) -> None:
    """What follows is proven from all that it needs, and what does not is not, in any order and among others."""
    ask, truths = links(of)
    chain = {"first", "0 to 1", "1 to 2", "2 to 3"}
    zero, one, two, three, four, five, six = truths
    for goals, needed in (
        ([four], None), ([three], chain), ([False], None), ([five], None), ([two], chain - {"2 to 3"}),
        ([three, four], None), ([all_of(four, three)], None), ([all_of(three, four)], None), ([zero], {"first"}),
        ([zero, six], {"first", "beside"}), ([six, three], chain | {"beside"}), ([negate(three)], None),
        ([all_of(zero, one)], {"first", "0 to 1"}), ([three], chain),
    ):  # fmt: skip
        found = ask(goals)
        assert (found.result == PROVEN) == (needed is not None)
        assert (needed or set()) <= {*found.core}
        assert "4 to 5" not in found.core
        assert isinstance(found.core, tuple)


@pytest.mark.parametrize("of", [EndlessEngine, QuantifiedEngine])
def test_a_claim_about_every_place_is_proven_from_all_it_needs(of: type) -> None:
    """Where each set is within the next, so is the first in the last, and no set that nothing says it of."""
    graph, (a, b, c, d), symbols = sets("a", "b", "c", "d")

    def within(one: Words, other: Words) -> Any:
        return every(graph, lambda at: implies(one.at(at), other.at(at)))

    ask = asked(of, graph, symbols, {"a in b": within(a, b), "b in c": within(b, c), "d": d.at(3)})
    for goals, needed in (
        ([within(a, d)], None), ([within(a, c)], {"a in b", "b in c"}), ([within(c, a)], None),
        ([within(a, b), within(a, c)], {"a in b", "b in c"}), ([within(a, c), within(c, a)], None),
        ([within(a, b)], {"a in b"}), ([within(b, a)], None), ([implies(a.at(3), c.at(3))], {"a in b", "b in c"}),
        ([negate(within(a, b))], None), ([negate(every(graph, lambda at: negate(d.at(at))))], {"d"}),
    ):  # fmt: skip
        found = ask(goals)
        assert (found.result == PROVEN) == (needed is not None)
        assert (needed or set()) <= {*found.core}
        assert found.result == PROVEN or (found.result, found.reason) == (UNDECIDED, NOT_SHOWN)


def test_an_engine_whose_time_was_up_goes_on() -> None:
    """Without time nothing is decided, for that reason; what is asked after that is answered as ever."""
    graph, (a, b), symbols = sets("a", "b")
    times = iter([0.0, 50.0, 50.0, *[0.0] * 100])
    ask = asked(EndlessEngine, graph, symbols, {"first": a.at(0), "step": implies(a.at(0), b.at(0))},
                clock=lambda: next(times))  # fmt: skip
    late = ask([b.at(0)])
    assert (late.result, late.reason) == (UNDECIDED, TIMEOUT)
    assert ask([b.at(1)]).result == UNDECIDED
    assert {*ask([b.at(0)]).core} == {"first", "step"}
