"""The place of a dataset as typed on the command line: a path, a `file:` URL of one, or a URL of a store."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from kraftcheck.ci.dataset.store.objects import AnyPath, ObjectPath
from kraftcheck.ci.dataset.store.stores import is_served, place_of
from kraftcheck.ci.terminal.files import DatasetPath, check_matched, local_path


class DatasetPlace(DatasetPath):
    """A folder of a file system, or of a store."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """See `click.ParamType`."""
        is_url = isinstance(value, str) and is_served(value)
        return place_of(value) if is_url else super().convert(value, param, ctx)


def dataset_place(text: str) -> AnyPath:
    """The place that Python names: a path, a `file:` URL of one, or a URL of a store; raises Refusal for another."""
    return place_of(text) if is_served(text) else Path(local_path(text))


def check_readable(place: AnyPath) -> None:
    """Refuse a folder whose name readers of datasets take for a pattern or a partition.

    Raises:
        Refusal: in one line.
    """
    check_matched(Path("/", place.key) if isinstance(place, ObjectPath) else place)
