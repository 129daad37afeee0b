"""Premises in parts: together they say what the whole says, and the most relevant are assumed first."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from kraftcheck.model.language.terms import Term
from kraftcheck.model.language.words import all_of, any_of, negate
from kraftcheck.solvers.smt.queries import PREMISE, Premises
from kraftcheck.solvers.smt.reading.goals.decisions import consequences
from kraftcheck.solvers.smt.reading.goals.proof import STEP, Parts, PremiseParts, Relevance, chosen
from kraftcheck.solvers.smt.z3terms import Substitution
from tests.solvers.smt.reading.goals.drawing import Drawing, drawing, interpretations


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10**9))
def test_a_claim_holds_just_where_all_its_parts_do(seed: int) -> None:
    """Where the facts hold by which they were made simpler, as many times as it takes."""
    of = drawing(seed)
    fact, truth = (of.graph.lift(of.claim(depth)) for depth in (1, 5))
    parts = Parts(Substitution(of.graph), consequences(fact, True)).of(truth)
    for world in interpretations(of):
        if world.value(fact):
            assert all(world.value(part) for part in parts) == bool(world.value(truth))


def truths(of: Drawing, names: str) -> list[Term]:
    """Truths that nothing else is said of."""
    return [of.graph.truth_variable(name) for name in names]


def premises_of(terms: dict[str, Term], **others: int) -> Premises:
    """Premises with some terms by name, each read as its name, and with others that are no terms."""
    return Premises({name: name for name in terms} | others, (), (), 0, terms)


def test_invariants_and_lemmas_about_steps_have_parts() -> None:
    """Each conjunct has a name of its own, by which the whole is named; guards are left as they are."""
    of = drawing(0)
    a, b, c = truths(of, "abc")
    both = of.graph.lift(all_of(a, b))
    whole = premises_of({"guard: g": both, "other": c, PREMISE + "one": both, STEP + "two": both}, domain=5)
    of_parts = PremiseParts(Parts(Substitution(of.graph)), lambda term: f"read {term.index}")
    parts = of_parts.of(whole)
    in_parts = {f"{name}, part {number}": part for name in (PREMISE + "one", STEP + "two")
                for number, part in enumerate((a, b))}  # fmt: skip
    assert parts.terms == {"guard: g": both, "other": c, **in_parts}
    kept = {"guard: g": "guard: g", "other": "other", "domain": 5}
    assert parts.truths == kept | {name: f"read {term.index}" for name, term in in_parts.items()}
    assert {name: of_parts.whole(name) for name in parts.truths} == {
        name: name.partition(",")[0] for name in parts.truths
    }


def test_only_what_may_be_left_out_is() -> None:
    """A choice of premises has all guards and domains, and no invariant, bound or lemma that it does not name."""
    of = drawing(0)
    a, b, c, d, e = truths(of, "abcde")
    names = ("invariant: a", "invariant: b", "bound: c", "guard: d", STEP + "e")
    some = chosen(premises_of(dict(zip(names, (a, b, c, d, e), strict=True)), domain=5), ["invariant: b"])
    assert some.truths == {"invariant: b": "invariant: b", "guard: d": "guard: d", "domain": 5}
    assert some.terms == {"invariant: b": b, "guard: d": d}


def test_the_parts_that_share_most_with_a_goal_are_most_relevant() -> None:
    """Of each invariant so many are left as are wanted, and whatever has no more parts than that is left whole."""
    of = drawing(0)
    a, b, c, d = truths(of, "abcd")
    either = of.graph.lift(any_of(a, b))
    long = (of.graph.lift(any_of(c, d)), either, a)
    parts = {f"{PREMISE}long, part {number}": part for number, part in enumerate(long)}
    premises = premises_of({**parts, PREMISE + "short, part 0": d}, domain=5)
    relevance = Relevance(premises, lambda name: name.partition(",")[0])
    goal = of.graph.lift(any_of(either, negate(c)))
    kept = {count: [*relevance.most(premises, goal, count).truths] for count in (1, 2, 3)}
    assert kept[1] == [PREMISE + "long, part 1", PREMISE + "short, part 0", "domain"]
    assert kept[2] == [PREMISE + "long, part 1", PREMISE + "long, part 2", PREMISE + "short, part 0", "domain"]
    assert kept[3] == [*premises.truths]
