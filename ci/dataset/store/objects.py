"""Objects of a store that is named by a URL, with what is used of `pathlib.Path`, and what a folder has not.

An object is read in parts and written whole at once. It is made or replaced on a condition that the store itself
checks: that it is absent (If-None-Match), or that it still is the one that was read (If-Match).
"""

from __future__ import annotations

import contextlib
import errno
import functools
import io
import os
import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import IO, Any, TypeAlias

from attrs import frozen

SCHEMES = ("s3", "s3a")
"""Schemes that are served: two names of one protocol."""

_URL = re.compile(r"(s3a?)://([^/?#]+)(?:/([^?#]*))?", re.IGNORECASE)


@functools.cache
def _bucket(name: str) -> Any:
    """The client of a bucket, configured by the environment as those of AWS are: AWS_ENDPOINT_URL and the like."""
    try:
        from obstore.store import S3Store
    except ImportError as error:
        raise _refusal(f"a dataset at a URL needs obstore ({error}); pip install 'kraftcheck[s3]'") from error
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL") or ""
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or "us-east-1"
    plain: dict[str, Any] = {"client_options": {"allow_http": True}} if endpoint.startswith("http://") else {}
    if endpoint:
        plain["endpoint"] = endpoint
    return S3Store(name, region=region, **plain)


def _refusal(message: str) -> Exception:
    """A refusal, which is imported here, because workers have no click."""
    from kraftcheck.ci.terminal.refusal import Refusal

    return Refusal(message)


class PresentError(Exception):
    """An object that was to be made is there, or one that was to be replaced has changed."""


@frozen(order=True)
class ObjectPath:
    """An object, or the folder that its name is a prefix of.

    Attributes:
        bucket: where it is.
        key: its name there, without slashes around it.
    """

    bucket: str
    key: str

    @classmethod
    def of(cls, url: str) -> ObjectPath:
        """The place that a URL names.

        Raises:
            Refusal: when it names none below a bucket.
        """
        match = _URL.fullmatch(url)
        parts = (match[3] or "").strip("/").split("/") if match else [""]
        if match is None or any(part in ("", ".", "..") for part in parts):
            raise _refusal(f"{url} names no folder of a bucket; write s3://BUCKET/FOLDER")
        return cls(match[2], "/".join(parts))

    def __str__(self) -> str:
        return f"s3://{self.bucket}/{self.key}"

    def __truediv__(self, name: str) -> ObjectPath:
        return ObjectPath(self.bucket, f"{self.key}/{name}")

    @property
    def name(self) -> str:
        """The last part of its name."""
        return self.key.rpartition("/")[2]

    @property
    def parent(self) -> ObjectPath:
        """The folder that it is in."""
        return ObjectPath(self.bucket, self.key.rpartition("/")[0])

    @contextlib.contextmanager
    def _errors(self) -> Iterator[Any]:
        """The client; its errors are those of files."""
        store = _bucket(self.bucket)
        from obstore.exceptions import AlreadyExistsError, BaseError, PreconditionError

        try:
            yield store
        except (AlreadyExistsError, PreconditionError) as error:
            raise PresentError(str(self)) from error
        except FileNotFoundError as error:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(self)) from error
        except BaseError as error:
            raise OSError(errno.EIO, _reason(error), str(self)) from error

    def _list(self) -> dict[str, int]:
        """The sizes of all objects below it, by the rest of their names."""
        import obstore

        with self._errors() as store:
            found = (entry for batch in obstore.list(store, prefix=self.key) for entry in batch)
            return {entry["path"][len(self.key) + 1 :]: entry["size"] for entry in found}

    def sizes(self) -> dict[str, int]:
        """The sizes of the objects of a folder, by name: one request for a thousand."""
        return {name: size for name, size in self._list().items() if "/" not in name}

    def below(self) -> list[ObjectPath]:
        """All objects below it, those of folders in it too."""
        return [self / name for name in sorted(self._list())]

    def glob(self, pattern: str) -> Iterator[ObjectPath]:
        """The objects of a folder whose names match."""
        return (self / name for name in self.sizes() if fnmatchcase(name, pattern))

    def iterdir(self) -> Iterator[ObjectPath]:
        """The objects and folders of a folder."""
        return (self / name for name in dict.fromkeys(name.partition("/")[0] for name in sorted(self._list())))

    def is_dir(self) -> bool:
        """Whether there are objects below it."""
        return bool(self._list())

    def exists(self) -> bool:
        """Whether there is such an object, or one below it."""
        try:
            self.size()
        except FileNotFoundError:
            return self.is_dir()
        return True

    def size(self) -> int:
        """The bytes of the object."""
        import obstore

        with self._errors() as store:
            return int(obstore.head(store, self.key)["size"])

    def mkdir(self, **_: Any) -> None:
        """Nothing: a folder is there once an object is."""

    def read_bytes(self) -> bytes:
        """The content."""
        return self.read_version()[0]

    def read_version(self) -> tuple[bytes, Any]:
        """The content, and the version that it is of."""
        import obstore

        with self._errors() as store:
            result = obstore.get(store, self.key)
            return bytes(result.bytes()), result.meta["e_tag"]

    def put(self, data: bytes | IO[bytes]) -> None:
        """Write the object, whatever is there."""
        self._put(data, "overwrite")

    def put_new(self, data: bytes | IO[bytes]) -> Any:
        """Write the object if there is none; its version.

        Raises:
            PresentError: when there is one.
        """
        return self._put(data, "create")

    def put_instead(self, data: bytes, version: Any) -> Any:
        """Write the object if it still is of a version; its new one.

        Raises:
            PresentError: when it is not.
        """
        return self._put(data, {"e_tag": version})

    def _put(self, data: bytes | IO[bytes], mode: Any) -> Any:
        import obstore

        with self._errors() as store:
            return obstore.put(store, self.key, data, mode=mode, use_multipart=False)["e_tag"]

    def unlink(self, missing_ok: bool = False) -> None:
        """Remove the object; a store does not say whether it was there."""
        import obstore

        with self._errors() as store:
            obstore.delete(store, self.key)

    def copy_to(self, other: ObjectPath) -> None:
        """Copy the object within the store."""
        import obstore

        with self._errors() as store:
            obstore.copy(store, self.key, other.key)

    def opened(self) -> ObjectReader:
        """The object as a file that is read in parts."""
        return ObjectReader(self)


def _reason(error: Exception) -> str:
    """What a store says, without the client's account of its attempts."""
    text = " ".join(str(error).split())
    said = re.search(r"<Message>([^<]+)", text)
    return said[1] if said else text.partition(" Debug source:")[0][:300]


class ObjectReader(io.RawIOBase):
    """An object as a file: each read is one request."""

    def __init__(self, place: ObjectPath) -> None:
        self._place, self._at, self._size = place, 0, place.size()

    def seekable(self) -> bool:
        """It is."""
        return True

    def readable(self) -> bool:
        """It is."""
        return True

    def tell(self) -> int:
        """Where the next read begins."""
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Go elsewhere."""
        self._at = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}[whence]
        return self._at

    def read(self, size: int = -1) -> bytes:
        """The next bytes; fewer at the end."""
        import obstore

        end = self._size if size < 0 else min(self._size, self._at + size)
        if end <= self._at:
            return b""
        with self._place._errors() as store:
            data = bytes(obstore.get_range(store, self._place.key, start=self._at, end=end))
        self._at += len(data)
        return data


def is_served(text: str) -> bool:
    """Whether a text is a URL of a store."""
    return text.partition("://")[0].lower() in SCHEMES and "://" in text


AnyPath: TypeAlias = Path | ObjectPath
"""A file or a folder of a dataset: on a file system, or in a store."""


def on_disk(place: AnyPath) -> Path:
    """A place of a file system.

    Raises:
        Refusal: for one in a store.
    """
    if isinstance(place, ObjectPath):
        raise _refusal(f"{place} is a URL, and only an --out that is a folder is served here")
    return place


def by_name(places: Iterable[AnyPath]) -> list[AnyPath]:
    """Places in the order of their names."""
    return sorted(places, key=str)


def place_of(text: str) -> AnyPath:
    """The place that a path or a URL names."""
    return ObjectPath.of(text) if is_served(text) else Path(text)
