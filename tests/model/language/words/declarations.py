"""What a system is declared with, every kind of claim, and words that take ANY: what each means, and where it ends."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attrs import evolve, frozen

import kraftcheck as kc
from kraftcheck.model.language.layout import Layout


@frozen
class Count:
    """A number, its double, and whether a step was taken."""

    n: kc.Word
    twice: kc.Word
    begun: kc.Truth


def double(s: Count) -> kc.Truth:
    """What holds of every state."""
    return s.twice == 2 * s.n


COUNTER = kc.System(
    name="counter",
    summary="A number rises, and begins again.",
    layout=Count(kc.ints(0, 3), kc.ints(0, 6), kc.truth()),
    initial=[Count(0, 0, False)],
    actions=[
        kc.Action("rise", lambda s: Count(s.n + 1, s.twice + 2, True), lambda s: s.n < 3),
        kc.Action("reset", lambda s: Count(0, 0, True), lambda s: s.n == 3),
    ],
    fairness=[kc.weak_fairness("rise"), kc.weak_fairness("reset")],
    lemmas=[kc.always("double", "the second number is twice the first", double)],
)


def never(s: Count) -> kc.Truth:
    """What no state satisfies."""
    return s.twice == 1


def rises(t: kc.Step) -> kc.Truth:
    """What holds of every step but one."""
    return t.after.n > t.before.n


def _pair(kind: Any, right: Any, wrong: Any) -> tuple[Any, Any]:
    return kind("claim", "a claim", right), kind("claim", "a claim", wrong)


CLAIMS: Mapping[str, tuple[Any, Any]] = {
    "always": _pair(kc.always, double, lambda s: s.n < 2),
    "step": _pair(kc.step, lambda t: kc.any_of(rises(t), t.after.n == 0), rises),
    "sometimes": _pair(kc.sometimes, lambda s: s.n == 3, never),
    "happens": _pair(kc.happens, lambda t: t.after.n == 0, lambda t: t.after.n == t.before.n),
    "recovers": _pair(kc.recovers, lambda s: s.n == 0, never),
    "eventually": _pair(kc.eventually, lambda s: s.n == 3, never),
    "always_eventually": _pair(kc.always_eventually, lambda s: s.n == 3, never),
    "eventually_always": _pair(kc.eventually_always, lambda s: s.begun, lambda s: s.n == 0),
    "leads_to": (kc.leads_to("claim", "a claim", lambda s: s.n == 1, lambda s: s.n == 3),
                 kc.leads_to("claim", "a claim", lambda s: s.n == 1, never)),
    "refines": (kc.refines("claim", "a claim", COUNTER, lambda s: s),
                kc.refines("claim", "a claim", COUNTER, lambda s: Count(3 - s.n, 6 - s.twice, s.begun))),
}  # fmt: skip
"""By the kind: a claim that holds of the counter, and one that does not."""


def systems(kind: str) -> tuple[kc.System, kc.System]:
    """The counter with the claim that holds, and with the one that does not."""
    right, wrong = (claim if isinstance(claim, tuple) else (claim,) for claim in CLAIMS[kind])
    return evolve(COUNTER, properties=list(right)), evolve(COUNTER, properties=list(wrong))


SEARCHED, GOAL, WALKED = "holds or is refuted", "is shown or vacuous", "is refuted"
LEFT, REFUSED = "not judged", "refused"  # what an engine does with a claim

_SAFETY = (SEARCHED, SEARCHED, WALKED, WALKED)
_GOALS = (GOAL, LEFT, GOAL, GOAL)
_LIVENESS = (SEARCHED, LEFT, LEFT, REFUSED)

JUDGED: Mapping[str, tuple[str, str, str, str]] = {
    "always": _SAFETY, "step": _SAFETY, "refines": _SAFETY, "sometimes": _GOALS, "happens": _GOALS,
    "recovers": (SEARCHED, LEFT, LEFT, LEFT), "eventually": _LIVENESS, "always_eventually": _LIVENESS,
    "eventually_always": _LIVENESS, "leads_to": _LIVENESS,
}  # fmt: skip
"""By the kind: what `explore`, `prove`, `simulate` and Hypothesis do."""


WORDS = ("set_below", "word_below", "map_below", "numbers_below", "keys")  # the words of this system that take ANY


@frozen
class Marks:
    """Nodes that were seen, the mark of each, and the last node that was marked."""

    seen: Any
    marks: Any
    last: kc.Word


def mark(s: Marks, node: kc.Word) -> Marks:
    """A node is marked."""
    return Marks(s.seen.plus(s.seen.just(node)), kc.put(s.marks, node, 1), node)


def initial(setting: kc.Setting) -> list[Any]:
    """Nobody is marked."""
    if setting["nodes"] == kc.ANY:
        return [kc.all_where(lambda s: {
            "nobody is seen": s.seen.is_empty(), "no last one": s.last == -1,
            "no mark": kc.each(kc.keys(s.marks), lambda i: kc.get(s.marks, i) == 0)})]  # fmt: skip
    return [Marks(kc.IntSet(), (0,) * setting["nodes"], -1)]


def marked_are_seen(s: Marks) -> kc.Truth:
    """Whoever has a mark is in the set."""
    return kc.each(kc.keys(s.marks), lambda i: kc.implies(kc.get(s.marks, i) == 1, s.seen.has(i)))


def marks(lost: bool = False) -> kc.System:
    """Nodes that are marked and seen; by mistake they are only marked."""

    def effect(s: Marks, node: kc.Word) -> Marks:
        after = mark(s, node)
        return Marks(s.seen, after.marks, after.last) if lost else after

    return kc.System(
        name="marks",
        summary="Nodes are marked.",
        bounds=[kc.Bound("nodes", 2, 4, "number of nodes", takes_any=True)],
        scopes={"default": {"nodes": 3}},
        layout=lambda setting: Marks(kc.set_below(setting["nodes"]), kc.map_below(setting["nodes"], kc.ints(0, 1)),
                                     kc.word_below(setting["nodes"], -1)),
        initial=initial,
        actions=lambda setting: [
            kc.Action("mark", effect, lambda s, node: kc.negate(s.seen.has(node)),
                      {"node": kc.numbers_below(setting["nodes"])}),
        ],
        properties=[kc.always("marked-are-seen", "whoever has a mark is seen", marked_are_seen)],
        quiescent=lambda s: True,
    )  # fmt: skip


MARKS, LOST = marks(), marks(lost=True)


ALL = "all"  # every engine reads it: explorers, provers, walks and Hypothesis


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
    """A declaration."""

    # word, text: its name, and an example
    word: str
    text: str
    # means, read: what it says, and which engines read it
    means: str
    read: str
    limit: str  # how far it goes
    beyond: Callable[[], object] | None = None  # makes what lies beyond; None where nothing is refused there
    says: str = ""  # a part of the refusal


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

NAMES = {"COUNTER": COUNTER}  # what the examples name besides the classes of the examples of words
