"""Action sequences on Kafka's managers: how much of the explored graph they take, and what differs."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt
from attrs import frozen

from kraftcheck.ci.conformance.kafka.columns import Columns, Rows
from kraftcheck.ci.conformance.kafka.java import TOUR, JavaProcess, compiled
from kraftcheck.ci.conformance.kafka.tour.graph import Numbers, Roads, Tour, Transitions, roads, tour
from kraftcheck.ci.conformance.kafka.tour.model import TourModel
from kraftcheck.ci.conformance.kafka.tour.plan import Plan, plan
from kraftcheck.ci.conformance.kafka.tour.report import Shortest, TourRow
from kraftcheck.ci.conformance.kafka.tour.space import Space
from kraftcheck.model.language.system import Setting, System
from kraftcheck.model.systems.directories.state import names_of
from kraftcheck.model.systems.directories.system import DIRECTORIES
from kraftcheck.model.systems.elections.system import ELECTIONS

SYSTEMS = {system.name: system for system in (ELECTIONS, DIRECTORIES)}
"""Systems whose steps the managers can take."""

BATCH = 8192
"""About how many steps are asked at a time."""

DRIVERS = 2
"""Processes that share the sequences."""

OPTIONS = ("-XX:+UseSerialGC", "-Xms128m", "-Xmx512m")
MOST_CAUSES = 8
"""How many causes are shown."""

NOT_COMPARED = ("error", "continued")
"""Columns of an answer that the model does not give."""


Told = Callable[[str, int, int], None]


def tour_with_kafka(version: str, system: System, setting: Setting, sample: int, seed: int, told: Told) -> TourRow:
    """Take every transition of the explored system, or some drawn ones, on a release's managers.

    Args:
        version: the release.
        system: one of `SYSTEMS`.
        setting: its scope and rules.
        sample: how many transitions are drawn; 0: all.
        seed: of the draw.
        told: of progress: what, how many steps, how many differ.

    Raises:
        Refusal: where jars, Java, Maven or the network are missing, or memory for the graph.
        DriverError: when the process with Kafka's classes dies.
    """
    compiled(version, TOUR)
    begun = time.monotonic()
    space = Space(system, setting)
    chosen = plan(space, sample, seed)
    graph = chosen.graph
    ways = roads(graph)
    planned = tour(graph, ways, chosen.wanted)
    taken = _take(version, graph, planned, told)
    shown = tuple(itertools.islice(_shortest(version, graph, ways, taken.differing), MOST_CAUSES))
    executed, actions = taken.executed, _actions(graph, taken.executed)
    return TourRow(
        version, system.name, setting.scope, chosen.sampled, len(space), space.reachable, space.silent, space.refused,
        chosen.asked, chosen.impossible, int(executed.sum()), int(taken.unbroken.sum()), _covered(chosen, executed),
        len(planned.steps), len(planned.begins), actions, tuple(sorted(_asking(space) - set(actions))),
        len(taken.differing), time.monotonic() - begun, shown,
    )  # fmt: skip


def _covered(chosen: Plan, executed: npt.NDArray[np.bool_]) -> int:
    return int(executed.sum() if chosen.sampled else chosen.stands[executed].sum())


def _actions(graph: Transitions, executed: npt.NDArray[np.bool_]) -> tuple[str, ...]:
    """Actions of which a transition was executed."""
    instances = graph.model.instances
    return tuple(sorted({instances[number][0].name for number in np.unique(graph.instance[executed])}))


def _asking(space: Space) -> set[str]:
    """Actions that can happen and ask something of the managers."""
    return {kind.name for kind in space.model.kinds if kind.rules is not None and space.fired[kind.name]}


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


def managers(version: str, model: TourModel, snapshots: bool = True) -> JavaProcess:
    """Kafka's managers in a process; with `snapshots`, others load a snapshot after each ClearElrRecord.

    Its replay leaves the partition in the index of ELR members, which the model does not have.
    """
    setting = model.program.setting
    names = setting["directories"] if model.shown == model.width else names_of(setting.bounds)
    arguments = [str(setting["brokers"]), str(names), str(int(snapshots)), *model.actions]
    return JavaProcess(version, TOUR, arguments, model.outputs, OPTIONS)


def _take(version: str, graph: Transitions, planned: Tour, told: Told) -> Taken:
    marks = Taken(np.zeros(len(graph), dtype=np.bool_), np.zeros(len(graph), dtype=np.bool_), {})
    loud, done = graph.loud(), [0] * DRIVERS

    def drive(number: int) -> None:
        with managers(version, graph.model) as kafka:
            for steps, begins in _portions(planned, number, drivers):
                asked = np.flatnonzero(loud[steps])
                said, wanted = kafka.ask(graph.questions(steps[asked])), graph.answers(steps[asked])
                broken, differs = compared(graph.model.outputs, _first_asked(begins, asked), said, wanted)
                marks.executed[steps[asked]] = True
                marks.unbroken[steps[asked[~broken]]] = True
                _note(marks.differing, steps, begins, asked, np.flatnonzero(differs), said, wanted)
                done[number] += len(steps)
                told(f"{version} tour", sum(done), len(marks.differing))

    drivers = min(DRIVERS, len(planned.steps) // BATCH + 1)
    with ThreadPoolExecutor(drivers) as pool:
        for ended in [pool.submit(drive, number) for number in range(drivers)]:
            ended.result()
    return marks


def _first_asked(begins: npt.NDArray[np.bool_], asked: npt.NDArray[np.intp]) -> npt.NDArray[np.bool_]:
    """Which of the steps that ask are the first of their sequence that do."""
    sequence = np.cumsum(begins)[asked]
    return np.append(True, sequence[1:] != sequence[:-1])[: len(asked)]


def _portions(planned: Tour, number: int, drivers: int) -> Iterator[tuple[Numbers, npt.NDArray[np.bool_]]]:
    """Every portion of whole sequences that falls to one of the drivers, with where sequences begin in it."""
    at = np.searchsorted(planned.begins, np.arange(0, len(planned.steps), BATCH))
    bounds = np.unique(np.append(planned.begins[np.minimum(at, len(planned.begins) - 1)], len(planned.steps)))
    starts = np.zeros(len(planned.steps), dtype=np.bool_)
    starts[planned.begins] = True
    for first, last in list(itertools.pairwise(bounds))[number::drivers]:
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
    noted: dict[int, Differing], steps: Numbers, begins: npt.NDArray[np.bool_], asked: npt.NDArray[np.intp],
    differing: npt.NDArray[np.intp], said: Rows, wanted: npt.NDArray[np.int64],
) -> None:  # fmt: skip
    first = np.maximum.accumulate(np.where(begins, np.arange(len(steps)), 0))
    for row, at in zip(differing.tolist(), asked[differing].tolist(), strict=True):
        sequence = tuple(steps[first[at] : at + 1].tolist())
        known = noted.get(sequence[-1])
        if known is None or len(sequence) < len(known.sequence):
            noted[sequence[-1]] = Differing(said[row].copy(), wanted[row].copy(), sequence)


def _shortest(version: str, graph: Transitions, ways: Roads, noted: dict[int, Differing]) -> Iterator[Shortest]:
    """The causes, the most frequent first, each with the shortest sequence that shows it."""
    groups: dict[tuple[str, tuple[str, ...]], list[int]] = {}
    for step, found in noted.items():
        kind, _ = graph.model.instances[graph.instance[step]]
        near = tuple(n for n in _wrong(graph, found) if not n.startswith("after.")) or _wrong(graph, found)
        groups.setdefault((kind.name, near), []).append(step)
    for (action, near), members in sorted(groups.items(), key=lambda item: -len(item[1])):
        best = min(members, key=lambda step: ways.depth[graph.before[step]])
        found = _by_the_shortest_way(version, graph, ways, noted[best])
        expected, actual = graph.model.outputs.read(found.expected), graph.model.outputs.read(found.actual)
        yield Shortest(
            action, near, len(members), tuple(graph.call(step) for step in found.sequence),
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
    with managers(version, graph.model) as kafka:
        said = kafka.ask(graph.questions(steps[graph.loud()[steps]]))[-1]
    again = Differing(said, found.actual, tuple(steps.tolist()))
    return again if _wrong(graph, again) else found
