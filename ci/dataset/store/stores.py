"""Stores of datasets: which of them a URL names, and objects of the S3 protocol.

Conditions are headers: If-None-Match for an object that has to be absent, If-Match for one that has to be the one
that was read.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from attrs import frozen

from kraftcheck.ci.dataset.store.hdfs import HdfsPath
from kraftcheck.ci.dataset.store.objects import AnyPath, ObjectPath, PresentError
from kraftcheck.ci.terminal.refusal import Refusal

_URL = re.compile(r"(s3a?)://([^/?#]+)(?:/([^?#]*))?", re.IGNORECASE)


@functools.cache
def bucket(name: str) -> Any:
    """The client of a bucket, configured by the environment as those of AWS are: AWS_ENDPOINT_URL and the like.

    Raises:
        Refusal: when the client is not installed.
    """
    try:
        from obstore.store import S3Store
    except ImportError as error:
        raise Refusal(f"a dataset at an S3 URL needs obstore ({error}); pip install 'kraftcheck[s3]'") from error
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL") or ""
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or "us-east-1"
    plain: dict[str, Any] = {"client_options": {"allow_http": True}} if endpoint.startswith("http://") else {}
    if endpoint:
        plain["endpoint"] = endpoint
    return S3Store(name, region=region, **plain)


@frozen(order=True)
class S3Path(ObjectPath):
    """An object of a bucket, whose URL is that of the store: s3://BUCKET."""

    @classmethod
    def of(cls, url: str) -> S3Path:
        """The place that a URL names; raises Refusal when it names none below a bucket."""
        match = _URL.fullmatch(url)
        parts = (match[3] or "").strip("/").split("/") if match else [""]
        if match is None or any(part in ("", ".", "..") for part in parts):
            raise Refusal(f"{url} names no folder of a bucket; write s3://BUCKET/FOLDER")
        return cls(f"s3://{match[2]}", "/".join(parts))

    @contextlib.contextmanager
    def _errors(self) -> Iterator[Any]:
        """The client; its errors are those of files."""
        store = bucket(self.store.partition("://")[2])
        from obstore.exceptions import AlreadyExistsError, BaseError, PreconditionError

        try:
            yield store
        except (AlreadyExistsError, PreconditionError) as error:
            raise PresentError(str(self)) from error
        except FileNotFoundError as error:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(self)) from error
        except BaseError as error:
            raise OSError(errno.EIO, _reason(error), str(self)) from error

    def entries(self) -> Iterator[tuple[str, int]]:
        """See ObjectPath; one request for a thousand."""
        import obstore

        with self._errors() as store:
            for batch in obstore.list(store, prefix=self.key):
                yield from ((entry["path"][len(self.key) + 1 :], entry["size"]) for entry in batch)

    def size(self) -> int:
        """See ObjectPath."""
        import obstore

        with self._errors() as store:
            return int(obstore.head(store, self.key)["size"])

    def read_version(self) -> tuple[bytes, Any]:
        """See ObjectPath; the version is the ETag."""
        import obstore

        with self._errors() as store:
            result = obstore.get(store, self.key)
            return bytes(result.bytes()), result.meta["e_tag"]

    def read_part(self, start: int, end: int) -> bytes:
        """See ObjectPath."""
        import obstore

        with self._errors() as store:
            return bytes(obstore.get_range(store, self.key, start=start, end=end))

    def put(self, data: bytes | IO[bytes]) -> None:
        """See ObjectPath."""
        self._put(data, "overwrite")

    def put_new(self, data: bytes | IO[bytes]) -> Any:
        """See ObjectPath."""
        return self._put(data, "create")

    def put_instead(self, data: bytes, version: Any) -> Any:
        """See ObjectPath."""
        return self._put(data, {"e_tag": version})

    def _put(self, data: bytes | IO[bytes], mode: Any) -> Any:
        import obstore

        with self._errors() as store:
            return obstore.put(store, self.key, data, mode=mode, use_multipart=False)["e_tag"]

    def unlink(self, missing_ok: bool = False) -> None:
        """See ObjectPath."""
        import obstore

        with self._errors() as store:
            obstore.delete(store, self.key)



def _reason(error: Exception) -> str:
    """What a store says, without the client's account of its attempts."""
    text = " ".join(str(error).split())
    said = re.search(r"<Message>([^<]+)", text)
    return said[1] if said else text.partition(" Debug source:")[0][:300]


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
    """The place that a path or a URL names; raises Refusal for a URL of a store that names no folder there."""
    return STORES[_scheme(text)].of(text) if is_served(text) else Path(text)
