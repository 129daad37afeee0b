"""Stores of datasets: which of them a URL names."""

from __future__ import annotations

from pathlib import Path

from kraftcheck.ci.dataset.store.hdfs import HdfsPath
from kraftcheck.ci.dataset.store.objects import AnyPath
from kraftcheck.ci.dataset.store.s3 import S3Path

STORES: dict[str, type[S3Path | HdfsPath]] = {"s3": S3Path, "s3a": S3Path, "webhdfs": HdfsPath, "hdfs": HdfsPath}
"""The kind of path by the scheme of a URL; each has two names."""


def _scheme(text: str) -> str:
    """The scheme of a URL; empty for a path."""
    scheme, mark, _ = text.partition("://")
    return scheme.lower() if mark else ""


def is_served(text: str) -> bool:
    """Whether a text is a URL of a store."""
    return _scheme(text) in STORES


def place_of(text: str) -> AnyPath:
    """The place that a path or a URL names.

    Raises:
        Refusal: for a URL of a store that names no folder there.
    """
    return STORES[_scheme(text)].of(text) if is_served(text) else Path(text)
