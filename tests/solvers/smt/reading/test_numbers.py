"""A bound that is any is no number, sets have members below theirs, and no claim has a name of the prover's own."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import attrs
import pytest
from attrs import evolve, frozen

import kraftcheck as kc
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.language.symbolic import NumberError
from kraftcheck.model.language.system import ANY
from kraftcheck.solvers.program.parts import SystemFault
from kraftcheck.solvers.smt.theory import check_names


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
    assert prove(system(lambda s: every_key(s, s.chosen))) == "holds"


@pytest.mark.parametrize(
    "counts",
    [lambda s, n: 3 * s.chosen.size() >= 2 * n, lambda s, n: s.chosen.size() <= n, lambda s, n: s.top < n - 1],
    ids=["twice", "size", "last"],
)
def test_a_bound_that_is_any_is_no_number(counts: Callable[[Any, Any], Any]) -> None:
    """A rule that counts with it is refused with its line, however it does."""
    made = evolve(system(lambda s: True), properties=lambda b: [kc.always("counts", "c", lambda s: counts(s, b["n"]))])
    with pytest.raises(Refusal, match=r"test_numbers\.py:\d+: the bound n is any, and a rule counts with it"):
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
    ],
    ids=["maps", "sets", "choice", "otherwise", "place of another bound"],
)
def test_what_any_number_has_not_is_refused_with_its_line(claim: Callable[[Any], Any], said: str) -> None:
    """The refusal names the line of the rule and what to write, and no class of this project."""
    made = system(claim)
    with_sets = evolve(made, layout=lambda b: Sets(*attrs.astuple(layout(b), recurse=False), kc.map_below(
        b["n"], kc.set_below(b["n"])), kc.word_below(b["m"], -1)))  # fmt: skip
    with pytest.raises(Refusal) as refused:
        prove(with_sets)
    assert re.search(r"test_numbers\.py:\d+: ", str(refused.value))
    assert said in str(refused.value)


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
    assert (b.for_initial()["n"] == ANY, b.for_initial()["n"] != ANY, b["n"] == b["n"]) == (True, False, True)
    for asked in (lambda n: n > 3, lambda n: n >= 4, lambda n: n < 4, lambda n: n <= 3, lambda n: n - 1, lambda n: -n):
        with pytest.raises(NumberError, match="the bound n is any"):
            asked(b["n"])
