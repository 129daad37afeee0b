"""The term graph: folding, hash-consing, intervals, of small ones all, and errors that name the line of a rule."""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from attrs import evolve, frozen
from hypothesis import given, settings
from hypothesis import strategies as st

from kraftcheck.model.language.layout import Flag
from kraftcheck.model.language.symbolic import UntraceableRule, described
from kraftcheck.model.language.system import Action, Property, System
from kraftcheck.model.language.terms import MASK_BITS, Graph, Term, evaluate, interval
from kraftcheck.model.language.words import all_of, any_of, apply, choose, negate
from kraftcheck.properties.kinds import recovers
from kraftcheck.solvers.program.trace import trace
from tests.shared.explored import values_of

INTERVALS = ((0, 7), (-2, 3), (0, 0), (5, 9), (-1, 61), (0, (1 << MASK_BITS) - 1))
OPERATORS = {
    "word": ("add", "sub", "mul", "div", "mod", "band", "bor", "bclear", "single", "count", "lowest", "ite"),
    "truth": ("eq", "lt", "member", "not", "and", "or", "ite truths"),
}
UNARY = ("single", "count", "lowest", "not")

Recipe = tuple[str, int, int, int]
recipes = st.lists(
    st.tuples(st.sampled_from(OPERATORS["word"] + OPERATORS["truth"]), *[st.integers(0, 50)] * 3),
    min_size=1,
    max_size=25,
)


def cook(recipe: Recipe, words: list[Any], truths: list[Any]) -> Any:
    """One application of an operator to earlier results."""
    op, i, j, k = recipe
    p, q, r = (truths[n % len(truths)] for n in (i, j, k))
    a, b = (words[n % len(words)] for n in (j, k))
    if op == "ite":
        return choose(p, a, b)
    if op == "ite truths":
        return choose(p, q, r)
    operands = (p, q) if op in ("not", "and", "or") else (a, b)
    return apply(op, *operands[: 1 if op in UNARY else 2])  # type: ignore[call-overload]


def keep(made: Any, words: list[Any], truths: list[Any]) -> None:
    """Add a result to the words or the truths that later recipes use."""
    is_truth = made.is_truth if isinstance(made, Term) else isinstance(made, bool)
    (truths if is_truth else words).append(made)


@settings(max_examples=200, deadline=None)
@given(recipes, st.data())
def test_terms_agree_with_ints_and_stay_in_their_intervals(steps: list[Recipe], data: st.DataObject) -> None:
    """A folded graph has the value of the same operations on ints, inside the interval of every node."""
    graph = Graph()
    values = [data.draw(st.sampled_from((lo, hi)) | st.integers(lo, hi)) for lo, hi in INTERVALS]
    flags = data.draw(st.tuples(st.booleans(), st.booleans()))
    words: list[Any] = [graph.variable(f"w{i}", lo, hi) for i, (lo, hi) in enumerate(INTERVALS)] + [-1, 0, 3]
    truths: list[Any] = [graph.truth_variable("p"), graph.truth_variable("q"), True]
    int_words, int_truths = [*values, -1, 0, 3], [*flags, True]
    for step in steps:
        try:
            made = cook(step, words, truths)
        except (UntraceableRule, ZeroDivisionError):
            continue
        keep(made, words, truths)
        keep(cook(step, int_words, int_truths), int_words, int_truths)
    found = values_of(graph, [*values, *flags])
    for traced, direct in zip(words + truths, int_words + int_truths, strict=True):
        assert (found[traced.index] if isinstance(traced, Term) else traced) == direct
    for node in graph.nodes:
        assert node.lo <= found[node.index] <= node.hi


def test_constants_fold_to_python_values() -> None:
    """An operation whose result is known is an int or a bool, and adds no node."""
    graph = Graph()
    x = graph.variable("x", 0, 7)
    size = len(graph.nodes)
    found = [x - x, x & 0, x < 8, x >= 0, x == 9, x + 0 is x, x & 7 is x, x | 0 is x, x == x]
    assert found == [0, 0, True, True, False, True, True, True, True]
    assert {type(value) for value in found} == {int, bool}
    assert {node.op for node in graph.nodes[size:]} <= {"const"}


def test_truths_fold() -> None:
    """Contradiction, tautology, double negation and neutral truths disappear."""
    graph = Graph()
    p: Any = graph.truth_variable("p")
    q: Any = graph.truth_variable("q")
    assert all_of(p, negate(p)) is False
    assert any_of(p, negate(p)) is True
    assert negate(negate(p)) is p
    assert all_of(p, True, p) is p
    assert any_of(p, False) is p
    assert choose(p, True, False) is p
    assert choose(p, False, True) is negate(p)
    assert choose(negate(p), q, p) is choose(p, p, q)


def test_equal_expressions_are_one_term() -> None:
    """The same operation on the same terms is the same object, in either order where order is no matter."""
    graph = Graph()
    x, y = graph.variable("x", 0, 7), graph.variable("y", 0, 7)
    assert (x + y) is (y + x)
    assert (x == y) is (y == x)
    assert (x - y) is not (y - x)
    assert (x > y) is (y < x)
    assert choose(x == y, x + y, 0) is choose(y == x, y + x, 0)
    assert graph.variable("x", 0, 7) is not x


def test_a_comparison_of_a_choice_compares_its_arms() -> None:
    """`choose(c, 1, x) == 1` is `c or x == 1`: constants reach through choices."""
    graph = Graph()
    c: Any = graph.truth_variable("c")
    x = graph.variable("x", 0, 7)
    assert (choose(c, 1, x) == 1) is any_of(c, x == 1)
    assert (choose(c, 3, 4) == 3) is c
    assert (choose(c, 3, 4) == 5) is False


def _if(t: Any) -> Any:
    return 1 if t == 1 else 0


def test_a_choice_inside_its_own_choice_is_decided() -> None:
    """Under a condition, an inner choice on the same condition is its own arm, on either side."""
    graph = Graph()
    c: Any = graph.truth_variable("c")
    x, y, z = (graph.variable(name, 0, 7) for name in "xyz")
    flat = choose(c, x, z)
    assert choose(c, choose(c, x, y), z) is flat
    assert choose(c, x, choose(c, y, z)) is flat


USES: dict[str, Callable[[Any], Any]] = {
    "if": _if,
    "and": lambda t: t and 1,
    "not": lambda t: not t,
    "chain": lambda t: 0 < t < 5,
    "in": lambda t: t in [1, 2],
    "min": lambda t: min(t, 2),
    "index": lambda t: [1, 2][t],
    "range": lambda t: list(range(t)),
    "iteration": lambda t: [x for x in t],  # noqa: C416
    "int": lambda t: int(t),
    "text": lambda t: t == "one",
    "float": lambda t: t + 0.5,
}


@pytest.mark.parametrize("use", USES)
def test_a_rule_that_cannot_be_traced_is_named_by_its_line(use: str) -> None:
    """Every use of a symbolic word as a concrete value says file and line of the rule."""
    rule = USES[use]
    line = rule.__code__.co_firstlineno + (use == "if")
    with pytest.raises(UntraceableRule, match=rf"test_terms\.py:{line}: "):
        rule(Graph().variable("t", 0, 7))


def test_terms_of_two_graphs_do_not_mix() -> None:
    """A rule that keeps a term of an earlier trace is refused, with its line."""
    x, y = Graph().variable("x", 0, 7), Graph().variable("y", 0, 7)
    with pytest.raises(UntraceableRule, match=r"test_terms\.py:\d+: terms of two graphs meet in add"):
        x + y


def test_sorts_do_not_mix() -> None:
    """A truth is no word: it is not added, compared with a word, or chosen beside one."""
    graph = Graph()
    p: Any = graph.truth_variable("p")
    x: Any = graph.variable("x", 0, 7)
    for rule in (lambda: p + x, lambda: p == x, lambda: p & x, lambda: choose(p, x, p), lambda: negate(x)):
        with pytest.raises(UntraceableRule, match=r"test_terms\.py:\d+: "):
            rule()


def test_masks_are_never_negative() -> None:
    """A word that may be below 0 is refused where a mask is needed."""
    x = Graph().variable("x", -1, 7)
    with pytest.raises(UntraceableRule, match=r"test_terms\.py:\d+: band needs masks"):
        x & 3


@pytest.mark.parametrize("index", [-2, -1, MASK_BITS, MASK_BITS + 5])
def test_an_index_outside_the_mask_is_no_member(index: int) -> None:
    """`member` and `single` are total: an index outside 0..61 has no bit."""
    assert evaluate("member", [(1 << MASK_BITS) - 1, index]) is False
    assert evaluate("single", [index]) == 0


def test_an_unknown_operator_is_refused() -> None:
    """There is no meaning for an operator that was not defined."""
    with pytest.raises(ValueError, match="unknown operator xor"):
        evaluate("xor", [1, 2])


def test_a_term_is_written_short() -> None:
    """A term whose arguments are shared a hundred times over is written in one line, not as a tree."""
    term = Graph().variable("x", 0, 1)
    for _ in range(100):
        term = term + term
    assert len(described(term)) < 200


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
