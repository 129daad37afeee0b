"""The run of a tour: every question of a system is put to Kafka's managers, and every state of theirs is walked to.

Each question is put to managers that have the records of its state. Then walks are taken from a new partition, on
managers as each step leaves them: the shortest path to each different question, and that; of `elections`, whose
questions are too many, to one of each state. All answers are compared with those of the rules.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack

import numpy as np
import numpy.typing as npt
from attrs import define, field, frozen

from kraftcheck.ci.conformance.kafka.build import Build
from kraftcheck.ci.conformance.kafka.change.checks import dies_of, killer
from kraftcheck.ci.conformance.kafka.columns import Rows
from kraftcheck.ci.conformance.kafka.drivers import TOUR, DriverError, JavaProcess, compile_driver
from kraftcheck.ci.conformance.kafka.tour.model import States, TourModel, differs
from kraftcheck.ci.conformance.kafka.tour.report import Differences, ShortestDifference, TourDeath, TourRow
from kraftcheck.ci.conformance.kafka.tour.requests import REFUSED_EARLIER, TourError, check_one_partition
from kraftcheck.ci.conformance.kafka.tour.search import Managers
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

SYSTEMS = {system.name: system for system in (ELECTIONS, DIRECTORIES, KRAFT)}
"""Systems whose steps the managers can take."""

BLOCK, STEPS = 4096, 8192  # states whose questions are put at a time, and about how many steps of walks
DRIVERS = 2  # processes that share the questions

OPTIONS = ("-XX:+UseSerialGC", "-Xms128m", "-Xmx512m")

Places = npt.NDArray[np.int64]
Transition = tuple[int, int]  # the place of the state before, and the number of the action instance

TourProgress = Callable[[str, int, int], None]

GOES_ON, SNAPSHOTS, RECORDS = "GOES_ON", "SNAPSHOTS", "RECORDS"
"""Where a step starts: on from the one before; where a controller that loaded a snapshot has taken over after each
ClearElrRecord, whose replay leaves the partition in the index of ELR members, which the model does not have; each from
the records of its state."""


def managers(build: Build, model: TourModel, start: str = RECORDS) -> JavaProcess:
    """Kafka's managers in a process; `start` says where a step starts."""
    setting = model.program.setting
    names = setting["directories"] if model.managed_width == model.width else names_of(setting.bounds)
    arguments = [str(setting["brokers"]), str(names), start, *model.actions]
    return JavaProcess(build, TOUR, arguments, model.outputs, OPTIONS)


class TourSpace:
    """The reachable states of a system at a setting, by place.

    Attributes:
        model: the system's steps.
        reachable: how many transitions the states have.
        silent, refused: how many of them ask nothing of the managers, and are refused before they are asked.
        asking: actions that can happen and ask something of the managers.

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
        self.model, fired = TourModel(program), exploration.fired
        self.reachable = exploration.generated - len(program.initial)
        self.refused = sum(fired[name] for name in REFUSED_EARLIER if name in fired)
        self.silent = sum(fired[kind.name] for kind in self.model.kinds if kind.rules is None) - self.refused
        self.asking = {kind.name for kind in self.model.kinds if kind.rules is not None and fired[kind.name]}
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

    def path(self, place: int) -> list[Transition]:
        """The shortest path to a state."""
        way = list[Transition]()
        while self._parents[place] >= 0:
            way.append((int(self._parents[place]), int(self._actions[place])))
            place = way[-1][0]
        return way[::-1]


@frozen
class Questions:
    """Transitions that can be put to the managers."""

    transitions: list[Transition]  # they, in order
    rows: Rows  # the questions
    expected: npt.NDArray[np.int64]  # the answers of the rules
    begins: npt.NDArray[np.bool_]  # which of them do not go on from the one before


@define
class Tour:
    """What was asked so far, and what differed."""

    # build, space, report: whose managers, the states, and what takes the progress
    build: Build
    space: TourSpace
    report: TourProgress
    # met, impossible: transitions that ask something, and those of them that cannot be put to the managers
    met: int = 0
    impossible: int = 0
    executed: int = 0  # transitions that were
    actions: set[str] = field(factory=set)  # their actions
    # walks, steps, unbroken: paths that were taken, their steps, and those of them before which the managers were in
    # the state that the rules foretold
    walks: int = 0
    steps: int = 0
    unbroken: int = 0
    differences: Differences = field(factory=Differences)  # of answers
    deaths: list[TourDeath] = field(factory=list)  # of a process

    def ask(self, places: Places) -> list[Transition]:
        """Put every question of some states; the transitions that walks are to end with."""
        model, seen, ends = self.space.model, set[bytes](), list[Transition]()
        with ExitStack() as stack:
            processes = [stack.enter_context(managers(self.build, model)) for _ in range(DRIVERS)]
            asked = Managers(processes, model.managed_width < model.width)
            for first in range(0, len(places), BLOCK):
                put = self._enabled(places[first : first + BLOCK])
                try:
                    answers = asked.ask(put.rows)
                except DriverError as reason:
                    self._die(put, RECORDS, reason)
                    break
                self.executed += len(put.rows)
                self.actions.update(model.instances[number][0].name for number in {n for _, n in put.transitions})
                self._compare(put, answers)
                self.report(f"{self.build} tour", self.executed, len(self.differences.transitions))
                ends += self._to_walk(put, seen)
        return ends

    def _to_walk(self, put: Questions, seen: set[bytes]) -> list[Transition]:
        """The last step of each walk: each new question; where the managers have the whole state, one of each state."""
        if self.space.model.managed_width == self.space.model.width:
            by_place: dict[int, list[Transition]] = {}
            for transition in put.transitions:
                by_place.setdefault(transition[0], []).append(transition)
            return [steps[place % len(steps)] for place, steps in by_place.items()]
        asked = zip((row.tobytes() for row in put.rows), put.transitions, strict=True)
        new = {key: transition for key, transition in asked if key not in seen}
        seen.update(new)
        return [*new.values()]

    def _enabled(self, places: Places) -> Questions:
        """The questions of all enabled transitions of some states; those that cannot be put are counted."""
        model, states = self.space.model, self.space.leaves(places)
        transitions, rows = list[Transition](), [model.inputs.empty(0)]
        expected = [np.empty((0, model.outputs.width), dtype=np.int64)]
        for number, at in model.enabled(states):
            possible, questions = model.requests(states[at], number)
            self.met, self.impossible = self.met + len(at), self.impossible + int((~possible).sum())
            transitions += [(place, number) for place in places[at[possible]].tolist()]
            rows.append(questions[possible])
            expected.append(model.decide(states[at[possible]], number)[0])
        begins = np.ones(len(transitions), dtype=np.bool_)
        return Questions(transitions, np.concatenate(rows), np.concatenate(expected), begins)

    def walk(self, ends: Iterable[Transition]) -> None:
        """Take the shortest path to each of some transitions, and it, from a new partition, on managers as steps leave
        them; a process that dies ends the tour.
        """
        with managers(self.build, self.space.model, SNAPSHOTS) as kafka:
            for paths in _portions([*self.space.path(end[0]), end] for end in ends):
                put = self._of_paths(paths)
                try:
                    answers = kafka.ask(put.rows)
                except DriverError as reason:
                    self._die(put, SNAPSHOTS, reason)
                    return
                broken = broken_before(self.space.model.outputs.get(answers, "continued") != 0, put.begins)
                self.walks, self.steps = self.walks + len(paths), self.steps + len(answers)
                self.unbroken += int((~broken).sum())
                self._compare(put, answers)
                self.report(f"{self.build} tour, walks", self.steps, len(self.differences.transitions))

    def _of_paths(self, paths: list[list[Transition]]) -> Questions:
        """The questions of paths, each up to a step that cannot be put to the managers."""
        model, steps = self.space.model, [step for path in paths for step in path]
        places, numbers = np.array(steps, dtype=np.int64).reshape(-1, 2).T
        path_of = np.repeat(np.arange(len(paths)), [len(path) for path in paths])
        rows, expected = model.inputs.empty(len(steps)), np.zeros((len(steps), model.outputs.width), dtype=np.int64)
        asks, ends = np.zeros(len(steps), dtype=np.bool_), np.full(len(paths), len(steps))
        for number in np.unique(numbers).tolist():
            if not model.is_silent(number):
                at = np.flatnonzero(numbers == number)
                states = self.space.leaves(places[at])
                possible, rows[at] = model.requests(states, number)
                expected[at[possible]] = model.decide(states[possible], number)[0]
                asks[at] = possible
                np.minimum.at(ends, path_of[at[~possible]], at[~possible])
        kept = np.flatnonzero(asks & (np.arange(len(steps)) < ends[path_of]))
        begins = np.append(True, np.diff(path_of[kept]) != 0)[: len(kept)]
        return Questions([steps[n] for n in kept.tolist()], rows[kept], expected[kept], begins)

    def _compare(self, put: Questions, answers: Rows) -> None:
        """Keep the transitions whose answers differ, and the shortest of each cause."""
        outputs = self.space.model.outputs
        differing = differs(outputs, answers, put.expected)
        for row in np.flatnonzero(differing.any(axis=1)).tolist():
            transition = put.transitions[row]
            if transition in self.differences.transitions:
                continue
            self.differences.transitions.add(transition)
            names = tuple(name for name in outputs if differing[row, outputs.slice(name)].any())
            columns = tuple(name for name in names if not name.startswith("after.")) or names
            action = self.space.model.instances[transition[1]][0].name
            expected, actual = outputs.read(answers[row]), outputs.read(put.expected[row])
            self.differences.note(ShortestDifference(
                action, columns, 1, self._sequence(transition),
                {name: expected[name] for name in names}, {name: actual[name] for name in names},
            ))  # fmt: skip

    def _sequence(self, transition: Transition) -> tuple[str, ...]:
        return tuple(self.space.model.call(number) for _, number in (*self.space.path(transition[0]), transition))

    def _die(self, put: Questions, start: str, reason: DriverError) -> None:
        """Note the step that killed a process; raises DriverError as `killer` does."""

        def driver() -> JavaProcess:
            return managers(self.build, self.space.model, start)

        last = killer(driver, lambda count: put.rows[:count], len(put.rows), reason)
        first = int(np.flatnonzero(put.begins[: last + 1])[-1])
        alone = dies_of(driver, put.rows[first : last + 1])
        self.deaths.append(TourDeath(str(reason), self._sequence(put.transitions[last]), alone))


def broken_before(goes_on: npt.NDArray[np.bool_], begins: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Of each step whether the managers were not in the state that the steps before it foretell."""
    since = np.cumsum(~goes_on & ~begins)
    broken: npt.NDArray[np.bool_] = since > np.maximum.accumulate(np.where(begins, since, 0))
    return broken


def _portions(paths: Iterable[list[Transition]]) -> Iterator[list[list[Transition]]]:
    """Paths with about STEPS steps together."""
    part, size = list[list[Transition]](), 0
    for path in paths:
        part.append(path)
        size += len(path)
        if size >= STEPS:
            yield part
            part, size = [], 0
    if part:
        yield part


def tour_with_kafka(
    build: Build, system: System, setting: Setting, sample: int, seed: int, report: TourProgress
) -> TourRow:
    """Put a system's questions, in all states or a sample, to a build's managers, and walk there; raises TourError."""
    check_one_partition(system.name, setting)
    compile_driver(build, TOUR)
    start, space = time.monotonic(), TourSpace(system, setting)
    sampled = 0 < sample < len(space)
    places = np.sort(np.random.default_rng(seed).permutation(len(space))[:sample]) if sampled else np.arange(len(space))
    done = Tour(build, space, report)
    ends = done.ask(places)
    expected = space.reachable - space.silent - space.refused
    if not done.deaths:
        if not sampled and done.met != expected:
            raise TourError(f"{done.met} transitions ask something, but the exploration took {expected}")
        done.walk(ends)
    return TourRow(
        str(build), system.name, setting.scope, sampled, len(space), space.reachable, space.silent, space.refused,
        done.met, done.impossible, done.executed, done.walks, done.steps, done.unbroken, tuple(sorted(done.actions)),
        tuple(sorted(space.asking - done.actions)), len(done.differences.transitions), time.monotonic() - start,
        done.differences.shown(), tuple(done.deaths),
    )  # fmt: skip
