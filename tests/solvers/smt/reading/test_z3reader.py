"""The Z3 reader agrees with ints; a bound that is any is no number; which instances a refutation needs."""

import itertools
import random
import re
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs
import numpy as np
import pytest
import z3
from attrs import evolve, frozen
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import kraftcheck as kc
from kraftcheck.ci.prove.request import ProofRequest
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.language.layout import UNBOUNDED
from kraftcheck.model.language.sequences import symbol_of
from kraftcheck.model.language.symbolic import NumberError
from kraftcheck.model.language.system import ANY, System
from kraftcheck.model.language.terms import MASK_BITS, Graph, Term
from kraftcheck.model.rules.ruleset import parse
from kraftcheck.properties.catalogue import SYSTEMS
from kraftcheck.solvers.exploration.explore import explore
from kraftcheck.solvers.machine_code.compile import evaluate_rows, load_kernel
from kraftcheck.solvers.machine_code.lower import LoweringError
from kraftcheck.solvers.program.parts import SystemFault
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.smt.facts import NeededFacts
from kraftcheck.solvers.smt.queries import PROVEN, Effort, Premises
from kraftcheck.solvers.smt.reading.z3_endless import EndlessEngine
from kraftcheck.solvers.smt.theory import check_names
from kraftcheck.solvers.smt.z3terms import Z3Reader, is_number, value_of
from tests import toys
from tests.shared.explored import int_reader
from tests.shared.samples import one_in
from tests.solvers.machine_code.test_lower import divisions, graphs, random_rows
from tests.solvers.smt.reading.goals.drawing import Drawing, drawing

ELECTIONS = SYSTEMS["elections"]


def z3_values(terms: Sequence[Term], variables: Sequence[Term], row: Sequence[int]) -> list[int]:
    """The values of terms in Z3, their variables replaced."""
    reader = Z3Reader()
    for variable, value in zip(variables, row, strict=True):
        reader.bind(variable, reader.constant(variable, value))
    return [value_of(z3.Model(), term, z3.simplify(reader.expression(term))) for term in terms]


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_z3_agrees_with_ints_and_machine_code_on_random_graphs(data: st.DataObject) -> None:
    """Every node of a random graph has one value by definition, in machine code and in Z3."""
    graph, terms = data.draw(graphs())
    variables = [node for node in graph.nodes if node.op == "var"]
    rows = random_rows(data.draw, 2)  # type: ignore[arg-type]
    native = evaluate_rows(graph, terms, np.array(rows)).tolist()
    for row, machine in zip(rows, native, strict=True):
        wanted = [int_reader(term, row) for term in terms]
        assert z3_values(terms, variables, row) == wanted == machine


def test_z3_agrees_with_ints_on_every_operator_at_the_ends() -> None:
    """Members and singles at -2, -1, 0, 61, 62, 63, 64 and full or empty masks are as defined."""
    graph = Graph()
    index, mask = graph.variable("i", -70, 140), graph.variable("m", 0, (1 << MASK_BITS) - 1)
    roots = [graph.apply("member", mask, index), graph.apply("single", index), graph.apply("count", mask)]
    roots += [graph.apply("lowest", mask), graph.apply("bclear", mask, roots[1])]
    roots += [graph.apply("sub", index, roots[3])]
    roots += [graph.apply("lt", index, roots[2]), graph.apply("eq", index, roots[3])]
    for i in (-70, -64, -2, -1, 0, 1, 61, 62, 63, 64, 65, 128, 140):
        for m in (0, 1, (1 << MASK_BITS) - 1, 1 << 61, 6):
            assert z3_values(roots, [index, mask], [i, m]) == [int_reader(root, [i, m]) for root in roots]


@pytest.mark.parametrize("mask", [(-1, 0), (-3, 5), (0, 5), (0, (1 << MASK_BITS) - 1)])
def test_masks_of_every_interval_have_the_members_that_ints_say(mask: tuple[int, int]) -> None:
    """At places that are known, or in any interval; of a word that may be negative beyond its own width too."""
    (lo, hi), drawn_ = mask, random.Random(1)
    values = {lo, hi, *(drawn_.randint(lo, hi) for _ in range(6))}
    for least, most in ((-2, 70), (-2, -1), (0, 2), (2, 5), (60, 63), (3, 3)):
        graph = Graph()
        of, at = graph.variable("m", lo, hi), graph.variable("i", least, most)
        places = sorted({*range(least, min(most, 4) + 1), *range(max(least, 60), most + 1)})
        known = [graph.lift(graph.intern("member", (of, graph.constant(place)), 0, 0, 1, True)) for place in places]
        roots = [graph.lift(graph.apply("member", of, at)), *known]
        for row in itertools.product(values, places):
            assert z3_values(roots, [of, at], row) == [int_reader(root, row) for root in roots]


def test_z3_divides_as_ints_do() -> None:
    """Quotients are rounded down and remainders have the divisor's sign, on bit-vectors of every sign."""
    graph, roots, rows = divisions()
    variables = [node for node in graph.nodes if node.op == "var"]
    for row in rows[::29]:
        assert z3_values(roots, variables, row) == [int_reader(root, row) for root in roots]


def test_ints_without_bound_are_divided_as_ints_are() -> None:
    """Quotients, remainders and products of Ints are those of the definition, by constants of both signs."""
    graph = Graph()
    epoch = graph.variable("epoch", 0, UNBOUNDED)
    roots = [graph.lift(graph.apply(op, epoch, graph.constant(by))) for op in ("mul", "div", "mod") for by in (3, -3)]
    assert [is_number(root) for root in roots] == [True, True, True, True, False, False]
    for value in (0, 1, 2, 3, 1 << 70):
        assert z3_values(roots, [epoch], [value]) == [int_reader(root, [value]) for root in roots]


def test_words_without_bound_are_ints() -> None:
    """A counter, its successor and choices among counters are Ints, equal to the definition far beyond 64 bits."""
    graph = Graph()
    epoch, small = graph.variable("epoch", 0, UNBOUNDED), graph.variable("small", -3, 5)
    mask = graph.variable("mask", 0, 31)
    later = graph.lift(graph.apply("add", epoch, small))
    newer = graph.lift(graph.apply("lt", small, epoch))
    roots = [later, graph.lift(graph.ite(newer, epoch, small)), graph.lift(graph.apply("sub", later, epoch)), newer]
    roots += [graph.lift(graph.apply("eq", epoch, small)), graph.lift(graph.apply("member", mask, epoch))]
    assert [is_number(root) for root in roots] == [True, True, True, False, False, False]
    for row in ([0, -3, 1], [4, 4, 16], [3, 5, 8], [1 << 70, -1, 31], [62, 0, 31]):
        assert z3_values(roots, [epoch, small, mask], row) == [int_reader(root, row) for root in roots]


def test_a_mask_without_bound_is_refused() -> None:
    """A set operation on a counter is an error that names the operator."""
    graph = Graph()
    epoch = graph.variable("epoch", 0, UNBOUNDED)
    with pytest.raises(LoweringError, match="count of an unbounded word"):
        Z3Reader().expression(graph.apply("count", epoch))


@pytest.mark.parametrize(("lo", "hi"), [(0, 7), (0, 5), (1, 5), (-1, 3), (-2, 1), (-1, 4), (3, 3), (0, 1),
                                        (0, 8), (-4, 0), (-1, 0), (-8, 8)])  # fmt: skip
def test_within_admits_exactly_the_interval(lo: int, hi: int) -> None:
    """Of all values that the bit-vector of a variable can hold, `within` admits those of its interval."""
    graph = Graph()
    variable = graph.variable("v", lo, hi)
    reader, solver = Z3Reader(), z3.Solver()
    symbol = reader.expression(variable)
    solver.add(reader.within(variable, lo, hi))
    admitted = set()
    while solver.check() == z3.sat:
        admitted.add(value_of(solver.model(), variable, symbol))
        solver.add(symbol != solver.model().eval(symbol, model_completion=True))
    assert admitted == set(range(lo, hi + 1))


def transitions(program: Program) -> list[tuple[Any, Any]]:
    """For each kind one expression, true of a guard and an after-state, with the symbols to replace."""
    reader, made = Z3Reader(), []
    for kind in program.kinds:
        enabled = z3.And(*map(reader.expression, kind.guard.values()), z3.BoolVal(True))
        after = [reader.expression(term) for term in kind.after]
        wanted = [z3.FreshConst(value.sort()) for value in after]
        symbols = [reader.expression(v) for v in (*program.state, *kind.variables)]
        taken = z3.And(enabled, *(a == w for a, w in zip(after, wanted, strict=True)))
        made.append((taken, (enabled, symbols, wanted)))
    return made


def agree(program: Program, states: Sequence[tuple[int, ...]], share: float, seed: int) -> int:
    """Compare every kind in Z3 with machine code on instances drawn from all; returns how many were compared."""
    kernel, draw, compared, reader = load_kernel(program), random.Random(seed), 0, Z3Reader()
    read = transitions(program)
    for packed in states:
        native = dict(kernel.successors(packed))
        values = program.layout.split(packed)
        for kind, (taken, (enabled, symbols, wanted)) in zip(program.kinds, read, strict=True):
            for position, row in enumerate(kind.table):
                if draw.random() >= share:
                    continue
                compared += 1
                names = (*program.state, *kind.variables)
                given_ = [(s, reader.constant(t, v)) for s, t, v in zip(symbols, names, (*values, *row), strict=True)]
                successor = native.get(kind.first + position)
                if successor is None:
                    assert z3.is_false(z3.simplify(z3.substitute(enabled, *given_))), kind.action.name
                    continue
                later = program.layout.split(successor)
                given_ += [(w, reader.constant(t, v)) for w, t, v in zip(wanted, kind.after, later, strict=True)]
                assert z3.is_true(z3.simplify(z3.substitute(taken, *given_))), kind.action.name
    return compared


@pytest.mark.parametrize("system", [toys.CLOCK, toys.DIGRAPH, toys.TWO_PHASE])
def test_z3_agrees_with_machine_code_on_all_states_of_toys(system: System) -> None:
    """Every action instance has the same guard and successor in Z3 as in machine code, in every reachable state."""
    program = trace(system, system.setting())
    states = list(explore(program, clock=time.perf_counter).states())
    assert agree(program, states, 1.0, 0) == len(states) * program.instances


@pytest.mark.parametrize("case", one_in(3, [("tiny", "kafka-4.0"), ("tiny", "fixed"), ("directories", "kip")]))
def test_z3_agrees_with_machine_code_on_elections(case: tuple[str, str]) -> None:
    """Sampled action instances of sampled reachable states agree, with ints in the loop through the layout."""
    scope, rules = case
    program = trace(ELECTIONS, ELECTIONS.setting(scope, rules=parse(rules)))
    states = list(explore(program, clock=time.perf_counter).states())
    assert agree(program, states[:: len(states) // 60], 0.05, 5) > 50


@frozen
class Members:
    """A set, the newest member, a turn, and words by number of this bound and of another."""

    chosen: Any
    top: Any
    on: Any
    level: Any
    others: Any
    other: Any


@frozen
class Sets(Members):
    """Besides, a set for each, and one of the second bound."""

    sets: Any
    at: Any


def layout(b: Any) -> Members:
    """All below `n`, but for the others, which are below `m`."""
    n, m = b["n"], b["m"]
    words = kc.map_below(n, kc.ints(0, 1)), kc.map_below(m, kc.ints(0, 1))
    return Members(kc.set_below(n), kc.word_below(n, -1), kc.truth(), *words, kc.set_below(m))


def initial(b: Any) -> list[Any]:
    """Nobody is anywhere."""

    def empty(s: Members) -> dict[str, Any]:
        level = kc.each(kc.keys(s.level), lambda k: kc.get(s.level, k) == 0)
        others = kc.each(kc.keys(s.others), lambda k: kc.get(s.others, k) == 0)
        sets = {"chosen": s.chosen.is_empty(), "other": s.other.is_empty()}
        return {**sets, "top": s.top < 0, "on": kc.negate(s.on), "level": level, "others": others}

    return [kc.all_where(empty)]


def actions(b: Any) -> list[Any]:
    """Numbers join either set, and the turn changes."""
    return [
        kc.Action("join", lambda s, who: evolve(s, chosen=s.chosen.plus(s.chosen.just(who)), top=who),
                  parameters={"who": kc.numbers_below(b["n"])}),
        kc.Action("join_other", lambda s, who: evolve(s, other=s.other.plus(s.other.just(who))),
                  parameters={"who": kc.numbers_below(b["m"])}),
        kc.Action("turn", lambda s: evolve(s, on=kc.negate(s.on))),
    ]  # fmt: skip


def system(claim: Callable[[Any], Any], *more: Any) -> Any:
    """The system with one claim about its states."""
    return kc.System(
        name="members", summary="sets of two bounds", layout=layout, initial=initial,
        actions=lambda b: [*actions(b), *more], quiescent=lambda s: True, scopes={"default": {"n": 2, "m": 2}},
        bounds=[kc.Bound(name, 1, 4, name, takes_any=True) for name in ("n", "m")],
        properties=[kc.always("claim", "what is claimed", claim)],
    )  # fmt: skip


def every_key(s: Any, members: Any) -> Any:
    """Whether all members of a set are numbers of the first bound."""
    return kc.each(members, lambda m: kc.some(kc.keys(s.level), lambda k: k == m))


CHOICES = {
    "of two bounds": lambda s: every_key(s, kc.choose(s.on, s.other, s.chosen)),
    "beyond the last": lambda s: kc.any_of(
        s.top < 1, every_key(s, kc.choose(s.on, s.chosen.just(s.top + 1), s.chosen))
    ),
}


def prove(made: Any, **bounds: Any) -> str:
    """The verdict on the one claim, for any number of both."""
    (row,) = kc.prove(made, search_states=0, cache=False, **{"n": "any", "m": "any", **bounds}).rows
    return row.verdict


@pytest.mark.parametrize("name", CHOICES)
def test_a_chosen_set_keeps_members_of_both(name: str) -> None:
    """A choice between sets has the members of the one that is chosen, those beyond the other's number among them."""
    made = system(CHOICES[name])
    assert kc.explore(made, n=2, m=3, cache=False).refuted
    assert prove(made) != "holds"


def test_what_is_chosen_of_one_bound_is_proven() -> None:
    """Of two sets of one bound the choice is within it, and so is what two maps of sets are chosen between."""
    made = system(lambda s: every_key(s, kc.choose(s.on, s.chosen, s.chosen.minus(s.chosen.just(s.top)))))
    assert prove(made) == "holds"


def test_maps_of_two_bounds_are_not_chosen_between() -> None:
    """Which places such a map has would depend on the state."""
    made = system(lambda s: kc.each(kc.keys(kc.choose(s.on, s.level, s.others)), lambda k: True))
    with pytest.raises(Refusal, match=r"choose\(\) between maps of two bounds"):
        prove(made)


def test_a_set_may_leave_its_domain() -> None:
    """A step that puts a member beyond the last into a set is a fault, as with a fixed number."""
    beyond = kc.Action("beyond", lambda s: evolve(s, chosen=s.chosen.plus(s.chosen.just(s.top + 1))))
    made = system(lambda s: every_key(s, s.chosen), beyond)
    assert prove(made) != "holds"
    assert prove(made, n=2, m=2) == "incomplete"

    def unmoved(s: Any) -> Any:
        return kc.each(kc.keys(s.others), lambda k: kc.get(s.others, k) == 0)

    assert (prove(system(unmoved)), prove(system(unmoved, beyond))) == ("holds", "incomplete")
    assert prove(system(lambda s: every_key(s, s.chosen))) == "holds"


@pytest.mark.parametrize(
    "counts",
    [lambda s, n: 3 * s.chosen.size() >= 2 * n, lambda s, n: s.chosen.size() <= n, lambda s, n: s.top < n - 1],
    ids=["twice", "size", "last"],
)
def test_a_bound_that_is_any_is_no_number(counts: Callable[[Any, Any], Any]) -> None:
    """A rule that counts with it is refused with its line, however it does."""
    made = evolve(system(lambda s: True), properties=lambda b: [kc.always("counts", "c", lambda s: counts(s, b["n"]))])
    with pytest.raises(Refusal, match=r"test_z3reader\.py:\d+: the bound n is any, and a rule counts with it"):
        prove(made)
    assert kc.explore(made, n=2, m=1, cache=False).verdict("counts") is not None


@pytest.mark.parametrize(
    ("claim", "said"),
    [
        (lambda s: kc.equal(s.level, s.level), "sets or maps of any number are compared; use same() of sets, and of"),
        (lambda s: s.chosen == s.other, "sets or maps of any number are compared; use same() of sets, and of"),
        (lambda s: kc.choose(s.on, s.chosen, kc.IntSet()).is_empty(), "a set of any number (none() of it is the empty"),
        (lambda s: kc.get(s.sets, 1, otherwise=kc.IntSet()).is_empty(), "give get() such a one as its `otherwise`"),
        (lambda s: kc.get(s.level, kc.maximum(s.at, 0)) == 0, "get() at the place 0..any of a map of any number"),
        (lambda s: kc.each(kc.keys(s.others), lambda k: kc.get(s.level, k) == 0), "get() at the place 0..any of a map"),
        (lambda s: kc.each(s.chosen.keep(s.other), lambda k: kc.get(s.level, k) == 0), "get() at the place 0..any of"),
    ],
    ids=["maps", "sets", "choice", "otherwise", "place of another bound", "key of another bound", "made of two bounds"],
)
def test_what_any_number_has_not_is_refused_with_its_line(claim: Callable[[Any], Any], said: str) -> None:
    """The refusal names the line of the rule and what to write, and no class of this project."""
    made = system(claim)
    with_sets = evolve(made, layout=lambda b: Sets(*attrs.astuple(layout(b), recurse=False), kc.map_below(
        b["n"], kc.set_below(b["n"])), kc.word_below(b["m"], -1)))  # fmt: skip
    with pytest.raises(Refusal) as refused:
        prove(with_sets)
    assert re.search(r"test_z3reader\.py:\d+: ", str(refused.value))
    assert said in str(refused.value)


def test_each_bound_is_compared_as_the_least_of_several() -> None:
    """Rules of any number are compared with those of few where there is less of each in turn than of the other."""
    request = ProofRequest(system(lambda s: True), None, {"n": ANY, "m": ANY}, None)
    numbers = [(of.bounds["n"], of.bounds["m"]) for _, of in request._of_each()]
    assert {(n > m) - (n < m) for n, m in numbers} == {-1, 0, 1}


def test_the_keys_of_a_map_are_a_set() -> None:
    """A set is compared and joined with them, whether there is any number or one."""
    made = system(lambda s: kc.any_of(s.on, s.chosen.within(kc.keys(s.level))))
    assert (prove(made), kc.explore(made, n=2, m=1, cache=False).refuted) == ("holds", ())


@pytest.mark.parametrize("name", ["domains", "claim stays", "claim of any outcome"])
def test_no_claim_is_named_as_the_prover_names_its_own(name: str) -> None:
    """Such an id would be answered by another claim; provers refuse it."""
    claims = [kc.always(name, "false", lambda s: s.top < 0), kc.step("claim", "true", lambda t: True)]
    with pytest.raises(Refusal, match=f"property '{name}': provers name claims of their own so; rename it"):
        prove(evolve(system(lambda s: True), properties=lambda _: claims))


def test_no_action_is_named_as_initial_states() -> None:
    """An action `initially` would be taken for initial states."""
    with pytest.raises(Refusal, match="action 'initially': provers name initial states so; rename it"):
        prove(system(lambda s: True, kc.Action("initially", lambda s: s)))
    with pytest.raises(SystemFault, match="action 'initially'"):
        check_names([], ["initially", "go"])


def test_what_any_number_is_larger_than() -> None:
    """A bound that is any is compared only with what is below its least, or at it: with more the answer differs."""
    bounds = (kc.Bound("n", 3, 6, "n", takes_any=True),)
    made = evolve(system(lambda s: True), bounds=bounds, scopes={"default": {"n": 3}})
    b = made.setting(None, {"n": ANY}, proof=True)
    assert (bool(b["n"]), b["n"] > 2, b["n"] >= 3, b["n"] < 3, b["n"] <= 2) == (True, True, True, False, False)
    assert (evolve(b, told=True)["n"] == ANY, evolve(b, told=True)["n"] != ANY, b["n"] == b["n"]) == (True, False, True)
    for asked in (lambda n: n > 3, lambda n: n >= 4, lambda n: n < 4, lambda n: n <= 3, lambda n: n - 1, lambda n: -n):
        with pytest.raises(NumberError, match="the bound n is any"):
            asked(b["n"])


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
