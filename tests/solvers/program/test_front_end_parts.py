"""Parts of a system that would let one answer stand for another: refused, with their place and what to do."""

import dataclasses
import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import attrs
import pytest
from attrs import define, evolve, frozen

from kraftcheck.model.language.brokersets import BrokerSet, Replicas
from kraftcheck.model.language.layout import LayoutError, ints, subset_of, truth
from kraftcheck.model.language.symbolic import UntraceableRule
from kraftcheck.model.language.system import Action, Bound, Property, ScopeError, System
from kraftcheck.model.language.terms import Graph, Term
from kraftcheck.model.language.words import RuleError
from kraftcheck.model.rules.ruleset import parse
from kraftcheck.properties import catalogue
from kraftcheck.solvers.audit.traced_sample import check_sample
from kraftcheck.solvers.program.parts import SystemFault
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.reference.interpreter import Integers
from kraftcheck.solvers.smt.theory import theory
from tests.shared.explored import agree_with_ints
from tests.shared.shelf import COUNT, FLIPPED, LAYOUT, SHELF, START, TYPE, Shelf, claiming, doing


@define
class Loose:
    """A state that rules can change."""

    x: Any


@dataclasses.dataclass
class Plain:
    """A dataclass whose fields rules can set."""

    x: Any


@frozen(eq=False)
class Alone:
    """A record whose words do not tell whether it is another."""

    x: Any


class Named(NamedTuple):
    """A state that is a tuple with names."""

    x: Any


@frozen
class Other:
    """A state with the fields of `Tight`, and another answer."""

    x: Any

    def small(self) -> Any:
        """Whether x is small."""
        return True


@frozen
class Tight:
    """A state of one word."""

    x: Any

    def small(self) -> Any:
        """Whether x is small."""
        return self.x < 3


def of(make: Callable[[Any], Any], domain: Any = None) -> System:
    """A system whose states are made of one word."""
    return evolve(
        SHELF, initial=lambda setting: [make(0)], layout=lambda setting: make(ints(0, 3) if domain is None else domain),
        actions=lambda setting: [Action("act", lambda s: make(1 - s.x))],
    )  # fmt: skip


CALLED: list[int] = []
TICKS = itertools.count()


def _first_call(state: Any) -> Any:
    CALLED.append(1)
    return True if len(CALLED) == 1 else state.x != 3


def _counts(state: Any) -> Any:
    CALLED.append(1)
    return evolve(state, x=len(CALLED) % 8)


def _other_rules(setting: Any) -> list[Action]:
    last = next(TICKS) % 8
    return [Action("act", lambda s: evolve(s, x=last))]


def _other_names(setting: Any) -> list[Action]:
    return [evolve(COUNT, name=f"count {next(TICKS)}")]


def _other_values(setting: Any) -> list[Action]:
    return [Action("act", lambda s, a: evolve(s, x=a), parameters={"a": [next(TICKS) % 8]})]


ONCE = iter([COUNT])


def _mutates(state: Any) -> Any:
    state.x = 3
    return state


FAULTY: dict[str, tuple[System, str]] = {
    "a mutable state": (of(Loose), "layout has a Loose, which rules could change; make it attrs.frozen"),
    "a mutable record below": (of(lambda x: (x, Loose(x))), "layout has a Loose"),
    "a mutable argument": (
        doing(lambda s, a: evolve(s, x=a.x), parameters={"a": [Loose(1)]}), "action act has a Loose",
    ),
    "a change in place": (doing(_mutates), "action act, effect raised FrozenInstanceError"),
    "a dataclass that rules can change": (of(Plain), "layout has a Plain, which rules could change"),
    "a record that equals itself alone": (of(Alone), "an Alone, which equals itself alone; leave out eq=False"),
    "a named tuple": (of(Named), "effect raised AttributeError: 'tuple' object has no attribute 'x'"),
    "a list": (of(Tight, [ints(0, 3)]), "layout field x is [Range(lo=0, hi=3"),
    "a dict": (of(Tight, {1: ints(0, 3)}), "layout field x is {1: Range(lo=0, hi=3)}, no domain"),
    "a set": (of(Tight, {1}), "layout field x is {1}, no domain"),
    "a list after a step": (doing(lambda s: evolve(s, x=[1])), "action act set x to [1], not a word"),
    "a float after a step": (doing(lambda s: evolve(s, x=1.0)), "action act set x to 1.0, not a word"),
    "a float at the start": (evolve(SHELF, initial=lambda s: [evolve(START, x=1.0)]), "x is 1.0, not an int"),
    "a list at the start": (
        evolve(SHELF, initial=lambda s: [evolve(START, pair=[1, 2])]), "pair is [1, 2], not a tuple; make it a tuple",
    ),
    "a set at the start": (
        evolve(SHELF, initial=lambda s: [evolve(START, x={1})]), "x is {1}, not an int; write IntSet.of(...)",
    ),
    "a field by a wrong name": (doing(lambda s: evolve(s, fla=True)), "argument 'fla'; did you mean flag"),
    "a claim about steps of a state": (claiming(lambda s: s.after.flag), "kc.step and kc.happens are asked of steps"),
    "a layout that takes no setting": (evolve(SHELF, layout=lambda: START), "what gives a layout, states or actions"),
    "states of another class": (evolve(of(Tight), initial=lambda s: [Other(0)]), "initial gave an Other where"),
    "a step to another class": (
        evolve(of(Tight), actions=lambda s: [Action("act", lambda t: Other(1 - t.x))]), "act gave an Other where",
    ),
    "a property that counts its calls": (claiming(_first_call), "gave two answers to the same question"),
    "an effect that counts its calls": (doing(_counts), "action act, effect gave two answers"),
    "a guard that reads a clock": (
        doing(lambda s: s, guard=lambda s: s.x != next(TICKS) % 8), "action act, guard gave two answers",
    ),
    "a property of other parts": (
        claiming(lambda s: {f"part {len(CALLED.append(1) or CALLED)}": s.flag}), "gave two answers",
    ),
    "quiescence that reads a clock": (
        evolve(SHELF, quiescent=lambda s: s.x == next(TICKS) % 8), "quiescent gave two answers",
    ),
    "actions that can be gone through only once": (
        evolve(SHELF, actions=lambda setting: ONCE), "actions gave an iterator, which can be gone through only once",
    ),
    "actions with other rules each time": (evolve(SHELF, actions=_other_rules), "action act, effect gave two answers"),
    "actions with other names each time": (evolve(SHELF, actions=_other_names), "actions gave others when asked again"),
    "actions with other values each time": (
        evolve(SHELF, actions=_other_values), "actions gave others when asked again",
    ),
    "properties of other names each time": (
        evolve(SHELF, properties=lambda setting: [Property(f"p{next(TICKS)}", "sometimes", "P.", lambda s: s.flag)]),
        "properties gave others when asked again",
    ),
    "an effect that changes its state behind attrs": (
        doing(lambda s: object.__setattr__(s, "x", 0) or s), "action act, effect changes the state that it is given",
    ),
    "a guard that changes its state": (
        doing(lambda s: s, guard=lambda s: object.__setattr__(s, "x", 0) or True),
        "action act, guard changes the state",
    ),
    "a property that changes its state": (
        claiming(lambda s: object.__setattr__(s, "x", 0) or s.flag),
        "changes the state that it is given; return evolve",
    ),
    "an action without a name": (
        evolve(SHELF, actions=lambda setting: [evolve(COUNT, name=" ")]), "' ' is no name of an action",
    ),
    "a property without an id": (
        evolve(SHELF, properties=lambda setting: [Property("", "always", "P.", lambda s: s.flag)]),
        "'' is no id of a property; give one of characters that show",
    ),
    "a name that turns the line round": (
        evolve(SHELF, actions=lambda setting: [evolve(COUNT, name="a\u202eb")]),
        "'a\\u202eb' is no name of an action",
    ),
    "two actions of one name": (
        evolve(SHELF, actions=lambda setting: [COUNT, COUNT]), "two actions have the name 'count'; rename one",
    ),
    "two properties of one id": (
        evolve(SHELF, properties=lambda setting: [Property("p", "always", "P.", lambda s: s.flag)] * 2),
        "two properties have the name 'p'",
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTY)
def test_a_part_that_could_deceive_is_refused(fault: str) -> None:
    """The part is named, with what is wrong with it, by the tracer of engines and by that of provers."""
    system, told = FAULTY[fault]
    for how in (trace, theory):
        CALLED.clear()
        with pytest.raises((SystemFault, LayoutError, UntraceableRule, RuleError)) as refused:
            how(system, system.setting())
        assert told in str(refused.value)


def test_rules_of_shipped_systems_give_the_same_answer_twice() -> None:
    """Every shipped system traces, which asks each rule twice, and agrees with ints in a sample of states."""
    for name in ("broker-ids", "zk-jbod", "zk-controller", "unclean-recovery"):
        system = catalogue.find(name)
        program = trace(system, system.setting("tiny", rules=parse("fixed")))
        check_sample(program)
        agree_with_ints(program, program.initial)


def test_a_lemma_is_no_other_claim() -> None:
    """A lemma with the id of a property is refused by the provers, which would take one for the other."""
    claim = Property("claim", "always", "C.", lambda s: s.x != 3, refuted_by=("x",))
    system = evolve(claiming(lambda s: s.x < 9), lemmas=lambda setting: [claim])
    with pytest.raises(SystemFault, match="two properties have the name 'claim'"):
        theory(system, system.setting())


def test_the_engine_on_ints_refuses_two_of_one_name() -> None:
    """The engine on ints looks moves up by name, and refuses two actions that share one."""
    system = FAULTY["two actions of one name"][0]
    with pytest.raises(SystemFault, match="two actions"):
        Integers(system, system.setting())


def test_two_bounds_of_one_name_are_refused() -> None:
    """A flag would set both."""
    system = evolve(SHELF, scopes={"s": {"n": 1}}, bounds=(Bound("n", 0, 2, "One."), Bound("n", 0, 9, "Two.")))
    with pytest.raises(ScopeError, match="shelf has two bounds named 'n'; rename one"):
        system.setting()


@pytest.mark.parametrize("system", [FLIPPED, TYPE, claiming(lambda s: id(s.x) != id(s.y))])
def test_what_no_class_can_refuse_is_found_by_a_sample(system: System) -> None:
    """`id()` and `type()` decide silently: some state of the layout shows that the rule says otherwise on ints."""
    for traced in (trace(system, system.setting()), theory(system, system.setting()).program):
        with pytest.raises(SystemFault, match=r"property claim (goes another way|says 0) on ints"):
            check_sample(traced)


@pytest.mark.parametrize(
    ("effect", "changes", "told"),
    [
        (lambda s: evolve(s, x=3 if isinstance(s.flag, Term) else 0), {}, "action act, effect on x says"),
        (lambda s: s, {"guard": lambda s: not isinstance(s.x, Term)}, "action act, guard says 1 on ints and 0"),
        (
            lambda s, n: evolve(s, x=3 if isinstance(n, Term) else 0),
            {"parameters": {"n": [False, True]}},
            "effect on x says",
        ),
    ],
)
def test_a_sample_finds_actions_that_decide_silently(effect: Any, changes: Any, told: str) -> None:
    """Guards and effects are compared too, for every engine and for provers."""
    system = doing(effect, **changes)
    for traced in (trace(system, system.setting()), theory(system, system.setting()).program):
        with pytest.raises(SystemFault, match=told):
            check_sample(traced)


def test_the_order_of_a_set_of_initial_states_is_no_matter() -> None:
    """States given as a set, a list or a generator are the same program."""
    ways: tuple[Callable[[Any], Any], ...] = (frozenset, list, iter, lambda states: reversed(list(states)))
    starts = [evolve(START, x=x) for x in range(8)]
    digests = {
        (p.digest(), p.initial)
        for way in ways
        for p in [trace(evolve(SHELF, initial=lambda s, way=way: way(starts)), SHELF.setting())]
    }
    assert len(digests) == 1


def test_a_list_without_room_is_refused() -> None:
    """Members that may not fit into the slots are refused when traced, and on ints when they do not fit."""
    graph = Graph()
    mask, slot = graph.variable("mask", 0, 31), graph.variable("slot", -1, 4)
    short, longer = Replicas((slot,)), Replicas((slot, slot))
    for use in (lambda: longer.plus(BrokerSet(mask)), lambda: short.plus(longer)):
        with pytest.raises(UntraceableRule, match=r"test_front_end_parts\.py:\d+: \d numbers may be members of a list"):
            use()
    with pytest.raises(ValueError, match="3 numbers in 2 slots"):
        Replicas.of([0, 1], 2).plus(BrokerSet.of([4]))
    with pytest.raises(ValueError, match="3 numbers in 2 slots"):
        Replicas.of([0, 1, 2], 2)
    assert Replicas.of([4], 2).plus(BrokerSet.of([4, 1])) == Replicas.of([4, 1], 2)
    assert Replicas.of([4, 1], 3).ascending() == Replicas.of([1, 4], 3)


def test_a_set_has_no_broker_that_its_mask_cannot_hold() -> None:
    """Masks have 62 bits: a larger domain, a broker 62 in a set or in slots are refused."""
    assert subset_of(62).hi == (1 << 62) - 1
    for count in (63, 64, -1):
        with pytest.raises(LayoutError, match=r"sets have 0\.\.62 members"):
            subset_of(count)
    for use in (lambda: BrokerSet.of([62]), lambda: Replicas.of([62], 3).mask, lambda: Replicas.of([70], 3).has(1)):
        with pytest.raises(ValueError, match=r"\d\d in a set: its numbers are 0\.\.61"):
            use()


@attrs.frozen
class Flagged:
    """A state with a truth that never changes."""

    on: Any


def test_a_field_of_a_state_keeps_its_sort() -> None:
    """An int where the layout has a truth is refused at the start and after a step."""
    layout = evolve(SHELF, initial=lambda s: [Flagged(1)], layout=lambda s: Flagged(truth()), actions=lambda s: [])
    with pytest.raises(SystemFault, match="on is 1, not a truth"):
        trace(layout, layout.setting())
    assert isinstance(LAYOUT, Shelf)


def test_what_does_not_fit_is_told_with_the_line_that_gave_it() -> None:
    """Of two actions of one name both lines are told, of a state that does not fit its own; a list has no line."""
    other = evolve(COUNT, effect=lambda s: s)
    given = [evolve(SHELF.initial(SHELF.setting())[0], x=99)]
    for system, told in (
        (evolve(SHELF, actions=lambda setting: [COUNT, other]), rf"rename one \(\S+:\d+, {__file__}:\d+\)$"),
        (evolve(SHELF, initial=lambda setting: given), rf"does not fit the layout: .* \({__file__}:\d+\)$"),
        (evolve(SHELF, initial=given), r"does not fit the layout: .*\d$"),
    ):
        with pytest.raises(SystemFault, match=told):
            trace(system, system.setting())
