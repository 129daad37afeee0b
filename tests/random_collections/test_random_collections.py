"""Random systems with collections: engines agree with a naive search, and any number is any finite number."""

import functools
import itertools
import random
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve, frozen

import kraftcheck as kc
from kraftcheck.model.language.symbolic import UntraceableRule
from kraftcheck.model.language.system import ANY
from kraftcheck.solvers.audit.sampling import Sampling
from kraftcheck.solvers.exploration.explore import Exploration, SearchBudget, explore
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.program.verdict import Refuted
from kraftcheck.solvers.reference.interpreter import Integers
from kraftcheck.solvers.smt.induction import prove
from kraftcheck.solvers.smt.queries import Effort
from kraftcheck.solvers.smt.theory import theory
from tests.ci.spark.levels import begun, finished
from tests.random_collections.drawing import Box, Drawn, Judged, built, drawn, judged, plain_state
from tests.random_collections.kinds import CAPACITY, KINDS
from tests.random_systems.verdicts import plain_word
from tests.shared.samples import one_in
from tests.solvers.tla.test_tlc import agree

CHUNK, ALWAYS, NIGHTLY = 10, 80, 2_000

CHUNKS = one_in(1, [range(first, first + CHUNK) for first in range(0, ALWAYS, CHUNK)]) + [
    pytest.param(range(first, first + CHUNK), marks=pytest.mark.slow) for first in range(ALWAYS, NIGHTLY, CHUNK)
]


def program(one: Drawn) -> Program:
    """The system, traced."""
    system = built(one)
    return trace(system, system.setting())


def told(one: Drawn, found: Exploration) -> tuple[dict[str, tuple[str, int | None]], frozenset[object]]:
    """The verdicts and lengths of the claims, and the states; a claim that says nothing holds naively."""
    words = {
        v.claim: (plain_word(v.kind, type(v.verdict).__name__, v.depth), v.depth)
        for v in found.verdicts if v.claim in one.claims
    }  # fmt: skip
    states = frozenset(plain_state(one, found.program.layout.unpack(packed)) for packed in found.states())
    return words, states


def agrees(one: Drawn, naive: Judged, found: Exploration) -> None:
    """An exploration has the naive states, verdicts and lengths."""
    words, states = told(one, found)
    assert (words, states, found.cut is not None) == (naive.words, naive.states, naive.lost), one


@pytest.mark.parametrize("seeds", CHUNKS, ids=lambda seeds: f"{seeds.start}-{seeds.stop - 1}")
def test_the_search_agrees_with_pythons_collections(seeds: range) -> None:
    """States, verdicts and lengths are those of deque, Counter, set and dict; what ints say of every state is, too."""
    for seed in seeds:
        one = drawn(seed)
        found = explore(program(one), SearchBudget(sampling=Sampling(states=1_000_000)), clock=time.monotonic)
        assert found.audit is not None
        agrees(one, judged(one), found)


@pytest.mark.parametrize("seed", one_in(4, range(0, 40, 3)))
def test_induction_proves_nothing_that_python_refutes(seed: int) -> None:
    """Nothing is proven that the naive search refutes, and nothing where a step loses something."""
    one = drawn(seed)
    naive, system = judged(one), built(one)
    proof = prove(lambda: theory(system, system.setting()), effort=Effort(timeout=5), clock=time.monotonic)
    proven = [name for name in one.claims if name.startswith("claim") and proof.proven(name)]
    assert [name for name in proven if naive.words[name][0] != "Holds"] == [], one


@pytest.mark.parametrize("seed", one_in(4, range(0, 40, 5)))
def test_tasks_agree_with_pythons_collections(seed: int, tmp_path: Path) -> None:
    """The tasks of the Spark engine, run in this process, agree."""
    one = drawn(seed)
    run, runner = begun(program(one), tmp_path / "tasks", handover=0)
    run.expand(runner)
    found, naive = finished(run), judged(one)
    words = {
        v.claim: (plain_word(v.kind, type(v.verdict).__name__, v.depth), v.depth)
        for v in found.verdicts if v.claim in one.claims
    }  # fmt: skip
    assert (words, found.distinct, found.cut is not None) == (naive.words, len(naive.states), naive.lost), one


@pytest.mark.parametrize("seed", range(0, 40, 4))
def test_ints_step_as_pythons_collections(seed: int) -> None:
    """On ints each state leads to the naive states, and what loses something leaves the layout."""
    one = drawn(seed)
    system = built(one)
    engine, naive = Integers(system, system.setting()), judged(one)
    seen, pending = {plain_state(one, state) for state in engine.initial}, list(engine.initial)
    lost = False
    for state in pending:
        for move in engine.enabled(state):
            after: Box = engine.take(state, move).step.after
            if engine.field_outside(after) is not None:
                lost = lost or engine.domain_fault(after) is not None
            elif plain_state(one, after) not in seen:
                seen.add(plain_state(one, after))
                pending.append(after)
    assert (seen, lost) == (naive.states, naive.lost), one


@pytest.mark.slow
@pytest.mark.parametrize("seed", [seed for seed in range(60) if not judged(drawn(seed)).lost][:8])
def test_tlc_agrees_on_collections(seed: int, tmp_path: Path) -> None:
    """TLC finds as many states in what is exported, and refutes the same by traces of the same length."""
    agree(program(drawn(seed)), tmp_path)


def test_what_is_drawn_covers_every_pair_of_operations() -> None:
    """Every operation follows every other in some step; each kind loses something, and refutes, and holds."""
    pairs, words = Counter[tuple[str, str, str]](), Counter[tuple[str, str]]()
    for seed in range(4_000):
        one = drawn(seed)
        for deed in one.deeds:
            for chain in (deed.chain, deed.instead or ()):
                pairs.update((one.kind, first, second) for (first, _), (second, _) in itertools.pairwise(chain))
    for seed in range(150):
        words.update((drawn(seed).kind, word) for word, _ in judged(drawn(seed)).words.values())
    wanted = {(name, a, b) for name, kind in KINDS.items() for a in kind.operations for b in kind.operations}
    assert wanted - pairs.keys() == set()
    losing = {"queue", "queue of pairs", "bag", "capped bag", "set", "set of many", "set of numbers", "map", "tuple"}
    assert {name for name, word in words if word == "Incomplete"} == losing
    assert {(name, word) for name in KINDS for word in ("Holds", "Refuted")} - words.keys() == set()


def test_the_judge_loses_what_does_not_fit() -> None:
    """The naive queue refuses one item too many, and the tail of none; the queue of the language leaves its layout."""
    for name in ("append", "tail"):
        held = KINDS["queue"].empty
        for _ in range(CAPACITY + 1):
            held = KINDS["queue"].operations[name].rule(held, 1)
        assert not 0 <= held.size <= CAPACITY
    assert kc.Queue.of([1, 2], 2).append(3).tail().size > CAPACITY


NOBODY = -1


@frozen
class Race:
    """Who runs, how far, who is in front, and how often each of two has met."""

    runners: Any
    level: Any
    met: Any
    top: kc.Word


def race(claim: Callable[[Any], Any], least: int = 0, *, step: bool = False) -> kc.System:
    """Any number of runners, of whom one may be in front, with a claim."""

    def ahead(state: Race, who: kc.Word) -> Race:
        return evolve(state, level=kc.put(state.level, who, kc.minimum(3, kc.get(state.level, who) + 1)))

    def initial(setting: kc.Setting) -> list[Any]:
        none = {"nobody": lambda s: s.runners.is_empty(), "no level": lambda s: kc.each(
            kc.keys(s.level), lambda i: kc.get(s.level, i) == 0)}  # fmt: skip
        rule = kc.all_where(lambda s: {**{name: holds(s) for name, holds in none.items()}, "none in front": s.top < 0,
            "none met": kc.each(kc.keys(s.met), lambda i: kc.each(kc.keys(kc.get(s.met, i)),
                lambda j: kc.get(s.met, i, j) == 0))})  # fmt: skip
        n = setting["runners"]
        return [rule] if n == ANY else [Race(kc.IntSet(), (0,) * n, ((0,) * n,) * n, NOBODY)]

    def actions(setting: kc.Setting) -> list[kc.Action]:
        who = {"who": kc.numbers_below(setting["runners"])}
        return [
            kc.Action("join", lambda s, who: evolve(s, runners=s.runners.plus(s.runners.just(who))), parameters=who),
            kc.Action("run", ahead, lambda s, who: s.runners.has(who), parameters=who),
            kc.Action("lead", lambda s, who: evolve(s, top=who), lambda s, who: s.runners.has(who), parameters=who),
            kc.Action("stop", lambda s: evolve(s, top=NOBODY)),
        ]

    def layout(setting: kc.Setting) -> Race:
        n = setting["runners"]
        met = kc.map_below(n, kc.map_below(n, kc.ints(0, 0)))
        return Race(kc.set_below(n), kc.map_below(n, kc.ints(0, 3)), met, kc.word_below(n, NOBODY))

    made = kc.step if step else kc.always
    return kc.System(
        name="race", summary="Runners.", layout=layout, initial=initial, actions=actions,
        bounds=[kc.Bound("runners", least, 6, "how many run", takes_any=True)], scopes={"default": {"runners": 2}},
        properties=[made("claim", "it is claimed", claim)], quiescent=lambda state: True,
    )  # fmt: skip


def is_proven(system: kc.System, number: int = ANY) -> bool:
    """Whether the claim is proven for any number, or for one."""
    of = theory(system, system.setting(None, {"runners": number}, proof=True))
    proof = prove(lambda: of, effort=Effort(timeout=2), clock=time.monotonic)
    return proof.proven("claim")


def refuting(system: kc.System, numbers: range) -> list[int]:
    """The numbers with which a search refutes the claim."""
    found = []
    for number in numbers:
        explored = explore(trace(system, system.setting(None, {"runners": number})), clock=lambda: 0.0)
        found += [number for one in explored.verdicts if one.claim == "claim" and isinstance(one.verdict, Refuted)]
    return found


def few(state: Race, number: int) -> Any:
    """Whether fewer than a number run, so that no claim about more is broken by the first of a search."""
    return state.runners.size() < number


def who_leads_runs(state: Race) -> Any:
    """What is true and inductive, so that a claim beside which nothing else is left says something."""
    return kc.any_of(state.top < 0, state.runners.has(state.top))


WRONG = {
    "beyond the domain": lambda s: kc.get(s.level, s.top, otherwise=5) <= 3,
    "below the domain": lambda s: kc.get(s.level, s.top, otherwise=-4) >= 0,
    "in a record of maps": lambda s: kc.get(s.met, s.top, 0, otherwise=7) <= 0,
    "at a place that is given": lambda s: kc.get(s.level, NOBODY, otherwise=5) <= 3,
    "at a place by a condition": lambda s: kc.get(
        s.level, kc.choose(few(s, 6), s.top, NOBODY), otherwise=5) <= 3,
    "at the first of a set": lambda s: kc.get(s.level, s.runners.minus(s.runners).first(), otherwise=5) <= 3,
    "before the first": lambda s: kc.get(s.level, s.top - 1, otherwise=5) <= 3,
    "at the number": lambda s: kc.get(s.level, s.top + 1, otherwise=5) <= 3,
    "at a number that is given": lambda s: kc.get(s.level, 4, otherwise=5) <= 3,
    "at a word of few values": lambda s: kc.get(s.level, kc.get(s.level, s.top, otherwise=0), otherwise=5) <= 3,
    "at the second place": lambda s: kc.get(s.met, s.top, s.top + 1, otherwise=5) <= 3,
    "by a condition": lambda s: kc.get(s.level, kc.choose(s.top < 0, 7, s.top), otherwise=5) <= 3,
    "somebody is behind": lambda s: kc.some(kc.keys(s.level), lambda k: k > s.top),
}  # fmt: skip
"""Claims that are false with six who run."""


@pytest.mark.parametrize("wrong", WRONG.values(), ids=list(WRONG))
def test_the_value_for_places_outside_counts_for_any_number(wrong: Callable[[Any], Any]) -> None:
    """A claim that the value for places outside breaks is refuted with six, and not proven for any number."""
    system = race(lambda s: kc.all_of(who_leads_runs(s), kc.any_of(few(s, 2), wrong(s))), 1)
    assert refuting(system, range(2, 3)) == [2]
    assert not is_proven(system)


def test_the_value_for_places_outside_counts_in_steps() -> None:
    """A claim about steps that the value for places outside breaks is not proven for any number."""
    system = race(lambda step: kc.all_of(
        kc.any_of(step.after.top == step.before.top, step.after.runners.same(step.before.runners)),
        kc.get(step.after.level, step.after.top, otherwise=5) <= 3), step=True)  # fmt: skip
    assert refuting(system, range(1, 2)) == [1]
    assert not is_proven(system)


RIGHT = {
    "otherwise": lambda s: kc.get(s.level, s.top, otherwise=3) <= 3,
    "otherwise, and it is that": lambda s: kc.any_of(s.top >= 0, kc.get(s.level, s.top, otherwise=5) == 5),
    "a place in a branch": lambda s: kc.get(s.level, kc.choose(s.top < 0, 0, s.top), otherwise=5) <= 3,
    "two": lambda s: kc.get(s.met, s.top, s.top, otherwise=0) == 0,
    "put at the number": lambda s: kc.get(kc.put(s.level, s.top + 1, 3), s.top, otherwise=0) <= 3,
    "the front is one of them": lambda s: kc.any_of(s.top < 0, kc.some(kc.keys(s.level), lambda k: k == s.top)),
    "at the number": lambda s: kc.any_of(
        kc.some(kc.keys(s.level), lambda k: k == s.top + 1), kc.get(s.level, s.top + 1, otherwise=5) == 5
    ),
    "runners are some of them": lambda s: kc.each(s.runners, lambda who: kc.some(kc.keys(s.level), lambda k: k == who)),
}


@pytest.mark.parametrize("right", RIGHT.values(), ids=list(RIGHT))
def test_what_is_true_of_places_outside_is_proven(right: Callable[[Any], Any]) -> None:
    """What holds of places outside with each number is proven for any number."""
    system = race(right, 1)
    assert is_proven(system)
    assert refuting(system, range(1, 4)) == []


@pytest.mark.parametrize("name", ["the front is one of them", "runners are some of them"])
def test_domains_of_any_number_end_at_it(name: str) -> None:
    """Words and members of any number are one of that number in every state, whatever is said of the initial ones."""
    system = race(RIGHT[name], 1)
    assert is_proven(evolve(system, initial=lambda setting: [kc.all_where(lambda s: {"any front": s.top >= NOBODY})]))


def test_a_word_below_any_number_stays_there() -> None:
    """A word that a step may take to the number is a fault: nothing is proven, as with each number."""
    system = race(who_leads_runs, 1)
    ahead = kc.Action("ahead", lambda s: evolve(s, top=s.top + 1), lambda s: s.runners.has(s.top + 1))
    beyond = evolve(ahead, guard=lambda s: s.top >= 0)
    counted = kc.Action("count", lambda s: evolve(s, top=s.runners.size()), lambda s: s.top >= 0)
    for action, wrong in ((ahead, []), (beyond, ["top"]), (counted, ["top"])):
        of = theory(evolve(system, actions=lambda setting, one=action: [*system.actions(setting), one]),
                    system.setting(None, {"runners": ANY}, proof=True))  # fmt: skip
        proof = prove(lambda of=of: of, effort=Effort(timeout=10), clock=time.monotonic)
        assert proof.faults() == wrong


OUTSIDE = {
    "below": lambda s: kc.get(s.level, s.top) <= 3,
    "at the number": lambda s: kc.get(s.level, kc.maximum(0, s.top + 1)) <= 3,
    "at a number that is given": lambda s: kc.get(s.level, 4) <= 3,
    "at the second place": lambda s: kc.get(s.met, 0, kc.maximum(0, s.top + 1)) <= 3,
    "by a condition": lambda s: kc.get(s.level, kc.choose(s.top < 0, 7, s.top)) <= 3,
}


@pytest.mark.parametrize("claim", OUTSIDE.values(), ids=list(OUTSIDE))
def test_a_place_that_may_be_no_number_is_refused(claim: Callable[[Any], Any]) -> None:
    """A place that may be below all numbers, or at or beyond their count, is refused without a value for it."""
    with pytest.raises(UntraceableRule, match="of a map of any number"):
        is_proven(race(claim, 1))


DrawnPlaces = Callable[[Any], Any]

PLACES: list[DrawnPlaces] = [
    lambda s: s.top, lambda s: s.top - 1, lambda s: s.top + 1, lambda s: s.runners.first(), lambda s: NOBODY,
    lambda s: 0, lambda s: 2, lambda s: kc.choose(s.runners.has(s.top), s.top, NOBODY),
    lambda s: kc.choose(s.top < 0, s.top, NOBODY),
]  # fmt: skip
"""Places that may be the last, and what is before the first and behind the last."""


def drawn_truth(some: random.Random) -> DrawnPlaces:
    """A truth about a place, about each or some of all numbers, or about each or some of those who run."""
    place, limit, otherwise = some.choice(PLACES), some.choice((0, 1, 3, 5)), some.choice((-4, 0, 1, 3, 5))
    below, each, among = some.random() < 0.7, some.random() < 0.5, some.choice(("runners", "level"))

    def at_place(s: Race) -> Any:
        read = kc.get(s.level, place(s), otherwise=otherwise)
        return read <= limit if below else read >= limit

    def of_member(s: Race, k: kc.Word, at: kc.Word) -> Any:
        compared = (k == at, k <= at, k > at, s.runners.has(k), kc.get(s.level, k) <= limit)[kind]
        return compared if below else kc.negate(compared)

    def of_members(s: Race) -> Any:
        items, at = s.runners if among == "runners" else kc.keys(s.level), place(s)
        return (kc.each if each else kc.some)(items, lambda k: of_member(s, k, at))

    kind = some.randrange(5)
    return of_members if some.random() < 0.7 else at_place


def drawn_race(some: random.Random) -> kc.System:
    """Runners with a claim and an action, whose guard may ask whether somebody is behind, or is the last."""
    guard, truth, number = drawn_truth(some), drawn_truth(some), some.choice((0, 1, 2, 3))
    premise = drawn_truth(some) if some.random() < 0.4 else None

    def claim(state: Race) -> Any:
        said = truth(state) if premise is None else kc.implies(premise(state), truth(state))
        return kc.all_of(who_leads_runs(state), kc.any_of(few(state, number), said))

    def empties(state: Race) -> Race:
        return evolve(state, runners=state.runners.none(), top=NOBODY, level=kc.put(state.level, state.top + 1, 3))

    system = race(claim)
    return evolve(system, actions=lambda setting: [*system.actions(setting), kc.Action("empty", empties, guard)])


@functools.cache
def drawn_races(count: int) -> list[tuple[kc.System, bool]]:
    """So many systems, and whether the claim of each is proven for any number."""
    some = random.Random("places outside")
    systems = [drawn_race(some) for _ in range(count)]
    return [(system, is_proven(system)) for system in systems]


def test_what_is_proven_of_drawn_places_holds_with_few() -> None:
    """What is proven for any number is not refuted with 0 .. 3, and is proven there; other claims are refuted."""
    drawn = drawn_races(16)
    proven, others = ([system for system, is_one in drawn if is_one is wanted] for wanted in (True, False))
    assert min(len(proven), len(others)) > 2
    assert [refuting(system, range(4)) for system in proven] == [[]] * len(proven)
    assert all(is_proven(system, 2) for system in proven)
    assert sum(bool(refuting(system, range(3))) for system in others) > 2


@pytest.mark.slow
def test_what_is_proven_of_many_drawn_places_holds_with_few() -> None:
    """The same of many systems, with 0 .. 6."""
    proven = [system for system, is_one in drawn_races(300) if is_one]
    assert len(proven) > 30
    assert [refuting(system, range(7)) for system in proven] == [[]] * len(proven)
    assert all(is_proven(system, number) for system in proven for number in range(1, 7))
