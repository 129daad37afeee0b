"""The server: it listens on the loopback address, until it is asked to end."""

from __future__ import annotations

import contextlib
import hmac
import json
import logging
import secrets
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from attrs import frozen
from waitress import create_server, wasyncore

from kraftcheck.ci.terminal.refusal import Refusal

LOOPBACK = "127.0.0.1"

WsgiApp = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]

POLICY = "; ".join(
    (
        *(f"{kind}-src 'self'" for kind in ("script", "style", "img", "connect")),
        *(f"{kind} 'none'" for kind in ("default-src", "base-uri", "form-action", "frame-ancestors")),
    )
)
"""The page takes scripts, styles and data from this server, and nothing else from anywhere."""

HEADERS = (
    ("Content-Security-Policy", POLICY),
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cache-Control", "no-store"),
)
"""Headers of every answer."""


@frozen
class Guarded:
    """An application behind the token."""

    application: WsgiApp  # what answers the requests that may be asked
    token: str  # the first part of every path
    port: int  # on which it listens

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Answer a request, or refuse it with 403 and one line."""

        def start(status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> Any:
            return start_response(status, [*headers, *HEADERS], exc_info)

        first, slash, rest = str(environ.get("PATH_INFO", "")).removeprefix("/").partition("/")
        refusal = self._refusal(environ, first)
        if not refusal and not slash:  # relative addresses in the page begin below the token
            start("308 Permanent Redirect", [("Location", f"/{self.token}/"), ("Content-Length", "0")])
            return [b""]
        if not refusal:
            return self.application({**environ, "PATH_INFO": f"/{rest}"}, start)
        body = json.dumps({"error": refusal}).encode()
        start("403 Forbidden", [("Content-Type", "application/json"), ("Content-Length", str(len(body)))])
        return [body]

    def _refusal(self, environ: dict[str, Any], token: str) -> str:
        """Why a request is not answered; empty where it is."""
        hosts = {f"{name}:{self.port}" for name in (LOOPBACK, "localhost")}
        if environ.get("HTTP_HOST") not in hosts:
            return "this server answers under the address that it printed, and under no other name"
        origin = environ.get("HTTP_ORIGIN")
        if origin is not None and origin not in {f"http://{host}" for host in hosts}:
            return "this server answers no other site"
        if not hmac.compare_digest(token.encode("latin-1", "replace"), self.token.encode()):
            return "the address lacks the token; use the address that the server printed"
        return ""


THREADS = 4
MOST_BYTES = 1 << 20  # the largest request
GRACE_SECONDS = 0.3  # how long answers that are being made may take once the server ends; then nobody gets them


@frozen
class Running:
    """A server that answers."""

    url: str  # of its page, with the token
    thread: threading.Thread  # which ends only after a fault


@contextlib.contextmanager
def running(application: WsgiApp, port: int) -> Iterator[Running]:
    """A server for an application, as long as the block; port 0: any free one; raises Refusal where it is taken."""
    logging.getLogger("waitress").setLevel(logging.ERROR)  # a full queue of requests is no news for the user
    token, listener = secrets.token_urlsafe(24), _listener(port)
    number = listener.getsockname()[1]
    connections: dict[int, Any] = {}
    server = create_server(
        Guarded(application, token, number), map=connections, sockets=[listener], threads=THREADS, ident=None,
        max_request_body_size=MOST_BYTES, clear_untrusted_proxy_headers=True,
    )  # fmt: skip
    ended = threading.Event()

    def work() -> None:
        while not ended.is_set():
            wasyncore.loop(map=connections, count=1)

    thread = threading.Thread(target=work, name="server", daemon=True)
    thread.start()
    try:
        yield Running(f"http://{LOOPBACK}:{number}/{token}/", thread)
    finally:
        ended.set()
        server.pull_trigger()  # its thread waits for connections: no socket is closed below it
        thread.join()
        server.task_dispatcher.shutdown(timeout=GRACE_SECONDS)
        wasyncore.close_all(connections)


def _listener(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((LOOPBACK, port))
    except OSError as error:
        listener.close()
        raise Refusal(f"cannot listen on port {port}: {error.strerror or error}; give another --port") from error
    listener.listen()
    return listener
