"""A user's system for tests of the front end: one action that counts, and a property to be filled in."""

import itertools
import time
from collections.abc import Callable, Iterator
from typing import Any

from attrs import evolve, frozen

from kraftcheck.model.language.brokersets import BrokerSet, Replicas
from kraftcheck.model.language.layout import ints, subset_of, truth
from kraftcheck.model.language.system import Action, Property, System
from kraftcheck.model.language.terms import Truth, Word
from kraftcheck.model.language.words import Maybe, choose, implies
from kraftcheck.solvers.exploration.explore import Exploration, explore
from kraftcheck.solvers.program.trace import trace


@frozen
class Shelf:
    """One field of each sort."""

    x: Word
    y: Word
    flag: Truth
    pair: tuple[Word, Word]
    members: BrokerSet
    order: Replicas
    maybe: Maybe[Word]


START = Shelf(0, 7, False, (0, 1), BrokerSet.of([0]), Replicas.of([0], 3), Maybe(False, 0))
LAYOUT = Shelf(
    ints(0, 7), ints(-1, 7), truth(), (ints(0, 3), ints(0, 3)), BrokerSet(subset_of(3)),
    Replicas((ints(-1, 2),) * 3), Maybe(truth(), ints(0, 3)),
)  # fmt: skip

COUNT = Action("count", lambda s: evolve(s, x=choose(s.x == 7, 0, s.x + 1)))


def claiming(predicate: Callable[[Any], Any], kind: str = "always") -> System:
    """The system with one property."""
    claim = Property("claim", kind, "A claim.", predicate, refuted_by=("x",))
    return evolve(SHELF, properties=lambda setting: [claim])


def doing(effect: Callable[..., Any], **changes: Any) -> System:
    """The system with one other action."""
    return evolve(SHELF, actions=lambda setting: [Action("act", effect, **changes)])


SHELF = System(
    name="shelf",
    summary="A shelf with one thing of each sort.",
    initial=lambda setting: [START],
    layout=lambda setting: LAYOUT,
    actions=lambda setting: [COUNT],
)


def states() -> Iterator[Shelf]:
    """States of every value of the words, and some of the rest."""
    rest = itertools.cycle(itertools.product(itertools.product((0, 1, 3), repeat=2), ((), (0,), (2, 1), (0, 2, 1))))
    for x, y, flag in itertools.product(range(8), range(-1, 8), (False, True)):
        pair, ids = next(rest)
        yield Shelf(x, y, flag, pair, BrokerSet.of(ids), Replicas.of(ids, 3), Maybe(flag, pair[0]))


def explored(system: System) -> Exploration:
    """The search of a system in its default scope."""
    return explore(trace(system, system.setting()), clock=time.monotonic)


# What a run on the command line is asked about.
IN_A_SET = claiming(lambda s: s.x not in {3})
IN_A_DICT = claiming(lambda s: {3: False}.get(s.x, True))
TEXT_AS_KEY = claiming(lambda s: f"{s.x}" != "3")
CHAINED = claiming(lambda s: 0 <= s.x < 7)
A_FLOAT = claiming(lambda s: s.x != 3.0)
UNSAID = claiming(lambda s: implies(s.y == 3, s.flag))  # a claim whose premise no reachable state satisfies

NONE = claiming(lambda s: s.x != None)  # noqa: E711
SHIFTED = claiming(lambda s: 1 << s.x != 8)


def _caught(state: Shelf) -> bool:
    try:
        return state.x not in {3}
    except TypeError:
        return True


CAUGHT = claiming(_caught)

CALLS: list[int] = []


def _counted(state: Shelf) -> Any:
    CALLS.append(1)
    return True if len(CALLS) % 2 else state.x != 3


COUNTED = claiming(_counted)
IDENTITY = claiming(lambda s: s.flag is not True)
TYPE = claiming(lambda s: s.x != 3 if type(s.x) == int else True)  # noqa: E721
FLIPPED = evolve(TYPE, actions=lambda setting: [COUNT, Action("flip", lambda s: evolve(s, flag=True))])
