"""Shipping of the sources to workers that do not share the driver's disk."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kraftcheck.ci.spark.session import is_embedded

PACKAGE = Path(__file__).parents[2]
"""The package's folder: in a checkout it holds links to the four layers, which are followed."""


def ship_sources(session: Any, archive: Path) -> None:
    """Send this package to the workers of a cluster; those of an embedded session have it.

    Args:
        session: the Spark session.
        archive: where to put it; workers fetch it from there as long as the session lives.
    """
    context = session.sparkContext
    if is_embedded(context.master):
        return
    with zipfile.ZipFile(archive, "w") as bundle:
        for path in sorted(_sources()):
            bundle.write(path, path.relative_to(PACKAGE.parent))
    context.addPyFile(str(archive))


def _sources() -> Iterator[Path]:
    for folder, _, names in os.walk(PACKAGE, followlinks=True):
        yield from (Path(folder, name) for name in names if name.endswith(".py"))
