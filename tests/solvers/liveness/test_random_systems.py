"""Liveness of random systems, compiled: the verdicts and the shortest stems of the naive judge."""

import random
import time
from typing import Any

import pytest
from attrs import evolve

from kraftcheck.model.language.system import LIVENESS, Fairness, Property, System
from kraftcheck.solvers.exploration.explore import explore
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.program.verdict import Refuted
from tests.random_systems import building
from tests.random_systems.claims import Claims
from tests.random_systems.naive import Arguments, Graph, Reader
from tests.random_systems.nodes import plainly
from tests.random_systems.systems import Drawn, drawn
from tests.solvers.liveness.naive import Fair, Naive, Puzzle, judge

Labels = dict[tuple[int, Arguments], int]  # the number of each action instance that the graph has


def fairness_of(source: random.Random, drawn_: Drawn, labels: Labels) -> tuple[list[Fairness], list[Fair]]:
    """Some fairness, as systems declare it and as the naive judge takes it."""
    declared, naive = [], []
    for number, move in enumerate(drawn_.machine.moves):
        if source.random() < 0.6:
            strong, each = source.random() < 0.5, bool(move.parameters) and source.random() < 0.5
            declared.append(Fairness((move.name,), strong, (move.parameters[0][0].name,) if each else ()))
            values = {args[0] for n, args in labels if n == number} if each else {None}
            naive += [
                Fair(strong, frozenset(label for (n, args), label in labels.items()
                                       if n == number and (not each or args[0] == value)))
                for value in values
            ]  # fmt: skip
    return declared, naive


def puzzle_of(graph: Graph, labels: Labels, fair: list[Fair], claims: list[list[object]]) -> Puzzle:
    """The graph with a premise and a goal as a puzzle."""
    number = {state: place for place, state in enumerate(graph.depth)}
    reader = Reader(graph.machine)
    premise, goal = (
        frozenset(number[state] for state in graph.depth if reader.holds_in(parts, state))  # type: ignore[arg-type]
        for parts in claims
    )
    steps = {(number[state], labels[one.move, one.arguments], number[one.after]) for state, one in graph.steps()}
    initial = frozenset(number[state] for state in graph.machine.initial)
    return Puzzle(len(number), initial, tuple(sorted(steps)), tuple(fair), premise, goal)


def word_of(naive: Naive) -> tuple[str, int | None]:
    """The verdict that a naive answer stands for, with the length of the stem."""
    if naive.stem is not None:
        return "Refuted", naive.stem
    return ("Holds" if naive.waiting else "Vacuous"), None


def labels_of(graph: Graph) -> Labels:
    """A number for each action instance of a graph."""
    return {key: n for n, key in enumerate(dict.fromkeys((t.move, t.arguments) for _, t in graph.steps()))}


def asked_of(made: Claims, machine: Any, system: System) -> tuple[list[Property], list[Any]]:
    """A property of each kind, of a random premise and a random goal; and these."""
    claims = [made.claim(name, "sometimes") for name in ("premise", "goal")]
    premise, goal = (building.claim(machine, one, dict(system.setting().bounds)) for one in claims)
    asked = [
        Property(kind, kind, kind, goal.predicate, when=premise.predicate if kind == "leads_to" else None)
        for kind in LIVENESS
    ]
    return asked, claims


def check(seed: int) -> bool:
    """Compare a system of a seed, unless a domain cuts steps of it or it is large; whether it was compared."""
    drawn_ = drawn(seed)
    machine, graph = drawn_.machine, drawn_.graph
    if graph.pruned() or len(graph.depth) > 150:
        return False
    source = random.Random(f"liveness {seed}")
    labels = labels_of(graph)
    declared, fair = fairness_of(source, drawn_, labels)
    system = building.build(machine)
    setting = system.setting()
    asked, claims = asked_of(Claims(source, machine, graph), machine, system)
    chosen = evolve(system, properties=lambda _: asked, fairness=lambda _: declared)
    found = explore(trace(chosen, setting), clock=time.perf_counter)
    puzzle = puzzle_of(graph, labels, fair, [[plainly(part) for part in one.parts.values()] for one in claims])
    for kind in LIVENESS:
        verdict = found.verdict(kind).verdict
        stem = None
        if isinstance(verdict, Refuted):
            assert verdict.trace.loop is not None
            stem = verdict.trace.loop.start
        assert (type(verdict).__name__, stem) == word_of(judge(puzzle, kind)), (seed, kind, declared)
    return True


def test_random_systems_have_the_naive_verdicts() -> None:
    """Of the first random systems, with random fairness of actions and of instances, every kind agrees."""
    assert sum(check(seed) for seed in range(12)) >= 3


@pytest.mark.slow
@pytest.mark.parametrize("part", range(8))
def test_many_random_systems_have_the_naive_verdicts(part: int) -> None:
    """So do hundreds, at night."""
    assert sum(check(seed) for seed in range(1000 + 50 * part, 1050 + 50 * part)) >= 10
