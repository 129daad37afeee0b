"""The folder that a replay under Spark fills: its datasets appear in it once all of them are whole.

Until then they are in a hidden folder there, so that a run that ends early
leaves no dataset with rows missing. A reader could not tell it from a whole one.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from kraftcheck.ci.dataset.store.lease import NAME, lease_on
from kraftcheck.ci.terminal.files import folder
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.ci.terminal.sync import sync

UNFINISHED = ".unfinished"
LOG = "spark.log"
SOURCES = "sources.zip"

_LEFTOVERS = frozenset({UNFINISHED, NAME, LOG, "spark.log4j2.properties", SOURCES})
"""What a run that ended early may leave."""


@contextlib.contextmanager
def filled_folder(out: Path) -> Iterator[Path]:
    """A hidden folder to fill, whose content is then moved into `out`; after an error it is removed.

    Raises:
        Refusal: when `out` holds anything but what a run left that ended early, or another driver fills it.
    """
    if out.exists() and not out.is_dir():
        raise Refusal(f"{out} is a file; choose another --out")
    with lease_on(folder(out)):
        foreign = sorted(path.name for path in out.iterdir() if path.name not in _LEFTOVERS)
        if foreign:
            raise Refusal(f"{out} is not empty: it holds {foreign[0]}; choose another --out")
        place = out / UNFINISHED
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        try:
            yield place
            _write_through(place)
            for path in sorted(place.iterdir()):
                os.rename(path, out / path.name)
            sync(out)
        finally:
            shutil.rmtree(place, ignore_errors=True)


def _write_through(place: Path) -> None:
    for path in (*place.rglob("*"), place):
        sync(path)
