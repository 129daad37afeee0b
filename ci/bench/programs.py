"""What is measured within a process: `python -m kraftcheck.ci.bench.programs NAME WORD...` prints a JSON document."""

from __future__ import annotations

import http.client
import json
import random
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

STEPS = 40  # steps of a walk over the page; a dead end begins it again


def frame(system: str, scope: str, most: str) -> Mapping[str, float]:
    """`Result.to_pandas()` of a space: its states and columns, and processor seconds from packed states to a frame."""
    from kraftcheck.ci.interface.engines import explore

    states: Any = explore(system, scope=scope, rules="fixed", max_states=int(most)).states()
    start = time.process_time()
    columns = len(states.to_pandas().columns)
    return {"states": len(states), "columns": columns, "frame": time.process_time() - start}


def page(system: str, scope: str, beside: str, seed: str) -> Mapping[str, float]:
    """A walk by questions over HTTP, as the local page asks them: milliseconds from question to answer.

    Each question takes one enabled action more, and is answered with all that the page shows, under other rules too.
    Nothing that was answered is asked again, so no answer comes from memory as a whole.
    """
    from kraftcheck.ci.explore.serve.application import Application, Jobs
    from kraftcheck.ci.explore.serve.documents import Subjects
    from kraftcheck.ci.explore.serve.finished import Opened
    from kraftcheck.ci.explore.serve.server import running
    from kraftcheck.ci.systems.subject import program, subject
    from kraftcheck.ci.terminal.machine import cache_folder

    chosen = subject(system, scope, {}, None)
    application = Application(Opened(chosen), Subjects(chosen, program(chosen), cache_folder()), beside, Jobs())
    with running(application.wsgi(), 0) as server:
        walked = _walk(server.url, beside, random.Random(seed))
    times = sorted(one[0] for one in walked)
    return {
        "steps": len(times), "median": statistics.median(times), "most": times[int(0.95 * len(times))],
        "longest": times[-1], "used": statistics.median(one[1] for one in walked),
    }  # fmt: skip


def _walk(url: str, beside: str, draw: random.Random) -> list[tuple[float, float]]:
    """The milliseconds of each step of a walk, by the wall and by the processor; the first traces the other rules."""
    parts = urlsplit(url)
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
    return times[1:]


PROGRAMS: Mapping[str, Callable[..., Mapping[str, float]]] = {"frame": frame, "page": page}

if __name__ == "__main__":
    print(json.dumps(PROGRAMS[sys.argv[1]](*sys.argv[2:])))
