"""What holds of every system: layouts, machine code, the lengths of pages, and laws over drawn states."""

import random
import time
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from attrs import evolve, frozen
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

from kraftcheck.ci.terminal.machine import cache_folder
from kraftcheck.model.language.brokersets import BrokerSet
from kraftcheck.model.language.layout import Layout, leaves
from kraftcheck.model.language.system import System
from kraftcheck.model.partition.registration import FIRST_LOCAL, DirectoryMap
from kraftcheck.model.rules.ruleset import parse
from kraftcheck.model.systems.elections.state import Elections
from kraftcheck.model.systems.elections.system import SCOPES as ELECTIONS_SCOPES
from kraftcheck.properties.catalogue import SYSTEMS
from kraftcheck.solvers.exploration.explore import SearchBudget, explore
from kraftcheck.solvers.hypothesis.strategies import moves, reachable, states
from kraftcheck.solvers.program.program import Kind, Program
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.reference.interpreter import Integers
from tests.shared.explored import agree_with_ints, values_of
from tests.shared.samples import few

Bounds = dict[str, int]

_REPLICATION = {
    "records": 2, "loss": 2, "fences": 2, "shrinks": 2, "reassignments": 2, "unclean-stops": 1, "clean-stops": 1,
    "unclean-elections": 1, "config-changes": 1, "late-replies": 1, "epochs": 5, "replication": 2,
}  # fmt: skip
"""Every action there is, and as many epochs as the layout has room for."""

_DIRECTORIES = {
    "failures": 2, "crashes": 2, "fences": 2, "moves": 2, "copies": 1, "repairs": 2, "disk-changes": 1,
    "reassignments": 1, "records": 2,
}  # fmt: skip

WALKS: list[tuple[str, str, Bounds, str]] = [
    *[("elections", scope, {}, "fence unfence") for scope in ELECTIONS_SCOPES],
    *[("replication", "small", {**_REPLICATION, "brokers": brokers},
       "serve_late late_reply fetch apply_metadata fence crash register reassign set_min_isr produce")
      for brokers in (2, 3)],
    *[("directories", "tiny", {**_DIRECTORIES, **bounds}, "apply_metadata fail_directory crash")
      for bounds in ({"replication": 1}, {"brokers": 2, "replication": 2, "start": 1},
                     {"directories": 3, "start": 2}, {"directories": 1})],
    *[("kraft", "pair", bounds, "apply_directories fail_directory send assign")
      for bounds in ({}, {"deletions": 1, "elr": 1, "moves": 1, "second": 2, "fences": 1},
                     {"second": 2, "moves": 1, "copies": 1})],
]  # fmt: skip
"""Systems with a scope and bounds, and actions that a walk must have taken."""


@pytest.mark.parametrize("rules", ["fixed", "kafka-4.0", "kip"])
@pytest.mark.parametrize(("name", "scope", "bounds", "taken"), WALKS, ids=str)
def test_states_stay_in_their_domains(name: str, scope: str, bounds: Bounds, taken: str, rules: str) -> None:
    """Along seeded walks, begun anew where epochs run out, every state has a place in the layout and survives it."""
    system = SYSTEMS[name]
    at = system.setting(scope, bounds, parse(rules))
    layout, walk, seen = Layout(system.layout(at)), random.Random(7), set[str]()
    actions, initial = system.actions(at), list(system.initial(at))
    state = walk.choice(initial)
    for tried in range(4000):
        if tried % 400 == 0:
            state = walk.choice(initial)
        action = walk.choice(actions)
        arguments = {argument: walk.choice(list(values)) for argument, values in action.parameters.items()}
        if not action.enabled(state, arguments):
            continue
        after: Any = action.outcome(state, arguments).state
        if name == "replication" and after.leader_epoch > at["epochs"]:
            continue
        assert layout.unpack(layout.pack(after)) == after
        state = after
        seen.add(action.name)
    assert set(taken.split()) <= seen


def _slow(*row: Any) -> Any:
    return pytest.param(*row, marks=pytest.mark.slow)


SAMPLES = [
    ("replication", "tiny", "fixed", 150, {}),
    _slow("replication", "small", "fixed", 1_500, {}),
    ("replication", "tiny", "fixed+removed-replicas-stay-in-elr", 15,
     {"unclean-stops": 0, "shrinks": 0, "reassignments": 1}),
    ("replication", "tiny", "kafka-3.9", 20, {"fences": 0, "shrinks": 0, "unclean-elections": 1, "config-changes": 1}),
    ("directories", "tiny", "fixed", 60, {}),
    _slow("directories", "tiny", "kafka-4.0", 200, {"copies": 1}),
    ("directories", "tiny", "kip", 60, {"directories": 3, "crashes": 0}),
    _slow("directories", "migration", "kafka-4.0", 100, {}),
    ("directories", "tiny", "fixed+duplicate-ids-start", 50, {"disk-changes": 1, "moves": 0}),
    ("directories", "small", "kafka-4.0", 4000, {"crashes": 0, "reassignments": 1, "replication": 1, "records": 0}),
    ("kraft", "tiny", "fixed", 1000, {}),
    ("kraft", "pair", "fixed", 600, {}),
    ("zk-controller", "tiny", "fixed", 30, {}),
    ("zk-controller", "pair", "kip", 150, {}),
    ("zk-jbod", "controller", "fixed", 2, {}),
    ("zk-jbod", "jobs", "kip", 50, {}),
    ("unclean-recovery", "requests", "kip", 150, {}),
    _slow("unclean-recovery", "returning", "fixed", 2000, {}),
]  # fmt: skip
"""System, scope, rules, which reachable states (every n-th), bounds."""


@pytest.mark.parametrize(("name", "scope", "rules", "every", "bounds"), SAMPLES)
def test_machine_code_agrees_with_ints(name: str, scope: str, rules: str, every: int, bounds: Bounds) -> None:
    """All action instances have the same result both ways; sampled: every n-th reachable state, in found order."""
    program = trace(SYSTEMS[name], SYSTEMS[name].setting(scope, bounds, parse(rules)))
    budget = SearchBudget(threads=1, memory=4 << 30, cache_dir=cache_folder())
    sample = list(explore(program, budget, clock=time.perf_counter).states())[::every]
    assert len(sample) > 50
    agree_with_ints(program, few(sample))


ELECTIONS = SYSTEMS["elections"]

ANY = settings(phases=[Phase.generate], max_examples=2000)  # for examples that need not be small

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
    """Other numbers for each broker's directories."""

    orders: tuple[tuple[int, ...], ...]  # for each broker, the new number of each directory

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
