"""The comparison can fail: engines, rules and a naive search that are wrong on purpose are caught within the seeds."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from llvmlite import ir

from kraftcheck.model.language import terms
from kraftcheck.model.language.brokersets import BrokerSet, Replicas
from kraftcheck.solvers.machine_code import lower
from kraftcheck.solvers.reference.confirm import EngineDisagreement
from kraftcheck.solvers.search.levels import Round
from kraftcheck.solvers.search.visited import VisitedSet
from kraftcheck.solvers.smt.z3terms import Z3Reader as Z3Reader
from kraftcheck.solvers.traces.render import BrokenTrace
from tests.random_systems import naive
from tests.random_systems.comparison import Case, DisagreementError, agrees
from tests.random_systems.engines import bounded_agrees, integers_agree, walks_agree
from tests.random_systems.seeds import ALWAYS
from tests.random_systems.systems import drawn as draw_anew

drawn = functools.cache(draw_anew)
"""Systems as they are drawn while nothing is wrong, once for all mutants."""


def native(case: Case) -> None:
    """The native engine, its compiled code never kept."""
    agrees(case, case.explored())


def first_caught(check: Callable[[Case], None], last: int = ALWAYS) -> int | None:
    """The first seed that shows a mutant; None: none does."""
    for seed in range(last):
        try:
            check(Case(drawn(seed)))
        except (DisagreementError, EngineDisagreement, BrokenTrace):
            return seed
    return None


@pytest.fixture(scope="module", autouse=True)
def drawn_first() -> None:
    """Draw the first systems before anything is made wrong."""
    for seed in range(60):
        drawn(seed)


def wrong_code(monkeypatch: pytest.MonkeyPatch, op: str, make: Callable[..., Any]) -> None:
    """Compile an operator as another."""
    right = lower.lower_operator

    def wrong(b: ir.IRBuilder, term: Any, values: Any) -> Any:
        return make(b, *values) if term.op == op else right(b, term, values)

    monkeypatch.setattr(lower, "lower_operator", wrong)


@pytest.mark.each_change
@pytest.mark.parametrize(
    ("op", "make"),
    [
        ("lt", lambda b, x, y: b.icmp_signed("<=", x, y)),
        ("lt", lambda b, x, y: b.icmp_unsigned("<", x, y)),
        ("or", lambda b, x, y: b.xor(x, y)),
        ("ite", lambda b, c, x, y: b.select(c, y, x)),
        ("bclear", lambda b, x, y: b.xor(x, y)),
        ("count", lambda b, x: b.and_(b.ctpop(x), lower.word(1))),
        ("lowest", lambda b, x: b.cttz(x, ir.Constant(lower.TRUTH, 0))),
        ("sub", lambda b, x, y: b.sub(y, x)),
    ],
)
def test_an_operator_compiled_wrongly_is_caught(monkeypatch: pytest.MonkeyPatch, op: str, make: Any) -> None:
    """Machine code that confuses an operator with another disagrees on some seed."""
    wrong_code(monkeypatch, op, make)
    assert first_caught(native) is not None


@pytest.mark.parametrize(
    ("owner", "name", "wrong"),
    [
        (BrokerSet, "keep", BrokerSet.plus),
        (BrokerSet, "first", lambda self: -1),
        (BrokerSet, "within", lambda self, other: other.minus(self).is_empty()),
        (Replicas, "minus", Replicas.keep),
        (Replicas, "first_in", lambda self, wanted: self.first()),
    ],
)
def test_a_word_of_the_language_that_is_wrong_is_caught(
    monkeypatch: pytest.MonkeyPatch, owner: type, name: str, wrong: Any
) -> None:
    """A method that is wrong in the same way on ints and on terms disagrees: the naive search does not use it."""
    monkeypatch.setattr(owner, name, wrong)
    assert first_caught(native) is not None


def test_a_state_that_the_engine_loses_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that forgets the last candidate of a round disagrees."""
    right = Round.count

    def losing(self: Round) -> Sequence[int]:
        for piece in self.pieces[-1:] if self.ranges.size else ():
            filled = piece.counts.nonzero()[0]
            if len(filled):
                piece.counts[filled[-1]] -= 1
        return right(self)

    monkeypatch.setattr(Round, "count", losing)
    assert first_caught(native) is not None


def test_a_witness_that_is_not_the_shortest_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Paths that end in a state and in the state before it alike are noticed."""
    right = VisitedSet.path
    monkeypatch.setattr(VisitedSet, "path", lambda store, state: (right(store, state)[0], right(store, state)[1][:-1]))
    assert first_caught(native) is not None


def test_an_interval_that_is_too_narrow_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the interval of a sum leaves out its largest value, a domain no longer cuts, or a comparison is folded."""
    right = terms.interval

    def narrow(op: str, *operands: Any) -> Any:
        lo, hi = right(op, *operands)
        return (lo, hi - 1) if op == "add" and hi > lo else (lo, hi)

    monkeypatch.setattr(terms, "interval", narrow)
    assert first_caught(native) is not None


def losing_search(reader: naive.Reader, graph: naive.Graph, state: Any) -> Iterator[Any]:
    """The enabled instances but the last."""
    return iter(list(RIGHT_ENABLED(reader, graph, state))[:-1])


RIGHT_ENABLED = naive.enabled


def test_a_naive_search_that_is_wrong_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison goes both ways: a naive search that skips an action instance disagrees."""
    monkeypatch.setattr(naive, "enabled", losing_search)
    drawn.cache_clear()
    try:
        assert first_caught(native, 20) is not None
    finally:
        drawn.cache_clear()


def test_a_proof_that_reads_a_comparison_wrongly_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bounded model checking over a reader that swaps the operands of `lt` disagrees."""
    right = Z3Reader._truth_operator

    def swapped(self: Z3Reader, node: Any, values: Any) -> Any:
        return right(self, node, values[::-1] if node.op == "lt" else values)

    monkeypatch.setattr(Z3Reader, "_truth_operator", swapped)
    assert first_caught(bounded_agrees) is not None


def test_ints_that_are_wrong_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """An operator that is wrong on ints alone disagrees, in the engine on ints and in what walks replay."""
    right = terms.evaluate
    wrong = {"member": lambda a, b: not right("member", [a, b]), "count": lambda a: a.bit_count() + 1}
    for op, meaning in wrong.items():
        with monkeypatch.context() as patch:
            patch.setattr("kraftcheck.model.language.words.evaluate", lambda name, values, op=op, meaning=meaning: (
                meaning(*values) if name == op else right(name, values)))  # fmt: skip
            assert first_caught(integers_agree) is not None


def test_walks_that_are_wrong_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Walks whose code takes a conjunction for a disjunction disagree."""
    wrong_code(monkeypatch, "and", lambda b, x, y: b.or_(x, y))
    assert first_caught(walks_agree) is not None


def test_nothing_is_caught_where_nothing_is_wrong() -> None:
    """The first systems agree as they are: what the other tests catch is the mutant."""
    assert first_caught(native, 12) is None
