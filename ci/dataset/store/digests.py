"""Verification of committed files by digest, in this process."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

from kraftcheck.ci.dataset.store.commits import REPAIR, CommitLog
from kraftcheck.ci.dataset.store.levelfiles import DamagedLevelError, LevelFile, verify
from kraftcheck.ci.dataset.store.manifests import Commit
from kraftcheck.ci.dataset.store.stores import place_of
from kraftcheck.ci.terminal.refusal import Refusal

LOCAL_BYTES = 256 << 20
"""Bytes up to which files are read here: less than a second of work, and nothing has to be started for it."""


def check_locally(log: CommitLog, commits: Sequence[Commit]) -> bool:
    """Check committed files byte by byte; false when they are so large that workers should do it.

    Raises:
        Refusal: naming the first file that is not what was committed.
    """
    if sum(file.bytes for _, file in entries(log, commits)) > LOCAL_BYTES:
        return False
    check_files(log, commits)
    return True


def check_files(log: CommitLog, commits: Sequence[Commit]) -> None:
    """Check committed files byte by byte, in this process.

    Raises:
        Refusal: naming the first file that is not what was committed.
    """
    with ThreadPoolExecutor() as pool:
        refuse_damage(pool.map(lambda entry: verify(place_of(entry[0]), entry[1]), entries(log, commits)))


def entries(log: CommitLog, commits: Sequence[Commit]) -> list[tuple[str, LevelFile]]:
    """The committed files: folder, and the file as its manifest has it."""
    return [(str(log.folder(level.depth)), file) for level in commits for file in level.files]


def refuse_damage(results: Iterable[str | None]) -> None:
    """Refuse the first of the damages that were found; None is none."""
    damages = sorted(result for result in results if result is not None)
    if damages:
        raise Refusal(f"{damages[0]}; {REPAIR}")


@contextlib.contextmanager
def damage_refused() -> Iterator[None]:
    """Meanwhile a level that is not what its manifest says is refused.

    Raises:
        Refusal: naming it.
    """
    try:
        yield
    except DamagedLevelError as error:
        raise Refusal(f"{error}; {REPAIR}") from error
