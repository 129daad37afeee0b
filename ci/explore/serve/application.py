"""The questions that the page asks, and their answers, over HTTP."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import bottle
import click
from attrs import define

from kraftcheck.ci.explore.serve import questions
from kraftcheck.ci.explore.serve.documents import graph_document, path_document, system_document
from kraftcheck.ci.explore.serve.finished import Opened, counterexample
from kraftcheck.ci.explore.serve.jobs import Jobs
from kraftcheck.ci.explore.serve.numbering import instance_of, system_key
from kraftcheck.ci.explore.serve.questions import QuestionRefused, path_of
from kraftcheck.ci.explore.serve.searches import MOST_STATES, exploration
from kraftcheck.ci.explore.serve.state_search import state_search
from kraftcheck.ci.explore.serve.subjects import Subjects
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.solvers.drawings.svg import STYLE
from kraftcheck.solvers.neighbourhood.states import UnknownField, grouped, places
from kraftcheck.solvers.stepping.session import Session

FOLDER = Path(__file__).parent
STYLES = (FOLDER.parent / "page" / "page.css", FOLDER / "page" / "serve.css")
"""The style of the page: that of the page of a trace, and its own."""

SCRIPTS = tuple(sorted([*(FOLDER / "page").glob("*.js"), *(FOLDER / "vendor").glob("*.mjs")]))

MOST_NODES = 5000
"""States of the largest neighbourhood."""

Question = Mapping[str, Any]


@define
class Application:
    """The answers to the page.

    Attributes:
        opened: what the command line names.
        subjects: the system, traced.
        beside: the rules that the page sets beside first; None: none.
        jobs: the work in the background.
    """

    opened: Opened
    subjects: Subjects
    beside: str | None
    jobs: Jobs

    def wsgi(self) -> bottle.Bottle:
        """The application with its routes."""
        app = bottle.Bottle()
        app.default_error_handler = _refused
        app.route("/", "GET", lambda: _file(_text(FOLDER / "page" / "index.html"), "text/html"))
        app.route("/icon.svg", "GET", lambda: _file(_text(FOLDER / "page" / "icon.svg"), "image/svg+xml"))
        app.route("/style.css", "GET", lambda: _file(_style(), "text/css"))
        for path in SCRIPTS:
            app.route(f"/{path.name}", "GET", lambda path=path: _file(_text(path), "text/javascript"))
        answers: dict[str, Callable[[Question], Mapping[str, Any]]] = {
            "system": self.system, "path": self.path, "graph": self.graph, "explore": self.explore,
            "search": self.search, "job": self.job,
        }  # fmt: skip
        for name, answer in answers.items():
            app.route(f"/api/{name}", "POST", lambda answer=answer: _answered(answer))
        return app

    def system(self, _: Question) -> Mapping[str, Any]:
        """The system, what the command line opened, and how large questions may be."""
        examples = [counterexample(path, self.subjects.traced) for path in self.opened.traces]
        return {
            **system_document(self.subjects),
            "beside": self.beside,
            "counterexamples": examples,
            "report": self.opened.document,
            "most_states": MOST_STATES,
            "most_nodes": MOST_NODES,
        }

    def path(self, question: Question) -> Mapping[str, Any]:
        """A path with all that can be seen at one of its steps."""
        sessions, at = self._sessions(question)
        rules = questions.text(question, "beside")
        return path_document(self.subjects, sessions, at, None if rules is None else self.subjects.other(rules))

    def graph(self, question: Question) -> Mapping[str, Any]:
        """The neighbourhood of the state at the end of a path, states joined by the fields that are named."""
        sessions, at = self._sessions(question)
        limit, names = questions.number(question, "limit", 200, MOST_NODES, 1), questions.texts(question, "fields")
        try:
            around = self.subjects.around(self.subjects.traced.layout.pack(sessions[at].state), limit)
            drawn = grouped(around, names)
        except UnknownField as error:
            raise QuestionRefused(str(error), 422) from error
        return graph_document(around, drawn, places(drawn))

    def explore(self, question: Question) -> Mapping[str, Any]:
        """Begin an exploration of the whole space."""
        budget = questions.number(question, "states", 1_000_000, MOST_STATES, 1)
        return self.jobs.start(exploration(self.subjects, budget)).document()

    def search(self, question: Question) -> Mapping[str, Any]:
        """Begin a search from a step of a path for a state that satisfies an expression."""
        sessions, at = self._sessions(question)
        wanted = questions.text(question, "expression")
        if wanted is None:
            raise QuestionRefused("expression is missing; give one, such as size(isr) == 0")
        budget = questions.number(question, "states", 1_000_000, MOST_STATES, 1)
        return self.jobs.start(state_search(self.subjects, sessions[at], wanted, budget)).document()

    def job(self, question: Question) -> Mapping[str, Any]:
        """How far a job is; it is asked to end where the question says so."""
        job = self.jobs.find(questions.number(question, "number", 0, questions.MOST_NUMBER))
        if question.get("cancel") is True:
            job.stop.set()
        return job.document()

    def _sessions(self, question: Question) -> tuple[tuple[Session, ...], int]:
        """The sessions along the path of a question, and the number of the step that is looked at.

        Raises:
            QuestionRefused: where the path is of another system, or does not fit this one.
        """
        system, own = questions.text(question, "of"), system_key(self.subjects.chosen)
        if system is not None and system != own:
            raise QuestionRefused(f"this address is of {system}; the page shows {own}", 422)
        path, steps = path_of(question), list[int]()
        for place, step in enumerate(path.steps, start=1):
            try:
                steps.append(instance_of(self.subjects.traced, step))
            except QuestionRefused as error:
                raise QuestionRefused(f"step {place}: {error}", error.status) from error
        return self.subjects.paths.sessions(path.start, steps), path.at


def _answered(answer: Callable[[Question], Mapping[str, Any]]) -> str:
    """The answer to the request as JSON, or in one line why there is none."""
    try:
        if bottle.request.content_type.partition(";")[0] != "application/json":
            raise QuestionRefused("the request is no application/json", 415)
        document, status = answer(questions.parsed(bottle.request.body.read())), 200
    except QuestionRefused as error:
        document, status = {"error": " ".join(str(error).split())}, error.status
    except Refusal as error:
        document, status = {"error": " ".join(error.message.split())}, 422
    except Exception as error:
        line = " ".join(f"fault of kraftcheck: {type(error).__name__}: {error}".split())
        click.echo(f"kraftcheck: {line}", err=True)
        document, status = {"error": line}, 500
    bottle.response.status = status
    bottle.response.content_type = "application/json"
    return json.dumps(document)


def _refused(error: Any) -> str:
    """An address that is not there, as JSON."""
    bottle.response.content_type = "application/json"
    return json.dumps({"error": f"there is nothing here ({error.status_line})"})


def _file(text: str, kind: str) -> str:
    bottle.response.content_type = f"{kind}; charset=utf-8"
    return text


def _style() -> str:
    """The style of the page, with that of its drawings."""
    return "\n".join([*map(_text, STYLES), STYLE])


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")
