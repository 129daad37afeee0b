"""Only who knows the token, and asks this machine by its own name, gets an answer from the server of the page."""

from __future__ import annotations

import hmac
import socket
from collections.abc import Iterator
from unittest import mock
from urllib.parse import urlsplit

import pytest

from kraftcheck.ci.explore.serve.server import POLICY, running
from kraftcheck.ci.terminal.refusal import Refusal
from tests.ci.explore.serve.asking import Server, of_system, serving


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A server of a toy."""
    with serving(of_system("tests.toys:CLOCK")) as answering:
        yield answering


def test_the_server_listens_on_the_loopback_address_alone(server: Server) -> None:
    """The port answers on 127.0.0.1, and not on another address of this machine."""
    port = int(server.host.partition(":")[2])
    with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
        assert connection.getpeername() == ("127.0.0.1", port)
    with pytest.raises(OSError):  # noqa: PT011, refused or unreachable
        socket.create_connection(("127.0.0.2", port), timeout=5)


def test_a_token_is_long_and_of_one_server(server: Server) -> None:
    """Each server draws its own token, of 24 random bytes."""
    with serving(of_system("tests.toys:CLOCK")) as other:
        tokens = {urlsplit(url).path.strip("/") for url in (server.url, other.url)}
    assert len(tokens) == 2
    assert all(len(token) == 32 for token in tokens)


@pytest.mark.parametrize("path", ["/", "/x/", "/api/system", "/{token}x/", "/{short}/", "/../{token}/"])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_without_the_token_nothing_is_answered(server: Server, method: str, path: str) -> None:
    """A missing, longer or shorter token is refused with 403 and one line, whatever the path and the method."""
    token = urlsplit(server.url).path.strip("/")
    status, _, body = server.send(method, path.format(token=token, short=token[:-1]))
    assert (status, body) == (403, b'{"error": "the address lacks the token; use the address that the server printed"}')


def test_the_token_is_compared_in_constant_time(server: Server) -> None:
    """The comparison is the one that takes equally long whatever is equal."""
    with mock.patch("hmac.compare_digest", wraps=hmac.compare_digest) as compared:
        assert server.send("GET", "/wrong/")[0] == 403
    assert compared.call_args.args == (b"wrong", urlsplit(server.url).path.strip("/").encode())


FOREIGN = ["evil.example", "evil.example:{port}", "127.0.0.1", "localhost:1", "[::1]:{port}", ""]


@pytest.mark.parametrize("host", FOREIGN)
def test_a_foreign_name_is_refused(server: Server, host: str) -> None:
    """A name that has come to mean this machine (DNS rebinding), or another port, is refused with the right token."""
    named = host.format(port=server.host.partition(":")[2])
    status, _, body = server.send("GET", urlsplit(server.url).path, Host=named)
    assert (status, b"under the address that it printed" in body) == (403, True)


def test_the_own_names_are_answered(server: Server) -> None:
    """127.0.0.1 and localhost with the port are this machine."""
    port = server.host.partition(":")[2]
    for host in (f"127.0.0.1:{port}", f"localhost:{port}"):
        assert server.send("GET", urlsplit(server.url).path, Host=host)[0] == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1:{port}", "http://127.0.0.1:1"])
def test_another_site_gets_nothing(server: Server, origin: str) -> None:
    """A request from a page of another origin is refused, and no answer lets another origin read it."""
    path = f"{urlsplit(server.url).path}api/system"
    given = origin.format(port=server.host.partition(":")[2])
    kind = {"Content-Type": "application/json"}
    assert server.send("POST", path, b"{}", Origin=given, **kind)[0] == 403
    status, headers, _ = server.send("POST", path, b"{}", Origin=f"http://{server.host}", **kind)
    assert status == 200
    assert not [name for name in headers if name.lower().startswith("access-control")]


def test_every_answer_has_the_policy(server: Server) -> None:
    """Page, scripts, refusals and what is not there: nothing is loaded from elsewhere, framed, cached or guessed."""
    base = urlsplit(server.url).path
    answers = [server.send("GET", path) for path in (base, f"{base}main.js", f"{base}nothing", "/wrong/")]
    assert [status for status, _, _ in answers] == [200, 200, 404, 403]
    for _, headers, _ in answers:
        assert headers["Content-Security-Policy"] == POLICY
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert headers["Cache-Control"] == "no-store"
    parts = dict(part.split(" ", 1) for part in POLICY.split("; "))
    assert parts["default-src"] == parts["frame-ancestors"] == parts["base-uri"] == parts["form-action"] == "'none'"
    assert {value for kind, value in parts.items() if kind.endswith("-src")} == {"'none'", "'self'"}


def test_an_address_without_its_last_slash_leads_to_the_page(server: Server) -> None:
    """What was copied without the slash is led to the address below which the page's parts are."""
    path = urlsplit(server.url).path
    status, headers, _ = server.send("GET", path.rstrip("/"))
    assert (status, headers["Location"]) == (308, path)


@pytest.mark.parametrize("path", ["../application.py", "%2e%2e/application.py", "main.py", "vendor/preact.mjs", "api/"])
def test_only_the_files_of_the_page_are_there(server: Server, path: str) -> None:
    """No path leads out of the list of the page's own files."""
    status, _, body = server.send("GET", f"{urlsplit(server.url).path}{path}")
    assert (status, b"there is nothing here" in body) == (404, True)


def test_a_taken_port_is_refused() -> None:
    """A port on which something listens is refused in one line with the mend."""
    with serving(of_system("tests.toys:CLOCK")) as other:
        port = int(other.host.partition(":")[2])
        refused = pytest.raises(Refusal, match=f"cannot listen on port {port}: .*; give another --port")
        with refused, running(lambda *_: [], port):
            pytest.fail("the port is taken")
