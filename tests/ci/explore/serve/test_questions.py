"""The questions of the page over HTTP: what is malformed or does not fit is one line with the right status."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from kraftcheck.ci.explore.serve.documents import Paths
from kraftcheck.ci.explore.serve.server import MOST_BYTES
from tests.ci.explore.serve.asking import Server, of_system, serving
from tests.ci.explore.serve.toys import NAME


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A server of the lift."""
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
def test_what_is_malformed_is_400(server: Server, body: bytes, error: str) -> None:
    """No question that cannot be read is answered."""
    status, document = server.post("path", body)
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
def test_what_does_not_fit_the_system_is_422(server: Server, question: dict[str, Any], error: str) -> None:
    """A path that the system does not have is refused by naming the step, and what stops it."""
    status, told = server.refused("path", **question)
    assert (status, told[: len(error)]) == (422, error)


def test_too_much_is_413(server: Server) -> None:
    """A path beyond the limit is refused by the limit, and a body beyond it is not read."""
    assert server.refused("path", steps=[[2]] * 1001) == (413, "a path has at most 1,000 steps, not 1,001")
    assert len(server.ask("path", steps=[[2]] * 1000)["columns"]) == 1001
    path = f"/{server.url.split('/')[3]}/api/path"
    headers = {"Content-Type": "application/json", "Content-Length": str(MOST_BYTES + 1)}
    assert server.send("POST", path, b" " * 100, **headers)[0] == 413


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
    server: Server, name: str, question: dict[str, Any], expected: tuple[int, str]
) -> None:
    """Graphs, explorations and their jobs have limits, and refuse in one line."""
    assert server.refused(name, **question) == expected


def test_a_form_of_another_page_is_no_question(server: Server) -> None:
    """What a browser sends without asking first, a form or plain text, is refused with 415."""
    for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
        assert server.post("system", b"{}", kind) == (415, {"error": "the request is no application/json"})
    assert server.send("GET", f"/{server.url.split('/')[3]}/api/system")[0] == 405


def test_a_fault_is_a_line_and_500(server: Server, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """An error that nobody foresaw is one line in the answer and on standard error, and the server goes on."""

    def fail(*_: object) -> None:
        raise RuntimeError("two\nlines")

    monkeypatch.setattr(Paths, "sessions", fail)
    status, document = server.post("path", json.dumps({}).encode())
    assert (status, document) == (500, {"error": "fault of kraftcheck: RuntimeError: two lines"})
    assert capsys.readouterr().err == "kraftcheck: fault of kraftcheck: RuntimeError: two lines\n"
    monkeypatch.undo()
    assert server.ask("path")["at"] == 0
