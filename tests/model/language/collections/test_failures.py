"""What a collection cannot hold is never lost in silence: no later operation of the step brings the collection back."""

import enum
from collections.abc import Callable
from typing import Any

import attrs
import pytest

import kraftcheck as kc
from kraftcheck.model.language.layout import Counter, LayoutError, subset_of
from kraftcheck.solvers.program.parts import mend_of
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.tla.module import module


class Phase(kc.Enum):
    """Where one is."""

    BEGUN = enum.auto()
    DONE = enum.auto()


class Plain(enum.Enum):
    """Where one is, to Python alone."""

    DONE = 1


class Mood(kc.Enum):
    """How one is."""

    SAD = enum.auto()
    GLAD = enum.auto()


class Backward(kc.Enum):
    """The names of `Phase`, in its order, numbered the other way round."""

    BEGUN = 1
    DONE = 0


class Sent(kc.SetOf):
    """Messages."""

    members = ((0, 0), (1, 0))


class Heard(kc.SetOf):
    """Other messages, as many."""

    members = ((0, 7), (1, 7))


class Held(kc.Bag):
    """Coins."""

    members = (1, 5)


class Votes(kc.Map):
    """Numbers by key."""

    keys = (1, 5)


class Flags(kc.Map):
    """Truths by key."""

    keys = (1, 5)


@attrs.frozen
class State:
    """One of each."""

    line: Any
    held: Any
    sent: Any
    votes: Any
    some: Any
    phase: kc.Word
    mood: kc.Word
    n: kc.Word


LAYOUT = State(
    kc.Queue.domain(kc.ints(0, 3), 2), Held.domain(2), Sent.domain(), Votes.domain(kc.ints(0, 1)),
    kc.IntSet(subset_of(4)), Phase.domain(), Mood.domain(), kc.ints(0, 4),
)  # fmt: skip
FIRST = State(
    kc.Queue.of([], 2), Held.of([]), Sent.of([]), Votes.of({1: 0, 5: 0}), kc.IntSet(), Phase.BEGUN, Mood.SAD, 0
)  # fmt: skip


def system(
    effect: Callable[..., Any], claim: Callable[[Any], Any] = lambda s: s.n != 4, **given: Any
) -> kc.System:  # fmt: skip
    """A system with a step that has an effect, besides one that counts."""
    return kc.System(
        name="failures", summary="Collections.",
        layout=given.pop("layout", LAYOUT), initial=[given.pop("first", FIRST)],
        actions=[
            kc.Action("count", lambda s: attrs.evolve(s, n=s.n + 1), lambda s: s.n < 3),
            kc.Action("act", effect, **given),
        ],
        properties=[kc.always("claim", "it is claimed", claim)], quiescent=lambda s: True,
    )  # fmt: skip


def verdict(of: kc.System) -> str:
    """The verdict of the search on the claim, with everything audited on ints."""
    return type(kc.explore(of).verdicts["claim"]).__name__


def overfull(s: Any) -> Any:
    """A queue with three more items, of which it has no place for one."""
    return s.line.append(1).append(2).append(3)


LOSING = {
    "append, tail": lambda s: attrs.evolve(s, line=kc.choose(s.line.is_empty(), overfull(s).tail(), s.line)),
    "append, tail, tail": lambda s: attrs.evolve(s, line=overfull(s).tail().tail().tail()),
    "tail, append": lambda s: attrs.evolve(s, line=s.line.tail().append(3)),
    "tail, append, append": lambda s: attrs.evolve(s, line=s.line.tail().append(3).append(1).append(2)),
    "add undeclared, add": lambda s: attrs.evolve(s, held=s.held.add(s.n + 7).add(1)),
    "add undeclared, add, add": lambda s: attrs.evolve(s, held=s.held.add(s.n + 7).add(1).add(1).add(5)),
    "remove, add": lambda s: attrs.evolve(s, held=s.held.remove(5).add(5)),
    "plus undeclared, minus undeclared": lambda s: attrs.evolve(
        s, sent=s.sent.plus(s.sent.just((s.n + 4, 0))).minus(s.sent.just((s.n + 9, 0)))),
    "plus undeclared, keep": lambda s: attrs.evolve(
        s, sent=s.sent.plus(s.sent.just((s.n + 4, 0))).keep(Sent.of([(0, 0)]))),
    "plus undeclared, minus itself": lambda s: attrs.evolve(
        s, sent=s.sent.plus(s.sent.just((s.n + 4, 0))).minus(s.sent.plus(s.sent.just((s.n + 4, 0))))),
    "put undeclared": lambda s: attrs.evolve(s, votes=s.votes.put(s.n + 7, 1)),
    "put a constant that is undeclared": lambda s: attrs.evolve(s, votes=s.votes.put(2, kc.minimum(s.n, 1))),
    "put undeclared, put, put": lambda s: attrs.evolve(s, votes=s.votes.put(s.n + 7, 1).put(1, 0).put(5, 1)),
    "put undeclared on one way, put": lambda s: attrs.evolve(
        s, votes=kc.choose(s.n == 1, s.votes.put(s.n + 7, 1), s.votes).put(1, 0).put(5, 1)),
    "put into a literal, put": lambda s: attrs.evolve(s, votes=Votes.of({1: 0, 5: 0}).put(2, 1).put(1, 1)),
    "lost on both ways": lambda s: attrs.evolve(
        s, line=kc.choose(s.n == 1, s.line.tail().append(1), s.line.tail().append(2).append(3))),
}  # fmt: skip
"""Steps each of which loses something, and then does what would have undone it."""


@pytest.mark.parametrize("effect", LOSING.values(), ids=list(LOSING))
def test_what_is_lost_is_not_undone_in_the_same_step(effect: Callable[[Any], Any]) -> None:
    """A step that lost something is incomplete for the search, and nothing is proven, whatever it does next."""
    lossy = system(effect)
    assert verdict(lossy) == "Incomplete"
    assert kc.prove(lossy).exit_code != 0


KEEPING = {
    "append unless full": lambda s: attrs.evolve(s, line=kc.choose(s.line.is_full(), s.line, s.line.append(1))),
    "tail of what was appended": lambda s: attrs.evolve(s, line=s.line.append(3).tail()),
    "remove what is there": lambda s: attrs.evolve(s, held=kc.choose(s.held.has(5), s.held.remove(5), s.held)),
    "remove what was added": lambda s: attrs.evolve(s, held=s.held.add(5).remove(5)),
    "minus undeclared": lambda s: attrs.evolve(
        s, sent=s.sent.plus(s.sent.just((0, 0))).minus(s.sent.just((s.n + 4, 0)))),
    "keep undeclared": lambda s: attrs.evolve(s, sent=s.sent.keep(s.sent.just((s.n + 4, 0)))),
    "put declared": lambda s: attrs.evolve(s, votes=kc.choose(s.n == 1, s.votes.put(s.n, 1), s.votes.put(5, 0))),
    "lost on the way not taken": lambda s: attrs.evolve(
        s, line=kc.choose(s.n > 9, s.line.tail().append(1), s.line)),
}  # fmt: skip


@pytest.mark.parametrize("effect", KEEPING.values(), ids=list(KEEPING))
def test_what_is_not_taken_or_not_lost_is_complete(effect: Callable[[Any], Any]) -> None:
    """A step that loses nothing in the branch that is taken is judged as every other."""
    assert verdict(system(effect)) == "Holds"


def plus_later(s: Any) -> Any:
    """A set with a value that is declared only where n is 0."""
    return s.sent.plus(s.sent.just((s.n, 0)))


READING = {
    "an item of a queue": lambda s: kc.negate(s.line.append(3).tail().has(3)),
    "the size of a queue": lambda s: s.line.append(3).size < 3,
    "the head of a queue": lambda s: kc.any_of(s.line.is_empty(), s.line.append(1).tail().tail().head() < 3),
    "a queue with nothing to lose": lambda s: s.line.tail().is_empty(),
    "a member of a bag": lambda s: s.held.remove(5).add(5).has(5),
    "the size of a bag": lambda s: s.held.add(s.n).size() < 4,
    "a member of a set": lambda s: kc.negate(plus_later(s).has((0, 0))),
    "each of a set": lambda s: kc.each(plus_later(s), lambda one: one[0] < 1),
    "a set within another": lambda s: s.sent.within(plus_later(s).keep(s.sent)),
    "a value of a map": lambda s: s.votes.put(s.n, 1).get(1) < 4,
    "the value for a key that is not declared": lambda s: s.votes.put(s.n, 1).get(s.n, otherwise=1) < 4,
    "a truth of a map": lambda s: kc.negate(Flags.of(lambda key: s.n > 9).put(s.n, True).put(1, False).get(5)),
    "in a branch that may be taken": lambda s: kc.choose(s.n == 2, s.n < 3, s.line.append(3).has(3)),
    "beside what decides nothing": lambda s: kc.any_of(s.n * s.n == 5, s.line.append(3).has(3)),
    "the size of one value's set": lambda s: s.sent.just((s.n, 0)).size() < 2,
    "whether one value's set has a member": lambda s: kc.negate(s.sent.just((s.n, 0)).is_empty()),
    "one value's set without another": lambda s: s.sent.just((s.n, 0)).minus(s.sent).size() < 2,
}
"""Truths about collections that may have lost something."""


@pytest.mark.parametrize("truth", READING.values(), ids=list(READING))
@pytest.mark.parametrize("where", ["claim", "guard", "effect", "step", "initial", "within"])
def test_what_may_be_lost_is_not_read(truth: Callable[[Any], Any], where: str) -> None:
    """A truth about a collection that may have lost something is refused with its line, whoever asks it."""
    asked: kc.System = {
        "claim": lambda: system(lambda s: s, truth),
        "guard": lambda: system(lambda s: s, guard=lambda s: truth(s)),
        "effect": lambda: system(lambda s: attrs.evolve(s, n=kc.choose(truth(s), 0, 1))),
        "step": lambda: attrs.evolve(system(lambda s: s), properties=[
            kc.step("claim", "it is claimed", lambda step: truth(step.after))]),
        "initial": lambda: attrs.evolve(system(lambda s: s), initial=[kc.all_where(lambda s: kc.all_of(
            s.phase == Phase.BEGUN, s.mood == Mood.SAD, s.some.is_empty(), truth(s)))]),
        "within": lambda: attrs.evolve(system(lambda s: s), within=truth),
    }[where]()  # fmt: skip
    with pytest.raises(kc.Refusal, match=r"test_failures.py:\d+: a \w+ may have .* and is read"):
        kc.explore(asked)


SETTLED = {
    "beside its condition": lambda s: kc.any_of(s.line.is_full(), s.line.append(3).has(3)),
    "by implication": lambda s: kc.implies(kc.negate(s.line.is_full()), s.line.append(3).has(3)),
    "in a branch": lambda s: kc.choose(s.line.size < 2, s.line.append(3).has(3), True),
    "a queue that is chosen": lambda s: kc.choose(s.line.is_full(), s.line, s.line.append(3)).size <= 2,
    "of a bag": lambda s: kc.any_of(kc.negate(s.held.has(5)), s.held.remove(5).count(5) < 2),
    "of a set": lambda s: kc.any_of(s.n > 1, plus_later(s).has((s.n, 0))),
    "what a set keeps or is without": lambda s: s.sent.minus(s.sent.just((s.n, 0))).size() + s.n < 9,
    "of a map": lambda s: kc.any_of(s.n != 1, s.votes.put(s.n, 1).get(s.n, otherwise=0) == 1),
    "one value's set where it is declared": lambda s: kc.any_of(s.n > 1, s.sent.just((s.n, 0)).size() == 1),
}
"""Truths about collections that have lost nothing wherever they count."""


@pytest.mark.parametrize("truth", SETTLED.values(), ids=list(SETTLED))
def test_what_is_not_lost_is_read(truth: Callable[[Any], Any]) -> None:
    """A truth about a collection is read where its conditions say that nothing was lost."""
    assert verdict(system(lambda s: s, lambda s: kc.all_of(truth(s), s.n != 4))) == "Holds"
    assert verdict(system(lambda s: attrs.evolve(s, n=kc.choose(truth(s), 0, 1)))) == "Holds"


def test_a_guard_settles_what_an_effect_reads() -> None:
    """An effect reads what its guard says has lost nothing, and what it stores besides, which leaves the layout."""

    def both(s: State) -> State:
        line = s.line.append(3)
        return attrs.evolve(s, line=line, n=kc.choose(line.has(3), 0, 1))

    def counted(s: State) -> State:
        return attrs.evolve(s, n=s.line.append(3).size)

    assert verdict(system(both)) == "Incomplete"
    assert verdict(system(counted, guard=lambda s: kc.negate(s.line.is_full()))) == "Holds"


def test_a_cap_covers_one_item_too_many_and_what_follows_it() -> None:
    """A queue with a reason for its bound leaves a step out that exceeds it, also where its tail is taken then."""
    layout = attrs.evolve(LAYOUT, line=kc.Queue.domain(kc.ints(0, 3), 2, cap="two wait at most"))
    assert verdict(system(LOSING["append, tail"], layout=layout)) == "Holds"
    assert verdict(system(LOSING["tail, append"], layout=layout)) == "Incomplete"


MIXED = {
    "plus": lambda s: attrs.evolve(s, sent=s.sent.plus(Heard.of([(0, 7)]))),
    "minus": lambda s: attrs.evolve(s, sent=s.sent.minus(Heard.of([(0, 7)]))),
    "keep": lambda s: attrs.evolve(s, sent=s.sent.keep(Heard.of([(0, 7)]))),
    "within": lambda s: attrs.evolve(s, n=kc.choose(s.sent.within(Heard.of([])), 0, 1)),
    "same": lambda s: attrs.evolve(s, n=kc.choose(s.sent.same(Heard.of([])), 0, 1)),
    "equal": lambda s: attrs.evolve(s, n=kc.choose(kc.equal(s.sent, Heard.of([])), 0, 1)),
    "a member of another Enum": lambda s: attrs.evolve(s, n=kc.choose(s.phase == Mood.SAD, 0, 1)),
    "a word of another Enum": lambda s: attrs.evolve(s, n=kc.choose(s.phase == s.mood, 0, 1)),
    "not equal": lambda s: attrs.evolve(s, n=kc.choose(s.phase != Mood.SAD, 0, 1)),
    "before": lambda s: attrs.evolve(s, n=kc.choose(s.phase < Mood.GLAD, 0, 1)),
    "chosen": lambda s: attrs.evolve(s, phase=kc.choose(s.n == 0, s.phase, Mood.SAD)),
    "chosen of chosen": lambda s: attrs.evolve(
        s, n=kc.choose(kc.choose(s.n == 0, Phase.DONE, Phase.BEGUN) == Mood.SAD, 0, 1)),
    "stored": lambda s: attrs.evolve(s, phase=Mood.GLAD),
    "stored word": lambda s: attrs.evolve(s, phase=s.mood),
    "constants": lambda s: attrs.evolve(s, n=kc.choose(Phase.DONE == Mood.SAD, 0, 1)),  # type: ignore[comparison-overlap]
    "plus one": lambda s: attrs.evolve(s, n=s.phase + 1),
    "less one": lambda s: attrs.evolve(s, n=3 - s.phase),
    "a constant plus a word": lambda s: attrs.evolve(s, n=Phase.DONE + s.n),
    "a word plus a constant": lambda s: attrs.evolve(s, n=s.n + Phase.DONE),
    "minimum": lambda s: attrs.evolve(s, n=kc.minimum(s.phase, s.n)),
    "maximum of a constant": lambda s: attrs.evolve(s, n=kc.maximum(Phase.DONE, s.n)),
    "an argument": (lambda s, mood: attrs.evolve(s, n=kc.choose(s.phase == mood, 0, 1))),
    "the same names, numbered otherwise": lambda s: attrs.evolve(s, n=kc.choose(s.phase == Backward.DONE, 0, 1)),
}  # fmt: skip


@pytest.mark.parametrize("effect", MIXED.values(), ids=list(MIXED))
def test_members_of_two_classes_never_meet(effect: Callable[..., Any]) -> None:
    """Sets of two classes, and members of two Enums, are refused, as is counting with a member."""
    given = {"parameters": {"mood": list(Mood)}} if effect is MIXED["an argument"] else {}
    with pytest.raises(kc.Refusal, match=r"meets|used as a number|of different classes|another Enum"):
        kc.explore(system(effect, **given))


PLACES: dict[str, Callable[[Any], Any]] = {
    "a place that is read": lambda s: kc.get((1, 2), s.phase, otherwise=0),
    "a place that is written": lambda s: kc.put((1, 2), s.phase, 0)[0],
    "an inner place": lambda s: kc.get(((1, 2), (2, 1)), 0, s.phase, otherwise=0),
    "a place of pick": lambda s: kc.pick((1, 2), s.phase, 0),
    "a member": lambda s: kc.choose(s.some.has(s.phase), 0, 1),
    "a set of one": lambda s: s.some.just(s.phase).size(),
    "a set of a constant": lambda s: kc.IntSet.of([Phase.DONE]).size(),
    "a constant": lambda s: kc.choose(s.some.has(Phase.DONE), 0, 1),
    "a member of Python's Enum": lambda s: kc.put((1, 2), Plain.DONE, 0)[0],
    "a member of Python's IntEnum": lambda s: kc.get((1, 2), enum.IntEnum("Number", {"DONE": 1}).DONE, otherwise=0),
    "in order": lambda s: kc.Sequence.of([0], 2).plus(s.some.just(s.phase)).size(),
    "values of a map": lambda s: kc.count((s.phase, s.phase), s.some.has),
    "a truth that is a place": lambda s: kc.get((1, 2), s.n == 1),
    "a truth that is a member": lambda s: kc.choose(s.some.has(s.n == 1), 0, 1),
    "a constant that is a truth": lambda s: kc.choose(s.some.has(True), 0, 1),
}


@pytest.mark.parametrize("word", PLACES.values(), ids=list(PLACES))
def test_members_of_an_enum_and_truths_are_no_places(word: Callable[[Any], Any]) -> None:
    """What a map holds is refused where its places, or numbers of a set, are meant, with the word that gives these."""
    with pytest.raises(
        kc.Refusal, match=r"used as a place, .*each\(\) of a map goes through its values: use keys\(map\)"
    ):
        kc.explore(system(lambda s: attrs.evolve(s, n=word(s))))


def test_each_goes_through_the_values_of_a_tuple_and_the_numbers_of_its_keys() -> None:
    """`each`, `some` and `count` of a tuple are of its values, of `keys` of its places; a Map is asked for either."""
    held = (7, 9)
    assert [kc.count(held, lambda value: value > 7), kc.count(kc.keys(held), lambda at: at > 7)] == [1, 0]
    votes = type("Votes", (kc.Map,), {"keys": ("a", "b")}).of({"a": 7, "b": 9})
    with pytest.raises(TypeError, match=r"of a Votes; go through its keys, or its values"):
        kc.each(votes, lambda value: value > 7)
    assert kc.each(votes.values, lambda value: value >= 7)


def evolved(of: kc.System, **changes: Any) -> Callable[[], kc.System]:
    """The system with other parts."""
    return lambda: attrs.evolve(of, **changes)


def stored(**changes: Any) -> Callable[[], kc.System]:
    """A system with a step that stores something."""
    return lambda: system(lambda s: attrs.evolve(s, **{name: value(s) for name, value in changes.items()}))


def claimed(*claim: Any, make: Any = kc.always) -> Callable[[], kc.System]:
    """A system with a claim."""
    return lambda: attrs.evolve(system(lambda s: s), properties=[make("it", "it is so", *claim)])


SAME = system(lambda s: s)

SLIPS: dict[str, tuple[Callable[[], kc.System], str]] = {
    "a union as of Python": (stored(some=lambda s: s.some | s.some), r"use plus\(\) of a set"),
    "a cut as of Python": (stored(some=lambda s: s.some & s.some), r"use keep\(\) of a set"),
    "a difference as of Python": (stored(some=lambda s: s.some - s.some), r"use minus\(\) of a set"),
    "a subset as of Python": (claimed(lambda s: s.some <= s.some), r"use within\(\) of a set"),
    "a word in a set of Python": (stored(some=lambda s: {s.n}), r"as a key .*use just\(\) of a set"),
    "an empty set of Python": (stored(some=lambda s: set()), r"not a word; write IntSet\(\)"),
    "<= of truths": (claimed(lambda s: (s.n == 1) <= (s.n < 2)), r"lt got a truth; .*implies\(p, q\) for `=>`"),
    "& before ==": (claimed(lambda s: s.some.is_empty() & s.n == 1), r"and got a word; .*bind more tightly"),
    "| before ==": (claimed(lambda s: s.some.is_empty() | s.n == 1), r"or got a word; write all_of\(\)"),
    "guard and effect in one": (lambda: system(lambda s: kc.all_of(s.n == 1, s)), r"a State where .*two functions"),
    "guard and effect exchanged": (lambda: system(lambda s: s.n == 1, guard=lambda s: s),
                                   r"guard gave a State, not a truth; .*Action\(\) takes the effect before the guard"),
    "a predicate for initial": (evolved(SAME, initial=lambda at: lambda s: s.n == 0), r"return \[kc.all_where\(it\)\]"),
    "one state for initial": (evolved(SAME, initial=lambda at: FIRST), r"gave a State.*a list of it: \[\.\.\.\]"),
    "Python's Enum": (evolved(SAME, layout=lambda at: enum.Enum("Colour", "RED").domain()), "make it a kc.Enum"),  # type: ignore[attr-defined]
    "a class that is no record": (evolved(SAME, layout=lambda at: type("Plain", (), {})(1)), "@attrs.frozen above"),
    "a claim of a state and more": (claimed(lambda s, r: s.n == r), "a list of one property for each value"),
}  # fmt: skip


@pytest.mark.parametrize("slip", SLIPS)
def test_a_slip_is_refused_with_the_word_to_write(slip: str) -> None:
    """What other languages write so is refused in one line, with what is written here."""
    make, said = SLIPS[slip]
    with pytest.raises(kc.Refusal, match=said) as refused:
        kc.explore(make())
    assert "<var" not in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_claim_without_its_predicate_says_what_it_takes() -> None:
    """The mend of a missing predicate is of properties, and not of records."""
    with pytest.raises(TypeError) as missing:
        claimed()()
    assert (
        mend_of(missing.value)
        == "; a property takes an id, a sentence and a predicate, and leads_to a premise before that"
    )


def test_fairness_of_each_takes_one_name_as_it_is() -> None:
    """The name of one argument is not taken letter by letter."""
    assert kc.weak_fairness("act", each="node") == kc.weak_fairness("act", each=["node"])
    assert kc.strong_fairness("act", each="node").each == ("node",)


def test_a_first_state_has_members_of_its_own_enum() -> None:
    """A first state with a member of another Enum is refused."""
    with pytest.raises(kc.Refusal, match="phase is <Mood"):
        kc.explore(system(lambda s: s, first=attrs.evolve(FIRST, phase=Mood.SAD)))


def test_members_of_one_enum_are_compared() -> None:
    """Members of one Enum are compared, ordered, chosen, stored, and equal to their numbers."""

    def effect(s: State, to: Any) -> State:
        later = kc.all_of(s.phase < Phase.DONE, s.phase <= to, s.phase == 0)
        return attrs.evolve(s, phase=kc.choose(later, kc.choose(s.n > 1, Phase.DONE, to), s.phase))

    assert verdict(system(effect, parameters={"to": list(Phase)})) == "Holds"


def test_a_record_of_another_class_is_no_member() -> None:
    """A record of another class than every declared one is refused, though its numbers are equal."""
    one, other = (attrs.make_class(name, ["a", "b"], frozen=True) for name in ("One", "Other"))
    ones = type("Ones", (kc.SetOf,), {"members": (one(0, 1), one(1, 1))})
    layout = attrs.evolve(LAYOUT, sent=ones.domain())
    for value in (lambda n: other(n, 1), lambda n: other(0, 1)):
        with pytest.raises(kc.Refusal, match=r"Other\("):
            kc.explore(system(lambda s, value=value: attrs.evolve(s, sent=s.sent.plus(s.sent.just(value(s.n)))),
                              layout=layout, first=attrs.evolve(FIRST, sent=ones.of([]))))  # fmt: skip


@pytest.mark.parametrize(
    "more", [lambda s: s.some, lambda s: s.some.plus(kc.IntSet.of([2])), lambda s: kc.IntSet(s.some.mask)]
)
def test_a_literal_list_has_no_room_for_the_members_of_a_set(more: Callable[[Any], Any]) -> None:
    """A list without words of a state is refused where a set may have more members than it has slots."""
    with pytest.raises(kc.Refusal, match="may be members of a list of 2 slots"):
        kc.explore(system(lambda s: attrs.evolve(s, n=kc.Sequence.of([], 2).plus(more(s)).size())))


def test_a_set_has_no_bit_for_a_number_beyond_its_mask() -> None:
    """A number beyond those that a set has bits for is refused: the set would be without it."""
    with pytest.raises(kc.Refusal, match=r"its numbers are 0\.\.61"):
        kc.explore(system(lambda s: attrs.evolve(s, some=s.some.plus(s.some.just(s.n * 40)))))


def test_sets_of_numbers_are_equal_or_differ() -> None:
    """`!=` of two sets of numbers is the negation of `==`, on ints and on words."""
    assert (kc.IntSet.of([1]) != kc.IntSet.of([1]), kc.IntSet.of([1]) != kc.IntSet.of([2])) == (False, True)
    either = system(lambda s: attrs.evolve(s, some=s.some.plus(s.some.just(s.n))),
                    lambda s: kc.choose(s.some.has(0), s.some != kc.IntSet.of([1]), s.n != 4))  # fmt: skip
    assert verdict(either) == "Holds"


@pytest.mark.parametrize("values", [[0, True, 2], [True, 0], [False, True, 1]])
def test_truths_among_numbers_are_no_values_of_an_argument(values: list[Any]) -> None:
    """A list of truths and numbers is refused by its parameter."""
    with pytest.raises(kc.Refusal, match="parameter x ranges over truths and numbers"):
        kc.explore(system(lambda s, x: s, parameters={"x": values}))


def test_an_exported_argument_is_a_number() -> None:
    """A module of TLA+ has the numbers of the members of an Enum that an argument ranges over."""
    named = system(lambda s, to: attrs.evolve(s, phase=to), parameters={"to": list(Phase)})
    text = module(trace(named, named.setting()), "Exported", "made by a test").text
    assert "<<0, 1>>[i]" in text
    assert not {"BEGUN", "DONE"} & {*text.replace(",", " ").replace(">", " ").replace("<", " ").split()}


@pytest.mark.parametrize("lowest", [-(1 << 55), -(1 << 60)])
@pytest.mark.parametrize("kind", [kc.ints, lambda lo, hi: (kc.truth(), Counter(lo))], ids=["bounded", "without bound"])
def test_a_map_has_no_values_as_low_as_its_mark(kind: Callable[[int, int], Any], lowest: int) -> None:
    """Values that could be what marks a lost value are refused with the domain; those above it are taken."""
    with pytest.raises(LayoutError, match=r"^Votes\.domain\(\) has values down to -\d+; they are above -2\*\*55"):
        Votes.domain(kind(lowest, lowest + 3))
    assert Votes.domain(kind(1 - (1 << 55), 0)).keys == (1, 5)


AS_A_LIST = {
    "len": (lambda s: len(s.line) > 1, r"has no len\(\); use .*the field size of a Queue"),
    "size()": (lambda s: s.line.size() > 1, "a field is no function: leave the parentheses out"),
    "pop": (lambda s: s.line.pop() == 1, r"use head\(\) and tail\(\) of a Queue"),
    "slice": (lambda s: s.line[1:] == 1, r"use .*head\(\) or tail\(\) of a Queue"),
    "for": (lambda s: list(s.line) == [1], r"a Line was gone through; use each\(\), some\(\), count\(\) or has"),
}


class Line(kc.Queue):
    """Who waits: two at most."""


@attrs.frozen
class Shop:
    """A shop with a line."""

    line: Line


def shop(guard: Callable[[Shop], Any]) -> kc.System:
    """Two customers, of whom the first leaves while a guard holds."""
    return kc.System(
        name="shop", summary="a line in a shop", layout=Shop(Line.domain(kc.ints(0, 2), 2)),
        initial=[Shop(Line.of([2, 1], 2))], quiescent=lambda s: True,
        actions=[kc.Action("leave", lambda s: Shop(s.line.tail()), guard)],
    )  # fmt: skip


@pytest.mark.parametrize(("guard", "says"), AS_A_LIST.values(), ids=list(AS_A_LIST))
def test_a_queue_that_is_taken_for_a_list_is_refused(guard: Callable[[Shop], Any], says: str) -> None:
    """What Python's lists have and a queue has not is refused with the word that a queue has."""
    with pytest.raises(kc.Refusal, match=says):
        kc.explore(shop(guard))


def test_claims_of_a_queue_are_about_its_items() -> None:
    """`each`, `some` and `count` ask the items that are there, not the empty places behind them."""
    guards = (
        lambda s: kc.all_of(s.line.size > 0, kc.each(s.line, lambda one: one >= 1)),
        lambda s: kc.some(s.line, lambda one: one == 1),
        lambda s: kc.count(s.line, lambda one: one < 3) > 0,
    )
    for guard in guards:
        assert len(kc.explore(shop(guard)).states()) == 3
