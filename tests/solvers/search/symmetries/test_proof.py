"""Symmetries are proven of the rules, for every state of the layout, or refused by name and line."""

import functools
from typing import Any

import pytest
from attrs import evolve, frozen

import kraftcheck as kc
from kraftcheck.model.language.symmetry import Symmetry, SymmetryError
from kraftcheck.model.language.system import System
from kraftcheck.solvers.exploration.explore import Exploration, explore
from kraftcheck.solvers.search.symmetry import reduced
from kraftcheck.solvers.smt.symmetry_proof import by_proven_symmetry, prove_symmetries, suggestions
from tests.random_systems.building import build
from tests.random_systems.systems import drawn
from tests.shared.commands import kraftcheck
from tests.shared.explored import traced
from tests.solvers.search.orders.ports import LOCK
from tests.solvers.search.test_symmetry import BROKEN, RING, RING_CLAIMS, Ring, asymmetric
from tests.toys import FAVOURITE, TWO_PHASE


def undeclared(system: System) -> System:
    """A system without its declared symmetries."""
    return evolve(system, symmetries=lambda setting: [])


EXCLUSIVE = evolve(LOCK, properties=lambda setting: [kc.always("exclusive", "One.", lambda s: s.inside.size() <= 1)])
"""Mutual exclusion without the goal that names a process."""


def test_declared_symmetries_are_proven() -> None:
    """Managers in sets, and places in words, sets and tuples together, are proven; Z3 is asked of some of it."""
    for program in (traced(TWO_PHASE), traced(RING, None, *RING_CLAIMS)):
        proof = prove_symmetries(reduced(program))
        assert 0 < proof.asked < proof.obligations


@pytest.mark.parametrize(("changes", "message"), BROKEN)
def test_what_tells_elements_apart_is_refused(changes: dict[str, Any], message: str) -> None:
    """What a comparison of samples refuses is refused without a search, an action with its line."""
    with pytest.raises(SymmetryError, match=r"ring: .* tells places apart") as refused:
        prove_symmetries(asymmetric(**changes))
    assert ("action" in str(refused.value)) == ("test_symmetry.py:" in str(refused.value))
    assert message


def test_a_property_that_names_an_element_is_refused() -> None:
    """The property is named."""
    with pytest.raises(SymmetryError, match="property first-commits tells managers apart in a state of the layout"):
        by_proven_symmetry(traced(FAVOURITE))


def _stays_at_one(t: kc.Step) -> kc.Truth:
    return kc.any_of(t.before.holder != 1, t.after.holder == 1)


def _begins(name: str, initially: Any) -> kc.Property:
    """A claim about initial states, and nothing of steps."""
    return evolve(kc.step(name, "how it begins", lambda t: True), initially=initially)


def test_every_obstacle_is_named() -> None:
    """Each property and action that tells elements apart is in one refusal, claims of steps by their own names."""
    named = (
        kc.always("first", "place 0 does not have it", lambda s: kc.negate(s.holder == 0)),
        kc.always("fair", "somebody has it or has had it", lambda s: kc.any_of(s.holder >= 0, s.visited >= 0)),
        kc.sometimes("last", "place 2 has it", lambda s: s.holder == 2),
        kc.step("leaves", "place 1 does not give it away", _stays_at_one),
        _begins("begins", lambda s: s.holder == 0),
        _begins("begins anywhere", lambda s: s.holder >= 0),
        _begins("begins late", lambda s: s.holder == 2),
    )
    extra = [kc.Action(f"keep-{n}", lambda s: s, lambda s, n=n: s.holder == n) for n in (0, 1)]
    system = evolve(RING, actions=lambda setting: [*RING.actions(setting), *extra], properties=lambda _: named)
    with pytest.raises(SymmetryError) as refused:
        prove_symmetries(reduced(traced(system)))
    said = str(refused.value)
    claims = ("first", "last", "leaves", "begins, initially", "begins late, initially")
    for name in (*(f"property {claim} " for claim in claims), "action keep-0", "action keep-1"):
        assert said.count(name) == 1, (name, said)
    assert "fair" not in said
    assert "anywhere" not in said
    assert "action pass" not in said


def test_what_no_reachable_state_shows_is_refused() -> None:
    """A step that tells places apart in a state that is never reached is refused: the proof is about the layout."""
    never = kc.Action("never", lambda s: s, lambda s: kc.all_of(s.holder == 1, s.visited == 0))
    system = evolve(RING, actions=lambda setting: [*RING.actions(setting), never])
    explore(reduced(traced(system)), clock=lambda: 0.0)
    with pytest.raises(SymmetryError, match="action never tells places apart"):
        prove_symmetries(reduced(traced(system)))


@frozen
class Wide:
    """A set of three, of which a symmetry names two."""

    members: kc.IntSet


def test_a_renaming_that_forgets_is_refused() -> None:
    """Renaming two elements of a set of three drops the third: no symmetry, although no rule tells the two apart."""
    idle = System(
        name="idle", summary="Nothing happens.", initial=[Wide(kc.IntSet())], layout=Wide(kc.IntSet(kc.subset_of(3))),
        actions=[kc.Action("clear", lambda s: Wide(s.members.none()))],
        symmetries=lambda setting: [Symmetry("pair", 2, ("",))],
    )  # fmt: skip
    with pytest.raises(SymmetryError, match="the layout tells pair apart"):
        prove_symmetries(reduced(traced(idle)))


def test_bounds_with_different_reasons_are_refused() -> None:
    """A step that a cap may cut at one place, and a fault cuts at another, is not the same step."""
    uneven = Ring(kc.ints(-1, 2), kc.ints(0, 7), (kc.ints(0, 2), kc.ints(0, 2, cap="two are enough"), kc.ints(0, 2)))
    with pytest.raises(SymmetryError, match=r"the items of counts\[\*\] have bounds with different reasons"):
        prove_symmetries(reduced(traced(evolve(RING, layout=lambda setting: uneven))))


def test_items_with_different_domains_are_refused() -> None:
    """Exchanged, the word of one may be outside the domain of the other, though no rule tells the two apart."""
    uneven = Ring(kc.ints(-1, 2), kc.ints(0, 7), (kc.ints(0, 2), kc.ints(0, 3), kc.ints(0, 2)))
    with pytest.raises(SymmetryError, match="the layout tells places apart"):
        prove_symmetries(reduced(traced(evolve(RING, layout=lambda setting: uneven))))


@frozen
class Apart:
    """Two sets, of two elements and of three."""

    two: kc.IntSet
    three: kc.IntSet


def test_what_was_proven_of_each_symmetry_is_counted() -> None:
    """Statements about the elements of each set are in one sum."""

    def grown(s: Apart, who: Any, name: str) -> Apart:
        members = getattr(s, name)
        return evolve(s, **{name: members.plus(members.just(who))})

    add = [kc.Action(name, functools.partial(grown, name=name), None, {"who": range(size)})
           for name, size in (("two", 2), ("three", 3))]  # fmt: skip
    system = System(
        name="apart", summary="Two sets that grow.", initial=[Apart(kc.IntSet(), kc.IntSet())],
        layout=Apart(kc.IntSet(kc.subset_of(2)), kc.IntSet(kc.subset_of(3))), actions=add,
    )  # fmt: skip
    program = traced(system)
    alone = [prove_symmetries(reduced(traced(evolve(system, symmetries=lambda _, one=one: [one]))))
             for group in suggestions(program) for one in group]  # fmt: skip
    found = by_proven_symmetry(program)
    assert len(alone) == 2
    assert found.reduction is not None
    assert f" {sum(one.obligations for one in alone)} statements, " in str(found.reduction.proof)
    assert f" {sum(one.asked for one in alone)} by Z3" in str(found.reduction.proof)


@pytest.mark.parametrize("may", [False, True], ids=["does not", "never does, though not by its interval"])
def test_a_step_that_leaves_a_domain_at_one_element_only_is_refused(may: bool) -> None:
    """Bits that a renaming drops do not hide that a step leaves the domain: what stays within it is compared too."""

    def adds(s: Wide, who: Any) -> kc.Truth:
        return kc.any_of(who == 0, kc.all_of(s.members.has(0), s.members.size() < 1)) if may else who == 0

    far = System(
        name="far", summary="A set that one of two adds a stranger to.", initial=[Wide(kc.IntSet())],
        layout=Wide(kc.IntSet(kc.subset_of(2))),
        actions=[kc.Action("add", lambda s, who: Wide(s.members.plus(
            kc.choose(adds(s, who), s.members.just(2), s.members.none()))), None, {"who": [0, 1]})],
        symmetries=lambda setting: [Symmetry("pair", 2, ("",))],
    )  # fmt: skip
    with pytest.raises(SymmetryError, match="action add tells pair apart"):
        prove_symmetries(reduced(traced(far)))


def test_symmetries_that_nobody_declared_are_derived() -> None:
    """Tuples and sets of one size are suggested together, proven, and reduce as the declared symmetry does."""
    program = by_proven_symmetry(traced(undeclared(TWO_PHASE)))
    assert program.reduction is not None
    (managers,) = program.reduction.fields
    (declared,) = TWO_PHASE.symmetries(TWO_PHASE.setting())
    assert (managers.symmetry.size, managers.symmetry.sets) == (declared.size, declared.sets)
    lock = by_proven_symmetry(traced(EXCLUSIVE))
    assert lock.reduction is not None
    assert [entry.symmetry.tuples for entry in lock.reduction.fields] == [("at",)]
    found = explore(lock, clock=lambda: 0.0)
    assert found.distinct == 105
    assert {type(one.verdict).__name__ for one in found.verdicts} == {"Holds"}


def test_a_suggestion_that_is_none_is_refused() -> None:
    """Where a goal names process 0 nothing is reduced, and where no field has elements nothing is suggested."""
    assert [one.size for group in suggestions(traced(LOCK)) for one in group] == [4]
    with pytest.raises(SymmetryError, match=r"property last-enters tells elements 0\.\.3 of at, inside apart"):
        by_proven_symmetry(traced(LOCK))
    bare = evolve(RING, layout=lambda setting: Wide(kc.ints(0, 1)), initial=[Wide(0)], actions=lambda setting: [])
    with pytest.raises(SymmetryError, match="ring has neither tuples nor sets of elements"):
        by_proven_symmetry(traced(undeclared(bare)))


SEEDS = [range(first, first + 20) for first in range(0, 200, 20)]


def told(found: Exploration) -> dict[str, tuple[str, int | None]]:
    """The verdict of each property, with the length of its witness."""
    return {one.claim: (type(one.verdict).__name__, one.depth) for one in found.verdicts}


@pytest.mark.slow
@pytest.mark.parametrize("seeds", SEEDS, ids=lambda one: f"{one.start}")
def test_random_systems_keep_verdicts_by_proven_symmetry(seeds: range) -> None:
    """Where a declared symmetry or a suggestion is proven, verdicts and lengths are those of the whole space."""
    for seed in seeds:
        system = build(drawn(seed).machine)
        full = told(explore(traced(system), clock=lambda: 0.0))
        for one in (system, undeclared(system)):
            try:
                program = by_proven_symmetry(traced(one), timeout=2.0)
            except SymmetryError:  # most random systems tell their brokers apart
                continue
            assert told(explore(program, clock=lambda: 0.0)) == full, (seed, program.reduction)


def test_the_command_says_what_was_proven() -> None:
    """The report has a line of the proof; what is refused is one line."""
    ran = kraftcheck("explore", "tests.solvers.search.test_symmetry:RING", "--symmetry", "proven", "--quiet")
    assert ran.code == 21  # it has no properties
    assert "symmetry: proven for every state of the layout, " in ran.out
    refusal = kraftcheck("explore", "tests.toys:FAVOURITE", "--symmetry", "proven", "--quiet").refusal()
    assert refusal.startswith("--symmetry proven: two-phase-commit: property first-commits tells managers apart")
