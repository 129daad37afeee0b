"""Instances that a refutation needs: with the premises they refute just what the engine proves, goal after goal."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import z3

from kraftcheck.model.language.sequences import symbol_of
from kraftcheck.model.language.terms import Term
from kraftcheck.solvers.smt.facts import NeededFacts
from kraftcheck.solvers.smt.queries import PROVEN, Effort, Premises
from kraftcheck.solvers.smt.reading.z3_endless import EndlessEngine
from kraftcheck.solvers.smt.z3terms import Z3Reader
from tests.solvers.smt.reading.goals.drawing import Drawing, drawing

EFFORT = Effort(timeout=10)


def premises_of(of: Drawing, read: Z3Reader, terms: Mapping[str, Term]) -> Premises:
    """Premises about the sequence and the words of a drawing."""
    names = (symbol_of(of.bits), *of.words)
    truths = {f"domain {word.value}": read.within(word, word.lo, word.hi) for word in of.words}
    truths |= {name: read.expression(term) for name, term in terms.items()}
    return Premises(truths, tuple(map(read.expression, names)), names, len(names), terms)


def refutes(premises: Premises, facts: Sequence[Any]) -> bool:
    """Whether premises and facts contradict each other."""
    solver = z3.Solver()
    solver.add(*premises.truths.values(), *facts)
    return bool(solver.check() == z3.unsat)


def test_facts_refute_just_what_is_proven() -> None:
    """Of each goal in turn, whatever was asked before; and none of those that are said to be needed is missing."""
    said = Counter[bool]()
    for seed in range(25):
        of, read = drawing(seed), Z3Reader()
        premise, *goals = (of.graph.lift(of.claim(depth)) for depth in (3, 2, 2, 1))
        premises = premises_of(of, read, {"premise": premise})
        facts = NeededFacts(premises, read, EFFORT, time.monotonic)
        for goal in (*goals, premise, goals[0]):
            proven = EndlessEngine(premises, EFFORT, read, time.monotonic).refute([goal]).result == PROVEN
            assert refutes(premises, facts.of([goal])) == proven, seed
            said[proven] += 1
    assert min(said.values()) > 10
