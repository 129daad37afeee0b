"""Creatures that meet in pairs and change colour: Chameneos of the TLA+ Examples."""

import enum
import itertools

from attrs import evolve, frozen

import kraftcheck as kc

CREATURES, MEETINGS = 4, 4
NOBODY = CREATURES
EVERYONE = {"who": range(CREATURES)}


class Colour(kc.Enum):
    """The colours of creatures."""

    BLUE = enum.auto()
    RED = enum.auto()
    YELLOW = enum.auto()
    FADED = enum.auto()


COLOURS = (Colour.BLUE, Colour.RED, Colour.YELLOW)


@frozen
class Creature:
    """A creature: its colour, and how often it met another."""

    colour: kc.Word
    met: kc.Word


@frozen
class Mall:
    """The creatures, who waits for another, and how many meetings there were."""

    creatures: tuple[Creature, ...]
    waiting: kc.Word
    meetings: kc.Word


def complement(a: kc.Word, b: kc.Word) -> kc.Word:
    """The colour of two that meet: the third one, or the same if both have it."""
    third: kc.Word = Colour.FADED
    for colour in COLOURS:
        third = kc.choose(kc.none_of(a == colour, b == colour), colour, third)
    return kc.choose(a == b, a, third)


def is_coloured(s: Mall, who: kc.Word) -> kc.Truth:
    """Whether a creature is not faded yet."""
    return kc.get(s.creatures, who).colour != Colour.FADED


def fade(s: Mall, who: kc.Word) -> Mall:
    """A creature fades."""
    faded = evolve(kc.get(s.creatures, who), colour=Colour.FADED)
    return evolve(s, creatures=kc.put(s.creatures, who, faded))


def meet(s: Mall, who: kc.Word) -> Mall:
    """A creature meets the one that waits; both change colour."""
    own = kc.get(s.creatures, who)
    other = kc.get(s.creatures, s.waiting, otherwise=own)
    colour = complement(own.colour, other.colour)
    creatures = kc.put(s.creatures, who, Creature(colour, own.met + 1))
    return Mall(kc.put(creatures, s.waiting, Creature(colour, other.met + 1)), NOBODY, s.meetings + 1)


CHAMENEOS = kc.System(
    name="chameneos",
    summary="Creatures that meet in pairs.",
    layout=Mall((Creature(Colour.domain(), kc.ints(0, MEETINGS)),) * CREATURES, kc.ints(0, NOBODY),
                kc.ints(0, MEETINGS)),
    initial=[Mall(tuple(Creature(colour, 0) for colour in colours), NOBODY, 0)
             for colours in itertools.product(COLOURS, repeat=CREATURES)],
    actions=[
        kc.Action("enter", lambda s, who: evolve(s, waiting=who),
                  lambda s, who: kc.all_of(is_coloured(s, who), s.waiting == NOBODY, s.meetings < MEETINGS), EVERYONE),
        kc.Action("fade", fade, lambda s, who: kc.all_of(
            is_coloured(s, who), s.waiting == NOBODY, s.meetings == MEETINGS), EVERYONE),
        kc.Action("meet", meet, lambda s, who: kc.all_of(
            is_coloured(s, who), s.waiting != NOBODY, s.waiting != who), EVERYONE),
    ],
    properties=[
        kc.always("both-count", "at the end the creatures counted each meeting twice", lambda s: kc.implies(
            s.meetings == MEETINGS, sum((one.met for one in s.creatures), start=0) == 2 * MEETINGS)),
        kc.sometimes("ends", "all creatures fade",
                     lambda s: kc.each(s.creatures, lambda one: one.colour == Colour.FADED)),
    ],
    quiescent=lambda s: True,
)  # fmt: skip
