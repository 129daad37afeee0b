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

from attrs import frozen

from kraftcheck.ci.logs.format.read import LogFiles
from kraftcheck.ci.logs.output import LOG, SOURCES, filled
from kraftcheck.ci.logs.replaying import Replaying
from kraftcheck.ci.logs.spark.tasks import ENDS, Task, started_worker, task
from kraftcheck.ci.spark.errors import job_error
from kraftcheck.ci.spark.session import parse_conf, start_session
from kraftcheck.ci.spark.shipping import ship_sources
from kraftcheck.ci.terminal.refusal import Refusal


@frozen
class ShapeViolation:
    """What one log came to: the document without its rows, the lines for a reader, the exit code."""

    document: dict[str, Any]
    lines: tuple[str, ...]
    code: int


def replay_with_spark(
    logs: list[LogFiles], replaying: Replaying, out: Path, conf: tuple[str, ...], workers: int,
    ready: Callable[[], None] = lambda: None,
) -> list[ShapeViolation]:  # fmt: skip
    """Replay logs under Spark; `out` gets the folders `batches`, `violations`, `timelines`.

    Every worker must see the logs, and `out`, under the names given.

    Args:
        ready: called once session and workers have started, before anything is read.

    Raises:
        Refusal: when `out` holds anything, a log cannot be read, or Spark does not start or fails.
    """
    with filled(out) as place:
        session = start_session(None, workers, parse_conf(conf), out / LOG)
        try:
            ship_sources(session, out / SOURCES)
            _started_workers(session, int(session.sparkContext.defaultParallelism))
            ready()
            return _told(session, logs, task(logs, replaying, place.absolute()))
        except Refusal:
            raise
        except Exception as error:
            raise job_error(error, out / LOG) from error
        finally:
            session.stop()
            (out / SOURCES).unlink(missing_ok=True)


def _started_workers(session: Any, count: int) -> None:
    """Start a worker for each task that runs at a time, with what it imports; workers are used again."""
    session.range(0, count, 1, count).mapInArrow(started_worker, "id bigint").collect()


def _told(session: Any, logs: list[LogFiles], work: Task) -> list[ShapeViolation]:
    """Replay the logs, each in a task.

    Raises:
        Refusal: for logs that cannot be read.
    """
    from pyspark.sql.pandas.types import from_arrow_schema

    ends = session.range(0, len(logs), 1, len(logs)).mapInArrow(work, from_arrow_schema(ENDS)).collect()
    refused = sorted(row.text for row in ends if row.refused)
    if refused:
        more = f" (and {len(refused) - 1} logs more)" if len(refused) > 1 else ""
        raise Refusal(refused[0] + more)
    told = {row.log: json.loads(row.text) for row in ends}
    return [ShapeViolation(t["document"], tuple(t["lines"]), t["code"]) for t in (told[n] for n in range(len(logs)))]


__all__ = ["ShapeViolation", "replay_with_spark"]
