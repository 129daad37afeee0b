"""Axioms of sizes, each alone: what a wrong model calls for is true of concrete sets, so is all with quantifiers."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import pytest
import z3
from attrs import frozen

from kraftcheck.model.language.anynumber import AnySet
from kraftcheck.model.language.sequences import Sequence as Words
from kraftcheck.model.language.sequences import cardinality, every, word_at
from kraftcheck.model.language.terms import Graph, Term
from kraftcheck.model.language.words import all_of, any_of, choose, implies, negate
from kraftcheck.solvers.audit.numbers import Places
from kraftcheck.solvers.smt.instances import Instances
from kraftcheck.solvers.smt.queries import PROVEN, Effort, Premises
from kraftcheck.solvers.smt.reading import z3_endless
from kraftcheck.solvers.smt.reading.quantified import engine as quantified
from kraftcheck.solvers.smt.reading.quantified.engine import CountedSet, QuantifiedEngine, QuantifiedReader
from kraftcheck.solvers.smt.reading.z3_endless import EndlessEngine, Sized, Value
from kraftcheck.solvers.smt.z3terms import Z3Reader
from tests.solvers.smt.reading.test_quantified import kept_sets
from tests.solvers.smt.test_any_number import satisfiable, value_of_world

Axioms = Callable[[Instances, list[Sized], Value], None]

CLAIMED = {
    "_members": [(0, 0, 0), (1, 1, 1), (2, 2, 2)],
    "_compared": [(5, 1, 1), (1, 1, 1)],
    "_larger_by_two": [(5, 1, 1), (1, 5, 1)],
    "_covered": [(5, 1, 1), (1, 1, 5)],
    "_apart": [(1, 1, 1), (2, 2, 2), (0, 1, 2)],
}
"""For each kind of axioms, sizes of three sets that a model may have, most of them wrong."""

TOO_LARGE = ((2, 3, 5), (4, 2, 2))
"""Further sizes: members count up to two, and sets are compared beyond that."""

WORLDS = list(itertools.product([(0, 0), (1, 0), (1, 1)], [(0, 0), (1, 0), (1, 1)], [(0, 0), (0, 1), (1, 1)]))
"""Three sets of two, in each of the ways in which they may have members in common."""


def said(axioms: Axioms, claimed: Sequence[tuple[int, ...]]) -> Instances:
    """What is said of three sets because a model has wrong sizes of them, whatever their members are in it."""
    instances, _ = of_three_sets()
    before = len(instances.facts)
    for world, wrong in itertools.product(WORLDS, claimed):
        known = value_of_world(concrete(world))
        sizes_of = dict(zip([one.index for one in instances.sets], wrong, strict=True))
        model = partial(_value, sizes_of, known)
        axioms(instances, z3_endless._all_sized(instances, model), model)
    assert len(instances.facts) > before
    return instances


def of_three_sets() -> tuple[Instances, list[int]]:
    """What is said of three sets before anything is said of their sizes, and the indices of these."""
    graph = Graph()
    sets = [AnySet(Words.of_state(graph, f"set {n}", 0, 1, truths=True)) for n in range(3)]
    instances = Instances(graph)
    instances.require(graph.lift(2 * one.size() == 18) for one in sets)
    instances.require(graph.lift(one.has(at)) for one in sets for at in (0, 1))
    instances.require([graph.lift(sets[0].plus(sets[1]).plus(sets[2]).is_empty())])  # so that all are compared
    return instances, [graph.lift(one.size()).index for one in sets]


def concrete(world: Sequence[Sequence[int]]) -> Places:
    """Three sets by their members."""
    return Places(2, {f"set {n}": list(held) for n, held in enumerate(world)})


def _value(sizes_of: Mapping[int, int], known: Value, term: Term) -> int:
    return sizes_of.get(term.index, known(term))


@pytest.mark.parametrize("kind", CLAIMED)
def test_axioms_of_each_kind_are_true_of_three_sets(kind: str) -> None:
    """All that axioms of one kind say, whatever model calls for it, is true of every three sets."""
    instances = said(getattr(z3_endless, kind), CLAIMED[kind])
    assert [world for world in WORLDS if not satisfiable(concrete(world), [], instances)] == []


@frozen
class Mistaken(Places):
    """Concrete sets whose sizes, by the indices of their terms, may be wrong."""

    sizes: Mapping[int, int]

    def value(self, term: Term | int, bound: Mapping[int, int] | None = None) -> int:
        """A size as it is claimed; all else as it is."""
        claimed = self.sizes.get(term.index) if isinstance(term, Term) else None
        return super().value(term, bound) if claimed is None else claimed


def contradicted(kind: str, world: Sequence[Sequence[int]], claimed: Sequence[int]) -> bool:
    """Whether the axioms of a kind, as provers.md has them, contradict the claimed sizes of three sets."""
    sets = [({at for at, held in enumerate(one) if held}, size) for one, size in zip(world, claimed, strict=True)]
    pairs = list(itertools.permutations(sets, 2))
    match kind:
        case "_members":
            # Of a set with a known member the first one is not named, from which a second would have to differ.
            return any((size > 0 and not one) or size < min(len(one), 2) for one, size in sets)
        case "_compared":
            return any(one <= other and (size > of_other or (size == of_other and one != other))
                       for (one, size), (other, of_other) in pairs)  # fmt: skip
        case "_larger_by_two":
            return any(size >= of_other + 2 and len(one - other) < 2 for (one, size), (other, of_other) in pairs)
        case "_apart":
            return any(not one & two and one | two <= whole and size + of_two > of_whole
                       for whole, of_whole in sets for (one, size), (two, of_two) in itertools.combinations(sets, 2))
    return any(one <= two | three and size > of_two + of_three
               for (one, size), (two, of_two), (three, of_three) in itertools.permutations(sets, 3))  # fmt: skip


@pytest.mark.parametrize("kind", CLAIMED)
def test_axioms_of_each_kind_refute_wrong_sizes(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of three sets whose members are known, just those sizes are refuted that the axioms of one kind contradict."""
    for other in CLAIMED.keys() - {kind}:
        monkeypatch.setattr(z3_endless, other, lambda *_: None)
    outcomes = set()
    for world, claimed in itertools.product(WORLDS[::2], [*CLAIMED[kind], *TOO_LARGE]):
        instances, indices = of_three_sets()
        wrong, of = contradicted(kind, world, claimed), concrete(world)
        mistaken = Mistaken(of.count, of.words, dict(zip(indices, claimed, strict=True)))
        assert satisfiable(mistaken, [], instances) != wrong, (world, claimed)
        outcomes.add(wrong)
    assert outcomes == {True, False}


def kept_by_three(claim: Callable[[Callable[..., Any], Callable[[int], Any], Any], Any]) -> bool:
    """Whether a claim is proven about sizes of what three brokers keep, by who they are, and of another set."""
    graph = Graph()
    kept = graph.intern("sequence", (graph.constant(2),), len(graph.variables), 0, 1, True)
    graph.variables.append("kept")
    who = Words.of_state(graph, "who", 0, 1 << 1000)

    def size(*owners: int) -> Any:
        """Of the union of what these keep."""
        return cardinality(graph, lambda at: any_of(*(word_at(kept, who.at(one), at) for one in owners)))

    def one_of(condition: Any, one: int, other: int) -> Any:
        """Of what the first keeps where a condition holds, else of what the other does."""
        return cardinality(graph, lambda at: choose(
            condition, word_at(kept, who.at(one), at), word_at(kept, who.at(other), at)))  # fmt: skip

    goal = claim(size, who.at, one_of)
    premises = Premises({}, (), (kept,), 1, {})
    engine = EndlessEngine(premises, Effort(timeout=20), Z3Reader(), time.monotonic)
    return engine.refute([graph.lift(goal)]).result == PROVEN


@pytest.mark.parametrize(
    ("claim", "proven"),
    [
        (lambda size, who, _: implies(who(0) == who(1), size(0) == size(1)), True),
        (lambda size, who, _: size(0) == size(1), False),
        (lambda size, who, _: implies(who(1) == who(2), size(0, 1) == size(0, 2)), True),
        (lambda size, who, _: size(0, 1) == size(0, 2), False),
        (lambda size, who, _: implies(who(0) == who(1), size(0, 2) == size(1, 1)), False),
        (lambda size, who, _: implies(who(0) == who(1), size(1, 2, 0) == size(0, 2, 1)), True),
        (lambda size, who, _: any_of(size(0) == size(1), size(1) == size(2), size(0) == size(2)), False),
        (lambda size, who, one_of: any_of(*(one_of(who(2) == 3, 0, 1) == size(n) for n in (0, 2))), False),
        (lambda size, who, one_of: implies(who(2) == 3, one_of(who(2) == 3, 0, 1) == size(0)), True),
        (lambda size, who, one_of: implies(who(2) == 4, one_of(who(2) == 3, 0, 1) == size(1)), True),
        (lambda size, who, one_of: implies(who(2) == 4, one_of(who(2) == 3, 0, 1) == size(0)), False),
        (lambda size, who, one_of: implies(who(2) == 3, one_of(who(2) == 3, 0, 1) == size(1)), False),
    ],
)  # fmt: skip
def test_equal_brokers_keep_sets_of_one_size(claim: Callable[..., Any], proven: bool) -> None:
    """What two brokers keep is of one size where they are one, and else not; one of two sets is of the size of that."""
    assert kept_by_three(claim) == proven


def test_what_is_said_of_equal_brokers_is_true_of_what_they_keep() -> None:
    """Whatever sizes a model has of what two brokers keep, all that it calls for is true whoever these are."""
    graph = Graph()
    kept = graph.intern("sequence", (graph.constant(2),), len(graph.variables), 0, 1, True)
    graph.variables.append("kept")
    who = Words.of_state(graph, "who", 0, 1 << 1000)
    sizes = [cardinality(graph, lambda at, n=n: word_at(kept, who.at(n), at)) for n in (0, 1)]  # type: ignore[misc]
    instances = Instances(graph)
    instances.require(graph.lift(2 * size == 18) for size in sizes)
    before, worlds = len(instances.facts), [
        Places(2, {"kept": held, "who": whose})
        for held in ([[1, 1], [0, 1]], [[0, 1], [1, 0]]) for whose in itertools.product((0, 1), repeat=2)
    ]  # fmt: skip
    for world, wrong in itertools.product(worlds, ((2, 1), (0, 1))):
        model = partial(_value, dict(zip([size.index for size in sizes], wrong, strict=True)), value_of_world(world))
        z3_endless._same(instances, z3_endless._all_sized(instances, model), model)
    said = instances.facts[before:]
    assert said
    assert [world for world in worlds if not all(world.value(fact) for fact in said)] == []


@pytest.mark.parametrize("of_any", [EndlessEngine, QuantifiedEngine])
@pytest.mark.parametrize(("turned", "proven"), [(False, True), (True, False)])
def test_what_one_broker_keeps_without_another_is_not_the_other_way_round(
    of_any: Any, turned: bool, proven: bool
) -> None:
    """Differences are of one size where their brokers are the same in the same order, and not where they are turned."""
    graph = Graph()
    kept = graph.intern("sequence", (graph.constant(2),), len(graph.variables), 0, 1, True)
    graph.variables.append("kept")
    who = Words.of_state(graph, "who", 0, 1 << 1000)

    def keeps(one: int) -> Callable[[Any], Any]:
        return lambda at: word_at(kept, who.at(one), at)

    def both(*parts: Callable[[Any], Any]) -> Any:
        return cardinality(graph, lambda at: all_of(*(part(at) for part in parts)))

    def lacks(one: int) -> Callable[[Any], Any]:
        return lambda at: negate(keeps(one)(at))

    same = all_of(who.at(0) == who.at(2), who.at(1) == who.at(3))
    second = both(lacks(2), keeps(3)) if turned else both(keeps(2), lacks(3))
    goal = graph.lift(implies(same, both(keeps(0), lacks(1)) == second))
    assert who.symbol is not None
    symbols, read = (kept, who.symbol), Z3Reader()
    premises = Premises({}, tuple(map(read.expression, symbols)), symbols, 2, {"known": graph.lift(True)})
    args = (premises, Effort(timeout=20), read, time.monotonic)
    engine = of_any(*args if of_any is EndlessEngine else args[:2])
    assert (engine.refute([goal]).result == PROVEN) == proven


COUNT = 2
"""Places that may be members, and brokers that may keep some."""

World = Mapping[str, tuple[Any, ...]]
"""The members of each set, place by place; of sets that brokers keep, broker by broker."""


@frozen
class Claimed:
    """A model that says of each size only what it is claimed to be."""

    sizes: Mapping[str, int]

    def eval(self, size: Any, model_completion: bool) -> Any:
        """The claimed size."""
        assert model_completion
        return z3.IntVal(self.sizes[str(size)], size.ctx)


def read_sets() -> QuantifiedReader:
    """A reader of the sizes of three sets, of what a broker keeps, and of that without the first set, or without it."""
    graph = Graph()
    sets = [Words.of_state(graph, f"set {n}", 0, 1, truths=True) for n in range(3)]
    kept = graph.intern("sequence", (graph.constant(2),), len(graph.variables), 0, 1, True)
    graph.variables.append("kept")
    asked = [cardinality(graph, one.at) == 5 for one in sets]
    asked.append(every(graph, lambda b: cardinality(graph, lambda at: word_at(kept, b, at)) == 5))
    asked.append(every(graph, lambda b: cardinality(
        graph, lambda at: all_of(word_at(kept, b, at), negate(sets[0].at(at)))) == 5))  # fmt: skip
    asked.append(every(graph, lambda b: cardinality(
        graph, lambda at: all_of(word_at(kept, b, at), negate(at == b))) == 5))  # fmt: skip
    read = QuantifiedReader(graph)
    for truth in asked:
        read.expression(graph.lift(truth))
    return read


def worlds() -> Iterator[World]:
    """Three sets, which may have members in common or cover each other, and what two brokers keep."""
    held = [*itertools.product((0, 1), repeat=COUNT)]
    for one, other, third in itertools.product(held, held[1:], held[::3]):
        yield {"set 0": one, "set 1": other, "set 2": third, "kept": (other, third)}


def looked_up(held: Any, context: z3.Context, at: int = 0) -> Any:
    """Whether a set has what its function is given; a tuple is looked up by the first of it."""
    if not isinstance(held, tuple):
        return z3.BoolVal(bool(held), context)
    found: Any = z3.BoolVal(False, context)
    for number, one in enumerate(held):
        found = z3.If(z3.Var(at, z3.IntSort(context)) == number, looked_up(one, context, at + 1), found)
    return found


def meaning_in(world: World, read: QuantifiedReader) -> list[tuple[Any, Any]]:
    """What stands for each set, and for each size: how many places are members."""
    context, made = read.context, list[tuple[Any, Any]]()
    for name, held in world.items():
        sorts = [z3.IntSort(context)] * (2 if name == "kept" else 1)
        made.append((z3.Function(f"${name}", *sorts, z3.BoolSort(context)), looked_up(held, context)))
    for one in read.sets.values():
        given = [(constant, z3.Var(at, constant.sort())) for at, constant in enumerate(one.parameters)]
        inside = [z3.substitute_funs(one.has(z3.IntVal(at, context)), *made[: len(world)]) for at in range(COUNT)]
        size = z3.Sum([z3.If(z3.substitute(member, *given), z3.IntVal(1, context), 0) for member in inside])
        made.append((one.size.decl(), size))
    return made


def instances_of(axiom: Any) -> Iterator[Any]:
    """An axiom at each place and broker, and at what is none."""
    if not z3.is_quantifier(axiom):
        yield axiom
        return
    for at in itertools.product(range(-1, COUNT + 1), repeat=axiom.num_vars()):
        yield z3.substitute_vars(axiom.body(), *(z3.IntVal(one, axiom.ctx) for one in at))


def axioms_of(sets: Sequence[CountedSet]) -> Iterator[Any]:
    """All axioms; those of sets that cover another, whichever a model has too large."""
    yield from quantified.of_members(sets)
    yield from (truth for pair in quantified.of_pairs(sets) for truth in pair.truths)
    single = [one for one in sets if not one.parameters]
    for large in single:
        model: Any = Claimed({str(one.size): 9 if one is large else 1 for one in single})
        yield from (truth for cover in quantified.of_covers(sets, model) for truth in cover.truths)


def test_each_axiom_of_sizes_is_true_of_sets_that_are_known() -> None:
    """Of sets of which one may be within another, or two cover a third, and of those that brokers keep."""
    read = read_sets()
    sets = [*read.sets.values()]
    assert [len(one.parameters) for one in sets] == [0, 0, 0, 1, 1, 2]
    instances = [one for axiom in axioms_of(sets) for one in instances_of(axiom)]
    for world in worlds():
        solver, meaning = z3.Solver(ctx=read.context), meaning_in(world, read)
        solver.add(z3.substitute_funs(one, *meaning) for one in instances)
        assert solver.check() == z3.sat, world


def test_who_keeps_some_places_is_in_no_set_of_those_who_keep_all_or_none() -> None:
    """Sets whose members are said by a claim about every place may both be empty."""
    def either_has_one(graph: Graph, kept: Term, _: Any) -> Any:
        sets: list[Callable[[Any], Any]] = [
            lambda at: every(graph, lambda x: word_at(kept, at, x)),
            lambda at: every(graph, lambda x: negate(word_at(kept, at, x))),
        ]
        return any_of(*(cardinality(graph, one) >= 1 for one in sets))

    assert not kept_sets(either_has_one)
