"""Tuples and records compared with values of another class are refused with their line; those of one class are not."""

from dataclasses import dataclass
from typing import Any

import pytest
from attrs import frozen

import kraftcheck as kc
from kraftcheck.model.language.symbolic import UntraceableRule
from kraftcheck.solvers.audit.traced_sample import check_sample
from kraftcheck.solvers.program.trace import trace


@frozen
class Pair:
    """Two words."""

    a: Any
    b: Any


@dataclass(frozen=True)
class Data:
    """Two words, in a dataclass."""

    a: Any
    b: Any


@frozen
class State:
    """A word, a record of each kind and a tuple."""

    a: Any
    pair: Pair
    data: Data
    both: tuple[Any, ...]


def of(
    claim: Any, *, step: Any = lambda _: True, guard: Any = lambda state: state.a < 3,
    effect: Any = lambda state: State(state.a + 1, Pair(state.a, 0), Data(state.a, 0), (state.a, 0)),
) -> kc.System:  # fmt: skip
    """A system that counts, and keeps the last number in each of its fields."""
    few, bit = kc.ints(0, 3), kc.ints(0, 1)
    return kc.System(
        name="pairs", summary="Pairs are kept.", layout=State(few, Pair(few, bit), Data(few, bit), (few, bit)),
        initial=[State(0, Pair(0, 0), Data(0, 0), (0, 0))], actions=[kc.Action("go", effect, guard)],
        properties=[kc.always("claim", "a claim", lambda state: {"told": claim(state), "small": state.a <= 3}),
                    kc.step("step", "a claim of steps", step)],
    )  # fmt: skip


LIST = [2, 0]

UNEQUAL: dict[str, kc.System] = {
    "a tuple with a list": of(lambda state: state.both != [2, 0]),
    "a list with a tuple": of(lambda state: LIST != state.both),  # noqa: SIM300
    "a tuple with None": of(lambda state: state.both != None),  # noqa: E711
    "a tuple after a step": of(lambda _: True, step=lambda step: step.after.both != LIST),
    "a tuple with a record": of(lambda state: state.both != state.pair),
    "a record with a tuple": of(lambda state: state.pair != (2, 0)),
    "a record with a text": of(lambda state: state.pair != "a pair"),
    "a record with a record": of(lambda state: state.pair != state.data),
    "a dataclass with a record": of(lambda state: not state.data == Pair(2, 0)),  # noqa: SIM201
    "a record among others": of(lambda state: state.pair not in (Data(2, 0), None)),
    "a record in a tuple": of(lambda state: (state.pair, 1) != (Data(2, 0), 1)),
    "in a guard": of(lambda _: True, guard=lambda state: kc.any_of(state.a < 3, state.pair == (2, 0))),
    "in an effect that no state allows": of(
        lambda _: True, guard=lambda state: kc.all_of(state.a < 0, state.a > 0),
        effect=lambda state: State(kc.choose(state.both == LIST, 0, 1), state.pair, state.data, state.both)),
}  # fmt: skip


@pytest.mark.parametrize("free", [False, True], ids=["explorers", "provers"])
@pytest.mark.parametrize("where", UNEQUAL)
def test_a_comparison_of_two_classes_is_refused(where: str, free: bool) -> None:
    """Python takes both for unequal, whatever they hold: the rule is named by its line."""
    told = r"test_two_classes\.py:\d+: (a tuple is compared|`.*` compares a record) with .* it never equals, whatever"
    with pytest.raises(UntraceableRule, match=told):
        check_sample(trace(UNEQUAL[where], UNEQUAL[where].setting(), free=free))


def test_comparisons_of_one_class_are_none() -> None:
    """What holds no words is compared as ever, and whether a value is None is no comparison of classes."""
    constants = of(lambda state: all((Pair(1, 0) not in (Data(1, 0), Pair(2, 0)), Data(1, 0) == Data(1, 0),
                                      (1, 0) != [1, 0], state.pair is not None, state.both is not None)))  # fmt: skip
    one = of(lambda state: kc.all_of(kc.equal(state.pair, Pair(*state.both)), kc.equal(state.both, (state.a, 0))))
    for system in (constants, one):
        traced = trace(system, system.setting())
        check_sample(traced)
        assert len(traced.kinds) == 1


def test_a_dataclass_that_is_asked_for_its_words_is_named_at_the_rule() -> None:
    """The comparison that Python made for a dataclass is no line of a rule, and no comparison by identity."""
    system = of(lambda state: state.data == Data(2, 0))
    with pytest.raises(UntraceableRule, match=r"test_two_classes\.py:\d+: "):
        check_sample(trace(system, system.setting()))
