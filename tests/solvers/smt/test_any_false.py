"""False claims about any number: of each some number of guests breaks it, and no prover may prove it."""

import contextlib
import inspect
import itertools
import random
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from attrs import evolve, frozen

import kraftcheck as kc
from kraftcheck.ci.prove.request import ProofRequest
from kraftcheck.model.language.layout import DomainError
from kraftcheck.model.language.symbolic import UntraceableRule
from kraftcheck.solvers.audit.numbers import OfNumber
from kraftcheck.solvers.smt.induction import prove
from kraftcheck.solvers.smt.queries import PROVEN, Effort, Obligation, Questions
from kraftcheck.solvers.smt.reading.quantified.engine import QuantifiedEngine
from kraftcheck.solvers.smt.theory import INITIATION
from kraftcheck.solvers.smt.worker import SolverSession
from tests.solvers.smt.asking import any_theory


@frozen
class Hall:
    """Who is marked, inside and gone, and who is looked at."""

    marks: Any
    inside: Any
    gone: Any
    at: kc.Word


def guests(s: Hall) -> Any:
    """All guests."""
    return kc.keys(s.marks)


def everybody(s: Hall) -> kc.Word:
    """How many guests there are."""
    return kc.count(guests(s), lambda _: True)


def with_one(some: Any, x: kc.Word) -> Any:
    """A set with one more."""
    return some.plus(some.just(x))


def without(some: Any, x: kc.Word) -> Any:
    """A set with one less."""
    return some.minus(some.just(x))


def is_last(s: Hall, x: kc.Word) -> kc.Truth:
    """Whether nobody comes after a guest."""
    return kc.negate(kc.some(guests(s), lambda y: y > x))


def unmarked(s: Hall) -> kc.Truth:
    """Whether nobody is marked."""
    return kc.each(guests(s), lambda y: kc.get(s.marks, y) == 0)


def ordered(s: Hall, *places: kc.Word) -> kc.Truth:
    """Whether places rise, and all are of guests inside."""
    return kc.all_of(*(one < other for one, other in itertools.pairwise(places)), *map(s.inside.has, places))


ACTIONS: dict[str, tuple[Any, Any]] = {
    "join": (lambda s, x: evolve(s, inside=with_one(s.inside, x)), None),
    "leave": (lambda s, x: evolve(s, inside=without(s.inside, x)), None),
    "move": (lambda s, x: evolve(s, inside=without(s.inside, x), gone=with_one(s.gone, x)), None),
    "either": (lambda s, x, y: evolve(s, inside=with_one(s.inside, x), gone=with_one(s.gone, y)), None),
    "go": (lambda s, x: evolve(s, at=x), lambda s, x: x == s.at + 1),
    "wrap": (lambda s: evolve(s, at=-1), lambda s: kc.all_of(is_last(s, s.at), s.at >= 3)),
    "join_last": (lambda s, x: evolve(s, inside=with_one(s.inside, x)), lambda s, x: kc.all_of(is_last(s, x), x >= 3)),
    "join_few": (lambda s, x: evolve(s, inside=with_one(s.inside, x)),
                 lambda s, x: kc.any_of(s.inside.size() < 3, kc.all_of(is_last(s, x), x >= 3))),
    "mark_next": (lambda s, x: evolve(s, marks=kc.put(kc.put(s.marks, x + 1, 1), x, 0)), None),
    "mark_past": (lambda s, x: evolve(s, marks=kc.put(s.marks, x + 1, 2), inside=with_one(s.inside, x)),
                  lambda s, x: kc.all_of(is_last(s, x), x >= 3)),
    "mark_full": (lambda s, x: evolve(s, marks=kc.put(s.marks, x, 1)), lambda s, x: kc.all_of(
        kc.each(guests(s), s.inside.has), s.inside.size() >= 4)),
    "mark_half": (lambda s, x: evolve(s, marks=kc.put(s.marks, x, 1)), lambda s, x: kc.all_of(
        2 * s.inside.size() == everybody(s), s.inside.size() >= 2)),
    "swap": (lambda s: evolve(s, inside=s.inside.minus(s.gone), gone=s.gone.minus(s.inside)), None),
    "look": (lambda s: evolve(s, at=s.inside.minus(s.gone).first()), None),
}  # fmt: skip

FALSE: dict[str, tuple[str, Callable[[Hall], Any], int, int]] = {
    "the last stays out": ("join_last", lambda s: s.inside.is_empty(), 4, 2),
    "what is put past the last is too much": ("mark_past", lambda s: s.inside.is_empty(), 4, 2),
    "three are inside": ("join_few leave", lambda s: s.inside.size() <= 3, 4, 2),
    "the look stays short": ("go wrap", lambda s: kc.any_of(s.at < 3, kc.negate(is_last(s, s.at))), 4, 2),
    "somebody is out": ("join", lambda s: kc.some(guests(s), lambda y: kc.negate(s.inside.has(y))), 2, 2),
    "never all of four": ("join mark_full", unmarked, 4, 2),
    "never half": ("join leave mark_half", unmarked, 4, 2),
    "a union is the sum": ("either", lambda s: (
        s.inside.plus(s.gone).size() == s.inside.size() + s.gone.size()), 2, 2),
    "two thirds meet": ("either", lambda s: kc.implies(
        kc.all_of(3 * s.inside.size() > everybody(s), 3 * s.gone.size() > everybody(s)),
        kc.negate(s.inside.keep(s.gone).is_empty())), 2, 2),
    "somebody is here": ("join", lambda s: kc.some(guests(s), lambda y: y >= 0), 0, 0),
    "one is the last": ("join", lambda s: kc.some(guests(s), lambda x: is_last(s, x)), 0, 0),
    "a second is there": ("join", lambda s: kc.get(s.marks, 1, otherwise=2) <= 1, 1, 1),
    "each has a next": ("join", lambda s: kc.each(guests(s), lambda x: kc.some(guests(s), lambda y: y > x)), 2, 1),
    "beyond is one": ("go", lambda s: kc.get(s.marks, s.at + 1, otherwise=2) <= 1, 2, 2),
    "three at most": ("join", lambda s: kc.each(guests(s), lambda a: kc.each(guests(s), lambda b: kc.each(
        guests(s), lambda c: kc.each(guests(s), lambda d: kc.negate(ordered(s, a, b, c, d)))))), 4, 2),
    "two at most": ("join", lambda s: kc.each(guests(s), lambda a: kc.each(guests(s), lambda b: kc.each(
        guests(s), lambda c: kc.negate(ordered(s, a, b, c))))), 3, 2),
    "a difference goes on": ("join move swap", lambda s: kc.implies(
        s.gone.size() >= 3, kc.negate(s.inside.minus(s.gone).is_empty())), 3, 2),
    "the first is near": ("join leave look", lambda s: s.at <= 2, 4, 2),
    "not five": ("join", lambda s: everybody(s) != 5, 5, 2),
    "few are both": ("either", lambda s: s.inside.keep(s.gone).size() < 4, 4, 2),
    "four leave a gap": ("join", lambda s: kc.any_of(s.inside.size() < 4, kc.some(
        guests(s), lambda y: kc.all_of(kc.negate(s.inside.has(y)), y < 4))), 4, 2),
    "less by more": ("either leave", lambda s: s.inside.minus(s.gone).size() > s.inside.size() - s.gone.size(), 2, 2),
    "two are marked": ("mark_next", lambda s: kc.implies(everybody(s) >= 4, kc.count(
        guests(s), lambda y: kc.get(s.marks, y) == 1) <= 1), 4, 2),
}  # fmt: skip
"""By what they say: the actions, the claim, a number that breaks it, and the least number."""


def hall(names: str, claim: Callable[[Hall], Any], least: int, anywhere: bool = False) -> kc.System:
    """Guests with some actions and a claim; of any number runs begin in any state, if so said."""

    def initial(setting: kc.Setting) -> list[Any]:
        number = setting["n"]
        empty = {"empty": lambda s: kc.all_of(s.inside.is_empty(), s.gone.is_empty(), s.at == -1, unmarked(s))}
        if number == kc.ANY:
            return [kc.all_where(lambda s: {"any": s.at >= -1} if anywhere else {"empty": empty["empty"](s)})]
        return [Hall((0,) * number, kc.IntSet(), kc.IntSet(), -1)]

    def action(name: str, setting: kc.Setting) -> kc.Action:
        effect, guard = ACTIONS[name]
        arguments = [*inspect.signature(effect).parameters][1:]
        return kc.Action(name, effect, guard, {one: kc.numbers_below(setting["n"]) for one in arguments})

    return kc.System(
        name="hall", summary="Guests in a hall.", quiescent=lambda s: True, initial=initial,
        bounds=[kc.Bound("n", least, 6, "number of guests", takes_any=True)], scopes={"default": {"n": max(least, 2)}},
        layout=lambda setting: Hall(
            kc.map_below(setting["n"], kc.ints(0, 1, cap="a guest is marked once")), *[kc.set_below(setting["n"])] * 2,
            kc.word_below(setting["n"], -1)),
        actions=lambda setting: [action(name, setting) for name in names.split()],
        properties=[kc.always("claim", "the claim", claim)],
    )  # fmt: skip


@pytest.mark.parametrize("said", FALSE)
def test_a_claim_that_some_number_breaks_is_not_proven(said: str) -> None:
    """The search with that number refutes it; neither instances nor what few participants tell prove it."""
    names, claim, number, least = FALSE[said]
    system = hall(names, claim, least)
    assert kc.explore(system, n=number, cache=False, threads=1).refuted == ("claim",)
    request = ProofRequest(system, None, {"n": kc.ANY}, None)
    for few in ([], request.builders()):
        proof = prove(request.build, effort=Effort(timeout=5), clock=time.monotonic, few=few)
        assert not proof.proven("claim")


Drawn = Callable[[Hall, Sequence[kc.Word]], Any]
"""A part of a claim that is drawn, of a state and the guests that quantifiers name."""


@frozen
class Claims:
    """Draws claims about any state."""

    random: random.Random

    def some(self, deep: int = 0) -> Drawn:
        """A set."""
        choice = self.random.randrange(8 if deep < 2 else 2)
        if choice < 2:
            return lambda s, named: (s.inside, s.gone)[choice]
        if choice == 2:
            at = self.place(deep + 1)
            return lambda s, named: s.inside.just(at(s, named))
        one, other, how = self.some(deep + 1), self.some(deep + 1), ("plus", "minus", "keep")[choice % 3]
        return lambda s, named: getattr(one(s, named), how)(other(s, named))

    def place(self, deep: int = 0) -> Drawn:
        """A number of a guest, or of none."""
        choice = self.random.randrange(6 if deep < 3 else 4)
        if choice < 4:
            return lambda s, named: named[choice] if choice < len(named) else s.at
        if choice == 4:
            of = self.some(deep + 1)
            return lambda s, named: of(s, named).first()
        at, by = self.place(deep + 1), self.random.choice((-1, 1))
        return lambda s, named: at(s, named) + by

    def word(self, deep: int = 0) -> Drawn:
        """A number: sizes, marks, and sums of them."""
        choice = self.random.randrange(5 if deep < 2 else 4)
        if choice == 0:
            return lambda s, named: everybody(s)
        if choice == 1:
            at = self.place()
            return lambda s, named: kc.get(s.marks, at(s, named), otherwise=0)
        if choice < 4:
            of = self.some()
            return lambda s, named: of(s, named).size()
        one, other, times = self.word(deep + 1), self.word(deep + 1), self.random.choice((-1, 1, 1, 2))
        return lambda s, named: one(s, named) + times * other(s, named)

    def truth(self, deep: int = 0, named_so_far: int = 0) -> Drawn:
        """A truth."""
        choice = self.random.randrange(9 if deep < 4 else 4)
        if choice < 2:
            one, other, by, how = self.word(), self.word(), self.random.randrange(-2, 4), self.random.random() < 0.6
            return lambda s, named: (
                one(s, named) <= other(s, named) + by if how else one(s, named) == other(s, named) + by
            )
        if choice < 4:
            of, with_, at = self.some(), self.some(), self.place()
            return lambda s, named: of(s, named).within(with_(s, named)) if choice == 2 else of(s, named).has(
                at(s, named))  # fmt: skip
        if choice == 4 or (choice > 6 and named_so_far == 3):
            denied = self.truth(deep + 1, named_so_far)
            return lambda s, named: kc.negate(denied(s, named))
        if choice < 7:
            parts = [self.truth(deep + 1, named_so_far) for _ in range(2)]
            join = self.random.choice((kc.all_of, kc.any_of, kc.any_of))
            return lambda s, named: join(*(part(s, named) for part in parts))
        every, inner = self.random.choice((kc.each, kc.some)), self.truth(deep + 1, named_so_far + 1)
        among = self.random.choice((None, self.some()))
        return lambda s, named: every(
            guests(s) if among is None else among(s, named), lambda y: inner(s, (y, *named)))  # fmt: skip


def states(number: int) -> Iterator[Hall]:
    """Every state with so many guests."""
    sets = range(1 << number)
    for inside, gone, marks, at in itertools.product(sets, sets, sets, range(-1, number)):
        yield Hall(tuple(marks >> i & 1 for i in range(number)), kc.IntSet(inside), kc.IntSet(gone), at)


def test_what_is_proven_of_any_state_is_true_of_each_state_with_few() -> None:
    """Drawn claims about sizes, first members and places that instances or quantifiers prove hold with up to three."""
    proven = 0
    for seed in range(60):
        drawn = Claims(random.Random(f"false {seed}")).truth()
        least = seed % 4

        def claim(s: Hall, drawn: Drawn = drawn) -> Any:
            return drawn(s, ())

        try:
            of = any_theory(hall("swap", claim, least, anywhere=True))
        except UntraceableRule:  # a place that may be no number
            continue
        questions = Questions(of)
        session = SolverSession(questions, questions.premises(INITIATION, []), Effort(timeout=5), time.monotonic)
        by_instances = session.ask(Obligation("claim", INITIATION)).result == PROVEN
        engine = QuantifiedEngine(questions.of_state([]), Effort(resources=1_000_000))
        if by_instances or engine.refute([of.state_truths()["claim"]]).result == PROVEN:
            proven += 1
            for number in range(least, 4):
                assert all(bool(claim(s)) for s in states(number)), (seed, number, by_instances)
    assert proven > 5


STEPS_OF_EACH = 12  # steps of each number that are looked at


def steps_within(few: OfNumber, action: kc.Action, number: int) -> Iterator[tuple[Hall, dict[str, Any]]]:
    """States and arguments of steps that stay in the layout, drawn from all."""
    drawn = list(states(number))
    random.Random(number).shuffle(drawn)
    for state, values in itertools.product(drawn[:1000], itertools.product(*action.parameters.values())):
        arguments = dict(zip(action.parameters, values, strict=True))
        if action.enabled(state, arguments):
            with contextlib.suppress(DomainError):
                few.layout.values(action.outcome(state, arguments).state)
                yield state, arguments


@pytest.mark.parametrize("name", ACTIONS)
def test_no_step_of_few_is_left_out(name: str) -> None:
    """What provers assume of a step of any number is true of each with few: its guards, arguments and bounds."""
    system, looked_at = hall(name, lambda s: s.at >= -1, 1), 0
    of = any_theory(system)
    (kind,) = of.program.kinds
    assumed = Questions(of).premises(name, ["claim"]).terms
    for number in range(1, 5):
        few = OfNumber(of.program, system, system.setting(None, {"n": number}))
        steps = steps_within(few, few.action(kind.action), number)
        for state, arguments in itertools.islice(steps, STEPS_OF_EACH):
            read, looked_at = few.read(few.layout.values(state)).given(kind, [*arguments.values()]), looked_at + 1
            assert [said for said, term in assumed.items() if not read.worth(term)] == [], (number, state, arguments)
    assert looked_at >= STEPS_OF_EACH
