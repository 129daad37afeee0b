"""`kraftcheck serve`: what it prints and refuses, who gets an answer, and malformed questions."""

import hashlib
import hmac
import json
import re
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock
from urllib.parse import urlsplit

import pytest

from kraftcheck.ci.explore.serve.application import FOLDER
from kraftcheck.ci.explore.serve.documents import Paths
from kraftcheck.ci.explore.serve.server import MOST_BYTES, POLICY, running
from kraftcheck.ci.terminal.refusal import Refusal
from tests.ci.explore.serve.asking import Server, of_system, serving
from tests.ci.explore.serve.toys import NAME
from tests.shared.commands import kraftcheck, start

URL = re.compile(r"http://127\.0\.0\.1:\d+/[\w-]{32}/\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_prints_its_address_once_and_ends_at_once(number: signal.Signals) -> None:
    """Through a pipe too: title, address, how it ends; then Ctrl-C or SIGTERM ends it quietly, amid an exploration."""
    process = start(("serve", "tests.toys:TWO_PHASE", "--managers", 9))
    try:
        check_served(process, number)
    finally:
        process.kill()
        process.communicate()


def check_served(process: subprocess.Popen[str], number: signal.Signals) -> None:
    """The lines, an exploration that begins, and the end by a signal."""
    assert process.stdout is not None
    assert process.stdout.readline() == "tests.toys:TWO_PHASE, scope 3 (managers 9)\n"
    url = process.stdout.readline()
    assert URL.fullmatch(url)
    assert process.stdout.readline() == "Ctrl-C ends it\n"
    asked = {"Content-Type": "application/json"}
    body = json.dumps({"states": 50_000_000}).encode()
    with urllib.request.urlopen(urllib.request.Request(f"{url.strip()}api/explore", body, asked)) as answer:
        assert json.load(answer)["state"] == "running"
    begun = time.monotonic()
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (0, "", "")
    assert time.monotonic() - begun < 3


@pytest.mark.parametrize(
    ("words", "refusal"),
    [
        ("elctions", "unknown system 'elctions'; did you mean elections"),
        ("elections --scope tinny", "elections has no scope 'tinny'; did you mean tiny"),
        ("elections --brokers", "--brokers takes an int, not ''"),
        ("elections --beside fxed", "unknown rule set 'fxed'; did you mean fixed"),
        ("elections --system a:B", "--system is of TRACE and OUT; leave it out"),
        ("elections clock", "one SYSTEM at a time; 'clock' is too much"),
        ("missing/x.itf.json", "cannot read missing/x.itf.json: No such file or directory"),
        ("missing/x.py:SYSTEM", "missing/x.py"),
        (".", "holds neither a trace nor report.json; give the folder of explore --out"),
        ("foreign.json", "foreign.json: key #meta: missing"),
        ("foreign.json --rules fixed", "--rules is of SYSTEM, and a file says its own; leave it out"),
        ("foreign.json --brokers 2", "--brokers is of SYSTEM, and a file says its own; leave it out"),
        ("elections --port 70000", "Invalid value for '--port': 70000 is not in the range"),
    ],
)
def test_what_cannot_be_served_is_refused(
    words: str, refusal: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line, with the mend, before anything listens."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "foreign.json").write_text('{"states": [{"x": 1}]}')
    assert refusal in kraftcheck("serve", *words.split()).refusal()


def test_open_opens_the_address(monkeypatch: pytest.MonkeyPatch) -> None:
    """--open gives the browser the address that is printed; without an argument the system is elections."""
    opened: list[str] = []

    def browse(url: str) -> None:
        opened.append(url)
        signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr("webbrowser.open", browse)
    done = kraftcheck("serve", "--scope", "tiny", "--open")
    assert done.code == 0, done.err
    title, url, _ = done.out.splitlines()
    assert title.startswith("elections, scope tiny (brokers 2, ")
    assert opened == [url]


def test_a_file_in_a_folder_is_served_as_it_is_explored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`folder/file.py:NAME` names a system, with its bounds and scopes, and no trace file."""
    (tmp_path / "systems").mkdir()
    (tmp_path / "systems" / "commit.py").write_text("from tests.toys import TWO_PHASE\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("webbrowser.open", lambda url: signal.raise_signal(signal.SIGTERM))
    done = kraftcheck("serve", "systems/commit.py:TWO_PHASE", "--managers", 4, "--open")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("systems/commit.py:TWO_PHASE, scope 3 (managers 4)\n")


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


@pytest.fixture(scope="module")
def asked() -> Iterator[Server]:
    """A asked of the lift."""
    with serving(of_system(NAME), "base+overshoots") as answering:
        yield answering


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (b"{", "the request: line 1: not JSON: Expecting property name"),
        (b"[" * 100_000, "the request: not usable JSON: "),
        (b'{"at": 1, "at": 2}', "the request: not usable JSON: key 'at' is repeated"),
        (b"\xff", "the request: not UTF-8 text"),
        (b"[]", "the request is no JSON object"),
        (b'{"steps": 5}', "steps takes a list"),
        (b'{"steps": [5]}', "step 1 takes the number of an action and of its arguments' values"),
        (b'{"steps": [[]]}', "step 1 takes the number of an action"),
        (b'{"steps": [[0, -1]]}', "step 1 takes the number of an action"),
        (b'{"steps": [[true]]}', "step 1 takes the number of an action"),
        (b'{"steps": ["00"]}', "step 1 takes the number of an action"),
        (b'{"start": "0"}', "start takes a number from 0"),
        (b'{"start": -1}', "start takes a number from 0"),
        (b'{"at": 1}', "at takes a number from 0 to 0"),
        (b'{"beside": ""}', "beside takes a line of text"),
        (b'{"beside": "a\\nb"}', "beside takes a line of text"),
        (b'{"of": 7}', "of takes a line of text"),
    ],
)
def test_what_is_malformed_is_400(asked: Server, body: bytes, error: str) -> None:
    """No question that cannot be read is answered."""
    status, document = asked.post("path", body)
    assert status == 400
    assert document["error"].startswith(error)


@pytest.mark.parametrize(
    ("question", "error"),
    [
        ({"steps": [[9]]}, "step 1: there is no action 9; the system has actions 0..2"),
        ({"steps": [[0]]}, "step 1: rise takes 1 arguments, not 0"),
        ({"steps": [[0, 0], [0, 2]]}, "step 2: rise has no value 2 of by; there are 2"),
        ({"start": 2}, "there is no initial state 2; numbers are 0..1"),
        ({"steps": [[2], [0, 0]]}, "step 2: rise(by=1) is not enabled: false: the door is shut"),
        ({"steps": [[0, 1], [0, 1]]}, "step 2: rise(by=3) leads beyond the scope: floor = 6 is outside its domain"),
        ({"of": "lift,default"}, f"this address is of lift,default; the page shows {NAME},default,base"),
        ({"beside": "bsae"}, "unknown rule set 'bsae'; did you mean base?"),
    ],
)
def test_what_does_not_fit_the_system_is_422(asked: Server, question: dict[str, Any], error: str) -> None:
    """A path that the system does not have is refused by naming the step, and what stops it."""
    status, told = asked.refused("path", **question)
    assert (status, told[: len(error)]) == (422, error)


def test_too_much_is_413(asked: Server) -> None:
    """A path beyond the limit is refused by the limit, and a body beyond it is not read."""
    assert asked.refused("path", steps=[[2]] * 1001) == (413, "a path has at most 1,000 steps, not 1,001")
    assert len(asked.ask("path", steps=[[2]] * 1000)["columns"]) == 1001
    path = f"/{asked.url.split('/')[3]}/api/path"
    headers = {"Content-Type": "application/json", "Content-Length": str(MOST_BYTES + 1)}
    assert asked.send("POST", path, b" " * 100, **headers)[0] == 413


@pytest.mark.parametrize(
    ("name", "question", "expected"),
    [
        ("graph", {"limit": 0}, (400, "limit takes a number from 1 to 5,000")),
        ("graph", {"limit": 5001}, (400, "limit takes a number from 1 to 5,000")),
        ("graph", {"fields": "floor"}, (400, "fields takes a list of texts")),
        ("graph", {"fields": ["flor"]}, (422, "states have no field 'flor'; did you mean floor?")),
        ("explore", {"states": 10**9}, (400, "states takes a number from 1 to 50,000,000")),
        ("search", {}, (400, "expression is missing; give one, such as size(isr) == 0")),
        ("search", {"expression": "floor", "states": 0}, (400, "states takes a number from 1 to 50,000,000")),
        ("job", {"number": 77}, (404, "there is no search 77")),
        ("nothing", {}, (404, "there is nothing here (404 Not Found)")),
    ],
)
def test_other_questions_are_read_with_the_same_care(
    asked: Server, name: str, question: dict[str, Any], expected: tuple[int, str]
) -> None:
    """Graphs, explorations and their jobs have limits, and refuse in one line."""
    assert asked.refused(name, **question) == expected


def test_a_form_of_another_page_is_no_question(asked: Server) -> None:
    """What a browser sends without asking first, a form or plain text, is refused with 415."""
    for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
        assert asked.post("system", b"{}", kind) == (415, {"error": "the request is no application/json"})
    assert asked.send("GET", f"/{asked.url.split('/')[3]}/api/system")[0] == 405


def test_a_fault_is_a_line_and_500(asked: Server, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """An error that nobody foresaw is one line in the answer and on standard error, and the asked goes on."""

    def fail(*_: object) -> None:
        raise RuntimeError("two\nlines")

    monkeypatch.setattr(Paths, "sessions", fail)
    status, document = asked.post("path", json.dumps({}).encode())
    assert (status, document) == (500, {"error": "fault of kraftcheck: RuntimeError: two lines"})
    assert capsys.readouterr().err == "kraftcheck: fault of kraftcheck: RuntimeError: two lines\n"
    monkeypatch.undo()
    assert asked.ask("path")["at"] == 0


VENDOR = FOLDER / "vendor"
LICENCES = {"MIT": "The MIT License (MIT)", "Apache-2.0": "Apache License"}


def test_the_files_of_others_are_unchanged_and_licensed() -> None:
    """Each script has a row with its digest, and a file with the licence that the row names."""
    rows = [line.split() for line in (VENDOR / "origin.txt").read_text(encoding="utf-8").splitlines()[3:]]
    assert {row[0] for row in rows} == {path.name for path in VENDOR.glob("*.mjs")}
    for name, package, _, _, licence, digest in rows:
        assert hashlib.sha256((VENDOR / name).read_bytes()).hexdigest() == digest
        assert LICENCES[licence] in (VENDOR / f"{package}.LICENSE.txt").read_text(encoding="utf-8")
