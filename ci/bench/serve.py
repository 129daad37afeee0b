"""The benchmark of the local page: `python -m kraftcheck.ci.bench --serve [--runs N] [--json FILE] [CASE ...]`.

A case is a walk of a system by questions over HTTP, as the page asks them: each takes one enabled action more, and is
answered with all that the page shows, under other rules too. The system is traced before. Nothing that was answered
is asked again, so no answer comes from memory as a whole.
"""

from __future__ import annotations

import http.client
import json
import random
import statistics
import time
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from attrs import frozen

from kraftcheck.ci.bench.benchmark import Benchmark, column
from kraftcheck.ci.explore.serve.command import check_installed
from kraftcheck.ci.explore.serve.finished import Opened
from kraftcheck.ci.systems.subject import program, subject
from kraftcheck.ci.terminal.machine import cache_folder

CASES: Mapping[str, tuple[str, str, str | None]] = {
    "elections": ("elections", "default", "fixed"),
    "replication": ("replication", "small", "fixed"),
    "directories": ("directories", "medium", "fixed"),
    "kraft": ("kraft", "tiny", "fixed"),
}
"""System, scope and the rules beside, by the name of the case."""

STEPS = 40
"""Steps of a walk; a dead end begins it again."""


@frozen
class ServeRow:
    """The times of one case, in milliseconds from question to answer.

    Attributes:
        case: its name.
        steps: how many were asked for.
        median, most, longest: wall time: the median, the 95th percentile, the longest.
        processor: median of the processor's time, which other work on the machine does not lengthen.
    """

    case: str = column("a step of", "<12")
    steps: int = column("steps", "6")
    median: float = column("median ms", "10.1f")
    most: float = column("95% ms", "8.1f")
    longest: float = column("longest ms", "11.1f")
    processor: float = column("processor ms", "13.1f")


def _walk(url: str, beside: str | None, seed: int) -> list[tuple[float, float]]:
    """The milliseconds of each step of a walk, by the wall and by the processor."""
    parts, draw = urlsplit(url), random.Random(seed)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port)
    steps, times = list[Any](), list[tuple[float, float]]()
    for _ in range(STEPS + 1):
        question = {"start": 0, "steps": steps, "beside": beside}
        begun, used = time.perf_counter(), time.process_time()
        connection.request("POST", f"{parts.path}api/path", json.dumps(question), {"Content-Type": "application/json"})
        response = connection.getresponse()
        answer = json.loads(response.read())
        times.append((1000 * (time.perf_counter() - begun), 1000 * (time.process_time() - used)))
        if response.status != 200:  # the step leads beyond the scope
            steps = steps[:-1]
            continue
        enabled = [one["step"] for action in answer["actions"] for one in action["enabled"]]
        steps = [*steps, draw.choice(enabled)] if enabled else []
    connection.close()
    return times[1:]  # the first one traces the other rules


def measure(case: str, runs: int) -> Iterator[ServeRow]:
    """The times of the steps of some walks of one case."""
    check_installed()
    from kraftcheck.ci.explore.serve.application import Application, Jobs
    from kraftcheck.ci.explore.serve.documents import Subjects
    from kraftcheck.ci.explore.serve.server import running

    name, scope, beside = CASES[case]
    chosen = subject(name, scope, {}, None)
    application = Application(Opened(chosen), Subjects(chosen, program(chosen), cache_folder()), beside, Jobs())
    with running(application.wsgi(), 0) as server:
        walked = [one for seed in range(runs) for one in _walk(server.url, beside, seed)]
    times, used = sorted(one[0] for one in walked), statistics.median(one[1] for one in walked)
    yield ServeRow(case, len(times), statistics.median(times), times[int(0.95 * len(times))], times[-1], used)


BENCHMARK = Benchmark(ServeRow, tuple(CASES), measure)
