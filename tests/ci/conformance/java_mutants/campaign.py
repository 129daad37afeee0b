"""Mutants of Kafka's own classes, by PIT's engine: which of them the fuzz notices, and how soon.

They are run in shards, which note what becomes of each mutant as it is known, by commit: whoever runs a shard again
goes on with what is left.
"""

import functools
import itertools
import json
import os
import re
import subprocess
import tempfile
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import frozen

from kraftcheck.ci.bench.cases import jar
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
from tests.ci.night.shards import FOLDER, Shard, commit

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

OF_OBJECTS = ("toString", "hashCode", "equals")  # methods that write, and compare, objects

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

    @property
    def row(self) -> list[str | int | float]:
        """As it is noted."""
        return [self.mutant.key, self.outcome, self.steps, round(self.seconds, 1)]


class MutantProcess(FuzzProcess):
    """The driver of the fuzz, whose classes are changed one after the other in one virtual machine."""

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


@functools.cache
def mutants(classes: Sequence[str] = CLASSES) -> tuple[JavaMutant, ...]:
    """Every mutant that PIT's engine makes of classes, but for lines that log and what is written of an object."""
    rows = (line.split("\t") for line in _java("list", *classes).splitlines())
    found = (JavaMutant(row[0], int(row[1]), row[2], int(row[3]), row[4], row[5]) for row in rows)
    return tuple(one for one in found if one.method not in OF_OBJECTS)


@frozen
class Ending:
    """A sequence that ends with the questions that no rule is of, and what the release answers."""

    played: Played
    released: Sequence[str]


@functools.cache
def plays(steps: tuple[int, ...] = (FIRST, MORE), endings: int = SEQUENCES) -> Sequence[Played | Ending]:
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
    """What becomes of each mutant, until the time is over; one that is noticed needs no judgement.

    Those of which single decisions have to be asked come last: each costs as much as a hundred others.
    """
    end, later = time.monotonic() + seconds, list[tuple[JavaMutant, int, float]]()
    with MutantProcess() as kafka:
        for mutant in chosen:
            if time.monotonic() > end:
                return
            start = time.monotonic()
            noticed, steps = asked(kafka, mutant, sequences)
            spent = time.monotonic() - start
            if not noticed and mutant.owner.startswith(DECIDING):
                later.append((mutant, steps, spent))
            else:
                yield Outcome(mutant, NOTICED if noticed else _judgement(mutant.key), steps, spent)
    for mutant, steps, before in later:
        if time.monotonic() > end:
            return
        start = time.monotonic()
        outcome = NOTICED if _decides_otherwise(mutant) else _judgement(mutant.key)
        yield Outcome(mutant, outcome, steps, before + time.monotonic() - start)


def _judgement(name: str) -> str:
    """What a mutant is that nothing notices: EQUAL or UNASKED where it has a reason, else SURVIVED."""
    return next((kind for key, kind in judged() if name.startswith(key)), SURVIVED)


def run_shard(shard: Shard, seconds: float = 3600) -> Iterator[Outcome]:
    """What becomes of the mutants of a shard that nobody has run at this commit; each is noted.

    First come those that the record says have survived, then those that it does not have.
    """
    by_key, done, former = {one.key: one for one in mutants()}, noted(shard.folder), {row[0]: row for row in recorded()}
    left = [by_key[key] for key in shard.items([*by_key]) if done.get(key, [key, SURVIVED])[1] == SURVIVED]
    left.sort(key=lambda one: (former.get(one.key, [one.key, ""])[1] != SURVIVED, one.key in former))
    shard.folder.mkdir(parents=True, exist_ok=True)
    with shard.notes.open("a", encoding="utf-8") as notes:
        for outcome in run(left, plays(), seconds) if left else ():
            notes.write(json.dumps(outcome.row) + "\n")
            notes.flush()
            yield outcome


def shard_of(number: int, of: int) -> Shard:
    """A shard of this commit."""
    return Shard(number, of, FOLDER / commit() / "java-mutants")


def noted(folder: Path) -> Mapping[str, Sequence[Any]]:
    """By name the last row that a shard of a commit has noted."""
    return {key: row for place in sorted(folder.glob("*.jsonl")) for key, row in _rows(place).items()}


def _rows(place: Path) -> Mapping[str, Sequence[Any]]:
    return {row[0]: row for row in map(json.loads, place.read_text("utf-8").splitlines())}


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
                if len(answers) < len(played.exchanges) or answers[-1].startswith("the process died"):
                    kafka.restart()
                return True, steps
            steps += len(answers)
    except DriverError:
        kafka.restart()
        return True, steps
    return False, steps


def told(rows: Sequence[Sequence[Any]]) -> Iterator[str]:
    """The score: how many of those are noticed that are asked, and of all that are not equal."""
    counts = {name: sum(row[1] == name for row in rows) for name in (NOTICED, SURVIVED, UNASKED, EQUAL)}
    steps = sorted(row[2] for row in rows if row[1] == NOTICED)
    yield f"{len(rows):,} mutants: " + ", ".join(f"{count:,} {name}" for name, count in counts.items())
    for beside, what in ((SURVIVED,), "of what is asked"), ((SURVIVED, UNASKED), "of all that are not equal"):
        whole = counts[NOTICED] + sum(counts[name] for name in beside)
        if whole:
            yield f"{100 * counts[NOTICED] / whole:.1f} % of {whole:,} noticed, {what}"
    if steps:
        yield f"steps until noticed: median {steps[len(steps) // 2]:,}, most {steps[-1]:,}"


def score(place: Path = RAN) -> str:
    """The recorded score, as the page for who works on Kafka tells it."""
    rows = recorded(place)
    noticed = sorted(row[2] for row in rows if row[1] == NOTICED)
    equal = sum(row[1] == EQUAL for row in rows)
    share = f"{100 * len(noticed) / (len(rows) - equal):.0f} %"
    every = json.loads(place.read_text("utf-8"))["of"]
    part = "All" if len(rows) == every else f"{len(rows):,} of"
    return (f"{part} {every:,} mutants were run: {equal:,} are equal to Kafka, and of the other {len(rows) - equal:,} "
            f"`branch` notices {len(noticed):,} ({share}), "
            f"half of them within {noticed[len(noticed) // 2]:,} steps")  # fmt: skip


def record(into: Path = RAN) -> None:
    """Write what commits have noted here, the last of each mutant, and keep of others what was not run again.

    Each row has the commit that it ran at; what ran on changed files is left out. Who was not noticed is judged anew.
    """
    rows = {row[0]: row for row in recorded(into)}
    for place in sorted(FOLDER.glob("*/java-mutants/*.jsonl"), key=lambda one: one.stat().st_mtime):
        if not (of := place.parent.parent.name).endswith("-changed"):
            rows |= {key: [*row, of] for key, row in _rows(place).items()}
    keys = [one.key for one in mutants()]
    rows |= {key: [key, _judgement(key), *row[2:]] for key, row in rows.items() if row[1] != NOTICED}
    text = ",\n  ".join(json.dumps(rows[key]) for key in keys if key in rows)
    head = f'"release": "{NEWEST}", "of": {len(keys)}'
    into.write_text(f'{{{head}, "mutants": [\n  {text}\n]}}\n', encoding="utf-8")


def recorded(place: Path = RAN) -> list[Sequence[Any]]:
    """Name, outcome, steps, seconds and commit of the mutants that have been run."""
    rows: list[Sequence[Any]] = json.loads(place.read_text("utf-8"))["mutants"]
    return rows
