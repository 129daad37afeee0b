"""The server: it listens on the loopback address, until it is asked to end."""

from __future__ import annotations

import contextlib
import logging
import secrets
import socket
import threading
from collections.abc import Iterator
from typing import Any

from attrs import frozen
from waitress import create_server, wasyncore

from kraftcheck.ci.explore.serve.access import LOOPBACK, Guarded, WsgiApp
from kraftcheck.ci.terminal.refusal import Refusal

THREADS = 4
MOST_BYTES = 1 << 20
"""The largest request."""

GRACE_SECONDS = 0.3
"""How long answers that are being made may take once the server ends; then nobody gets them."""


@frozen
class Running:
    """A server that answers.

    Attributes:
        url: of its page, with the token.
        thread: which ends only after a fault.
    """

    url: str
    thread: threading.Thread


@contextlib.contextmanager
def running(application: WsgiApp, port: int) -> Iterator[Running]:
    """A server for an application; it ends with the block.

    Args:
        application: what it answers with.
        port: where it listens; 0: any free one.

    Raises:
        Refusal: where the port is taken.
    """
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
