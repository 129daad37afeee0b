"""Requests to HDFS by WebHDFS: HTTP, which every namenode serves, so that no Java is needed where tasks run.

The namenode answers what is about names itself, and sends whoever reads or writes data on to a datanode. A connection
serves one request: a pooled one may be closed by the server, and a rename or a removal that was perhaps done must not
be asked for again.
"""

from __future__ import annotations

import contextlib
import errno
import getpass
import http.client
import json
import os
from collections.abc import Mapping
from typing import IO, Any
from urllib.parse import quote, urlencode, urlsplit, urlunsplit

from kraftcheck.ci.dataset.store.objects import PresentError

CONNECT_SECONDS, ANSWER_SECONDS = 10.0, 60.0
ATTEMPTS = 5
"""How often a namenode is asked for a datanode: for some minutes it names one that has died, too."""

_REDIRECT = 307
_PORT = "name the port of the namenode's web server (dfs.namenode.http-address, 9870 unless changed)"
_REACHED = "the web servers of the namenode and of the datanodes must be reached from here"

Data = bytes | IO[bytes]


def ask(store: str, path: str, method: str, operation: str, field: str = "", **words: str) -> Any:
    """What a namenode answers about a name.

    Args:
        store: its URL, webhdfs://HOST:PORT.
        path: the name, from the root on.
        method, operation, words: as in the documentation of WebHDFS.
        field: of the document that it answers; empty: it answers none.

    Raises:
        FileNotFoundError, PresentError, PermissionError: as the namenode says.
        OSError: for all else.
    """
    data = _answer(_url(store, path, operation, words), method, None, path)[1]
    try:
        return json.loads(data)[field] if field else None
    except (ValueError, KeyError, TypeError) as error:
        raise _failure(200, data, urlsplit(store).netloc, path) from error


def transfer(store: str, path: str, method: str, operation: str, body: Data | None = None, **words: str) -> bytes:
    """Read from a datanode, or write to one, that the namenode names; the operation can be asked for again.

    Raises:
        FileNotFoundError, PermissionError, OSError: as `ask` does.
    """
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
