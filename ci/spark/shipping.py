"""The sources that workers need, when they do not share the driver's disk."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent
PACKAGES = ("model", "properties", "solvers", "ci")


def ship_sources(session: Any, archive: Path) -> None:
    """Send this package to the workers of a cluster; those of an embedded session have it.

    Args:
        session: the Spark session.
        archive: where to put it; workers fetch it from there as long as the session lives.
    """
    context = session.sparkContext
    if context.master.startswith("local[") or context.master == "local":
        return
    with zipfile.ZipFile(archive, "w") as bundle:
        for package in PACKAGES:
            for path in sorted((ROOT / package).rglob("*.py")):
                bundle.write(path, path.relative_to(ROOT))
    context.addPyFile(str(archive))
