"""Terms over small intervals, all of them: folding, intervals, hash-consing and digests have no exception."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import pytest
from attrs import evolve, frozen

from kraftcheck.model.language.layout import Flag
from kraftcheck.model.language.symbolic import UntraceableRule
from kraftcheck.model.language.system import Action, Property, System
from kraftcheck.model.language.terms import MASK_BITS, Graph, Term, evaluate, interval
from kraftcheck.properties.kinds import recovers
from kraftcheck.solvers.program.trace import trace
from tests.shared.readers import values_of

WORDS = ("add", "sub", "band", "bor", "bclear", "single", "count", "lowest", "mul", "div", "mod")
ON_TWO = ("add", "sub", "band", "bor", "bclear", "eq", "lt", "member", "mul", "div", "mod")


def intervals(lo: int, hi: int) -> list[tuple[int, int]]:
    """Every interval within lo..hi."""
    return [(a, b) for a in range(lo, hi + 1) for b in range(a, hi + 1)]


@pytest.mark.parametrize("op", WORDS)
def test_intervals_hold_every_value(op: str) -> None:
    """The interval of an operator over small intervals holds every value, and none of it is a mask below 0."""
    for operands in itertools.product(intervals(-2, 4), repeat=2 if op in ON_TWO else 1):
        try:
            lo, hi = interval(op, *operands)
        except ValueError:
            assert op not in ("add", "sub", "mul", "single")
            divides = op in ("div", "mod")
            assert operands[1][0] <= 0 <= operands[1][1] if divides else min(first for first, _ in operands) < 0
            continue
        found = [evaluate(op, values) for values in itertools.product(*(range(a, b + 1) for a, b in operands))]
        assert lo <= min(found) <= max(found) <= hi


def test_the_interval_of_a_set_of_one_at_the_ends() -> None:
    """An index from 60 to 63 gives masks from none to the highest bit."""
    for lo, hi in intervals(MASK_BITS - 2, MASK_BITS + 1):
        found = [evaluate("single", [index]) for index in range(lo, hi + 1)]
        assert interval("single", (lo, hi))[0] <= min(found) <= max(found) <= interval("single", (lo, hi))[1]


def agree(graph: Graph, made: Any, op: str, args: Sequence[Term]) -> int:
    """Compare a folded application with the operator on all values of its variables; returns how many."""
    ranges = [range(arg.lo, arg.hi + 1) for arg in args]
    compared = 0
    for values in itertools.product(*ranges):
        given = [0] * len(graph.variables)
        for arg, value in zip(args, values, strict=True):
            if arg.op == "var":
                given[arg.value] = value
        found = values_of(graph, given)[made.index] if isinstance(made, Term) else made
        assert found == evaluate(op, values), (op, [(arg.op, arg.lo, arg.hi) for arg in args], values)
        assert type(made) is not bool or op in ("eq", "lt", "member")
        compared += 1
    return compared


@pytest.mark.parametrize("op", ON_TWO)
def test_folding_changes_no_value(op: str) -> None:
    """Whatever an operator over small variables and constants folds to has its value, for all their values."""
    compared = 0
    for lo, hi in intervals(-2, 4):
        for second in intervals(-2, 4):
            graph = Graph()
            ends = enumerate([(lo, hi), second])
            args = [graph.variable(f"v{n}", a, b) if a < b else graph.lift(a) for n, (a, b) in ends]
            try:
                compared += agree(graph, graph.apply(op, *args), op, args)
            except UntraceableRule:
                assert second[0] <= 0 <= second[1] if op in ("div", "mod") else min(lo, second[0]) < 0
    assert compared > 1_000


@pytest.mark.parametrize("op", ON_TWO)
def test_folding_of_a_word_with_itself_changes_no_value(op: str) -> None:
    """Nor does what an operator on the same word twice folds to."""
    graph = Graph()
    word = graph.variable("v", 1, 6)
    made = graph.apply(op, word, word)
    for value in range(1, 7):
        found = values_of(graph, [value])[made.index] if isinstance(made, Term) else made
        assert found == evaluate(op, [value, value])


def test_truths_that_are_compared_keep_their_values() -> None:
    """A truth that equals true or false, or another truth, has the value that it has on truths."""
    for constant, flipped in itertools.product((False, True), repeat=2):
        graph = Graph()
        p = graph.truth_variable("p")
        pair = (graph.constant(constant), p) if flipped else (p, graph.constant(constant))
        made = graph.apply("eq", *pair)
        assert isinstance(made, Term)
        assert [values_of(graph, [value])[made.index] for value in (0, 1)] == [not constant, constant]


@pytest.mark.parametrize("truth_first", [True, False])
def test_a_truth_is_not_the_word_of_its_value(truth_first: bool) -> None:
    """The constants true and 1, and false and 0, are two terms each, whichever is made first."""
    for value in (0, 1):
        graph = Graph()
        made = [graph.constant(bool(value)), graph.constant(value)] if truth_first else [
            graph.constant(value), graph.constant(bool(value))]  # fmt: skip
        assert [term.is_truth for term in made] == [truth_first, not truth_first]
        assert [term.value for term in made] == [value, value]


@frozen
class Flags:
    """Two flags."""

    a: Any
    b: Any


def flags(**changes: Any) -> System:
    """A system in which every part reads one of two flags, and builds no term besides."""
    return evolve(
        System(
            name="flags", summary="Two flags.",
            initial=lambda setting: [Flags(False, True)],
            layout=lambda setting: Flags(Flag(), Flag()),
            actions=lambda setting: [Action("swap", lambda s: Flags(s.b, s.a), lambda s: s.a)],
            properties=lambda setting: _claims(),
            quiescent=lambda s: s.a,
        ),
        **changes,
    )  # fmt: skip


def _claims(always: str = "a", step: str = "a", goal: str = "a", when: str = "a", claim: str = "a") -> list[Property]:
    return [
        Property("always", "always", "A flag.", lambda s: getattr(s, always)),
        Property("step", "step", "A flag before.", lambda t: getattr(t.before, step)),
        Property("goal", "sometimes", "A flag.", lambda s: getattr(s, goal)),
        recovers("heals", "A flag.", lambda s: getattr(s, claim), when=lambda s: getattr(s, when)),
    ]


def _only(**changes: str) -> System:
    return flags(properties=lambda setting: _claims(**changes))


ROLES = [
    flags(actions=lambda setting: [Action("swap", lambda s: Flags(s.b, s.a), lambda s: s.b)]),
    flags(actions=lambda setting: [Action("swap", lambda s: Flags(s.b, s.b), lambda s: s.a)]),
    flags(quiescent=lambda s: s.b),
    *(_only(**{name: "b"}) for name in ("always", "step", "goal", "when", "claim")),
]


def test_the_digest_follows_the_role_of_each_term() -> None:
    """Programs of the same terms, of which one part reads another term, have different digests."""
    programs = [trace(system, system.setting()) for system in (flags(), *ROLES)]
    assert len({len(program.graph.nodes) for program in programs}) == 1
    assert len({program.digest() for program in programs}) == len(programs)
