"""Who may ask the server: programs of this machine that know the token, under the name of this machine alone.

The server listens on the loopback address. Any page in the user's browser can send requests there too, so a request
counts only with the token, which is the first part of every path, and with a `Host` that is this machine: a foreign
name that has come to mean 127.0.0.1 is refused. Nothing is shared with other origins, and the page may load nothing
from elsewhere.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Callable, Iterable
from typing import Any

from attrs import frozen

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
    """An application behind the token.

    Attributes:
        application: what answers the requests that may be asked.
        token: the first part of every path.
        port: on which it listens.
    """

    application: WsgiApp
    token: str
    port: int

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
