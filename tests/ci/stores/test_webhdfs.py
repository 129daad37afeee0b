"""What is asked of a namenode, where it answers otherwise than a cluster that is well, or not at all."""

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest

from kraftcheck.ci.dataset.store import stores as hdfs
from kraftcheck.ci.dataset.store.stores import HdfsPath, place_of
from kraftcheck.ci.terminal.refusal import Refusal
from tests.ci.stores.test_url_runs import WORDS
from tests.shared.commands import kraftcheck, start

CLOSED = "127.0.0.1:1"  # a port where nobody listens


@contextmanager
def answering(answer: Callable[[BaseHTTPRequestHandler], None]) -> Iterator[HdfsPath]:
    """A folder of a server on this machine that answers each request so."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer(self)

        do_PUT = do_DELETE = do_GET  # noqa: N815, as http.server calls them

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield HdfsPath(f"webhdfs://127.0.0.1:{server.server_port}", "runs/x")
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def reply(handler: BaseHTTPRequestHandler, status: int, data: bytes, **headers: str) -> None:
    """One whole response."""
    handler.send_response(status)
    for name, value in {"Content-Length": str(len(data)), **headers}.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(data)


@pytest.mark.parametrize("url", ["hdfs://h", "webhdfs://h:1/", "hdfs://h/a//b", "hdfs:///x", "webhdfs://u@h/x",
                                 "hdfs://h/.reserved/x"])  # fmt: skip
def test_a_url_names_a_folder_of_a_namenode(url: str) -> None:
    """A URL without a folder is refused in one line."""
    with pytest.raises(Refusal, match="write webhdfs://NAMENODE:9870/FOLDER"):
        place_of(url)


def test_both_names_of_the_file_system_are_one_place() -> None:
    """hdfs:// is webhdfs://, the usual port may be left out, and a slash at the end is nothing."""
    assert place_of("hdfs://Name/a/b/") == place_of("webhdfs://name:9870/a/b") == HdfsPath("webhdfs://name:9870", "a/b")


@pytest.mark.parametrize("token", ["", "a+token/of=mine"])
def test_a_namenode_is_told_who_asks(token: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """HADOOP_TOKEN, a delegation token, says who asks; without one it is HADOOP_USER_NAME."""
    asked: list[dict[str, list[str]]] = []

    def answer(handler: BaseHTTPRequestHandler) -> None:
        asked.append(parse_qs(urlsplit(handler.path).query))
        reply(handler, 200, b"content")

    monkeypatch.setenv("HADOOP_USER_NAME", "alice")
    monkeypatch.setenv("HADOOP_TOKEN", token)
    with answering(answer) as place:
        place.read_bytes()
    who = {"delegation": [token]} if token else {"user.name": ["alice"]}
    assert asked == [{"op": ["OPEN"], **who}]


def test_another_datanode_is_asked_for() -> None:
    """Where the datanode that is named does not answer, the namenode names one again, and then the data is read."""
    named = [f"http://{CLOSED}/gone", f"http://{CLOSED}/gone", "here"]

    def answer(handler: BaseHTTPRequestHandler) -> None:
        if handler.path == "/data":
            reply(handler, 200, b"content")
            return
        location = named.pop(0)
        reply(handler, 307, b"", Location=f"http://{handler.headers['Host']}/data" if location == "here" else location)

    with answering(answer) as place:
        assert place.read_bytes() == b"content"
    assert named == []


def test_no_datanode_that_answers_is_an_error() -> None:
    """Where every datanode that is named is dead, reading ends with the name of the last one."""
    with (
        answering(lambda handler: reply(handler, 307, b"", Location=f"http://{CLOSED}/gone")) as place,
        pytest.raises(OSError, match=f"no answer from {CLOSED}: Connection refused.*{place.store}"),
    ):
        place.read_bytes()


STANDBY = b'{"RemoteException": {"exception": "StandbyException", "message": "not supported in standby\\nat a.C"}}'

ANSWERS: dict[str, tuple[Callable[[BaseHTTPRequestHandler], None], str]] = {
    "another web server": (lambda handler: reply(handler, 404, b"<html>no such page"), "is no namenode (HTTP 404)"),
    "no document": (lambda handler: reply(handler, 200, b"<html>welcome"), "is no namenode"),
    "no web server": (lambda handler: handler.wfile.write(b"SSH-2.0-x\r\n"), "does not speak HTTP"),
    "one that asks who": (lambda handler: reply(handler, 401, b"<html>"), "set HADOOP_TOKEN to a delegation token"),
    "one that stands by": (lambda handler: reply(handler, 403, STANDBY), "not supported in standby"),
}  # fmt: skip


@pytest.mark.parametrize("kind", ANSWERS)
def test_what_is_no_namenode_is_refused(kind: str) -> None:
    """A server that is none, or does not serve, is refused in one line that says why, for runs and for questions."""
    answer, message = ANSWERS[kind]
    with answering(answer) as place:
        for words in ((*WORDS, place), ("query", place, "SELECT 1")):
            refusal = kraftcheck(*words).refusal()
            assert message in refusal
            assert str(place) in refusal


def test_a_namenode_that_says_nothing_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that takes a request and does not answer it is refused when the time is over."""
    monkeypatch.setattr(hdfs, "ANSWER_SECONDS", 0.2)
    with answering(lambda handler: time.sleep(3)) as place:
        assert "timed out" in kraftcheck(*WORDS, place).refusal()


def test_an_interrupt_ends_a_wait_for_a_namenode() -> None:
    """Ctrl-C ends the command with one line, though the server that it waits for never answers."""
    asked, ended = threading.Event(), threading.Event()

    def silent(_: BaseHTTPRequestHandler) -> None:
        asked.set()
        ended.wait()

    with answering(silent) as place:
        driver = start([*WORDS, place])
        try:
            assert asked.wait(300)
            driver.send_signal(signal.SIGINT)
            out, err = driver.communicate(timeout=50)  # less than a request may take
            assert (driver.returncode, out, err) == (130, "", "kraftcheck: interrupted\n")
        finally:
            ended.set()
            driver.kill()
            driver.communicate()
