"""The run of a tour: its sequences are executed on Kafka's managers, and the answers are compared."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt
from attrs import field, frozen

from kraftcheck.ci.conformance.kafka.build import Build
from kraftcheck.ci.conformance.kafka.change.checks import dies_of, killer
from kraftcheck.ci.conformance.kafka.columns import Columns, Rows
from kraftcheck.ci.conformance.kafka.drivers import TOUR, DriverError, JavaProcess, compile_driver
from kraftcheck.ci.conformance.kafka.tour.model import (
    CHUNK,
    NOT_COMPARED,
    Numbers,
    ShortestPaths,
    States,
    Tour,
    TourGraph,
    TourModel,
    connect,
    keys_of,
    shortest_paths,
    tour,
)
from kraftcheck.ci.conformance.kafka.tour.report import ShortestDifference, TourDeath, TourRow
from kraftcheck.ci.conformance.kafka.tour.requests import REFUSED_EARLIER, TourError, check_one_partition
from kraftcheck.ci.run.questions import search, search_budget
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.language.system import Setting, System
from kraftcheck.model.systems.directories.state import names_of
from kraftcheck.model.systems.directories.system import DIRECTORIES
from kraftcheck.model.systems.elections.system import ELECTIONS
from kraftcheck.model.systems.kraft.system import KRAFT
from kraftcheck.solvers.machine_code.search_kernel import SHARDS
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.search.visited import NO_PARENT

Places = npt.NDArray[np.int64]


class TourSpace:
    """The reachable states of a system at a setting, by place.

    Attributes:
        model: the system's steps.
        reachable: how many transitions the states have.
        fired: how many transitions each action has.
        silent, refused: how many of them ask nothing of the managers, and are refused before they are asked.

    Raises:
        Refusal: when the states do not fit into memory.
    """

    def __init__(self, system: System, setting: Setting) -> None:
        program = trace(system, setting)
        exploration = search(program, search_budget(keep=True))
        if exploration.cut is not None or exploration.pruned or exploration.store is None:
            raise Refusal(
                f"the graph of {system.name} at {setting.scope} is not complete: "
                f"{exploration.cut or exploration.pruned}"
            )
        self.model = TourModel(program)
        self.reachable = exploration.generated - len(program.initial)
        self.fired = dict(exploration.fired)
        self.refused = sum(self.fired[name] for name in REFUSED_EARLIER if name in self.fired)
        self.silent = sum(self.fired[kind.name] for kind in self.model.kinds if kind.rules is None) - self.refused
        self._packed = exploration.packed()
        shards = exploration.store.shards
        counts = np.array([shard.count for shard in shards], dtype=np.int64)
        offsets = np.cumsum(counts) - counts
        parents = np.concatenate([shard.parents[: shard.count] for shard in shards]).astype(np.int64)
        self._parents = np.where(parents == NO_PARENT, -1, offsets[parents % SHARDS] + parents // SHARDS)
        self._actions = np.concatenate([shard.actions[: shard.count] for shard in shards])

    def __len__(self) -> int:
        return len(self._packed)

    def leaves(self, places: Places) -> States:
        """The leaves of states."""
        return self.model.unpack(self._packed[places])

    def depths(self) -> npt.NDArray[np.int32]:
        """How far each state is from an initial one."""
        depth = np.where(self._parents < 0, 0, -1).astype(np.int32)
        while (unknown := np.flatnonzero(depth < 0)).size:
            parent_depth = depth[self._parents[unknown]]
            depth[unknown] = np.where(parent_depth < 0, -1, parent_depth + 1)
        return depth

    def path_transitions(self, places: Places) -> tuple[Places, Places, Places]:
        """The transitions on the shortest paths to states, each once: states before, states after, action instances.

        Those that cannot be put to the managers are left out: there may be another way, or none.
        """
        on_path = np.zeros(len(self), dtype=np.bool_)
        while len(places := np.unique(places[~on_path[places]])):
            on_path[places] = True
            places = self._parents[places]
            places = places[places >= 0]
        after = np.flatnonzero(on_path & (self._parents >= 0))
        before, by = self._parents[after], self._actions[after].astype(np.int64)
        possible = np.ones(len(before), dtype=np.bool_)
        for number in np.unique(by).tolist():
            if not self.model.is_silent(number):
                at = np.flatnonzero(by == number)
                possible[at] = self.model.requests(self.leaves(before[at]), number)[0]
        return before[possible], after[possible], by[possible]

    def enabled(self, places: Places) -> Iterator[tuple[int, Places, States]]:
        """Each instance that asks something, with those of the states that enable it, and their leaves; in parts."""
        for first in range(0, len(places), CHUNK):
            part = places[first : first + CHUNK]
            states = self.leaves(part)
            for number, at in self.model.enabled(states):
                if len(at):
                    yield number, part[at], states[at]


TransitionMask = npt.NDArray[np.bool_]
Counts = npt.NDArray[np.int64]


@frozen
class TourPlan:
    """Transitions, and which of them are to be taken; arrays have one entry for each.

    Attributes:
        graph: they, and those on the ways to them.
        targets: those to be taken.
        weights: for how many reachable transitions each stands, itself included: those that put the same question to
            managers in the same state. 0: it is only on the way.
        sampled: whether they are drawn; else they stand for every reachable one that can be put to the managers.
        asked: how many transitions that ask something were looked at; all, or those of the drawn states.
        impossible: how many of them cannot be put to the managers.
    """

    graph: TourGraph
    targets: TransitionMask
    weights: Counts
    sampled: bool
    asked: int
    impossible: int


@frozen
class _Candidates:
    """Transitions by place of their state and action instance, with what they stand for; and counts of all."""

    places: Places
    instances: Places
    weights: Counts
    asked: int
    impossible: int


def plan(space: TourSpace, sample: int, seed: int) -> TourPlan:
    """The plan of a tour.

    Args:
        space: the reachable states.
        sample: how many transitions are drawn; 0: every one of `elections`, and of other systems one for each question.
        seed: of the draw.

    Raises:
        TourError: when the transitions are not those that the exploration counted, or equal questions have different
            answers in the model.
    """
    if sample > 0:
        order = np.random.default_rng(seed).permutation(len(space))[:sample]
        candidates = _all_candidates(space, np.sort(order))
        is_whole = len(order) == len(space) and len(candidates.places) <= sample
        return _plan_of(space, candidates if is_whole else _random_sample(candidates, sample, seed), not is_whole)
    candidates = _all_candidates(space) if space.model.managed_width == space.model.width else _one_per_question(space)
    return _plan_of(space, candidates, False)


def _plan_of(space: TourSpace, candidates: _Candidates, sampled: bool) -> TourPlan:
    expected = space.reachable - space.silent - space.refused
    if not sampled and candidates.asked != expected:
        raise TourError(f"{candidates.asked} transitions ask something, but the exploration took {expected}")
    before, after, by = space.path_transitions(candidates.places)
    keys = np.concatenate([candidates.places, before]) * len(space.model.instances) + np.concatenate(
        [candidates.instances, by]
    )
    _, first = np.unique(keys, return_index=True)  # The first of equal ones: what is wanted is before what is on a way.
    places, instances = (
        np.concatenate([candidates.places, before])[first],
        np.concatenate([candidates.instances, by])[first],
    )
    weights = np.concatenate([candidates.weights, np.zeros_like(before)])[first]
    sources = space.leaves(places)
    targets = np.empty_like(sources)
    on_way = first >= len(candidates.places)
    targets[on_way] = space.leaves(after[first[on_way] - len(candidates.places)])
    for number in np.unique(instances[~on_way]).tolist():
        at = np.flatnonzero(~on_way & (instances == number))
        for part in np.array_split(at, len(at) // CHUNK + 1):
            targets[part] = space.model.decide(sources[part], number)[1]
    graph, order = connect(space.model, sources, targets, instances.astype(np.int32))
    return TourPlan(graph, weights[order] > 0, weights[order], sampled, candidates.asked, candidates.impossible)


@frozen
class _RequestCounts:
    """How many transitions that ask something were met, and how many of them cannot be put to the managers."""

    counts: list[int] = field(factory=lambda: [0, 0])

    def askable(self, space: TourSpace, places: Places) -> Iterator[tuple[int, Places, States, npt.NDArray[np.int32]]]:
        """The transitions of states that can be put to the managers, with their questions; the others are counted."""
        for number, at, states in space.enabled(places):
            possible, questions = space.model.requests(states, number)
            self.counts[0] += len(at)
            self.counts[1] += int((~possible).sum())
            if possible.any():
                yield number, at[possible], states[possible], questions[possible]


def _all_candidates(space: TourSpace, places: Places | None = None) -> _Candidates:
    """Every transition of some states, or of all."""
    counts = _RequestCounts()
    chosen = np.arange(len(space)) if places is None else places
    parts = [(at, np.full(len(at), number)) for number, at, _, _ in counts.askable(space, chosen)]
    return _Candidates(
        np.concatenate([at for at, _ in parts]), np.concatenate([n for _, n in parts]),
        np.ones(sum(len(at) for at, _ in parts), dtype=np.int64), *counts.counts,
    )  # fmt: skip


def _random_sample(candidates: _Candidates, sample: int, seed: int) -> _Candidates:
    """Some of the transitions, and one of each action instance."""
    order = np.random.default_rng(seed).permutation(len(candidates.places))
    _, first = np.unique(candidates.instances[order], return_index=True)
    chosen = order[np.union1d(first, np.arange(min(sample, len(order))))]
    return _Candidates(
        candidates.places[chosen],
        candidates.instances[chosen],
        candidates.weights[chosen],
        candidates.asked,
        candidates.impossible,
    )


def _one_per_question(space: TourSpace) -> _Candidates:
    """For each question to the managers and state of them, the transition with the shortest path to it."""
    counts, depths = _RequestCounts(), space.depths()
    spots: dict[bytes, int] = {}
    place, instance, depth, weights, answer = list[int](), list[int](), list[int](), list[int](), list[bytes]()
    for number, at, states, questions in counts.askable(space, np.arange(len(space))):
        answers = keys_of(space.model.decide(states, number)[0])
        keys, first, question_of, counts_of = np.unique(
            keys_of(questions), return_index=True, return_inverse=True, return_counts=True
        )
        if (answers[first][question_of] != answers).any():
            raise TourError(f"{space.model.call(number)} has different answers to one question")
        nearest = np.lexsort((depths[at], question_of))[np.cumsum(counts_of) - counts_of]
        for key, index, count in zip(keys, nearest.tolist(), counts_of.tolist(), strict=True):
            answer_bytes = answers[index].tobytes()
            spot = spots.setdefault(key.tobytes(), len(spots))
            if spot == len(place):
                place.append(int(at[index]))
                instance.append(number)
                depth.append(int(depths[at[index]]))
                weights.append(0)
                answer.append(answer_bytes)
            elif answer[spot] != answer_bytes:
                raise TourError(f"{space.model.call(number)} has different answers to one question")
            elif depths[at[index]] < depth[spot]:
                place[spot], instance[spot], depth[spot] = int(at[index]), number, int(depths[at[index]])
            weights[spot] += count
    return _Candidates(np.array(place), np.array(instance), np.array(weights), *counts.counts)


SYSTEMS = {system.name: system for system in (ELECTIONS, DIRECTORIES, KRAFT)}
"""Systems whose steps the managers can take."""

BATCH = 8192
"""About how many steps are asked at a time."""

DRIVERS = 2
"""Processes that share the sequences."""

OPTIONS = ("-XX:+UseSerialGC", "-Xms128m", "-Xmx512m")
MOST_CAUSES = 8
"""How many causes are shown."""


TourProgress = Callable[[str, int, int], None]


def tour_with_kafka(
    build: Build, system: System, setting: Setting, sample: int, seed: int, report: TourProgress
) -> TourRow:
    """Take every transition of the explored system, or some drawn ones, on a build's managers.

    Args:
        build: whose classes are driven.
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
    compile_driver(build, TOUR)
    start = time.monotonic()
    space = TourSpace(system, setting)
    chosen = plan(space, sample, seed)
    graph = chosen.graph
    paths = shortest_paths(graph)
    sequences = tour(graph, paths, chosen.targets)
    result = _run_tour(build, graph, sequences, report)
    causes = tuple(itertools.islice(_shortest_differences(build, graph, paths, result.differing), MOST_CAUSES))
    executed, actions = result.executed, _actions(graph, result.executed)
    return TourRow(
        str(build), system.name, setting.scope, chosen.sampled,
        len(space), space.reachable, space.silent, space.refused,
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


GOES_ON, SNAPSHOTS, RECORDS = "GOES_ON", "SNAPSHOTS", "RECORDS"
"""Where a step starts: on from the one before; where a controller that loaded a snapshot has taken over after each
ClearElrRecord, whose replay leaves the partition in the index of ELR members, which the model does not have; each from
the records of its state."""


def managers(build: Build, model: TourModel, start: str = SNAPSHOTS) -> JavaProcess:
    """Kafka's managers in a process; `start` says where a step starts."""
    setting = model.program.setting
    names = setting["directories"] if model.managed_width == model.width else names_of(setting.bounds)
    arguments = [str(setting["brokers"]), str(names), start, *model.actions]
    return JavaProcess(build, TOUR, arguments, model.outputs, OPTIONS)


def _run_tour(build: Build, graph: TourGraph, sequences: Tour, report: TourProgress) -> TourResult:
    marks = TourResult(np.zeros(len(graph), dtype=np.bool_), np.zeros(len(graph), dtype=np.bool_), {})
    asks, steps_done = graph.asks_managers(), [0] * DRIVERS

    def drive(number: int) -> None:
        with managers(build, graph.model) as kafka:
            for steps, begins in _portions(sequences, number, drivers):
                requests = np.flatnonzero(asks[steps])
                try:
                    answers = kafka.ask(graph.questions(steps[requests]))
                except DriverError as reason:
                    marks.deaths.append(_death(build, graph, steps, begins, requests, reason))
                    return
                expected = graph.answers(steps[requests])
                broken, differs = compare_answers(
                    graph.model.outputs, _first_requests(begins, requests), answers, expected
                )
                marks.executed[steps[requests]] = True
                marks.in_unbroken_sequence[steps[requests[~broken]]] = True
                _keep_shortest(marks.differing, steps, begins, requests, np.flatnonzero(differs), answers, expected)
                steps_done[number] += len(steps)
                report(f"{build} tour", sum(steps_done), len(marks.differing))

    drivers = min(DRIVERS, len(sequences.steps) // BATCH + 1)
    with ThreadPoolExecutor(drivers) as pool:
        for future in [pool.submit(drive, number) for number in range(drivers)]:
            future.result()
    return marks


def _death(
    build: Build, graph: TourGraph, steps: Numbers, begins: npt.NDArray[np.bool_], requests: npt.NDArray[np.intp],
    reason: DriverError,
) -> TourDeath:  # fmt: skip
    """The sequence that killed the process, up to the step that did; raises DriverError as `killer` does."""

    def driver() -> JavaProcess:
        return managers(build, graph.model)

    def questions(asked: npt.NDArray[np.intp]) -> Rows:
        return graph.questions(steps[asked])

    last = int(requests[killer(driver, lambda count: questions(requests[:count]), len(requests), reason)])
    first = int(np.flatnonzero(begins[: last + 1])[-1])
    sequence = tuple(graph.call(step) for step in steps[first : last + 1].tolist())
    alone = dies_of(driver, questions(requests[(requests >= first) & (requests <= last)]))
    return TourDeath(str(reason), sequence, alone)


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
    build: Build, graph: TourGraph, paths: ShortestPaths, differences: dict[int, Differing]
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
        difference = _on_shortest_path(build, graph, paths, differences[nearest])
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


def _on_shortest_path(build: Build, graph: TourGraph, paths: ShortestPaths, difference: Differing) -> Differing:
    """The difference after the shortest path to its state, where that shows it; else after the sequence that did.

    It need not: the managers keep more than the state that the model explores.
    """
    step = difference.sequence[-1]
    steps = np.array([*paths.to(graph, int(graph.before[step])), step], dtype=np.int32)
    try:
        with managers(build, graph.model) as kafka:
            answer = kafka.ask(graph.questions(steps[graph.asks_managers()[steps]]))[-1]
    except DriverError:
        return difference
    repeated = Differing(answer, difference.actual, tuple(steps.tolist()))
    return repeated if _differing_columns(graph, repeated) else difference
