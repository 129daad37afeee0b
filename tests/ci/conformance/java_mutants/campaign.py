"""Mutants of Kafka's own classes, by PIT's engine: which of them the fuzz notices, and how soon."""

from __future__ import annotations

import itertools
import json
import os
import random
import re
import subprocess
import tempfile
import time
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

from attrs import frozen

from kraftcheck.ci.bench.checkers import jar
from kraftcheck.ci.conformance.kafka.build import Build
from kraftcheck.ci.conformance.kafka.change.checks import CheckFault, CheckSize, conform_with_kafka
from kraftcheck.ci.conformance.kafka.drivers import FUZZ, DriverError, compile_driver, compile_java
from kraftcheck.ci.conformance.kafka.fuzz.beside import SEQUENCES, differences, ending_plays
from kraftcheck.ci.conformance.kafka.fuzz.beside import told as told_by
from kraftcheck.ci.conformance.kafka.fuzz.requests import drawn_plan
from kraftcheck.ci.conformance.kafka.fuzz.run import LENGTH, OPTIONS, FuzzProcess, Played
from kraftcheck.ci.conformance.kafka.jars import SHORT_RUN, program
from kraftcheck.ci.verdicts.branch import FIRST, MORE
from kraftcheck.model.rules.ruleset import parse

HERE = Path(__file__).parent
JUDGED, RAN = HERE / "judged.toml", HERE / "ran.json"

NEWEST = "4.4.0"
PIT = (
    ("org.pitest:pitest:1.17.4", "97082da0ae5283f564b3f51652c39f4f1d235eb3b019384d11eb5d4fc0e4219e"),
    ("org.pitest:pitest-entry:1.17.4", "809c1cf0b83c14e5c5cdb8d70c2c231db24499243263e18474436e30c23657eb"),
)
"""PIT's engine, and its filters of mutants that are equal."""

CLASSES = tuple((HERE / "classes.txt").read_text("utf-8").split())
"""The classes of the managers that decide on partitions and brokers."""

DECIDING = tuple(name for name in CLASSES if re.search(r"Partition(ChangeBuilder|Reassignment|Registration)", name))
"""Classes that single decisions are asked of."""

FEWER = CheckSize(exhaustive=1, samples=4_000, seed=0)
"""Fewer single decisions than `kraftcheck branch` asks: what differs in these differs there."""

OF_OBJECTS = ("toString", "hashCode", "equals")
"""Methods that write, and compare, objects."""

NOTICED, SURVIVED, EQUAL, UNASKED = "noticed", "survived", "equal", "unasked"


@frozen
class JavaMutant:
    """A mutant of a class: its number among those of the class, and what PIT says of it."""

    owner: str
    number: int
    method: str
    line: int
    operator: str
    change: str

    @property
    def key(self) -> str:
        """Its name, stable while the class is: class, method, line, change, and number in the class."""
        return f"{self.owner.rpartition('.')[2]}.{self.method}:{self.line} {self.change} #{self.number}"


@frozen
class Outcome:
    """What became of a mutant: how many steps and seconds it took to notice it, or were spent."""

    mutant: JavaMutant
    outcome: str
    steps: int
    seconds: float


class MutantProcess(FuzzProcess):
    """The driver of the fuzz, whose classes are changed one after the other in one virtual machine."""

    SILENCE = 30.0

    def __init__(self) -> None:
        build = Build(NEWEST)
        self.places = compile_driver(build, FUZZ)
        self._command = [program("java"), *OPTIONS, "-cp", _class_path(self.places), "Mutants", self.places]
        self._begin()

    def change(self, mutant: JavaMutant) -> None:
        """Go on with this mutant; raises DriverError where the process has ended."""
        stream, answers = self._pipe(self._process.stdin), self._pipe(self._process.stdout)
        stream.write(f"mutant {mutant.owner} {mutant.number}\n".encode())
        stream.flush()
        if answers.readline() != b"ready\n":
            raise self._failure()


def _class_path(places: str) -> str:
    """That of `Mutants`, compiled beside the driver where it is not there yet."""
    engine = os.pathsep.join(str(jar(*one)) for one in PIT)
    place = Path(places.split(os.pathsep)[0]).with_name("mutants-" + str(int((HERE / "Mutants.java").stat().st_mtime)))
    if not place.exists():
        compile_java([HERE / "Mutants.java"], engine, place, "PIT's mutants")
    return os.pathsep.join((str(place), engine, places))


def _java(*words: str) -> str:
    """What `Mutants` says to words."""
    places = compile_driver(Build(NEWEST), FUZZ)
    command = [program("java"), *SHORT_RUN, "-cp", _class_path(places), "Mutants", places, *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def mutants(classes: Sequence[str] = CLASSES) -> list[JavaMutant]:
    """Every mutant that PIT's engine makes of classes, but for lines that log and what is written of an object."""
    rows = (line.split("\t") for line in _java("list", *classes).splitlines())
    found = [JavaMutant(row[0], int(row[1]), row[2], int(row[3]), row[4], row[5]) for row in rows]
    return [one for one in found if one.method not in OF_OBJECTS]


def drawn(seed: int, count: int | None) -> list[JavaMutant]:
    """A sample of all; each seed another."""
    found = mutants()
    random.Random(seed).shuffle(found)
    return found[:count]


@frozen
class Ending:
    """A sequence that ends with the questions that no rule is of, and what the release answers."""

    played: Played
    released: Sequence[str]


def plays(steps: tuple[int, ...] = (FIRST, MORE), endings: int = SEQUENCES) -> list[Played | Ending]:
    """What `kraftcheck branch` asks first and last, with what the rules of the release, or its classes, answer."""
    rules, found = parse(f"kafka-{NEWEST}"), list[Played | Ending]()
    for seed, enough in enumerate(steps):
        before = 0
        for number in itertools.count():
            if before >= enough:
                break
            played = Played.of(NEWEST, rules, drawn_plan(seed, number, LENGTH))
            found.append(played)
            before += len(played.exchanges)
        if seed == 0 and endings:
            with FuzzProcess(Build(NEWEST)) as kafka:
                found += [Ending(one, told_by(kafka, one)) for one in ending_plays(NEWEST, rules, 0, endings)]
    return found


def judged() -> list[tuple[str, str]]:
    """Beginnings of the names of mutants that nothing notices and that have a reason: EQUAL ones, and UNASKED ones."""
    rows = tomllib.loads(JUDGED.read_text("utf-8"))["judged"]
    return [(key, row["kind"]) for row in rows for key in row["keys"]]


def run(chosen: Sequence[JavaMutant], sequences: Sequence[Played | Ending], seconds: float) -> Iterator[Outcome]:
    """What becomes of each mutant, until the time is over."""
    known, end = judged(), time.monotonic() + seconds
    with MutantProcess() as kafka:
        for mutant in chosen:
            if time.monotonic() > end:
                return
            if (kind := next((kind for key, kind in known if mutant.key.startswith(key)), None)) is not None:
                yield Outcome(mutant, kind, 0, 0.0)
                continue
            start = time.monotonic()
            noticed, steps = asked(kafka, mutant, sequences)
            outcome = NOTICED if noticed or _decides_otherwise(mutant) else SURVIVED
            yield Outcome(mutant, outcome, steps, time.monotonic() - start)


def _decides_otherwise(mutant: JavaMutant) -> bool:
    """Whether single decisions of a mutant differ, as `kraftcheck branch` asks them after its first sequences."""
    if not mutant.owner.startswith(DECIDING):
        return False
    with tempfile.TemporaryDirectory() as folder:
        _java("write", folder, mutant.owner, str(mutant.number))
        rows = conform_with_kafka(Build.of(folder, NEWEST), parse(f"kafka-{NEWEST}"), FEWER, lambda *progress: None)
        return any(isinstance(row, CheckFault) or row.differences for row in rows)


def asked(kafka: MutantProcess, mutant: JavaMutant, sequences: Sequence[Played | Ending]) -> tuple[bool, int]:
    """Whether a mutant answers otherwise, and after how many steps."""
    steps = 0
    try:
        kafka.change(mutant)
        for played in sequences:
            if isinstance(played, Ending):
                answers = told_by(kafka, played.played)
                steps += len(answers)
                if differences(played.released, answers) != []:
                    return True, steps
                continue
            kafka.send(played.lines)
            answers = kafka.answers(len(played.exchanges))
            difference = played.compared(answers)
            if difference is not None or len(answers) < len(played.exchanges):
                steps += len(answers if difference is None else difference.exchanges)
                if len(answers) < len(played.exchanges) or answers[-1].startswith("the driver died"):
                    kafka.restart()
                return True, steps
            steps += len(answers)
    except DriverError:
        kafka.restart()
        return True, steps
    return False, steps


def told(found: Sequence[Outcome]) -> Iterator[str]:
    """The score: how many of those are noticed that the rules have a part in, and of all that are not equal."""
    counts = {name: sum(one.outcome == name for one in found) for name in (NOTICED, SURVIVED, UNASKED, EQUAL)}
    steps = sorted(one.steps for one in found if one.outcome == NOTICED)
    yield f"{len(found)} mutants: " + ", ".join(f"{count} {name}" for name, count in counts.items())
    for beside, what in ((SURVIVED,), "of what is asked"), ((SURVIVED, UNASKED), "of all that are not equal"):
        whole = counts[NOTICED] + sum(counts[name] for name in beside)
        if whole:
            yield f"{100 * counts[NOTICED] / whole:.1f} % of {whole} noticed, {what}"
    if steps:
        yield f"steps until noticed: median {steps[len(steps) // 2]}, most {steps[-1]:,}"


def record(into: Path, seed: int, found: Sequence[Outcome]) -> None:
    """Write what became of each mutant; seconds are left out, for they are of a machine."""
    rows = [[one.mutant.key, one.outcome, one.steps] for one in found]
    text = ",\n  ".join(json.dumps(row) for row in rows)
    into.write_text(f'{{"release": "{NEWEST}", "seed": {seed}, "mutants": [\n  {text}\n]}}\n', encoding="utf-8")


def recorded() -> list[tuple[str, str, int]]:
    """Name, outcome and steps of the mutants of the last recorded run."""
    return [(key, outcome, steps) for key, outcome, steps in json.loads(RAN.read_text("utf-8"))["mutants"]]
