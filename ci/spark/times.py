"""Times of the tasks of a job, as Spark measured them: a run keeps them in `OUT/stages.jsonl`."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from attrs import asdict, frozen

from kraftcheck.solvers.machine_code.regular import open_regular

NAME = "stages.jsonl"
"""Beside a run's levels; one line a job. It is a measurement: no verdict rests on it."""

QUANTILES = tuple(step / 20 for step in range(21))


@frozen
class StageTimes:
    """A stage.

    Attributes:
        tasks: how many.
        seconds: that its tasks took, as quantiles in steps of a twentieth.
        read, written: bytes of its shuffles.
    """

    tasks: int
    seconds: tuple[float, ...]
    read: int
    written: int


@frozen
class JobTimes:
    """A job.

    Attributes:
        label: what it is.
        start: when it began, in seconds of a clock that only differences are taken of.
        seconds: how long it took.
        cores: tasks that ran at the same time.
        stages: in their order; none where the driver did it.
    """

    label: str
    start: float
    seconds: float
    cores: int
    stages: tuple[StageTimes, ...]

    def append(self, folder: Path) -> None:
        """Write it down."""
        handle = open_regular(folder / NAME, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        with os.fdopen(handle, "a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(self)) + "\n")


def stage_times(context: Any, stages: Sequence[int]) -> tuple[StageTimes, ...]:
    """The times of finished stages, of their last attempts."""
    store, gateway = context._jsc.sc().statusStore(), context._gateway
    quantiles = gateway.new_array(gateway.jvm.double, len(QUANTILES))
    for number, value in enumerate(QUANTILES):
        quantiles[number] = value
    found = []
    for stage in sorted(stages):
        data = store.lastStageAttempt(stage)
        summary = store.taskSummary(stage, data.attemptId(), quantiles)
        if summary.isEmpty():
            continue
        durations = summary.get().duration()
        seconds = tuple(float(durations.apply(number)) / 1000 for number in range(len(QUANTILES)))
        found.append(StageTimes(data.numTasks(), seconds, data.shuffleReadBytes(), data.shuffleWriteBytes()))
    return tuple(found)
