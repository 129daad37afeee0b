"""The place of a dataset as typed on the command line: a path, a `file:` URL of one, or a URL of a store."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from kraftcheck.ci.dataset.store.objects import AnyPath, ObjectPath
from kraftcheck.ci.dataset.store.stores import STORES, is_served, place_of
from kraftcheck.ci.terminal.files import DatasetPath, check_matched, local_path


class DatasetPlace(DatasetPath):
    """A folder of a file system, or of a store."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """See `click.ParamType`."""
        place = dataset_place(os.fspath(value))
        return super().convert(str(place), param, ctx) if isinstance(place, Path) else place


SERVED = f"local folders and URLs of {', '.join(f'{scheme}://' for scheme in sorted(STORES))}"
"""Where datasets may be."""


def dataset_place(text: str) -> AnyPath:
    """The place that Python names: a path, a `file:` URL of one, or a URL of a store; raises Refusal for another."""
    return place_of(text) if is_served(text) else Path(local_path(text, SERVED))


def check_readable(place: AnyPath) -> None:
    """Refuse a folder whose name readers of datasets take for a pattern or a partition; raises Refusal, in one line."""
    check_matched(Path("/", place.key) if isinstance(place, ObjectPath) else place)
