"""Action sequences on Kafka's managers: how much of the explored graph they take, and what differs."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import frozen

from ci.explore import cache_folder
from ci.kafka.asking import TOUR, JavaProcess, compiled
from ci.kafka.columns import Columns, Rows
from ci.kafka.tour_graph import Numbers, Roads, Tour, Transitions, roads, tour, transitions
from ci.kafka.tour_model import TourModel
from model.system import Setting
from model.systems.elections.system import ELECTIONS
from solvers.explorer import explore
from solvers.program import trace

BATCH = 8192
"""About how many steps are asked at a time."""

DRIVERS = 2
"""Processes that share the sequences."""

OPTIONS = ("-XX:+UseSerialGC", "-Xms128m", "-Xmx512m")
MOST_CAUSES = 8
"""How many causes are shown."""

NOT_COMPARED = ("error", "continued")
"""Columns of an answer that the model does not give."""


@frozen
class Shortest:
    """Differences in the same columns of the same action: how many transitions, and the shortest sequence to one.

    Attributes:
        action: the action that differs.
        columns: names of what differs.
        transitions: how many differ so.
        sequence: action by action from a new partition; the last one differs.
        expected, actual: Kafka's answer and the model's, as far as they differ.
    """

    action: str
    columns: tuple[str, ...]
    transitions: int
    sequence: tuple[str, ...]
    expected: dict[str, Any]
    actual: dict[str, Any]


@frozen
class TourRow:
    """A tour of one release.

    Attributes:
        reachable: transitions that the model can take.
        impossible: those of them that cannot be put to Kafka's managers.
        executed: those that were taken there, in unbroken sequences from a new partition, or at all.
        unbroken: the former.
        steps, sequences: how many steps were taken, in how many sequences.
        differing: transitions whose records or state after differ.
    """

    version: str
    scope: str
    sampled: bool
    states: int
    reachable: int
    impossible: int
    executed: int
    unbroken: int
    steps: int
    sequences: int
    differing: int
    seconds: float
    shown: tuple[Shortest, ...]

    @property
    def share(self) -> float:
        """The share of the reachable transitions that was executed on Kafka's managers."""
        return self.executed / self.reachable


Told = Callable[[str, int, int], None]


def explored(setting: Setting) -> Transitions:
    """The transitions of the `elections` system at a setting."""
    program = trace(ELECTIONS, setting)
    found = explore(program, clock=time.monotonic, cache_dir=cache_folder())
    return transitions(TourModel(program), found)


def tour_with_kafka(version: str, setting: Setting, sample: int, seed: int, told: Told) -> TourRow:
    """Take every transition of the explored system, or some drawn ones, on a release's managers.

    Args:
        version: the release.
        setting: scope and rules of `elections`.
        sample: how many transitions are drawn; 0: all.
        seed: of the draw.
        told: of progress: what, how many steps, how many differ.

    Raises:
        Refusal: where jars, Java, Maven or the network are missing.
        DriverError: when the process with Kafka's classes dies.
    """
    compiled(version, TOUR)
    begun = time.monotonic()
    graph = explored(setting)
    ways = roads(graph)
    wanted = np.ones(len(graph), dtype=np.bool_)
    if 0 < sample < len(graph):
        wanted[np.random.default_rng(seed).permutation(len(graph))[sample:]] = False
    planned = tour(graph, ways, wanted)
    taken = _take(version, graph, planned, told)
    shown = tuple(itertools.islice(_shortest(version, graph, ways, taken.differing), MOST_CAUSES))
    return TourRow(
        version, setting.scope, 0 < sample < len(graph), len(graph.states), len(graph) + graph.impossible,
        graph.impossible, int(taken.executed.sum()), int(taken.unbroken.sum()), len(planned.steps),
        len(planned.begins), len(taken.differing), time.monotonic() - begun, shown,
    )  # fmt: skip


@frozen
class Taken:
    """Of each transition: whether it was taken, and whether in an unbroken sequence; and what differed.

    Attributes:
        differing: for each transition that differed, Kafka's answer, the model's, and the sequence up to it.
    """

    executed: npt.NDArray[np.bool_]
    unbroken: npt.NDArray[np.bool_]
    differing: dict[int, Differing]


@frozen
class Differing:
    """Two answers to one step, and the transitions that the sequence had taken, the step being the last."""

    expected: npt.NDArray[np.int32]
    actual: npt.NDArray[np.int64]
    sequence: tuple[int, ...]


def managers(version: str, graph: Transitions, snapshots: bool = True) -> JavaProcess:
    """Kafka's managers in a process; with `snapshots`, others load a snapshot after each ClearElrRecord.

    Its replay leaves the partition in the index of ELR members, which the model does not have.
    """
    bounds = graph.model.program.setting
    arguments = [str(bounds["brokers"]), str(bounds["directories"]), str(int(snapshots)), *graph.model.actions]
    return JavaProcess(version, TOUR, arguments, graph.model.outputs, OPTIONS)


def _take(version: str, graph: Transitions, planned: Tour, told: Told) -> Taken:
    marks = Taken(np.zeros(len(graph), dtype=np.bool_), np.zeros(len(graph), dtype=np.bool_), {})
    done = [0] * DRIVERS

    def drive(number: int) -> None:
        with managers(version, graph) as kafka:
            for steps, begins in _portions(planned, number):
                said, wanted = kafka.ask(graph.questions(steps)), graph.answers(steps)
                broken, differs = compared(graph.model.outputs, begins, said, wanted)
                marks.executed[steps] = True
                marks.unbroken[steps[~broken]] = True
                _note(marks.differing, steps, begins, np.flatnonzero(differs), said, wanted)
                done[number] += len(steps)
                told(f"{version} tour", sum(done), len(marks.differing))

    with ThreadPoolExecutor(DRIVERS) as pool:
        for ended in [pool.submit(drive, number) for number in range(DRIVERS)]:
            ended.result()
    return marks


def _portions(planned: Tour, number: int) -> Iterator[tuple[Numbers, npt.NDArray[np.bool_]]]:
    """Every `DRIVERS`-th portion of whole sequences, with where sequences begin in it."""
    at = np.searchsorted(planned.begins, np.arange(0, len(planned.steps), BATCH))
    bounds = np.unique(np.append(planned.begins[np.minimum(at, len(planned.begins) - 1)], len(planned.steps)))
    starts = np.zeros(len(planned.steps), dtype=np.bool_)
    starts[planned.begins] = True
    for first, last in list(itertools.pairwise(bounds))[number::DRIVERS]:
        yield planned.steps[first:last], starts[first:last]


def compared(
    outputs: Columns, begins: npt.NDArray[np.bool_], said: Rows, wanted: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Of each step, whether its sequence is broken before it, and whether Kafka's answer differs from the model's."""
    found = said.astype(np.int64)
    loaded = (outputs.get(said, "continued") == 0) & ~begins
    since = np.cumsum(loaded)
    at_begin = np.maximum.accumulate(np.where(begins, since, 0))
    for name in NOT_COMPARED:
        found[:, outputs.slice(name)] = 0
    return since > at_begin, (found != wanted).any(axis=1)


def _note(
    noted: dict[int, Differing], steps: Numbers, begins: npt.NDArray[np.bool_], differing: npt.NDArray[np.int64],
    said: Rows, wanted: npt.NDArray[np.int64],
) -> None:  # fmt: skip
    first = np.maximum.accumulate(np.where(begins, np.arange(len(steps)), 0))
    for at in differing.tolist():
        sequence = tuple(steps[first[at] : at + 1].tolist())
        known = noted.get(sequence[-1])
        if known is None or len(sequence) < len(known.sequence):
            noted[sequence[-1]] = Differing(said[at].copy(), wanted[at].copy(), sequence)


def _shortest(version: str, graph: Transitions, ways: Roads, noted: dict[int, Differing]) -> Iterator[Shortest]:
    """The causes, the most frequent first, each with the shortest sequence that shows it."""
    groups: dict[tuple[str, tuple[str, ...]], list[int]] = {}
    for step, found in noted.items():
        kind, _ = graph.kinds[graph.instance[step]]
        near = tuple(n for n in _wrong(graph, found) if not n.startswith("after.")) or _wrong(graph, found)
        groups.setdefault((kind.name, near), []).append(step)
    for (action, near), members in sorted(groups.items(), key=lambda item: -len(item[1])):
        best = min(members, key=lambda step: ways.depth[graph.before[step]])
        found = _by_the_shortest_way(version, graph, ways, noted[best])
        expected, actual = graph.model.outputs.read(found.expected), graph.model.outputs.read(found.actual)
        yield Shortest(
            action, near, len(members), tuple(call_of(graph, step) for step in found.sequence),
            {name: expected[name] for name in _wrong(graph, found)},
            {name: actual[name] for name in _wrong(graph, found)},
        )  # fmt: skip


def _wrong(graph: Transitions, found: Differing) -> tuple[str, ...]:
    outputs = graph.model.outputs
    names = (name for name in outputs if name not in NOT_COMPARED)
    return tuple(n for n in names if (found.expected[outputs.slice(n)] != found.actual[outputs.slice(n)]).any())


def _by_the_shortest_way(version: str, graph: Transitions, ways: Roads, found: Differing) -> Differing:
    """The difference after the shortest way to its state, where that shows it; else after the sequence that did.

    It need not: the managers keep more than the state that the model explores.
    """
    step = found.sequence[-1]
    steps = np.array([*ways.to(graph, int(graph.before[step])), step], dtype=np.int32)
    with managers(version, graph) as kafka:
        said = kafka.ask(graph.questions(steps))[-1]
    again = Differing(said, found.actual, tuple(steps.tolist()))
    return again if _wrong(graph, again) else found


def call_of(graph: Transitions, step: int) -> str:
    """The action of a transition, with its arguments."""
    kind, within = graph.kinds[graph.instance[step]]
    name: str = kind.calls[within]
    return name


def lines(row: TourRow, rules: str) -> list[str]:
    """The tour for a reader."""
    drawn = "a sample of the transitions" if row.sampled else "every transition"
    text = [
        f"Kafka {row.version} tour of elections at {row.scope}, {drawn}: {row.states:,} states, "
        f"{row.reachable:,} reachable transitions",
        f"  executed on Kafka's managers: {row.executed:,} ({row.share:.2%}); "
        f"{row.unbroken:,} in unbroken sequences from a new partition; "
        f"{row.impossible:,} cannot be put to them",
        f"  {row.steps:,} steps in {row.sequences:,} sequences, {row.seconds:.0f} s",
        f"{rules}: {row.differing:,} transitions differ",
    ]
    for cause in row.shown:
        text.append(f"  {cause.transitions:,} of {cause.action} differ in {', '.join(cause.columns)}; the shortest:")
        text += [f"    {number}. {call}" for number, call in enumerate(cause.sequence, 1)]
        text.append(f"    expected (Kafka): {_fields(cause.expected)}")
        text.append(f"    actual (model):   {_fields(cause.actual)}")
    if sum(cause.transitions for cause in row.shown) < row.differing:
        text.append("  and others")
    return text


def _fields(values: dict[str, Any]) -> str:
    return " ".join(f"{name}={value}".replace(" ", "") for name, value in values.items())
