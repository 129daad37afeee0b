"""Systems with one collection, drawn at random: as data, in the language, and as a naive search."""

import random
from collections.abc import Mapping
from typing import Any

from attrs import frozen

import kraftcheck as kc
from tests.random_collections.kinds import KINDS, NUMBERS, Kind, LostError

TURNS = 3  # a second word of the state counts modulo this


@frozen
class Box:
    """A state."""

    held: Any
    turn: kc.Word


@frozen
class Deed:
    """What an action does."""

    chain: tuple[tuple[str, Any], ...]  # operations, each with its operand: a number, `v` for the argument, or `turn`
    # what it does where a question is answered with no; none: it always does the same
    instead: tuple[tuple[str, Any], ...] | None
    question: tuple[str, Any]  # the question, with its operand
    guard: bool  # whether it is asked only where the question is answered with yes


@frozen
class Drawn:
    """A system as data."""

    kind: str  # the name of the kind of collection
    deeds: tuple[Deed, ...]  # its actions
    # by id, whether it is a goal, and questions with the answers of which one is expected
    claims: Mapping[str, tuple[bool, tuple[tuple[str, Any, bool], ...]]]

    @property
    def of(self) -> Kind:
        """The kind."""
        return KINDS[self.kind]


def drawn(seed: int) -> Drawn:
    """The system of a seed."""
    some = random.Random(f"collections {seed}")
    name = some.choice(list(KINDS))
    kind = KINDS[name]

    def operand() -> Any:
        return some.choice((*range(NUMBERS), "v", "v", "v", "turn"))

    def chain() -> tuple[tuple[str, Any], ...]:
        return tuple((some.choice(list(kind.operations)), operand()) for _ in range(some.choice((1, 2, 2, 2, 3))))

    def question() -> tuple[str, Any]:
        return some.choice(list(kind.questions)), some.choice((*range(NUMBERS), "turn"))

    deeds = tuple(
        Deed(chain(), some.choice((None, None, (), chain())), question(), some.random() < 0.3)
        for _ in range(some.choice((1, 2, 2, 3)))
    )
    claims = {
        f"{'goal' if number % 3 == 2 else 'claim'}-{number}": (
            number % 3 == 2, tuple((*question(), some.random() < 0.4) for _ in range(some.choice((1, 2, 2))))
        )
        for number in range(6)
    }  # fmt: skip
    return Drawn(name, deeds, claims)


def _operand(told: Any, turn: Any, v: Any) -> Any:
    return {"v": v, "turn": turn}.get(told, told)


def built(one: Drawn) -> kc.System:
    """The system in the language."""
    kind = one.of

    def asked(question: tuple[str, Any], state: Box, v: Any) -> Any:
        return kind.questions[question[0]].rule(state.held, _operand(question[1], state.turn, v))

    def done(chain: Any, state: Box, v: Any) -> Any:
        held = state.held
        for name, told in chain:
            held = kind.operations[name].rule(held, _operand(told, state.turn, v))
        return held

    def action(number: int, deed: Deed) -> kc.Action:
        def effect(state: Box, v: Any) -> Box:
            held = done(deed.chain, state, v)
            if deed.instead is not None:
                held = kc.choose(asked(deed.question, state, v), held, done(deed.instead, state, v))
            return Box(held, (state.turn + 1) % TURNS)

        guard = (lambda state, v: asked(deed.question, state, v)) if deed.guard else None
        return kc.Action(f"act{number}", effect, guard, {"v": range(NUMBERS)})

    def claim(name: str, goal: bool, questions: Any) -> kc.Property:
        def predicate(state: Box) -> Any:
            answers = [(asked((name, told), state, 0), yes) for name, told, yes in questions]
            return kc.any_of(*(answer if yes else kc.negate(answer) for answer, yes in answers))

        return (kc.sometimes if goal else kc.always)(name, f"{name} is drawn", predicate)

    return kc.System(
        name="collections", summary="A collection that is changed at random.",
        initial=[Box(kind.empty, 0)],
        layout=Box(kind.layout(), kc.ints(0, TURNS - 1)),
        actions=[action(number, deed) for number, deed in enumerate(one.deeds)],
        properties=[claim(name, *told) for name, told in one.claims.items()],
        quiescent=lambda state: True,
    )  # fmt: skip


@frozen
class Judged:
    """What the naive search finds."""

    states: frozenset[Any]  # every state that is reached
    words: Mapping[str, tuple[str, int | None]]  # the verdict on each claim, and the steps to what shows it
    lost: bool  # whether a step was left out that lost something or left the layout without a cap


def judged(one: Drawn) -> Judged:
    """The naive search, breadth first, on Python's own collections."""
    kind, start = one.of, (one.of.plain, 0)
    depth, pending, lost = {start: 0}, [start], False

    def asked(question: tuple[str, Any], state: Any, v: Any) -> bool:
        return bool(kind.questions[question[0]].plain(state[0], _operand(question[1], state[1], v)))

    for state in pending:
        for deed in one.deeds:
            for v in range(NUMBERS):
                yes = asked(deed.question, state, v)
                if deed.guard and not yes:
                    continue
                try:
                    held = state[0]
                    for name, told in deed.chain if yes or deed.instead is None else deed.instead:
                        held = kind.operations[name].plain(held, _operand(told, state[1], v))
                except LostError:
                    lost = True
                    continue
                if kind.outside(held):
                    lost = lost or not kind.capped
                    continue
                after = (held, (state[1] + 1) % TURNS)
                if after not in depth:
                    depth[after] = depth[state] + 1
                    pending.append(after)
    words = {}
    for name, (goal, questions) in one.claims.items():
        shown = [d for s, d in depth.items() if any(asked((q, x), s, 0) == yes for q, x, yes in questions) == goal]
        found = ("Holds" if goal else "Refuted") if shown else ("Vacuous" if goal else "Holds")
        word = "Incomplete" if lost and not shown else found
        words[name] = (word, min(shown, default=None))
    return Judged(frozenset(depth), words, lost)


def plain_state(one: Drawn, state: Box) -> Any:
    """A state of the language as a plain one."""
    return one.of.shown(state.held), int(state.turn)
