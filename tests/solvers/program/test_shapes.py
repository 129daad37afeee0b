"""Programs of unusual shape: several words, many instances, many conjuncts, negative and truth arguments."""

import random
import time
from typing import Any

import pytest
from attrs import evolve, frozen

from kraftcheck.model.language.layout import DomainError, Flag, Range
from kraftcheck.model.language.system import Action, Property, System
from kraftcheck.model.language.words import all_of, any_of, choose
from kraftcheck.solvers.exploration.explore import Exploration, SearchBudget, explore
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.program.verdict import Holds, Refuted, Vacuous
from kraftcheck.solvers.reference.confirm import successor

STAMP = (1 << 50) - 1


def explored(system: System) -> Exploration:
    """The exploration of a system, on two threads."""
    return explore(trace(system, system.setting()), SearchBudget(threads=2), clock=time.perf_counter)


def reachable_on_ints(program: Program) -> tuple[set[tuple[int, ...]], int]:
    """All reachable packed states and the number of transitions, by the rules on ints."""
    seen, todo, taken = set(program.initial), list(program.initial), 0
    while todo:
        state = program.layout.unpack(todo.pop())
        for instance in range(program.instances):
            try:
                step = successor(program, state, instance)
            except DomainError:
                continue
            if step is not None:
                taken += 1
                after = program.layout.pack(step.state)
                if after not in seen:
                    seen.add(after)
                    todo.append(after)
    return seen, taken


@frozen
class Cell:
    """A digit and a stamp that fills the rest of its word."""

    digit: Any
    stamp: Any


@frozen
class Wide:
    """One cell in each word."""

    cells: tuple[Any, ...]
    flag: Any


def some_top(state: Wide) -> Any:
    """Whether a digit is at its top."""
    return any_of(*(cell.digit == 4 for cell in state.cells))


def count_up(state: Wide, place: Any, by: Any) -> Wide:
    """Add to the digit at a place; the stamp tells whether it is at its top."""

    def counted(cell: Cell, here: Any) -> Cell:
        digit = choose(here, cell.digit + by, cell.digit)
        return Cell(digit, choose(digit == 4, STAMP, 0))

    return evolve(state, cells=tuple(counted(cell, place == i) for i, cell in enumerate(state.cells)))


def wide_system(words: int) -> System:
    """Digits -3..4 that grow independently, one in each word; the flag is free while a digit is at its top."""
    return System(
        name="wide",
        summary="Independent digits.",
        initial=lambda setting: [Wide((Cell(-3, 0),) * words, False)],
        layout=lambda setting: Wide((Cell(Range(-3, 4, cap="a digit has a top"), Range(0, STAMP)),) * words, Flag()),
        actions=lambda setting: [
            Action("up", count_up, parameters={"place": list(range(words)), "by": [2, 1]}),
            Action("set", lambda state, on: evolve(state, flag=on), _may_set, {"on": [True, False]}),
        ],
        properties=lambda setting: [
            Property("not-all-top", "always", "some digit is below 4", _not_all_top),
            Property("flag-at-top", "always", "the flag needs a digit at its top", _flag_at_top),
        ],
    )


def _may_set(state: Wide, on: Any) -> Any:
    return some_top(state)


def _not_all_top(state: Wide) -> Any:
    return any_of(*(cell.digit < 4 for cell in state.cells))


def _flag_at_top(state: Wide) -> Any:
    return any_of(some_top(state), state.flag == False)  # noqa: E712 - a truth may be a term


@pytest.mark.parametrize("words", [1, 2, 3, 4])
def test_states_of_several_words_are_exact(words: int) -> None:
    """All 8^n digits are found, with both flags where one is at its top, and overflow is counted by field."""
    found = explored(wide_system(words))
    assert found.program.layout.words == words
    assert found.distinct == 2 * 8**words - 7**words == len(set(found.states()))
    assert set(found.pruned) == {f"cells[{i}].digit" for i in range(words)}
    assert words > 1 or found.pruned == {"cells[0].digit": 5}
    broken = found.verdict("not-all-top")
    assert isinstance(broken.verdict, Refuted)
    assert broken.depth == 4 * words
    assert isinstance(found.verdict("flag-at-top").verdict, Holds)


@frozen
class Spot:
    """A place among many."""

    place: Any


def many_system() -> System:
    """Jumps with 150 instances in scrambled order and 70 conjuncts."""
    targets = list(range(-20, 130))
    random.Random(7).shuffle(targets)

    def guard(state: Spot, to: Any) -> dict[str, Any]:
        gaps = {f"not {gap} up": to != state.place + gap for gap in range(1, 69)}
        return {**gaps, "not far up": to != state.place + 160, "up": state.place < to}

    def never(state: Spot) -> dict[str, Any]:
        return {f"at {place}": state.place == place for place in (*range(66), -20, 139)}

    return System(
        name="many",
        summary="Long jumps.",
        initial=lambda setting: [Spot(-20), Spot(-19)],
        layout=lambda setting: Spot(Range(-20, 140)),
        actions=lambda setting: [
            Action("jump", lambda state, to: Spot(to), guard, {"to": targets}),
            Action("never", lambda state: state, never),
        ],
        quiescent=lambda state: all_of(state.place > 0),
    )


def test_many_instances_and_conjuncts_agree_with_ints() -> None:
    """Two masks of instances and two words of conjuncts give the states, transitions and coverage of the int reader."""
    found = explored(many_system())
    states, taken = reachable_on_ints(found.program)
    assert set(found.states()) == states
    assert found.generated == taken + 2
    assert found.fired == {"jump": taken, "never": 0}
    assert ("never", "at 139") in found.never_true
    assert ("never", "at -20") not in found.never_true
    assert found.never_false == (("jump", "not far up"),)


def test_a_program_without_actions_has_its_initial_states() -> None:
    """No action: the initial states are all there is, they deadlock unless they may rest, which is no pass."""
    still = evolve(many_system(), actions=lambda setting: [])
    found = explored(still)
    assert (found.distinct, found.generated, found.depth) == (2, 2, 0)
    assert isinstance(found.verdict("deadlock").verdict, Refuted)
    assert isinstance(explored(evolve(still, quiescent=lambda state: True)).verdict("deadlock").verdict, Vacuous)


def test_many_initial_states_are_all_entered() -> None:
    """More initial states than a candidate buffer holds are all found at depth 0."""
    crowd = System(
        name="crowd",
        summary="Many initial states.",
        initial=lambda setting: [Spot(place) for place in range(50_000)],
        layout=lambda setting: Spot(Range(0, 49_999)),
        actions=lambda setting: [Action("home", lambda state: Spot(0))],
    )
    found = explored(crowd)
    assert (found.distinct, found.generated, found.levels) == (50_000, 100_000, (50_000,))
