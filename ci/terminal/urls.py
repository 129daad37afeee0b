"""URLs where a file or a folder is asked for: refused until they are served, and not taken for a name."""

from __future__ import annotations

import re
from pathlib import Path

from kraftcheck.ci.terminal.refusal import Refusal

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*:)/+|(file|hdfs|viewfs|s3|s3a|s3n|gs|abfss?|wasbs?|dbfs|https?|ftp):")


def check_local(place: str | Path) -> None:
    """Refuse a URL; a `Path` of one has lost a slash.

    Raises:
        Refusal: in one line.
    """
    found = _URL.match(str(place))
    if found:
        slashes = "///" if found[1] == "file:" else "//"
        shown = f"{found[1]}{slashes}{str(place)[found.end() :]}" if found[1] else str(place)
        raise Refusal(f"{shown} is a URL, and only local files and folders are served; name a path, such as a mount's")
