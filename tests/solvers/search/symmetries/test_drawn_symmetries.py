"""Small drawn systems: their symmetry is proven just where renaming changes nothing, in any state of the layout."""

import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from attrs import evolve, field, frozen

import kraftcheck as kc
from kraftcheck.model.language.symmetry import Symmetry, SymmetryError
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.search.symmetry import reduced
from kraftcheck.solvers.smt.symmetry_proof import prove_symmetries

ROOMS, MOST = 3, 1


@frozen
class Hall:
    """Who has the key, -1 for nobody; how many are in each room; which rooms are shut."""

    key: Word
    inside: tuple[Word, ...]
    shut: kc.IntSet


Leaves = tuple[int, tuple[int, ...], frozenset[int]]  # a state as Python has it

LAYOUT = Hall(kc.ints(-1, ROOMS - 1), (kc.ints(0, MOST),) * ROOMS, kc.IntSet(kc.subset_of(ROOMS)))
EVERY: list[Leaves] = [
    (key, inside, frozenset(shut))
    for key in range(-1, ROOMS)
    for inside in itertools.product(range(MOST + 1), repeat=ROOMS)
    for size in range(ROOMS + 1)
    for shut in itertools.combinations(range(ROOMS), size)
]

Guard = tuple[Callable[[Hall, Any], Truth], Callable[[Leaves, int], bool]]
"""A truth of a state and a room, as a rule and in Python."""

GUARDS: tuple[Guard, ...] = (
    (lambda s, room: s.key == room, lambda s, room: s[0] == room),
    (lambda s, room: s.key < 0, lambda s, room: s[0] < 0),
    (lambda s, room: s.shut.has(room), lambda s, room: room in s[2]),
    (lambda s, room: s.shut.size() <= 1, lambda s, room: len(s[2]) <= 1),
    (lambda s, room: kc.any_of(*(n == 0 for n in s.inside)), lambda s, room: 0 in s[1]),
)
ODD: tuple[Guard, ...] = (
    (lambda s, room: s.key == 0, lambda s, room: s[0] == 0),
    (lambda s, room: s.key > 0, lambda s, room: s[0] > 0),
    (lambda s, room: s.shut.has(2), lambda s, room: 2 in s[2]),
    (lambda s, room: s.inside[1] == 0, lambda s, room: s[1][1] == 0),
)
"""Those that tell rooms apart, most of them."""

Effect = tuple[Callable[[Hall, Any], Hall], Callable[[Leaves, int], Leaves]]


def _filled(state: Hall, room: Any, change: int) -> Hall:
    """One more, or less, in a room."""
    after = tuple(kc.choose(room == number, n + change, n) for number, n in enumerate(state.inside))
    return evolve(state, inside=after)


def _filled_ints(state: Leaves, room: int, change: int) -> Leaves:
    return state[0], tuple(n + change * (room == number) for number, n in enumerate(state[1])), state[2]


EFFECTS: tuple[Effect, ...] = (
    (lambda s, room: evolve(s, key=room), lambda s, room: (room, s[1], s[2])),
    (lambda s, room: evolve(s, key=-1), lambda s, room: (-1, s[1], s[2])),
    (lambda s, room: evolve(s, shut=s.shut.plus(s.shut.just(room))), lambda s, room: (s[0], s[1], s[2] | {room})),
    (lambda s, room: evolve(s, shut=s.shut.minus(s.shut.just(room))), lambda s, room: (s[0], s[1], s[2] - {room})),
    (lambda s, room: _filled(s, room, 1), lambda s, room: _filled_ints(s, room, 1)),
    (lambda s, room: _filled(s, room, -1), lambda s, room: _filled_ints(s, room, -1)),
)
ODD_EFFECTS: tuple[Effect, ...] = (
    (
        lambda s, room: evolve(s, key=kc.choose(s.key == room, -1, 1)),
        lambda s, room: (-1 if s[0] == room else 1, s[1], s[2]),
    ),
    (lambda s, room: evolve(s, key=1), lambda s, room: (1, s[1], s[2])),
    (lambda s, room: evolve(s, key=s.key + 1), lambda s, room: (s[0] + 1, s[1], s[2])),
    (lambda s, room: _filled(s, 0, 1), lambda s, room: _filled_ints(s, 0, 1)),
    (lambda s, room: evolve(s, shut=s.shut.plus(s.shut.just(2))), lambda s, room: (s[0], s[1], s[2] | {2})),
)


@frozen
class Drawn:
    """A system, as rules and in Python."""

    # of each its guards, one of which may be enough, and its effects, one after another
    actions: Sequence[tuple[Sequence[Guard], Sequence[Effect]]]
    claims: Sequence[Guard]  # an invariant, a goal, and a claim about what is before and after each step
    initial: Sequence[Leaves]  # states in which it begins
    _names: Sequence[str] = field(default=("one", "two"))

    def system(self) -> kc.System:
        """As a system whose rooms are said to be alike."""
        (always, _), (goal, _), (step, _) = self.claims
        return kc.System(
            name="hall", summary="Rooms.", layout=LAYOUT,
            initial=[Hall(key, inside, kc.IntSet.of(shut)) for key, inside, shut in self.initial],
            actions=[self._action(name, *one) for name, one in zip(self._names, self.actions, strict=True)],
            properties=[
                kc.always("always", "a claim", lambda s: always(s, -1)),
                kc.sometimes("goal", "a goal", lambda s: goal(s, -1)),
                kc.step("step", "a step", lambda t: kc.any_of(step(t.before, -1), step(t.after, -1))),
            ],
            symmetries=lambda setting: [Symmetry("rooms", ROOMS, ("shut",), {"key": 0}, ("inside",))],
        )  # fmt: skip

    @staticmethod
    def _action(name: str, guards: Sequence[Guard], effects: Sequence[Effect]) -> kc.Action:
        def effect(state: Hall, room: Any) -> Hall:
            for change, _ in effects:
                state = change(state, room)
            return state

        def guard(state: Hall, room: Any) -> Truth:
            return kc.all_of(*(holds(state, room) for holds, _ in guards))

        return kc.Action(name, effect, guard, {"room": [*range(ROOMS)]})

    def led(self, number: int, room: int, state: Leaves) -> Leaves | None:
        """Where an action leads to; None where it is not enabled."""
        guards, effects = self.actions[number]
        if not all(holds(state, room) for _, holds in guards):
            return None
        for _, change in effects:
            state = change(state, room)
        return state

    def is_symmetric(self) -> bool:
        """Whether to exchange neighbours changes no claim, nor the initial states, and gives each step an image."""
        return all(self._is_kept(order) for order in ((1, 0, 2), (0, 2, 1)))

    def _is_kept(self, order: tuple[int, ...]) -> bool:
        (_, always), (_, goal), (_, step) = self.claims
        alike = all(claim(state, -1) == claim(renamed(state, order), -1) for claim in (always, goal) for state in EVERY)
        starts = {*self.initial} == {renamed(state, order) for state in self.initial}
        return alike and starts and all(
            any(self._is_image(number, room, other, order, step) for other in range(ROOMS))
            for number in range(len(self.actions)) for room in range(ROOMS)
        )  # fmt: skip

    def _is_image(
        self, number: int, room: int, other: int, order: tuple[int, ...], claim: Callable[[Leaves, int], bool]
    ) -> bool:
        for state in EVERY:
            image = renamed(state, order)
            here, there = self.led(number, room, state), self.led(number, other, image)
            if here is None or there is None:
                if here is not there:
                    return False
                continue
            is_same = renamed(here, order) == there and (claim(state, -1) or claim(here, -1)) == (
                claim(image, -1) or claim(there, -1)
            )
            if not is_same or _stays(here) != _stays(there):
                return False
        return True


def renamed(state: Leaves, order: tuple[int, ...]) -> Leaves:
    """A state after an exchange; a word that names no room is left as it is."""
    key, inside, shut = state
    moved = order[key] if 0 <= key < ROOMS else key
    back = [order.index(place) for place in range(ROOMS)]
    return moved, tuple(inside[back[place]] for place in range(ROOMS)), frozenset(order[one] for one in shut)


def _stays(state: Leaves) -> bool:
    return -1 <= state[0] < ROOMS and all(0 <= n <= MOST for n in state[1])


def drawn(seed: int) -> Drawn:
    """A system by a seed; each piece may be an odd one."""
    dice = random.Random(seed)
    odd = dice.choice((0.0, 0.0, 0.15))

    def some(usual: Sequence[Any], odd_ones: Sequence[Any]) -> Any:
        return dice.choice(odd_ones if dice.random() < odd else usual)

    actions = [
        ([some(GUARDS, ODD) for _ in range(dice.randrange(3))], [some(EFFECTS, ODD_EFFECTS) for _ in range(1 + number)])
        for number in range(2)
    ]
    claims = [some((GUARDS[1], *GUARDS[3:]), ODD) for _ in range(3)]
    shut = frozenset({0} if dice.random() < odd else dice.choice(([], [0, 1, 2])))
    return Drawn(actions, claims, [(-1, (0,) * ROOMS, shut)])


def told(seeds: range) -> Iterator[tuple[int, bool, bool]]:
    """Of each seed whether the symmetry is proven, and whether there is one."""
    for seed in seeds:
        one = drawn(seed)
        system = one.system()
        try:
            prove_symmetries(reduced(trace(system, system.setting())))
        except SymmetryError:
            yield seed, False, one.is_symmetric()
        else:
            yield seed, True, one.is_symmetric()


def test_a_symmetry_is_proven_just_where_there_is_one() -> None:
    """By all states and steps of systems with rooms in a word, a tuple and a set; some of them tell these apart."""
    found = [*told(range(40))]
    assert [seed for seed, proven, wanted in found if proven != wanted] == []
    assert min(sum(proven for _, proven, _ in found), sum(not proven for _, proven, _ in found)) > 10
