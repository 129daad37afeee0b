"""A server of the page for tests, and questions to it over HTTP."""

import contextlib
import http.client
import json
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from attrs import frozen

from kraftcheck.ci.explore.serve.application import Application, Jobs
from kraftcheck.ci.explore.serve.documents import Subjects
from kraftcheck.ci.explore.serve.finished import Opened
from kraftcheck.ci.explore.serve.server import running
from kraftcheck.ci.systems.subject import program, subject
from kraftcheck.ci.terminal.machine import cache_folder


@frozen
class Server:
    """A server that answers."""

    url: str  # of its page
    subjects: Subjects  # what it is about

    @property
    def host(self) -> str:
        """The name and port that it answers under."""
        return urlsplit(self.url).netloc

    def send(self, method: str, path: str, body: bytes = b"", **headers: str) -> tuple[int, dict[str, str], bytes]:
        """A request as it is: status, headers and body of the answer."""
        connection = http.client.HTTPConnection("127.0.0.1", int(self.host.partition(":")[2]), timeout=60)
        try:
            connection.putrequest(method, path, skip_host=True)
            for name, value in {"Host": self.host, "Content-Length": str(len(body)), **headers}.items():
                connection.putheader(name, value)
            connection.endheaders(body)
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            connection.close()

    def post(self, name: str, body: bytes, kind: str = "application/json") -> tuple[int, Any]:
        """The status and document of an answer to a body."""
        path = f"{urlsplit(self.url).path}api/{name}"
        status, _, answer = self.send("POST", path, body, **{"Content-Type": kind})
        return status, json.loads(answer)

    def ask(self, name: str, **question: Any) -> Any:
        """The answer to a question that has one."""
        status, document = self.post(name, json.dumps(question).encode())
        assert status == 200, document
        return document

    def refused(self, name: str, **question: Any) -> tuple[int, str]:
        """The status and the line of a refusal."""
        status, document = self.post(name, json.dumps(question).encode())
        assert status != 200, document
        assert "\n" not in document["error"]
        return status, document["error"]

    def finished(self, job: Any) -> Any:
        """A job once it has ended."""
        until = time.monotonic() + 120
        while job["state"] == "running":
            assert time.monotonic() < until, job
            time.sleep(0.05)
            job = self.ask("job", number=job["number"])
        return job


@contextlib.contextmanager
def serving(opened: Opened, beside: str | None = None) -> Iterator[Server]:
    """A server for what is opened."""
    subjects = Subjects(opened.chosen, program(opened.chosen), cache_folder())
    jobs = Jobs()
    with running(Application(opened, subjects, beside, jobs).wsgi(), 0) as server:
        yield Server(server.url, subjects)
        jobs.stop_all()


def of_system(name: str, scope: str | None = None, rules: str | None = None) -> Opened:
    """A system without traces."""
    return Opened(subject(name, scope, {}, rules))
