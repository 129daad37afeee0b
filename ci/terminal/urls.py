"""Refusal of URLs where a file or a folder is expected."""

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
    match = _URL.match(str(place))
    if match:
        slashes = "///" if match[1] == "file:" else "//"
        url = f"{match[1]}{slashes}{str(place)[match.end() :]}" if match[1] else str(place)
        raise Refusal(f"{url} is a URL, and only local files and folders are served; name a path, such as a mount's")
