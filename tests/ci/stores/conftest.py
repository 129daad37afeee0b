"""A folder in a store of objects for each test."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from kraftcheck.ci.dataset.store import objects
from kraftcheck.ci.dataset.store.objects import ObjectPath
from tests.ci.stores.server import serving, settings


@pytest.fixture(scope="session")
def endpoint() -> Iterator[str]:
    """The URL of a server."""
    with serving() as url:
        yield url


@pytest.fixture
def store(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectPath]:
    """A folder of its own in a bucket of that server, for this process and those that it starts."""
    for name, value in settings(endpoint).items():
        monkeypatch.setenv(name, value)
    objects._bucket.cache_clear()
    yield ObjectPath("runs", f"a folder/{uuid.uuid4().hex}")
    objects._bucket.cache_clear()
