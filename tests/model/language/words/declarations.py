"""What a system is declared with: what each declaration means, which engines read it, and where it ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from attrs import frozen

import kraftcheck as kc
from kraftcheck.model.language.layout import Layout
from tests.model.language.words.kinds import COUNTER, Count

ALL = "all"
"""Every engine reads it: explorers, provers, walks and Hypothesis."""


class Many(kc.SetOf):
    """A set of more values than a state has bits."""

    members = tuple(range(513))


class Far(kc.Bag):
    """A bag of so many values that their counts are more than a state has room for."""

    members = tuple(range(300))


class Wide(kc.Map):
    """A map of so many keys."""

    keys = tuple(range(300))


class Long(kc.Queue):
    """A queue of numbers."""

    vacant = 0


@frozen
class Declaration:
    """A declaration.

    Attributes:
        word, text: its name, and an example.
        means, read: what it says, and which engines read it.
        limit: how far it goes.
        beyond: makes what lies beyond; None where nothing is refused there.
        says: a part of the refusal.
    """

    word: str
    text: str
    means: str
    read: str
    limit: str
    beyond: Callable[[], object] | None = None
    says: str = ""


def explored(**changes: Any) -> object:
    """The search of the counter with other parts."""
    parts: dict[str, Any] = {
        "layout": Count(kc.ints(0, 3), kc.ints(0, 6), kc.truth()), "initial": [Count(0, 0, False)],
        "actions": [kc.Action("stay", lambda s: s)],
    } | changes  # fmt: skip
    return kc.explore(kc.System(name="counter", summary="a counter", **parts))


def _recovers(number: int) -> list[Any]:
    return [kc.recovers(f"again-{at}", "again", lambda s: s.n == 0) for at in range(number)]


DECLARATIONS: Sequence[Declaration] = (
    Declaration("ints", "kc.ints(0, 5)", "a number", ALL, "63 bits; `cap=` says that a bound is meant"),
    Declaration("truth", "kc.truth()", "true or false", ALL, "one bit"),
    Declaration("Enum", "Light.domain()", "a number with a name", ALL, "its names"),
    Declaration("subset_of", "kc.IntSet(kc.subset_of(3))", "a set of numbers", ALL, "the numbers 0..61",
                lambda: kc.subset_of(63), "subset_of(63): sets have 0..62"),
    Declaration("Sequence", "kc.Sequence((kc.ints(-1, 2),) * 3)", "different numbers in order", ALL,
                "a place for each"),
    Declaration("SetOf", "Mail.domain()", "a set of declared values, as records", ALL, "a bit for each value, of 512",
                lambda: Layout(Many.domain()), "the limit is 512"),
    Declaration("Bag", "Coins.domain(2)", "how many of each declared value", ALL,
                "a number for each value, in 512 bits",
                lambda: Layout(Far.domain(3)), "the limit is 512"),
    Declaration("Map", "Votes.domain(kc.ints(0, 4))", "a value for each declared key", ALL, "512 bits in all",
                lambda: Layout(Wide.domain(kc.ints(0, 3))), "the limit is 512"),
    Declaration("Queue", "Line.domain(Light.domain(), 3)", "items in order, some twice", ALL,
                "its capacity; a step beyond it is `incomplete`", lambda: Long.of([1, 2, 3], 2),
                "3 items in a queue of at most 2"),
    Declaration("layout", "(kc.ints(0, 1),) * 9", "records and tuples of these, in each other", ALL, "512 bits a state",
                lambda: Layout((kc.ints(0, 255),) * 65), "a state needs 520 bits and the limit is 512"),
    Declaration("all_where", "kc.all_where(lambda s: s.n < 2)", "initial states by what holds of them", ALL,
                "explorers list at most 8,388,608; provers list none",
                lambda: explored(initial=kc.all_where(lambda s: s.n > 3)), "initial describes no state"),
    Declaration("Action", "kc.Action('set', lambda s, n: s, None, {'n': range(3)})", "what happens, for each argument",
                ALL,
                "65,535 instances of all actions",
                lambda: explored(actions=[kc.Action("stay", lambda s, i, j: s, None, dict.fromkeys("ij", range(300)))]),
                "90000 action instances; the limit is 65535"),
    Declaration("within", "lambda s: s.n < 3", "explorers go on from such states only", "`explore`, walks",
                "beside it nothing about all that may follow",
                lambda: explored(within=lambda s: s.n < 3, properties=_recovers(1)), "within= leaves states out"),
    Declaration("recovers", "kc.recovers('again', 'it begins again', lambda s: s.n == 0)",
                "some run leads there from everywhere", "`explore`", "21 of a system",
                lambda: explored(properties=_recovers(80)), "80 recovers properties; the limit is 21"),
    Declaration("refines", "kc.refines('same', 'it is the counter', COUNTER, lambda s: s)",
                "each step is one of another system, or none there", "all; walks judge steps, not initial states",
                "as many terms as the other has action instances"),
    Declaration("weak_fairness", "kc.weak_fairness('rise')", "what does not wait for ever", "`explore`, `prove --bmc`",
                "actions of the system", lambda: explored(fairness=[kc.weak_fairness("rises")]),
                "fairness names the action 'rises'"),
    Declaration("Symmetry", "kc.Symmetry('items', 3, tuples=('row',))", "elements that may be exchanged",
                "`explore --symmetry`", "5 where a field names one, else as many as there are"),
    Declaration("Bound", "kc.Bound('nodes', 2, 4, 'nodes', takes_any=True)", "a number that the user chooses",
                "all; `any` by provers", "from its least to its greatest value"),
)  # fmt: skip

NAMES = {"COUNTER": COUNTER}
"""What the examples name besides the classes of the examples of words."""
