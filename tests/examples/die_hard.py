"""Four gallons by two jugs of three and five: DieHard of the TLA+ Examples."""

from attrs import evolve, frozen

import kraftcheck as kc


@frozen
class Jugs:
    """The gallons in each jug."""

    small: kc.Word
    big: kc.Word


def small_to_big(s: Jugs) -> Jugs:
    """As much as there is room for goes from the small jug to the big one."""
    big = kc.minimum(s.small + s.big, 5)
    return Jugs(s.small - (big - s.big), big)


def big_to_small(s: Jugs) -> Jugs:
    """As much as there is room for goes from the big jug to the small one."""
    small = kc.minimum(s.small + s.big, 3)
    return Jugs(small, s.big - (small - s.small))


DIE_HARD = kc.System(
    name="die-hard",
    summary="Four gallons by two jugs.",
    layout=Jugs(kc.ints(0, 3), kc.ints(0, 5)),
    initial=[Jugs(0, 0)],
    actions=[
        kc.Action("fill_small", lambda s: evolve(s, small=3)),
        kc.Action("fill_big", lambda s: evolve(s, big=5)),
        kc.Action("empty_small", lambda s: evolve(s, small=0)),
        kc.Action("empty_big", lambda s: evolve(s, big=0)),
        kc.Action("small_to_big", small_to_big),
        kc.Action("big_to_small", big_to_small),
    ],
    properties=[kc.always("not-solved", "the big jug never holds four gallons", lambda s: s.big != 4)],
)
