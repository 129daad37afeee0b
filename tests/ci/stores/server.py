"""A server of the S3 protocol on this machine, with a bucket that keeps conditions and one that does not."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.request import Request, urlopen


@contextmanager
def serving() -> Iterator[str]:
    """The server's URL, while it runs; a write into the bucket `careless` heeds no condition."""
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
    try:
        yield url
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def settings(endpoint: str) -> dict[str, str]:
    """The environment of a process that writes there."""
    return {"AWS_ENDPOINT_URL": endpoint, "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}
