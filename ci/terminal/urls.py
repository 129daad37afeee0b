"""URLs where a file or a folder is expected: those of datasets on this machine are read as paths, others refused."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import click

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
        has_lost = bool(match[1]) and isinstance(place, Path)
        url = f"{match[1]}{slashes}{str(place)[match.end() :]}" if has_lost else str(place)
        raise Refusal(f"{url} is a URL, and only local files and folders are served; name a path, such as a mount's")


_FILE = re.compile(r"file:(?://(?:localhost)?)?(/[^/].*)", re.IGNORECASE | re.DOTALL)


def local_path(place: str) -> str:
    """A path as it is, and the path of a `file:` URL, `file:///run` or `file:/run`, its escapes decoded.

    Raises:
        Refusal: in one line, for any other URL, and for one that names no path of this machine.
    """
    match = _FILE.fullmatch(place)
    if match is None:
        check_local(place)
        return place
    path = unquote(match[1])
    if "\0" in path or re.search("[?#]", match[1]):
        raise Refusal(f"{place} is no URL of a path: write ? and # in it as %3F and %23, or name the path")
    return path


_MATCHED = re.compile(r"[*?\[\]{}\\]")


def check_matched(path: Path) -> None:
    """Refuse a folder whose name the readers of datasets take for several: they match patterns, and see partitions.

    Raises:
        Refusal: in one line.
    """
    whole = path.absolute()
    match = _MATCHED.search(str(whole))
    if match:
        raise Refusal(f"{path}: readers of Parquet take {match[0]} in it for a pattern; name a folder without it")
    named = next((part for part in whole.parts if part.lower().startswith("depth=")), None)
    if named is not None:
        raise Refusal(f"{path}: readers of Parquet take {named} in it for a partition; name a folder elsewhere")


class DatasetPath(click.Path):
    """The folder of a dataset as typed on the command line: a path, or a `file:` URL of one."""

    def __init__(self) -> None:
        """Converted to a `Path`."""
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """See `click.ParamType`."""
        return super().convert(local_path(value) if isinstance(value, str) else value, param, ctx)
