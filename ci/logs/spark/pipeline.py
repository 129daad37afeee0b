"""`kraftcheck replay --engine spark`: logs as one dataset keyed by cluster and partition, results as Parquet.

Each log is a task, replayed by the code that replays it without Spark, so the
verdicts are the same. The task writes its rows itself: through the JVM they
would cost more than the replay.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kraftcheck.ci.logs.format.read import LogFiles
from kraftcheck.ci.logs.output import LOG, SOURCES, filled_folder
from kraftcheck.ci.logs.replaying import ReplayOptions
from kraftcheck.ci.logs.report import LogReport
from kraftcheck.ci.logs.spark.tasks import OUTCOMES, Task, start_worker, task
from kraftcheck.ci.spark.errors import job_error
from kraftcheck.ci.spark.explore import ship_sources
from kraftcheck.ci.spark.session import parse_conf, start_session, stopped_at_the_end
from kraftcheck.ci.terminal.refusal import Refusal


def replay_with_spark(
    logs: list[LogFiles], options: ReplayOptions, out: Path, conf: tuple[str, ...], workers: int,
    ready: Callable[[], None] = lambda: None,
) -> list[LogReport]:  # fmt: skip
    """Replay logs under Spark; `out` gets the folders `batches`, `violations`, `timelines`.

    Every worker must see the logs, and `out`, under the names given.

    Args:
        ready: called once session and workers have started, before anything is read.

    Raises:
        Refusal: when `out` holds anything, a log cannot be read, or Spark does not start or fails.
    """
    with filled_folder(out) as place:
        session = start_session(None, workers, parse_conf(conf), out / LOG)
        try:
            with stopped_at_the_end(session, out / LOG):
                ship_sources(session, out / SOURCES)
                _start_workers(session, int(session.sparkContext.defaultParallelism))
                ready()
                return _collect_reports(session, logs, task(logs, options, place.absolute()))
        except Refusal:
            raise
        except Exception as error:
            raise job_error(error, out / LOG) from error
        finally:
            (out / SOURCES).unlink(missing_ok=True)


def _start_workers(session: Any, count: int) -> None:
    """Start a worker for each task that runs at a time, with what it imports; workers are used again."""
    session.range(0, count, 1, count).mapInArrow(start_worker, "id bigint").collect()


def _collect_reports(session: Any, logs: list[LogFiles], work: Task) -> list[LogReport]:
    """Replay the logs, each in a task.

    Raises:
        Refusal: for logs that cannot be read.
    """
    from pyspark.sql.pandas.types import from_arrow_schema

    outcomes = session.range(0, len(logs), 1, len(logs)).mapInArrow(work, from_arrow_schema(OUTCOMES)).collect()
    refusals = sorted(row.text for row in outcomes if row.refused)
    if refusals:
        more = f" (and {len(refusals) - 1} logs more)" if len(refusals) > 1 else ""
        raise Refusal(refusals[0] + more)
    values = {row.log: json.loads(row.text) for row in outcomes}
    return [LogReport(t["document"], tuple(t["lines"]), t["code"]) for t in (values[n] for n in range(len(logs)))]
