"""The files that a job wrote, where its driver expects them."""

from __future__ import annotations

from pathlib import Path

from kraftcheck.ci.dataset.search.levels import JobFailedError


def written(folder: Path) -> list[Path]:
    """The Parquet files that a job wrote into a folder: one at least, even of no rows.

    Raises:
        JobFailedError: when there is none, as where workers wrote to disks of their own: it would count as no rows.
    """
    files = sorted(folder.glob("*.parquet"))
    if not files:
        mend = "the workers do not share this disk; choose another --out"
        raise JobFailedError(f"a job left no file in {folder}: {mend}")
    return files
