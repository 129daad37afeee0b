"""Verification of committed files by digest: on the driver where they are small, else on the workers."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from kraftcheck.ci.spark.errors import job_error
from kraftcheck.ci.spark.store.commits import REPAIR, CommitLog
from kraftcheck.ci.spark.store.levelfiles import LevelFile, verify
from kraftcheck.ci.spark.store.manifests import Commit
from kraftcheck.ci.spark.tasks import RESULT_SCHEMA, verify_task
from kraftcheck.ci.terminal.refusal import Refusal

LOCAL_BYTES = 256 << 20
"""Bytes up to which files are read here: less than a second of work, and no Spark has to be started for it."""


def check_locally(log: CommitLog, commits: Sequence[Commit]) -> bool:
    """Check committed files byte by byte; false when they are so large that workers should do it.

    Raises:
        Refusal: naming the first file that is not what was committed.
    """
    if sum(file.bytes for _, file in _files(log, commits)) > LOCAL_BYTES:
        return False
    check_files(log, commits)
    return True


def check_files(log: CommitLog, commits: Sequence[Commit]) -> None:
    """Check committed files byte by byte, in this process.

    Raises:
        Refusal: naming the first file that is not what was committed.
    """
    with ThreadPoolExecutor() as pool:
        _refuse(pool.map(lambda entry: verify(Path(entry[0]), entry[1]), _files(log, commits)))


def check_on(session: Any, log: CommitLog, commits: Sequence[Commit], messages: Path) -> None:
    """Check committed files byte by byte on the workers.

    Args:
        session: the Spark session.
        log, commits: the run.
        messages: where Spark says why the check itself failed.

    Raises:
        Refusal: naming the first file that is not what was committed.
    """
    files = _files(log, commits)
    if not files:
        return
    tasks = min(len(files), 4 * int(session.sparkContext.defaultParallelism))
    try:
        rows = session.range(0, len(files), 1, tasks).mapInArrow(verify_task(files), RESULT_SCHEMA).collect()
    except Exception as error:
        raise job_error(error, messages) from error
    _refuse(bytes(row.payload).decode() for row in rows)


def _files(log: CommitLog, commits: Sequence[Commit]) -> list[tuple[str, LevelFile]]:
    return [(str(log.folder(level.depth)), file) for level in commits for file in level.files]


def _refuse(results: Any) -> None:
    damages = sorted(result for result in results if result is not None)
    if damages:
        raise Refusal(f"{damages[0]}; {REPAIR}")
