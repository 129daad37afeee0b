"""The run of a tour: its sequences are executed on Kafka's managers, and the answers are compared."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt
from attrs import field, frozen

from kraftcheck.ci.conformance.kafka.columns import Columns, Rows
from kraftcheck.ci.conformance.kafka.differences import first_killer
from kraftcheck.ci.conformance.kafka.java import TOUR, DriverError, JavaProcess, compile_driver
from kraftcheck.ci.conformance.kafka.tour.graph import Numbers, ShortestPaths, Tour, TourGraph, shortest_paths, tour
from kraftcheck.ci.conformance.kafka.tour.model import TourModel
from kraftcheck.ci.conformance.kafka.tour.plan import TourPlan, plan
from kraftcheck.ci.conformance.kafka.tour.report import ShortestDifference, TourDeath, TourRow
from kraftcheck.ci.conformance.kafka.tour.requests import check_one_partition
from kraftcheck.ci.conformance.kafka.tour.space import TourSpace
from kraftcheck.model.language.system import Setting, System
from kraftcheck.model.systems.directories.state import names_of
from kraftcheck.model.systems.directories.system import DIRECTORIES
from kraftcheck.model.systems.elections.system import ELECTIONS
from kraftcheck.model.systems.kraft.system import KRAFT

SYSTEMS = {system.name: system for system in (ELECTIONS, DIRECTORIES, KRAFT)}
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


TourProgress = Callable[[str, int, int], None]


def tour_with_kafka(
    version: str, system: System, setting: Setting, sample: int, seed: int, report: TourProgress
) -> TourRow:
    """Take every transition of the explored system, or some drawn ones, on a release's managers.

    Args:
        version: the release.
        system: one of `SYSTEMS`.
        setting: its scope and rules.
        sample: how many transitions are drawn; 0: all.
        seed: of the draw.
        report: of progress: what, how many steps, how many differ.

    Raises:
        Refusal: where jars, Java, Maven or the network are missing, or memory for the graph.
        DriverError: when the process with Kafka's classes dies, and no question is to blame.
        TourError: where the managers cannot be asked what the system asks.
    """
    check_one_partition(system.name, setting)
    compile_driver(version, TOUR)
    start = time.monotonic()
    space = TourSpace(system, setting)
    chosen = plan(space, sample, seed)
    graph = chosen.graph
    paths = shortest_paths(graph)
    sequences = tour(graph, paths, chosen.targets)
    result = _run_tour(version, graph, sequences, report)
    causes = tuple(itertools.islice(_shortest_differences(version, graph, paths, result.differing), MOST_CAUSES))
    executed, actions = result.executed, _actions(graph, result.executed)
    return TourRow(
        version, system.name, setting.scope, chosen.sampled, len(space), space.reachable, space.silent, space.refused,
        chosen.asked, chosen.impossible, int(executed.sum()), int(result.in_unbroken_sequence.sum()),
        _covered(chosen, executed),
        len(sequences.steps), len(sequences.begins), actions, tuple(sorted(_asking_actions(space) - set(actions))),
        len(result.differing), time.monotonic() - start, causes, tuple(result.deaths),
    )  # fmt: skip


def _covered(chosen: TourPlan, executed: npt.NDArray[np.bool_]) -> int:
    return int(executed.sum() if chosen.sampled else chosen.weights[executed].sum())


def _actions(graph: TourGraph, executed: npt.NDArray[np.bool_]) -> tuple[str, ...]:
    """Actions of which a transition was executed."""
    instances = graph.model.instances
    return tuple(sorted({instances[number][0].name for number in np.unique(graph.instance[executed])}))


def _asking_actions(space: TourSpace) -> set[str]:
    """Actions that can happen and ask something of the managers."""
    return {kind.name for kind in space.model.kinds if kind.rules is not None and space.fired[kind.name]}


@frozen
class TourResult:
    """Of each transition: whether it was taken, and whether in an unbroken sequence; and what differed.

    Attributes:
        differing: for each transition that differed, Kafka's answer, the model's, and the sequence up to it.
        deaths: sequences that killed a process.
    """

    executed: npt.NDArray[np.bool_]
    in_unbroken_sequence: npt.NDArray[np.bool_]
    differing: dict[int, Differing]
    deaths: list[TourDeath] = field(factory=list)


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
    names = setting["directories"] if model.managed_width == model.width else names_of(setting.bounds)
    arguments = [str(setting["brokers"]), str(names), str(int(snapshots)), *model.actions]
    return JavaProcess(version, TOUR, arguments, model.outputs, OPTIONS)


def _run_tour(version: str, graph: TourGraph, sequences: Tour, report: TourProgress) -> TourResult:
    marks = TourResult(np.zeros(len(graph), dtype=np.bool_), np.zeros(len(graph), dtype=np.bool_), {})
    asks, steps_done = graph.asks_managers(), [0] * DRIVERS

    def drive(number: int) -> None:
        with managers(version, graph.model) as kafka:
            for steps, begins in _portions(sequences, number, drivers):
                requests = np.flatnonzero(asks[steps])
                try:
                    answers = kafka.ask(graph.questions(steps[requests]))
                except DriverError as reason:
                    marks.deaths.append(_death(version, graph, steps, begins, requests, reason))
                    return
                expected = graph.answers(steps[requests])
                broken, differs = compare_answers(
                    graph.model.outputs, _first_requests(begins, requests), answers, expected
                )
                marks.executed[steps[requests]] = True
                marks.in_unbroken_sequence[steps[requests[~broken]]] = True
                _keep_shortest(marks.differing, steps, begins, requests, np.flatnonzero(differs), answers, expected)
                steps_done[number] += len(steps)
                report(f"{version} tour", sum(steps_done), len(marks.differing))

    drivers = min(DRIVERS, len(sequences.steps) // BATCH + 1)
    with ThreadPoolExecutor(drivers) as pool:
        for future in [pool.submit(drive, number) for number in range(drivers)]:
            future.result()
    return marks


def _death(
    version: str, graph: TourGraph, steps: Numbers, begins: npt.NDArray[np.bool_], requests: npt.NDArray[np.intp],
    reason: DriverError,
) -> TourDeath:  # fmt: skip
    """The sequence that killed the process, up to the step that did.

    Raises:
        DriverError: where managers that are asked nothing end too, or new ones answer all.
    """

    def dies(asked: npt.NDArray[np.intp]) -> bool:
        try:
            with managers(version, graph.model) as kafka:
                kafka.ask(graph.questions(steps[asked]))
        except DriverError:
            return True
        return False

    with managers(version, graph.model) as kafka:
        kafka.check_end()
    killer = first_killer(lambda count: dies(requests[:count]), len(requests))
    if killer is None:
        raise DriverError(f"{reason}; a new process answers the same questions") from None
    last = int(requests[killer])
    first = int(np.flatnonzero(begins[: last + 1])[-1])
    sequence = tuple(graph.call(step) for step in steps[first : last + 1].tolist())
    return TourDeath(str(reason), sequence, dies(requests[(requests >= first) & (requests <= last)]))


def _first_requests(begins: npt.NDArray[np.bool_], requests: npt.NDArray[np.intp]) -> npt.NDArray[np.bool_]:
    """Which of the steps that ask are the first of their sequence that do."""
    sequence = np.cumsum(begins)[requests]
    return np.append(True, sequence[1:] != sequence[:-1])[: len(requests)]


def _portions(sequences: Tour, number: int, drivers: int) -> Iterator[tuple[Numbers, npt.NDArray[np.bool_]]]:
    """Every portion of whole sequences that falls to one of the drivers, with where sequences begin in it."""
    at = np.searchsorted(sequences.begins, np.arange(0, len(sequences.steps), BATCH))
    bounds = np.unique(np.append(sequences.begins[np.minimum(at, len(sequences.begins) - 1)], len(sequences.steps)))
    starts = np.zeros(len(sequences.steps), dtype=np.bool_)
    starts[sequences.begins] = True
    for first, last in list(itertools.pairwise(bounds))[number::drivers]:
        yield sequences.steps[first:last], starts[first:last]


def compare_answers(
    outputs: Columns, begins: npt.NDArray[np.bool_], answers: Rows, expected: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Of each step, whether its sequence is broken before it, and whether Kafka's answer differs from the model's."""
    comparable = answers.astype(np.int64)
    loaded = (outputs.get(answers, "continued") == 0) & ~begins
    since = np.cumsum(loaded)
    at_begin = np.maximum.accumulate(np.where(begins, since, 0))
    for name in NOT_COMPARED:
        comparable[:, outputs.slice(name)] = 0
    return since > at_begin, (comparable != expected).any(axis=1)


def _keep_shortest(
    shortest: dict[int, Differing], steps: Numbers, begins: npt.NDArray[np.bool_], requests: npt.NDArray[np.intp],
    differing: npt.NDArray[np.intp], answers: Rows, expected: npt.NDArray[np.int64],
) -> None:  # fmt: skip
    first = np.maximum.accumulate(np.where(begins, np.arange(len(steps)), 0))
    for row, at in zip(differing.tolist(), requests[differing].tolist(), strict=True):
        sequence = tuple(steps[first[at] : at + 1].tolist())
        before = shortest.get(sequence[-1])
        if before is None or len(sequence) < len(before.sequence):
            shortest[sequence[-1]] = Differing(answers[row].copy(), expected[row].copy(), sequence)


def _shortest_differences(
    version: str, graph: TourGraph, paths: ShortestPaths, differences: dict[int, Differing]
) -> Iterator[ShortestDifference]:
    """The causes, the most frequent first, each with the shortest sequence that shows it."""
    groups: dict[tuple[str, tuple[str, ...]], list[int]] = {}
    for step, difference in differences.items():
        kind, _ = graph.model.instances[graph.instance[step]]
        columns = tuple(
            n for n in _differing_columns(graph, difference) if not n.startswith("after.")
        ) or _differing_columns(graph, difference)
        groups.setdefault((kind.name, columns), []).append(step)
    for (action, columns), members in sorted(groups.items(), key=lambda item: -len(item[1])):
        nearest = min(members, key=lambda step: paths.depth[graph.before[step]])
        difference = _on_shortest_path(version, graph, paths, differences[nearest])
        expected, actual = graph.model.outputs.read(difference.expected), graph.model.outputs.read(difference.actual)
        yield ShortestDifference(
            action, columns, len(members), tuple(graph.call(step) for step in difference.sequence),
            {name: expected[name] for name in _differing_columns(graph, difference)},
            {name: actual[name] for name in _differing_columns(graph, difference)},
        )  # fmt: skip


def _differing_columns(graph: TourGraph, difference: Differing) -> tuple[str, ...]:
    outputs = graph.model.outputs
    names = (name for name in outputs if name not in NOT_COMPARED)
    return tuple(
        n for n in names if (difference.expected[outputs.slice(n)] != difference.actual[outputs.slice(n)]).any()
    )


def _on_shortest_path(version: str, graph: TourGraph, paths: ShortestPaths, difference: Differing) -> Differing:
    """The difference after the shortest path to its state, where that shows it; else after the sequence that did.

    It need not: the managers keep more than the state that the model explores.
    """
    step = difference.sequence[-1]
    steps = np.array([*paths.to(graph, int(graph.before[step])), step], dtype=np.int32)
    try:
        with managers(version, graph.model) as kafka:
            answer = kafka.ask(graph.questions(steps[graph.asks_managers()[steps]]))[-1]
    except DriverError:
        return difference
    repeated = Differing(answer, difference.actual, tuple(steps.tolist()))
    return repeated if _differing_columns(graph, repeated) else difference
