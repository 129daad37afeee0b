"""A run of drawn mutants: each is asked of the tests that reach its line, in a copy of this process."""

import contextlib
import functools
import hashlib
import json
import math
import os
import random
import resource
import select
import signal
import tempfile
import time
import tomllib
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import coverage
import pytest
from _pytest.runner import runtestprotocol
from attrs import define, field, frozen

from tests.engine_mutants.drawn.mutants import DrawnMutant, mutants_of
from tests.shared.places import ROOT

PATIENCE = 8  # how many seconds may pass for each that a processor may work: beside other work, all takes longer


def in_child(work: Callable[[], Any], seconds: float) -> Any:
    """What some work gives in a child of this process, as JSON has it; None: it died, or took longer.

    Args:
        work: what to do.
        seconds: how long a processor may work at it; a whole number of them, rounded up.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(seconds), math.ceil(seconds) + 1))
        _work(work, writing)
    os.close(writing)
    text, end = b"", time.monotonic() + PATIENCE * seconds
    while select.select([reading], [], [], max(0.0, end - time.monotonic()))[0]:
        read = os.read(reading, 1 << 16)
        if not read:
            break
        text += read
    os.close(reading)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    if not text:
        return None
    given, fault = json.loads(text)
    if fault:
        raise RuntimeError(fault)
    return given


def _work(work: Callable[[], Any], writing: int) -> None:
    """Do it, with nothing shown, and end."""
    os.setsid()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(nowhere, descriptor)
    try:
        done = json.dumps([work(), ""])
    except BaseException:  # whatever it is, who asked raises it
        done = json.dumps([None, traceback.format_exc()])
    with os.fdopen(writing, "w") as pipe:
        pipe.write(done)
    os._exit(0)


JUDGED = Path(__file__).parent / "judged.toml"

KILLED, SURVIVED, EXCUSED, UNREACHED = "killed", "survived", "judged", "reached by no test"

ALIVE = (SURVIVED, UNREACHED)  # outcomes that are holes of the tests

RAN = Path(__file__).parent / "ran.toml"
"""Of each file how many mutants there were when some were run last, and what became of these."""

WORDS = {"killed": KILLED, "judged": EXCUSED, "survived": SURVIVED, "unreached": UNREACHED}
"""Outcomes as the record counts them."""


@frozen
class Judgement:
    """Why mutants that survive are none to kill."""

    why: str  # in a sentence
    # how the keys of the mutants begin: file, function and line, perhaps the operator, and the change
    keys: tuple[str, ...]


def judgements() -> list[Judgement]:
    """What `judged.toml` has."""
    return [Judgement(one["why"], tuple(one["keys"])) for one in tomllib.loads(JUDGED.read_text("utf-8"))["judged"]]


@frozen
class Request:
    """What to run."""

    folder: Path  # whose files are changed, or one file
    tests: Sequence[str]  # files and folders of tests that may kill
    seed: int = 0  # draws the mutants
    seconds: float = 600.0  # after which no further mutant is begun
    count: int | None = None  # how many are drawn
    longest: float = 10.0  # a test that takes more seconds is not asked
    each: float = 60.0  # how many seconds of tests are asked of one mutant
    reach: Path | None = None  # the file that keeps which lines each test reaches
    only: tuple[str, ...] = ()  # how the keys begin of those that are run, from the file's name on; none: all

    def drawn(self) -> list[DrawnMutant]:
        """The mutants, in the order in which they are run; another seed, another order."""
        found = [one for one in mutants_of(self.folder) if not self.only or one.named.startswith(self.only)]
        random.Random(self.seed).shuffle(found)
        return found[: self.count]


@define
class Campaign:
    """Runs drawn mutants where pytest would run its tests."""

    request: Request  # which, and how long
    # of each mutant that was run, what became of it, and the test that kills it
    outcomes: list[tuple[DrawnMutant, str, str]] = field(factory=list)
    kills: Counter[str] = field(factory=Counter)  # how many mutants each test has killed

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Find out what each test reaches, and run mutants."""
        items = {item.nodeid: item for item in session.items}
        reach = self._reach(items)
        known = tuple(key for one in judgements() for key in one.keys)
        end = time.monotonic() + self.request.seconds
        for mutant in self.request.drawn():
            if time.monotonic() > end:
                break
            outcome, by = self._outcome(mutant, items, reach)
            if outcome in ALIVE and mutant.key.startswith(known):
                outcome = EXCUSED
            self.outcomes.append((mutant, outcome, by))
            if outcome in ALIVE:
                print(f"{outcome} ({by}): {mutant.key}", flush=True)
        return True

    def _outcome(
        self, mutant: DrawnMutant, items: Mapping[str, pytest.Item], reach: Mapping[str, Any]
    ) -> tuple[str, str]:
        first, last = mutant.lines
        found = [
            (one["seconds"] / (1 + self.kills[name]), name)
            for name, one in reach.items()
            if any(first <= line <= last for line in one["lines"].get(mutant.file, ()))
        ]
        names, total = list[str](), 0.0
        for _, name in sorted(found):
            total += reach[name]["seconds"]
            if names and total > self.request.each:
                break
            names.append(name)
        if not names:
            return UNREACHED, ""

        def work() -> Any:
            try:
                with mutant.applied(), code_of_its_own(mutant):
                    return first_failing([items[name] for name in names])
            except (SyntaxError, ValueError) as error:
                return f"no mutant: {error}"

        killer = in_child(work, 10 + 5 * total)
        if killer is None:
            return KILLED, "time"
        self.kills[killer] += bool(killer)
        return (KILLED, killer) if killer else (SURVIVED, f"{len(names)} of {len(found)} tests")

    def _reach(self, items: Mapping[str, pytest.Item]) -> dict[str, Any]:
        """Of each quick test that passes, its seconds and the lines that it reaches, by file."""
        place = self.request.reach
        known = json.loads(place.read_text()) if place is not None and place.exists() else {}
        base, found, slow = digest(sorted(self.request.folder.rglob("*.py"))), {}, set[str]()
        for name, item in items.items():
            mark, test = f"{base} {digest([Path(item.path)])}", name.partition("[")[0]
            if known.get(name, {}).get("mark") != mark:
                asked = functools.partial(reached, item, self.request.folder)
                lines = None if test in slow else in_child(asked, self.request.longest)
                known[name] = (lines or {"seconds": -1.0, "lines": {}}) | {"mark": mark}
                if place is not None:
                    place.write_text(json.dumps(known))
            if known[name]["seconds"] < 0:
                slow.add(test)
            elif known[name]["lines"]:
                found[name] = known[name]
        return found


@contextlib.contextmanager
def code_of_its_own(mutant: DrawnMutant) -> Iterator[None]:
    """Meanwhile compiled code is made anew where a mutant may change it; kept code is named by the sources alone."""
    if "llvmlite" not in (ROOT / mutant.file).read_text(encoding="utf-8"):
        yield
        return
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = folder
        yield


def digest(files: Iterable[Path]) -> str:
    """What some files hold, in short."""
    return hashlib.sha256(b"".join(path.read_bytes() for path in files if path.is_file())).hexdigest()[:16]


def reached(item: pytest.Item, folder: Path) -> dict[str, Any] | None:
    """The seconds of a processor for a test, and the lines of a folder that it reaches; None: it fails."""
    files = str(folder if folder.is_file() else folder / "*")
    watch = coverage.Coverage(data_file=None, include=[files], config_file=False)
    watch.set_option("run:disable_warnings", ["no-data-collected"])
    begin = sum(os.times()[:4])
    watch.start()
    failed = first_failing([item])
    watch.stop()
    data = watch.get_data()
    lines = {Path(file).resolve().relative_to(ROOT).as_posix(): data.lines(file) for file in data.measured_files()}
    return None if failed else {"seconds": sum(os.times()[:4]) - begin, "lines": lines}


def first_failing(items: Sequence[pytest.Item]) -> str:
    """The first of some tests that fails, or nothing."""
    for item, following in zip(items, [*items[1:], None], strict=True):
        if any(report.failed for report in runtestprotocol(item, log=False, nextitem=following)):
            return item.nodeid
    return ""


def run(request: Request) -> Campaign:
    """Run drawn mutants."""
    campaign = Campaign(request)
    words = ["-q", "-s", "-n", "0", "-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning"]
    code = pytest.main([*words, *request.tests], plugins=[campaign])
    assert code in (0, 5), f"pytest ends with {code}"
    return campaign


def record(campaign: Campaign, place: Path) -> None:
    """Write how many mutants of each file there are, and what became of those that were run; other files stay."""
    rows = (
        {one["file"]: one for one in tomllib.loads(place.read_text("utf-8")).get("ran", [])} if place.exists() else {}
    )
    there = Counter(one.file for one in mutants_of(campaign.request.folder))
    for file in {mutant.file for mutant, _, _ in campaign.outcomes}:
        counted = Counter(outcome for mutant, outcome, _ in campaign.outcomes if mutant.file == file)
        numbers = {word: counted[outcome] for word, outcome in WORDS.items()}
        rows[file] = {"file": file, "mutants": there[file], "run": counted.total(), **numbers}
    texts = ["".join(f"{key} = {json.dumps(value)}\n" for key, value in rows[file].items()) for file in sorted(rows)]
    head = place.read_text("utf-8").partition("[[ran]]")[0] if place.exists() else ""
    place.write_text(head + "\n".join(f"[[ran]]\n{text}" for text in texts), "utf-8")


def told(campaign: Campaign) -> Iterator[str]:
    """The survivors as a table, and the score."""
    left = [one for one in campaign.outcomes if one[1] in ALIVE]
    for mutant, outcome, why in sorted(left, key=lambda one: (one[0].file, one[0].lines)):
        place = f"{mutant.file}:{mutant.lines[0]} {mutant.operator} in {mutant.function}"
        yield f"{place}: {mutant.change} ({outcome} {why})"
    counted = Counter(outcome for _, outcome, _ in campaign.outcomes)
    yield f"{len(campaign.outcomes)} mutants: " + ", ".join(f"{number} {name}" for name, number in counted.items())
