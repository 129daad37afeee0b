"""Laws of whole systems over drawn states: directory ids are names only, and terms say what ints say."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from attrs import evolve, frozen
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

from kraftcheck.model.language.brokersets import BrokerSet
from kraftcheck.model.language.layout import leaves
from kraftcheck.model.language.system import System
from kraftcheck.model.partition.registration import FIRST_LOCAL, DirectoryMap
from kraftcheck.model.rules.ruleset import parse
from kraftcheck.model.systems.elections.state import Elections
from kraftcheck.properties.catalogue import SYSTEMS
from kraftcheck.solvers.hypothesis.strategies import moves, reachable, states
from kraftcheck.solvers.program.program import Kind, Program
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.reference.interpreter import Integers
from tests.shared.readers import values_of

ELECTIONS = SYSTEMS["elections"]

ANY = settings(phases=[Phase.generate], max_examples=2000)
"""For examples that need not be small."""

# Directory ids are names: permuting them permutes results.

DIRECTORIES = 4
ENGINE = Integers(
    ELECTIONS,
    ELECTIONS.unlimited_setting(
        "directories", {"brokers": 4, "directories": DIRECTORIES, "replication": 3}, parse("fixed")
    ),
)
Effect = Callable[[Elections, str, dict[str, Any]], Elections]


@frozen
class Renaming:
    """Other numbers for each broker's directories.

    Attributes:
        orders: for each broker, the new number of each directory.
    """

    orders: tuple[tuple[int, ...], ...]

    def mask(self, broker: int, dirs: BrokerSet) -> BrokerSet:
        """A set of a broker's directories under their new numbers."""
        return BrokerSet.of(self.orders[broker][number] for number in dirs)

    def place(self, broker: int, directory: int) -> int:
        """A directory id under its new number; reserved ids stay."""
        number = directory - FIRST_LOCAL
        return directory if number < 0 else FIRST_LOCAL + self.orders[broker][number]

    def state(self, s: Elections) -> Elections:
        """The state with every directory renamed."""
        return evolve(
            s,
            directories=DirectoryMap(tuple(self.place(b, d) for b, d in enumerate(s.directories.slots))),
            online_dirs=tuple(self.mask(b, dirs) for b, dirs in enumerate(s.online_dirs)),
        )

    def arguments(self, chosen: dict[str, Any]) -> dict[str, Any]:
        """The arguments with every directory renamed."""
        broker = chosen.get("broker", 0)
        renamed = {name: self.mask(broker, chosen[name]) for name in ("dirs", "failed") if name in chosen}
        if "directory" in chosen:
            renamed["directory"] = self.place(broker, chosen["directory"])
        return {**chosen, **renamed}


RENAMINGS = st.tuples(*[st.permutations(range(DIRECTORIES)).map(tuple)] * 4).map(Renaming)


@st.composite
def renamed_steps(draw: st.DrawFn) -> tuple[Elections, str, dict[str, Any], Renaming]:
    """A reachable state, an enabled step, and a renaming."""
    state = draw(reachable(ENGINE, steps=8))
    move = draw(moves(ENGINE, state))
    return state, ENGINE.actions[move.action].name, ENGINE.arguments(move), draw(RENAMINGS)


def effect_of(state: Elections, name: str, chosen: dict[str, Any]) -> Elections:
    """The state after an action."""
    action = next(action for action in ENGINE.actions if action.name == name)
    after: Elections = action.outcome(state, chosen).state
    return after


def names_only(effect: Effect, drawn: tuple[Elections, str, dict[str, Any], Renaming]) -> bool:
    """Renaming before a step or after it is the same."""
    state, name, chosen, renaming = drawn
    before = effect(renaming.state(state), name, renaming.arguments(chosen))
    return before == renaming.state(effect(state, name, chosen))


@given(renamed_steps())
def test_directory_ids_are_names_only(drawn: Any) -> None:
    """Permuting each broker's directory ids permutes the results of every action, and nothing else."""
    assert names_only(effect_of, drawn)


def test_a_rule_that_prefers_a_directory_breaks_the_law() -> None:
    """A rule that treats directory 0 of broker 0 as failed, whatever it is told, is found."""

    def partial(state: Elections, name: str, chosen: dict[str, Any]) -> Elections:
        return effect_of(state, name, chosen).with_dirs(0, BrokerSet(state.online_dirs[0].mask & ~1))

    assert find(renamed_steps(), lambda drawn: not names_only(partial, drawn), settings=ANY)


# The int reader is the term reader.


def program_of(system: System) -> Program:
    """A shipped system traced at its first scope, as implemented."""
    return trace(system, system.setting(rules=parse("kafka-4.0") if system.rules else None))


@cache
def program_at(name: str) -> Program:
    """The same, traced once."""
    return program_of(SYSTEMS[name])


@cache
def engine_at(name: str) -> Integers:
    """The same system on ints."""
    return Integers(SYSTEMS[name], program_at(name).setting)


EVERY = pytest.mark.parametrize("name", SYSTEMS)


def read_terms(program: Program, kind: Kind, row: int, state: Any) -> tuple[list[int], list[int]]:
    """Guard conjuncts, and the state after the action, as the terms of a program say."""
    variables = [0] * sum(node.op == "var" for node in program.graph.nodes)
    inputs = [*zip(program.state, leaves(state), strict=True)]
    for term, (_, leaf) in inputs:
        variables[term.value] = int(leaf)
    for term, leaf in zip(kind.variables, kind.table[row], strict=True):
        variables[term.value] = int(leaf)
    found = values_of(program.graph, variables)
    return [found[term.index] for term in kind.guard.values()], [found[term.index] for term in kind.after]


@st.composite
def drawn_steps(draw: st.DrawFn, name: str) -> tuple[Kind, int, Any]:
    """An action kind with one of its rows, and a state within the domains."""
    program = program_at(name)
    kind = draw(st.sampled_from([kind for kind in program.kinds if kind.instances]))
    row = draw(st.integers(0, len(kind.instances) - 1))
    return kind, row, draw(reachable(engine_at(name), steps=4) | states(program.layout.shape))


def readers_agree(name: str, drawn: tuple[Kind, int, Any], slip: int = 0) -> bool:
    """Guards and effect on ints are those of the terms; a slip is added to one leaf of the terms' result."""
    kind, row, state = drawn
    chosen = kind.instances[row]
    guard, after = read_terms(program_at(name), kind, row, state)
    after[0] += slip
    on_ints = [int(part) for part in kind.action.guards(state, chosen).values()]
    result = [int(leaf) for _, leaf in leaves(kind.action.outcome(state, chosen).state)]
    return guard == on_ints and after == result


@EVERY
@settings(max_examples=25)
@given(data=st.data())
def test_ints_say_what_terms_say(name: str, data: st.DataObject) -> None:
    """Guards and effects agree on reachable states and on any others within the domains; a slip is noticed."""
    drawn = data.draw(drawn_steps(name))
    assert readers_agree(name, drawn)
    assert not readers_agree(name, drawn, slip=1)
