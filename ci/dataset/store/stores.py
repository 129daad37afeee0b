"""Stores of datasets: which of them a URL names, objects of buckets, and files of HDFS as objects.

Conditions of S3 and Azure are headers: If-None-Match for an object that has to be absent, If-Match for one that has to
be the one that was read; those of Google are the number of a generation, 0 for an object that has to be absent.

A file of HDFS is written under a hidden name, then renamed. The namenode renames at once, and not onto a name that is
taken, so that whoever sees a name sees a whole file. The version of a file is the number of its inode, which is never
given again. A file is replaced by removing that inode, which succeeds once, and making another file of its name.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import getpass
import http.client
import json
import os
import re
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any, ClassVar
from urllib.parse import quote, urlencode, urlsplit, urlunsplit

from attrs import frozen

from kraftcheck.ci.dataset.store.objects import AnyPath, ObjectPath, PresentError
from kraftcheck.ci.terminal.refusal import Refusal

CONNECT_SECONDS, ANSWER_SECONDS = 10.0, 60.0
ATTEMPTS = 5  # how often a namenode is asked for a datanode: for some minutes it names one that has died, too

_REDIRECT = 307
_PORT = "name the port of the namenode's web server (dfs.namenode.http-address, 9870 unless changed)"
_REACHED = "the web servers of the namenode and of the datanodes must be reached from here"

Data = bytes | IO[bytes]


def ask(store: str, path: str, method: str, operation: str, field: str = "", **words: str) -> Any:
    """What a namenode answers about a name from the root on, of its document's `field`; raises OSErrors as it says."""
    data = _answer(_url(store, path, operation, words), method, None, path)[1]
    try:
        return json.loads(data)[field] if field else None
    except (ValueError, KeyError, TypeError) as error:
        raise _failure(200, data, urlsplit(store).netloc, path) from error


def transfer(store: str, path: str, method: str, operation: str, body: Data | None = None, **words: str) -> bytes:
    """Read from a datanode, or write to one, that the namenode names, again if need be; raises as `ask`."""
    for attempt in range(ATTEMPTS):
        location, data = _answer(_url(store, path, operation, words), method, None, path)
        if not location:
            break
        try:
            return _answer(location, method, body, path)[1]
        except _NoAnswerError:
            if attempt == ATTEMPTS - 1:
                raise
    return data


class _NoAnswerError(OSError):
    """A server that cannot be reached, or that broke off."""


def _url(store: str, path: str, operation: str, words: Mapping[str, str]) -> str:
    token = os.environ.get("HADOOP_TOKEN")
    who = {"delegation": token} if token else {"user.name": _user()}
    query = urlencode({"op": operation, **who, **words}, quote_via=quote)
    return f"{store}/webhdfs/v1{quote(path)}?{query}"


def _user() -> str:
    """The name that is told to a namenode: HADOOP_USER_NAME, or that of this process."""
    try:
        return os.environ.get("HADOOP_USER_NAME") or getpass.getuser()
    except (KeyError, OSError) as error:
        raise OSError(errno.EACCES, "this process has no user's name; set HADOOP_USER_NAME") from error


def _answer(url: str, method: str, body: Data | None, path: str) -> tuple[str, bytes]:
    """Where a request is sent on to, if it is, and the answer."""
    split = urlsplit(url)
    status, location, data = _send(split.netloc, urlunsplit(("", "", *split[2:4], "")), method, body, path)
    if status == _REDIRECT and location:
        return location, b""
    if not 200 <= status < 300:
        raise _failure(status, data, split.netloc, path)
    return "", data


def _send(server: str, target: str, method: str, body: Data | None, path: str) -> tuple[int, str, bytes]:
    """One request on a connection of its own: status, location and content of the response."""
    headers = {"Content-Type": "application/octet-stream"}
    if body is not None and not isinstance(body, bytes):
        headers["Content-Length"] = str(body.seek(0, os.SEEK_END))
        body.seek(0)
    connection = http.client.HTTPConnection(server, timeout=CONNECT_SECONDS, blocksize=1 << 20)
    try:
        with contextlib.closing(connection):
            connection.connect()
            connection.sock.settimeout(ANSWER_SECONDS)
            with contextlib.suppress(BrokenPipeError):  # it may have said why
                connection.request(method, target, body, headers)
            response = connection.getresponse()
            return response.status, response.getheader("Location", ""), response.read()
    except http.client.HTTPException as error:
        raise _NoAnswerError(errno.EPROTO, f"{server} does not speak HTTP ({error!r}); {_PORT}", path) from error
    except OSError as error:
        message = f"no answer from {server}: {error.strerror or error}; {_REACHED}"
        raise _NoAnswerError(errno.EIO, message, path) from error


def _failure(status: int, data: bytes, server: str, path: str) -> Exception:
    """What a server says, as an error of files."""
    try:
        said = json.loads(data)["RemoteException"]
        kind, message = said["exception"], str(said["message"]).partition("\n")[0]
    except (ValueError, KeyError, TypeError):
        if status == http.HTTPStatus.UNAUTHORIZED:
            mend = "set HADOOP_TOKEN to a delegation token"
            return PermissionError(errno.EACCES, f"{server} wants to know who asks; {mend}", path)
        what = "speaks Hadoop's RPC there" if b"Hadoop IPC port" in data else f"is no namenode (HTTP {status})"
        return OSError(errno.EPROTO, f"{server} {what}; {_PORT}", path)
    if kind == "FileNotFoundException":
        return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    if kind == "FileAlreadyExistsException":
        return PresentError(path)
    if kind == "AccessControlException":
        return PermissionError(errno.EACCES, message, path)
    return OSError(errno.EIO, message, path)


PORT = 9870  # where namenodes serve the web, unless they are told otherwise

_HDFS_URL = re.compile(r"(?:web)?hdfs://([^/?#@:]+|\[[0-9a-f:]+\])(?::(\d+))?(?:/([^?#]*))?", re.IGNORECASE)


@frozen(order=True)
class HdfsPath(ObjectPath):
    """A file of HDFS, below its namenode's URL: webhdfs://HOST:PORT."""

    replaces_at_once: ClassVar[bool] = False

    @classmethod
    def of(cls, url: str) -> HdfsPath:
        """The place that a URL names; raises Refusal when it names no folder below the root."""
        match = _HDFS_URL.fullmatch(url)
        parts = (match[3] or "").strip("/").split("/") if match else [""]
        if match is None or any(part in ("", ".", "..", ".reserved") for part in parts):
            raise Refusal(f"{url} names no folder of HDFS; write webhdfs://NAMENODE:{PORT}/FOLDER")
        return cls(f"webhdfs://{match[1].lower()}:{match[2] or PORT}", "/".join(parts))

    def _ask(self, method: str, operation: str, key: str | None = None, field: str = "", **words: str) -> Any:
        """What the namenode answers about this file, or the one of another key; errors name this one."""
        with self._named():
            return ask(self.store, f"/{self.key if key is None else key}", method, operation, field, **words)

    @contextlib.contextmanager
    def _named(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            error.filename = str(self)
            raise

    def _status(self, key: str | None = None) -> dict[str, Any]:
        status: dict[str, Any] = self._ask("GET", "GETFILESTATUS", key, "FileStatus")
        if status["type"] != "FILE":
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(self))
        return status

    def _list(self, key: str) -> list[dict[str, Any]]:
        """The statuses of what is in a folder; none where there is no such folder."""
        try:
            found = self._ask("GET", "LISTSTATUS", key, "FileStatuses")["FileStatus"]
        except FileNotFoundError:
            return []
        return [status for status in found if status["pathSuffix"]]  # a file has one without a name

    def entries(self) -> Iterator[tuple[str, int]]:
        """See ObjectPath; a folder without files counts for nothing."""
        folders = [""]
        for folder in folders:
            for status in self._list(self.key + folder):
                name = f"{folder}/{status['pathSuffix']}"
                if status["type"] == "FILE":
                    yield name[1:], status["length"]
                else:
                    folders.append(name)

    def sizes(self) -> dict[str, int]:
        """See ObjectPath; one request."""
        return {one["pathSuffix"]: one["length"] for one in self._list(self.key) if one["type"] == "FILE"}

    def size(self) -> int:
        """See ObjectPath."""
        return int(self._status()["length"])

    def read_bytes(self) -> bytes:
        """See ObjectPath."""
        with self._named():
            return transfer(self.store, f"/{self.key}", "GET", "OPEN")

    def read_version(self) -> tuple[bytes, Any]:
        """See ObjectPath."""
        version = self._status()["fileId"]
        with self._named():
            return transfer(self.store, _inode(version), "GET", "OPEN"), version

    def read_part(self, start: int, end: int) -> bytes:
        """See ObjectPath."""
        with self._named():
            return transfer(self.store, f"/{self.key}", "GET", "OPEN", offset=str(start), length=str(end - start))

    def put(self, data: Data) -> None:
        """See ObjectPath."""
        self._write(data, "OVERWRITE")

    def put_new(self, data: Data) -> Any:
        """See ObjectPath."""
        return self._write(data, "NONE")

    def put_instead(self, data: bytes, version: Any) -> Any:
        """See ObjectPath; who is killed in between leaves no file of the name."""
        try:
            same = self._status()["fileId"] == version  # an inode that is elsewhere by now is left alone
            removed = same and self._ask("DELETE", "DELETE", _inode(version)[1:], "boolean", recursive="false")
        except FileNotFoundError as error:
            raise PresentError(str(self)) from error
        if not removed:
            raise PresentError(str(self))
        return self.put_new(data)

    def _write(self, data: Data, onto: str) -> Any:
        """Write under a name that nobody else uses, then rename; the version."""
        draft = (self.parent / f".{self.name}.{uuid.uuid4().hex}").key
        size = len(data) if isinstance(data, bytes) else data.seek(0, os.SEEK_END)
        try:
            with self._named():
                transfer(self.store, f"/{draft}", "PUT", "CREATE", data, overwrite="true")
            status = self._status(draft)
            if status["length"] != size:
                raise OSError(errno.EIO, f"{status['length']:,} of {size:,} bytes were written", str(self))
            self._ask("PUT", "RENAME", draft, destination=f"/{self.key}", renameoptions=onto)
        except BaseException:
            with contextlib.suppress(OSError):
                self._ask("DELETE", "DELETE", draft)
            raise
        return status["fileId"]

    def unlink(self, missing_ok: bool = False) -> None:
        """See ObjectPath."""
        self._ask("DELETE", "DELETE", recursive="false")

    def remove_below(self) -> None:
        """See ObjectPath; the folder goes with them."""
        self._ask("DELETE", "DELETE", recursive="true")


def _inode(number: int) -> str:
    return f"/.reserved/.inodes/{number}"


_URL = re.compile(r"(s3a?|gs|abfss?)://([^/?#]+)(?:/([^?#]*))?", re.IGNORECASE)
_CONTAINER = re.compile(r"[^@]+@[^@.]+\.(?:dfs|blob)\.[^@]+")  # of Azure, and whose account it is in
BUCKETS = {"s3": "s3", "s3a": "s3", "gs": "gs", "abfss": "abfss", "abfs": "abfss"}
"""Schemes of buckets by the one that stands for each."""


@functools.cache
def bucket(url: str) -> Any:
    """A bucket's or container's client, by the environment; raises Refusal for no client, or settings that are none."""
    try:
        from obstore.exceptions import BaseError
        from obstore.store import S3Store, from_url
    except ImportError as error:
        raise Refusal(f"a URL of a store needs obstore ({error}); pip install 'kraftcheck[stores]'") from error
    if not url.startswith("s3:"):
        try:
            return from_url(url)
        except (BaseError, ValueError) as error:
            raise Refusal(f"{url}: {_reason(error)}") from error
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL") or ""
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or "us-east-1"
    plain: dict[str, Any] = {"client_options": {"allow_http": True}} if endpoint.startswith("http://") else {}
    if endpoint:
        plain["endpoint"] = endpoint
    return S3Store(url.partition("://")[2], region=region, **plain)


@frozen(order=True)
class BucketPath(ObjectPath):
    """An object of a bucket of S3 or of Google, or of a container of Azure, below the URL of that."""

    @classmethod
    def of(cls, url: str) -> BucketPath:
        """The place that a URL names; raises Refusal when it names none below a bucket."""
        match, scheme = _URL.fullmatch(url), BUCKETS[_scheme(url)]
        parts = (match[3] or "").strip("/").split("/") if match else [""]
        is_azure = scheme == "abfss"
        if match is None or any(part in ("", ".", "..") for part in parts) or (
            is_azure and not _CONTAINER.fullmatch(match[2])
        ):  # fmt: skip
            owner = "CONTAINER@ACCOUNT.dfs.core.windows.net" if is_azure else "BUCKET"
            raise Refusal(f"{url} names no folder of a bucket; write {scheme}://{owner}/FOLDER")
        return cls(f"{scheme}://{match[2]}", "/".join(parts))

    @contextlib.contextmanager
    def _errors(self) -> Iterator[Any]:
        """The client; its errors are those of files."""
        store = bucket(self.store)
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
        """See ObjectPath; the version is the ETag, and of Google the number of the generation too."""
        import obstore

        with self._errors() as store:
            result = obstore.get(store, self.key)
            return bytes(result.bytes()), _version(result.meta)

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
        return self._put(data, dict(version))

    def _put(self, data: bytes | IO[bytes], mode: Any) -> Any:
        import obstore

        with self._errors() as store:
            return _version(obstore.put(store, self.key, data, mode=mode, use_multipart=False))

    def unlink(self, missing_ok: bool = False) -> None:
        """See ObjectPath."""
        import obstore

        with self._errors() as store:
            obstore.delete(store, self.key)


def _version(of: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    return tuple((name, of[name]) for name in ("e_tag", "version") if of[name])


def _reason(error: Exception) -> str:
    """What a store says, without the client's account of its attempts."""
    text = " ".join(str(error).split())
    said = re.search(r"<Message>([^<]+)", text)
    return said[1] if said else text.partition(" Debug source:")[0][:300]


STORES: dict[str, type[BucketPath | HdfsPath]] = {
    **dict.fromkeys(BUCKETS, BucketPath), **dict.fromkeys(("webhdfs", "hdfs"), HdfsPath)
}  # fmt: skip
"""The kind of path by the scheme of a URL."""


def _scheme(text: str) -> str:
    scheme, mark, _ = text.partition("://")
    return scheme.lower() if mark else ""


def is_served(text: str) -> bool:
    """Whether a text is a URL of a store."""
    return _scheme(text) in STORES


def place_of(text: str) -> AnyPath:
    """The place that a path or a URL names; raises Refusal for a URL of a store that names no folder there."""
    return STORES[_scheme(text)].of(text) if is_served(text) else Path(text)
