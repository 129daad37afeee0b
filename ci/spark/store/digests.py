"""The digests of committed files, compared with what is on the disk: here where that is little, else on the workers."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from kraftcheck.ci.spark.errors import explained
from kraftcheck.ci.spark.store.commits import CommitLog
from kraftcheck.ci.spark.store.levelfiles import LevelFile, verify
from kraftcheck.ci.spark.store.manifests import Commit
from kraftcheck.ci.spark.tasks import RESULT_SCHEMA, verify_task
from kraftcheck.ci.terminal.refusal import Refusal

HERE = 256 << 20
"""Bytes up to which files are read here: less than a second of work, and no Spark has to be started for it."""


def checked_here(log: CommitLog, commits: Sequence[Commit]) -> bool:
    """Check committed files byte by byte; false when they are so large that workers should do it.

    Raises:
        Refusal: naming the first file that is not what was committed.
    """
    files = _files(log, commits)
    if sum(file.bytes for _, file in files) > HERE:
        return False
    with ThreadPoolExecutor() as pool:
        _refuse(pool.map(lambda one: verify(Path(one[0]), one[1]), files))
    return True


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
        raise explained(error, messages) from error
    _refuse(bytes(row.payload).decode() for row in rows)


def _files(log: CommitLog, commits: Sequence[Commit]) -> list[tuple[str, LevelFile]]:
    return [(str(log.folder(level.depth)), file) for level in commits for file in level.files]


def _refuse(told: Any) -> None:
    wrong = sorted(one for one in told if one is not None)
    if wrong:
        raise Refusal(
            f"{wrong[0]}; restore it, or remove the manifests of its level and of every later one and explore --resume"
        )
