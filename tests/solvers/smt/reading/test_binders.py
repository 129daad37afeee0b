"""Claims about every place, maps of nobody, and engines, each alone: just what is true of small worlds."""

import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pytest
import z3
from attrs import evolve, frozen

import kraftcheck as kc
from kraftcheck.model.language.layout import UNBOUNDED
from kraftcheck.model.language.sequences import Sequence as Words
from kraftcheck.model.language.sequences import (
    above,
    cardinality,
    every,
    first_place,
    last_place,
    least_by,
    some,
    word_at,
)
from kraftcheck.model.language.terms import Graph, Term
from kraftcheck.model.language.words import all_of, any_of, choose, implies, negate, same_truth
from kraftcheck.solvers.audit.numbers import Interpretation
from kraftcheck.solvers.certificates.quantifiers import DefiningReader
from kraftcheck.solvers.program.evaluation import closure
from kraftcheck.solvers.smt.induction import prove
from kraftcheck.solvers.smt.instances import Instances
from kraftcheck.solvers.smt.queries import PROVEN, UNDECIDED, Effort, Questions, SolverAnswer
from kraftcheck.solvers.smt.reading.quantified.engine import OPTIONS, QuantifiedEngine, QuantifiedReader
from kraftcheck.solvers.smt.reading.z3_endless import NOT_SHOWN, TIMEOUT, EndlessEngine, conjuncts_of
from kraftcheck.solvers.smt.theory import Theory
from kraftcheck.solvers.smt.worker import Z3Engine
from kraftcheck.solvers.smt.z3terms import Z3Reader, conjunction
from tests.solvers.smt.asking import any_theory, premises_of

PLACES = 2  # of each sequence so many words are any; all others are 0

BITS, KEYS = list(itertools.product((0, 1), repeat=PLACES)), ((0, 2), (1, 1), (2, 0))


class Small:
    """A graph with two sets, a key for each place, a set for each place, a place and a truth, all of them any."""

    def __init__(self) -> None:
        graph = self.graph = Graph()
        self.s, self.u = (Words.of_state(graph, name, 0, 1, truths=True) for name in "su")
        self.w = Words.of_state(graph, "w", 0, 2)
        self.kept = graph.intern("sequence", (graph.constant(2),), len(graph.variables), 0, 1, True)
        graph.variables.append("kept")
        self.p, self.on = graph.variable("p", -1, PLACES), graph.truth_variable("on")
        self.from_zero: Any = choose(self.p < 0, 0, self.p)

    def has(self, one: Any, other: Any) -> Any:
        """Whether the set of one place has another."""
        return word_at(self.kept, one, other)

    def reads(self) -> list[Term]:
        """Truths that read each sequence at each place of a world, and at one more."""
        places = range(PLACES + 1)
        words = [word for at in places for word in (self.s.at(at), self.u.at(at), self.w.at(at) > 1)]
        words.append(self.s.at(self.p))  # which may be no place
        return [*map(self.graph.lift, words), *(self.has(a, b) for a in places for b in places)]


def worlds(terms: Sequence[Term]) -> Iterator[Interpretation]:
    """Every world, as far as terms name what is in it; of more than 64 each fifth."""
    named = {node.graph.variables[node.value] for node in closure(terms) if node.op in ("var", "sequence")}
    values: dict[str, Sequence[Any]] = {
        "s": BITS, "u": BITS, "w": KEYS, "kept": list(itertools.product(BITS, repeat=PLACES)),
        "p": [(at,) for at in range(-1, PLACES + 1)], "on": [(0,), (1,)],
    }  # fmt: skip
    used = [name for name in values if name in named]
    every_one = list(itertools.product(*(values[name] for name in used)))
    for chosen in every_one[:: 5 if len(every_one) > 64 else 1]:
        yield Interpretation(PLACES + 1, dict(zip(used, chosen, strict=True)))


class Query:
    """What a solver is told of some truths: that they hold, and that one of some others fails.

    Args:
        small: the graph of the truths.
        required, denied: the truths.
        quantified: whether Z3 has quantifiers; else it has instances.
    """

    def __init__(self, small: Small, required: Sequence[Any], denied: Sequence[Any], quantified: bool) -> None:
        truths, parts = [small.graph.lift(one) for one in required], [small.graph.lift(one) for one in denied]
        self.words: dict[str, list[Any]] = {}
        if quantified:
            self._with_quantifiers(small, truths, parts)
        else:
            self._with_instances(small, truths, parts)
        for node in closure([*truths, *parts]):
            if node.op == "var":
                self.words[node.graph.variables[node.value]] = [self.read.expression(node)]

    def _with_instances(self, small: Small, truths: list[Term], parts: list[Term]) -> None:
        instances = Instances(small.graph)
        instances.require(small.reads())  # so that the places of a world are of interest; they are not asserted
        instances.require(truths)
        if parts:
            instances.deny(parts)
        self.read = Z3Reader(z3.Context())
        self.solver = z3.Solver(ctx=self.read.context)
        terms = [*truths, *instances.facts]
        self.solver.add(*map(self.read.expression, terms))
        for node in closure(terms):
            if node.op == "read" and not instances.sorts.substitution.free(node):
                self.solver.add(self.read.expression(node) == self._looked_up(node))

    def _with_quantifiers(self, small: Small, truths: list[Term], parts: list[Term]) -> None:
        read = self.read = QuantifiedReader(small.graph)
        self.solver = z3.Solver(ctx=read.context)
        self.solver.set(**OPTIONS)
        self.solver.add(*map(read.expression, truths))
        if parts:
            self.solver.add(z3.Not(z3.And(*map(read.expression, parts))))
        self.solver.add(*read.meanings, *read.ranges())
        read_from = [node.args[0] for node in closure([*truths, *parts]) if node.op == "read"]
        for symbol in {one.index: one for one in read_from}.values():
            names = [f"place {number}" for number in range(symbol.args[0].value)]
            places = [small.graph.variable(name, -UNBOUNDED, UNBOUNDED) for name in names]
            node = small.graph.lift(word_at(symbol, *places))
            bound = [read.expression(place) for place in places]
            self.solver.add(z3.ForAll(bound, read.expression(node) == self._looked_up(node)))

    def _looked_up(self, node: Term) -> Any:
        """The word of a sequence at a place, as a constant for each place that is any."""
        sequence, *places = node.args
        name, found = node.graph.variables[sequence.value], self.read.constant(node, 0)
        made = self.words.setdefault(name, [])
        for at, key in enumerate(itertools.product(range(PLACES), repeat=len(places))):
            if at == len(made):
                made.append(z3.Const(f"{name} {key}", found.sort()))
            here = z3.And(*(self._number(place) == one for place, one in zip(places, key, strict=True)))
            found = z3.If(here, made[at], found)
        return found

    def _number(self, place: Term) -> Any:
        return self.read.expression(place) if place.op != "const" else z3.IntVal(place.value, self.read.context)

    def has_model(self, world: Interpretation, **more: int) -> bool:
        """Whether all of it may hold in a world."""
        held = {**world.words, **{name: [value] for name, value in more.items()}}
        pairs = [
            (symbol, value) for name, symbols in self.words.items()
            for symbol, value in zip(symbols, [*_flat(held[name])], strict=True)
        ]  # fmt: skip
        self.solver.push()
        for symbol, value in pairs:
            self.solver.add(symbol == (bool(value) if z3.is_bool(symbol) else value))
        result = self.solver.check()
        self.solver.pop()
        assert result != z3.unknown
        return bool(result == z3.sat)


def _flat(held: Any) -> Iterator[int]:
    for one in held:
        yield from _flat(one) if isinstance(one, tuple) else [one]


NAMED: dict[str, Callable[[Small], Any]] = {
    "first": lambda o: first_place(o.graph, o.s.at, o.p),
    "first that is none": lambda o: first_place(o.graph, lambda at: negate(o.s.at(at)), o.p),
    "first after": lambda o: first_place(o.graph, lambda at: all_of(o.u.at(at), at > 0), PLACES),
    "last": lambda o: last_place(o.graph, o.s.at, o.from_zero),
    "last that is none": lambda o: last_place(o.graph, lambda at: negate(o.s.at(at)), o.from_zero),
    "smallest": lambda o: least_by(o.graph, o.s.at, o.w.at),
    "largest": lambda o: least_by(o.graph, o.s.at, lambda at: 2 - o.w.at(at)),
    "above": lambda o: above(o.graph, o.s.at),
    "first of the low": lambda o: first_place(o.graph, low, o.from_zero),
    "smallest of the low": lambda o: least_by(o.graph, low, lambda at: at + choose(o.s.at(o.p), 1, 0)),
    "above the common ones": lambda o: above(o.graph, lambda at: all_of(o.s.at(at), o.u.at(at))),
}


def low(at: Any) -> Any:
    """Whether a place is 0, put so that it is true of -1 as well, which is none."""
    return at * 2 < at + 1


def values_of(term: Term, world: Interpretation) -> set[int]:
    """What a binder's word may be in a world: of members with one key any, and of numbers above them all each."""
    value, place = world.value(term), term.args[0].value
    if term.op == "above":
        return {*range(value, PLACES + 3)}
    if term.op != "least_by":
        return {value}
    members = [at for at in range(PLACES) if world.value(term.args[1], {place: at})]
    keys = {at: world.value(term.args[2], {place: at}) for at in members}
    return {at for at in members if keys[at] == min(keys.values())} or {-1}


@pytest.mark.parametrize("quantified", [False, True])
@pytest.mark.parametrize("name", NAMED)
def test_a_word_that_a_binder_names_is_the_one_that_it_says(name: str, quantified: bool) -> None:
    """In every world it has each value that it may have, and no other."""
    small = Small()
    term, v = NAMED[name](small), small.graph.variable("v", -3, PLACES + 3)
    query, seen = Query(small, [term == v], [], quantified), set()
    for world in worlds([term, *small.reads()[:3]]):
        may_be = values_of(term, world)
        found = {value for value in range(-3, PLACES + 3) if query.has_model(world, v=value)}
        assert found == may_be, world.words
        seen |= found
    assert len(seen) > ("low" not in name)


def ordered(o: Small) -> Any:
    """Whether keys do not fall from member to member."""
    return every(o.graph, lambda a: every(o.graph, lambda b: implies(
        all_of(o.s.at(a), o.s.at(b), a < b), o.w.at(a) <= o.w.at(b))))  # fmt: skip


def asked_before(o: Small) -> Any:
    """Whether members of one set have a key, unless the other has but one place: which is asked outside the claim."""
    only = every(o.graph, lambda at: implies(o.u.at(at), at == o.p))
    return every(o.graph, lambda at: implies(o.s.at(at), any_of(only, o.w.at(at) > 0)))


CLAIMS: dict[str, Callable[[Small], Any]] = {
    "asked before": asked_before,
    "not below": lambda o: any_of(o.s.at(o.p), every(o.graph, lambda at: at * 2 >= at)),
    "all": lambda o: every(o.graph, lambda at: implies(o.s.at(at), o.w.at(at) > 0)),
    "some": lambda o: some(o.graph, lambda at: all_of(o.s.at(at), o.w.at(at) == 2)),
    "within": lambda o: every(o.graph, lambda at: implies(o.s.at(at), o.u.at(at))),
    "ordered": ordered,
    "before": lambda o: every(o.graph, lambda at: implies(o.s.at(at), at < o.p)),
    "next": lambda o: every(o.graph, lambda at: implies(o.s.at(at), o.u.at(at + 1))),
    "member": lambda o: all_of(o.s.at(o.p), every(o.graph, lambda at: implies(o.s.at(at), at == o.p))),
    "chosen": lambda o: choose(o.on, every(o.graph, lambda at: implies(o.s.at(at), o.u.at(at))),
                               some(o.graph, lambda at: all_of(o.s.at(at), o.u.at(at)))),
    "just when": lambda o: same_truth(o.on, every(o.graph, lambda at: any_of(negate(o.s.at(at)), o.u.at(at)))),
    "mutual": lambda o: every(o.graph, lambda a: every(o.graph, lambda b: implies(o.has(a, b), o.has(b, a)))),
    "its own": lambda o: every(o.graph, lambda at: implies(o.s.at(at), o.has(at, at))),
    "kept by one": lambda o: some(o.graph, lambda a: all_of(o.s.at(a), every(
        o.graph, lambda b: implies(o.u.at(b), o.has(a, b))))),
    "either": lambda o: any_of(every(o.graph, lambda at: implies(o.s.at(at), o.u.at(at))),
                               every(o.graph, lambda at: implies(o.u.at(at), o.s.at(at)))),
}  # fmt: skip

FAR = ("ordered", "mutual")
"""Where these fail they do at a place that another place names: too far, unless they are denied."""


@pytest.mark.parametrize("quantified", [False, True])
@pytest.mark.parametrize("name", CLAIMS)
def test_a_claim_about_every_place_holds_or_fails_as_it_says(name: str, quantified: bool) -> None:
    """In every world it may be required where it is true and denied where it is false, and not otherwise."""
    small = Small()
    claim = small.graph.lift(CLAIMS[name](small))
    held, fails = (Query(small, [one], [], quantified) for one in (claim, negate(claim)))
    denied = Query(small, [], [claim], quantified)
    back = small.graph.lift(every(small.graph, lambda at: implies(small.u.at(at), small.s.at(at))))
    known = [small.s.at(0), any_of(small.on, claim), any_of(small.on, back)]
    beside = None if quantified else Query(small, known, [back, claim], False)
    seen = set()
    for world in worlds([claim, small.graph.lift(small.on), *small.reads()[:3]]):
        true = bool(world.value(claim))
        assert (held.has_model(world), denied.has_model(world)) == (true, not true)
        assert fails.has_model(world) == (not true or (name in FAR and not quantified))
        if beside is not None:
            one_fails = not (true and world.value(back))
            assert beside.has_model(world) == (all(world.value(small.graph.lift(one)) for one in known) and one_fails)
        seen.add(true)
    assert seen == ({True} if name == "not below" else {True, False})


def refuted(claim: Callable[[Small], Any]) -> bool:
    """Whether a claim is shown to hold in no world at all."""
    small = Small()
    symbols, read = [one.symbol for one in (small.s, small.u, small.w) if one.symbol is not None], Z3Reader()
    known = {"asked of": small.graph.lift(claim(small))}
    premises = premises_of(read, symbols, known)
    engine = EndlessEngine(premises, Effort(timeout=20), read, time.monotonic)
    return engine.refute([small.graph.constant(False)]).result == PROVEN


@pytest.mark.parametrize(("asked", "core"), [
    ("known", ("one",)), ("known far", ("one", "other")), ("known far follows", ("one", "other")), ("far", ("other",)),
    ("follows", ("other",)),
])  # fmt: skip
def test_a_proof_names_what_it_rests_on(asked: str, core: tuple[str, ...]) -> None:
    """What is assumed word by word is named where it proves a part of a claim, beside what proves the others."""
    small, read = Small(), Z3Reader()
    parts = {
        "known": small.graph.lift(every(small.graph, lambda at: implies(small.s.at(at), small.w.at(at) > 0))),
        "far": small.graph.lift(every(small.graph, lambda at: negate(small.u.at(at)))),
        "follows": small.graph.lift(negate(small.u.at(1))),
    }
    known = {"one": small.graph.lift(all_of(parts["known"], small.s.at(0))), "other": parts["far"]}
    symbols = [one.symbol for one in (small.s, small.u, small.w) if one.symbol is not None]
    engine = EndlessEngine(premises_of(read, symbols, known), Effort(timeout=20), read, time.monotonic)
    answer = engine.refute([parts[name] for name in asked.split()])
    assert (answer.result, answer.core) == (PROVEN, core)


def falls(o: Small, steps: int) -> Any:
    """Whether keys fall so many times; there are three."""
    return all_of(*(o.w.at(at) > o.w.at(at + 1) for at in range(steps)))


@pytest.mark.parametrize(("claim", "expected"), [
    (lambda o: falls(o, 2), False), (lambda o: falls(o, 3), True),
    *((lambda o, n=n: all_of(o.p == -1, o.s.at(0), negate(o.s.at(o.p)), cardinality(o.graph, low) == n), n == 0)
      for n in range(3)),
    *((lambda o, n=n: all_of(o.s.at(0), o.s.at(o.p), cardinality(o.graph, o.s.at) == n), n == 0) for n in range(3)),
    *((lambda o, n=n: all_of(o.s.at(0), o.s.at(o.p), o.p > 0, cardinality(o.graph, o.s.at) == n), n < 2)
      for n in range(4)),
])  # fmt: skip
def test_just_what_holds_in_no_world_is_refuted(claim: Callable[[Small], Any], expected: bool) -> None:
    """Words are in their domains wherever they are read, and a set has the size of its members, which are places."""
    assert refuted(claim) == expected


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


EFFORT = Effort(timeout=20)

Ask = Callable[[Sequence[Any]], SolverAnswer]  # asks an engine whether some truths all hold


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
