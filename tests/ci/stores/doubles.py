"""A server on this machine that answers as the stores of Google and of Azure do: as much as a dataset asks of them.

Sources: the XML API of Cloud Storage (`x-goog-if-generation-match`), and the Blob service's REST API (`If-None-Match`,
`If-Match`).
"""

import itertools
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

CONTAINER, ACCOUNT = "box", "account"
GENERATION = "x-goog-if-generation-match"
DATED = "Thu, 01 Jan 2026 00:00:00 GMT"


class Store(BaseHTTPRequestHandler):
    """One request; the objects of all are those of the class."""

    protocol_version = "HTTP/1.1"
    objects: dict[str, tuple[bytes, int]]
    numbers: Iterator[int]
    lock = threading.Lock()

    def log_message(self, *_: Any) -> None:
        """Nothing is said."""

    def do_PUT(self) -> None:
        """An object is made or replaced, if the condition holds."""
        data, headers = self.rfile.read(int(self.headers["Content-Length"])), self.headers
        with self.lock:
            _, number = self.objects.get(self.key, (b"", 0))
            wanted = headers.get("If-Match")
            holds = (
                headers.get(GENERATION, str(number)) == str(number)
                and (wanted is None or wanted == f'"{number}"')
                and not (headers.get("If-None-Match") == "*" and number)
            )
            if holds:
                self.objects[self.key] = data, next(self.numbers)
        refused = 409 if headers.get("If-None-Match") else 412
        self.answer(201 if holds else refused, b"", self.objects[self.key][1])

    def do_GET(self) -> None:
        """An object, a part of one, or the names of some."""
        words = parse_qs(urlsplit(self.path).query)
        if "list-type" in words or words.get("comp") == ["list"]:
            self.answer(200, self.names(words.get("prefix", [""])[0], "list-type" in words))
            return
        data, number = self.objects.get(self.key, (b"", 0))
        part = re.match(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        if not number:
            self.answer(404, b"<Error><Message>There is no such thing.</Message></Error>")
        elif part:
            start, end = int(part[1]), min(int(part[2]) + 1, len(data))
            self.answer(206, data[start:end], number, f"bytes {start}-{end - 1}/{len(data)}")
        else:
            self.answer(200, data, number)

    def do_HEAD(self) -> None:
        """As of GET, without the object."""
        self.do_GET()

    def do_DELETE(self) -> None:
        """An object goes."""
        self.answer(202 if self.objects.pop(self.key, None) else 404, b"")

    def do_POST(self) -> None:
        """Objects go, each by a request of a batch, as the client of Azure removes one too."""
        data = self.rfile.read(int(self.headers["Content-Length"])).decode()
        parts = []
        for number, key in enumerate(re.findall(r"^DELETE /?(\S+)", data, re.MULTILINE)):
            gone = self.objects.pop(f"/{ACCOUNT}/{unquote(key).removeprefix(f'{ACCOUNT}/')}", None)
            status = "202 Accepted" if gone else "404 The specified blob does not exist."
            head = f"--batch\r\nContent-Type: application/http\r\nContent-ID: {number}\r\n\r\nHTTP/1.1 {status}\r\n"
            parts.append(head + "x-ms-request-id: 1\r\nx-ms-version: 2023-11-03\r\n\r\n")
        self.answer(202, ("".join(parts) + "--batch--\r\n").encode(), kind="multipart/mixed; boundary=batch")

    @property
    def key(self) -> str:
        """The name of the object."""
        return unquote(urlsplit(self.path).path)

    def names(self, prefix: str, google: bool) -> bytes:
        """Objects whose names begin so, as either store lists them."""
        root = self.key.rstrip("/") + "/"
        found = [
            (key[len(root) :], *self.objects[key]) for key in sorted(self.objects) if key.startswith(root + prefix)
        ]
        if google:
            rows = "".join(
                f"<Contents><Key>{escape(name)}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified>"
                f'<ETag>"{number}"</ETag><Size>{len(data)}</Size></Contents>'
                for name, data, number in found
            )
            return f"<ListBucketResult>{rows}</ListBucketResult>".encode()
        rows = "".join(
            f"<Blob><Name>{escape(name)}</Name><Properties><Last-Modified>{DATED}</Last-Modified>"
            f'<Content-Length>{len(data)}</Content-Length><Content-Type>x</Content-Type><Etag>"{number}"</Etag></Properties></Blob>'
            for name, data, number in found
        )
        return f"<EnumerationResults><Blobs>{rows}</Blobs><NextMarker/></EnumerationResults>".encode()

    def answer(self, status: int, data: bytes, number: int = 0, part: str = "", kind: str = "") -> None:
        """Send a response."""
        self.send_response(status)
        told = {"Content-Length": str(len(data)), "Content-Range": part, "Content-Type": kind, "Last-Modified": DATED}
        told |= {"ETag": f'"{number}"', "x-goog-generation": str(number)} if number else {}
        for name, value in told.items():
            if value:
                self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)


@contextmanager
def serving() -> Iterator[str]:
    """The server's URL, while it runs."""
    kind = type("Served", (Store,), {"objects": {}, "numbers": itertools.count(1)})
    server = ThreadingHTTPServer(("127.0.0.1", 0), kind)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def settings(url: str) -> dict[str, str]:
    """The environment of a process that writes there."""
    account = {"gcs_base_url": url, "disable_oauth": True, "client_email": "", "private_key": "", "private_key_id": ""}
    return {
        "GOOGLE_SERVICE_ACCOUNT_KEY": json.dumps(account), "GOOGLE_ALLOW_HTTP": "true",
        "AZURE_STORAGE_ENDPOINT": f"{url}/{ACCOUNT}", "AZURE_ALLOW_HTTP": "true",
        "AZURE_STORAGE_ACCOUNT_KEY": "dGVzdA==",
    }  # fmt: skip
