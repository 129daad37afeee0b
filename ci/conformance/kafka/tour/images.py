"""The tour of `images`: its steps on the classes by which a broker joins records to its image of the metadata.

The controller's actions are records, and `publish`, `load_snapshot`, `start` and `stop` are what the loader of a broker
does with `MetadataDelta`. Each step is taken at the end of the shortest path to its state, on an image and a delta as
Kafka's classes leave them; then paths are drawn, since what these keep may depend on the path. A broker leads the
partition where it is a replica, and follows another one in turn.
"""

from __future__ import annotations

import itertools
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from attrs import define, evolve, field, frozen

from kraftcheck.ci.conformance.kafka.build import Build
from kraftcheck.ci.conformance.kafka.columns import Columns, Rows
from kraftcheck.ci.conformance.kafka.drivers import IMAGES as DRIVER
from kraftcheck.ci.conformance.kafka.drivers import JavaProcess, compile_driver
from kraftcheck.ci.conformance.kafka.jars import SHORT_RUN
from kraftcheck.ci.conformance.kafka.tour.report import Differences, ShortestDifference, TourRow
from kraftcheck.ci.conformance.kafka.tour.requests import TourError
from kraftcheck.ci.conformance.kafka.tour.run import TourProgress
from kraftcheck.ci.terminal.interrupts import passed
from kraftcheck.model.language.layout import leaves
from kraftcheck.model.language.system import Action, Setting, System
from kraftcheck.model.systems.images.system import NOBODY, Images, Log
from kraftcheck.solvers.traces.render import call

SILENT = ("fail_disk",)  # actions of disks alone
OF_DISKS = ("stray_found_by_name", "offline_without_topic_id")  # choices about what a broker finds on its disks
OF_ELR = ("shrink", "clear_elr", "disable_elr")
"""Actions that a release without ELR in production, one before 4.0, has no records for."""

JOINS = ("publish", "load_snapshot", "start")  # actions that end with a new image, which is written then

WRITTEN, REFUSED, ALTERED = 1, 2, 3
"""The column `written` of a new image: written and read as what it is, refused, or read as another."""

ROLES = {"FOLLOWS": 1, "LEADS": 2}
"""What the broker is of each partition: the argument of the driver, and the column `hosted` of a replica to make."""

DRAWN, DRAWN_STEPS = 100, 40
"""How many paths are drawn, and how many steps each has: what classes keep beside the state depends on the path."""

BLOCK = 1000  # walks that are put at a time
Transition = tuple[Images, int]  # the state before, and the number of the action instance


@frozen
class Instance:
    """An action with its arguments."""

    action: Action
    arguments: Mapping[str, Any]

    def __str__(self) -> str:
        return call(self.action.name, self.arguments)

    def after(self, state: Images) -> Images:
        """The state after the step."""
        found: Images = self.action.outcome(state, self.arguments).state
        return found


@define
class ImageSpace:
    """The reachable states of `images`, on ints."""

    instances: tuple[Instance, ...]  # what can happen
    unasked: tuple[str, ...]  # actions that the release has no records for
    # of each state the last transition of a shortest path; None for an initial one
    ways: dict[Images, Transition | None] = field(factory=dict)
    put: set[Images] = field(factory=set)  # the states that paths of steps lead to that can all be put to the classes
    # what can happen in a state, by number, with the state after
    steps: dict[Images, list[tuple[int, Images]]] = field(factory=dict)

    @classmethod
    def of(cls, system: System, setting: Setting, unasked: tuple[str, ...]) -> ImageSpace:
        """The states of a setting; those come first that can be put."""
        space = cls(tuple(_instances(system.actions(setting))), unasked)
        for state in system.initial(setting):
            space.ways[state] = None
        space._search(list(space.ways), space.can_put)
        space.put = {*space.ways}
        space._search(list(space.ways), lambda state, number: True)
        return space

    def can_put(self, state: Images, number: int) -> bool:
        """Whether a step can be put to the classes: there are records, and no batch has failed before."""
        return not state.failed and self.instances[number].action.name not in self.unasked

    def _search(self, states: Sequence[Images], wanted: Callable[[Images, int], bool]) -> None:
        todo = deque(states)
        while todo:
            state = todo.popleft()
            for number, after in self._next(state):
                if wanted(state, number) and after not in self.ways:
                    self.ways[after] = state, number
                    todo.append(after)

    def _next(self, state: Images) -> list[tuple[int, Images]]:
        if state not in self.steps:
            enabled = ((n, one) for n, one in enumerate(self.instances) if one.action.enabled(state, one.arguments))
            self.steps[state] = [(number, one.after(state)) for number, one in enabled]
        return self.steps[state]

    def path(self, end: Transition) -> list[Transition]:
        """The shortest path to a transition, and it."""
        path, way = [end], self.ways[end[0]]
        while way is not None:
            path.append(way)
            way = self.ways[way[0]]
        return path[::-1]

    def drawn(self, generator: np.random.Generator) -> list[Transition]:
        """A path of drawn steps from an initial state, to where none is left that can be put."""
        starts = [state for state, way in self.ways.items() if way is None]
        path, state = list[Transition](), starts[int(generator.integers(len(starts)))]
        for _ in range(DRAWN_STEPS):
            able = [step for step in self.steps[state] if self.can_put(state, step[0])]
            if not able:
                break
            number, after = able[int(generator.integers(len(able)))]
            path.append((state, number))
            state = after
        return path

    def asks(self, number: int) -> bool:
        """Whether an action is put to the classes at all."""
        return self.instances[number].action.name not in SILENT


def _instances(actions: Sequence[Action]) -> Iterator[Instance]:
    for action in actions:
        for values in itertools.product(*action.parameters.values()):
            yield Instance(action, dict(zip(action.parameters, values, strict=True)))


@define
class ImageTour:
    """What was asked so far."""

    # build, space, topics: whose classes, the states, and how many topics these have
    build: Build
    space: ImageSpace
    topics: int
    drops_elr: bool  # whether a snapshot that is written with ELR off has no ELR
    differences: Differences = field(factory=Differences)  # of answers
    # walks, steps, unbroken: how many were taken, and how many of the steps come after none that differs
    walks: int = 0
    steps: int = 0
    unbroken: int = 0
    # the row of each transition but for where a walk begins
    questions: dict[Transition, list[int]] = field(factory=dict)

    @property
    def outputs(self) -> Columns:
        """The columns of an answer: the fields of a state, and what a batch tells the broker of its logs."""
        bits = ("exists", "mine", "elr", "unassigned")
        names = ["failed", "knows", "created", "written", "deletes"]
        for n in range(self.topics):
            change = ("changed", "based", *(f"topic.{bit}" for bit in bits), "deleted")
            names += [f"image[{n}].{bit}" for bit in bits]
            names += [*(f"changes[{n}].{name}" for name in change), f"hosted[{n}]"]
        return Columns.of([(name, 1) for name in names], 1)

    def walk(self, paths: Sequence[list[Transition]], role: str, first: int, report: TourProgress) -> None:
        """Take paths from an empty image, and compare the answers to the steps of each from its place `first` on."""
        names = [one.action.name for one in self.space.instances]
        if passed():
            return
        with JavaProcess(self.build, DRIVER, [str(self.topics), role, *names], self.outputs, SHORT_RUN) as kafka:
            for block in (paths[n : n + BLOCK] for n in range(0, len(paths), BLOCK)):
                ways = [[path[: n + 1] for n, step in enumerate(path) if self.space.asks(step[1])] for path in block]
                answers = iter(kafka.ask(self._rows(ways)))
                for put in ways:
                    rows = [(way, next(answers)) for way in put]
                    for way, row in rows[first:]:
                        self._compare(way, self.outputs.read(row), ROLES[role])
                    differing = [n for n, way in enumerate(put, 1) if way[-1] in self.differences.transitions]
                    self.walks, self.steps = self.walks + 1, self.steps + len(put)
                    self.unbroken += differing[0] if differing else len(put)
                report(f"{self.build} tour of images", self.steps, len(self.differences.transitions))
                if passed():
                    return

    def _rows(self, ways: Sequence[Sequence[Sequence[Transition]]]) -> Rows:
        rows = [[int(n == 0), *self._question(way[-1])] for put in ways for n, way in enumerate(put)]
        return np.array(rows, dtype=np.int32)

    def _question(self, step: Transition) -> list[int]:
        if step not in self.questions:
            state, number = step
            given = self.space.instances[number].arguments
            argument = 2 * state.made + given["mine"] if "mine" in given else given.get("named", 0)
            said = [int(value) for _, value in leaves(state.topics)]
            self.questions[step] = [number, int(argument), int(state.directories), int(state.elr_enabled), *said]
        return self.questions[step]

    def _compare(self, path: Sequence[Transition], answer: dict[str, int], role: int) -> None:
        end, expected = path[-1], self.expected(path[-1], answer, role)
        names = tuple(name for name in expected if expected[name] != answer[name])
        if not names or end in self.differences.transitions:
            return
        self.differences.transitions.add(end)
        action = self.space.instances[end[1]].action.name
        calls = tuple(str(self.space.instances[number]) for _, number in path)
        self.differences.note(ShortestDifference(
            action, names, 1, calls, {name: answer[name] for name in names}, {name: expected[name] for name in names}
        ))  # fmt: skip

    def expected(self, end: Transition, answer: Mapping[str, int], role: int) -> dict[str, int]:
        """The answer of the rules; of a replica that the broker has, whether it is told of it again is Kafka's."""
        before, number = end
        instance = self.space.instances[number]
        name, after = instance.action.name, instance.after(before)
        found = {**dict.fromkeys(self.outputs, 0), "created": NOBODY, "failed": int(after.failed)}
        if after.failed or not after.up:
            return found
        found |= {path: int(value) for path, value in leaves(after) if path in found}
        if self.space.unasked:  # without ClearElrRecord nothing reads which topics a batch has created
            found["created"] = answer["created"]
        if name in JOINS:
            unwritten = not after.knows and any(topic.exists and topic.unassigned for topic in after.image)
            dropped = self.drops_elr and not after.elr_enabled and any(topic.elr for topic in after.image)
            found["written"] = REFUSED if unwritten else ALTERED if dropped else WRITTEN
        if name in JOINS and before.up:
            every = instance.after(evolve(before, logs=(Log(False, True),) * self.topics)).logs
            none = instance.after(evolve(before, logs=(Log(),) * self.topics)).logs
            found["deletes"] = int(any(not log.offline for log in every))
            for n, log in enumerate(none):
                again = before.image[n].mine and every[n].offline
                told = answer[f"hosted[{n}]"] > 0 if again else True
                found[f"hosted[{n}]"] = role if log.held and told else 0
        return found


def tour_of_images(
    build: Build, system: System, setting: Setting, sample: int, seed: int, report: TourProgress
) -> TourRow:
    """Take the steps of `images` on a build's classes; as `tour_with_kafka`, but for samples and disks, TourErrors."""
    if found := [name for name in OF_DISKS if getattr(setting.rules.images, name)]:
        raise TourError(f"{found[0].replace('_', '-')} is about disks, of which the classes of an image know nothing")
    if sample:
        raise TourError("a tour of images takes every state; leave --sample out")
    compile_driver(build, DRIVER)
    start, space = time.monotonic(), ImageSpace.of(system, setting, OF_ELR if build.like.startswith("3.") else ())
    every = [(state, number) for state in space.ways for number, _ in space.steps[state]]
    asked = [end for end in every if space.asks(end[1])]
    ends = [end for end in asked if end[0] in space.put and space.can_put(*end)]
    tour = ImageTour(build, space, setting["topics"], setting.rules.images.snapshot_drops_elr)
    shortest, generator = [space.path(end) for end in ends], np.random.default_rng(seed)
    drawn = [space.drawn(generator) for _ in range(DRAWN)]
    for role in ROLES:
        tour.walk(shortest, role, -1, report)
        tour.walk(drawn, role, 0, report)
    actions = {space.instances[number].action.name for _, number in ends}
    able = {space.instances[number].action.name for _, number in asked}
    return TourRow(
        str(build), system.name, setting.scope, False, len(space.ways), len(every), len(every) - len(asked), 0,
        len(asked), len(asked) - len(ends), len(ends), tour.walks, tour.steps, tour.unbroken,
        tuple(sorted(actions)), tuple(sorted(able - actions)), len(tour.differences.transitions),
        time.monotonic() - start, tour.differences.shown(),
    )  # fmt: skip
