"""Verification of committed files by digest on the workers of a cluster, where they are many."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kraftcheck.ci.dataset.search.levels import JobFailedError
from kraftcheck.ci.dataset.store.commits import CommitLog
from kraftcheck.ci.dataset.store.digests import entries, refuse_damage
from kraftcheck.ci.dataset.store.manifests import Commit
from kraftcheck.ci.dataset.store.sight import Sight
from kraftcheck.ci.spark.errors import job_error
from kraftcheck.ci.spark.tasks import RESULT_SCHEMA, sight_task, verify_task


def check_on(session: Any, log: CommitLog, commits: Sequence[Commit], messages: Path) -> None:
    """Check committed files byte by byte on the workers.

    Args:
        session: the Spark session.
        log, commits: the run.
        messages: where Spark says why the check itself failed.

    Raises:
        Refusal: naming the first file that is not what was committed.
    """
    files = entries(log, commits)
    if not files:
        return
    tasks = min(len(files), 4 * int(session.sparkContext.defaultParallelism))
    held = session.sparkContext.broadcast(files)
    task = verify_task(lambda: held.value)
    try:
        rows = session.range(0, len(files), 1, tasks).mapInArrow(task, RESULT_SCHEMA).collect()
    except Exception as error:
        raise job_error(error, messages) from error
    finally:
        held.destroy()
    refuse_damage(bytes(row.payload).decode() for row in rows)


def check_sight_on(session: Any, sight: Sight, messages: Path) -> None:
    """Let the workers prove that they see the run, before anything is computed.

    A worker that joins later is not asked here: each task that writes looks for itself.

    Raises:
        Refusal: naming a worker that does not.
    """
    tasks = 4 * int(session.sparkContext.defaultParallelism)
    try:
        rows = session.range(0, tasks, 1, tasks).mapInArrow(sight_task(sight), RESULT_SCHEMA).collect()
    except Exception as error:
        raise job_error(error, messages) from error
    if len(rows) != tasks:
        raise JobFailedError(f"{len(rows)} of {tasks} tasks looked for {sight[0]}; --resume goes on")
