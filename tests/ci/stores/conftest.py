"""A server of the S3 protocol on this machine, with a bucket that keeps conditions and one that does not."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator
from typing import Any
from urllib.request import Request, urlopen

import pytest

from kraftcheck.ci.dataset.store import objects
from kraftcheck.ci.dataset.store.objects import ObjectPath


@pytest.fixture(scope="session")
def endpoint() -> Iterator[str]:
    """The server's URL; a write into the bucket `careless` heeds no condition."""
    from moto.server import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import WSGIRequestHandler, make_server

    app = DomainDispatcherApplication(create_backend_app)

    def serve(environ: dict[str, Any], start: Callable[..., Any]) -> Any:
        if environ["PATH_INFO"].startswith("/careless/"):
            environ.pop("HTTP_IF_NONE_MATCH", None)
            environ.pop("HTTP_IF_MATCH", None)
        return app(environ, start)

    class Quiet(WSGIRequestHandler):
        def log(self, *_: Any) -> None:
            pass

    server = make_server("127.0.0.1", 0, serve, threaded=True, request_handler=Quiet)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    url = f"http://127.0.0.1:{server.port}"
    for bucket in ("runs", "careless"):
        urlopen(Request(f"{url}/{bucket}", method="PUT")).close()
    yield url
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def store(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectPath]:
    """A folder of its own in a bucket of that server, for this process and those that it starts."""
    settings = {"AWS_ENDPOINT_URL": endpoint, "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    objects._bucket.cache_clear()
    yield ObjectPath("runs", f"a folder/{uuid.uuid4().hex}")
    objects._bucket.cache_clear()
