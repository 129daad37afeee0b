"""The questions that the page asks, and their answers, over HTTP."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import bottle
import click
from attrs import define, evolve, field

from kraftcheck.ci.explore.serve import finished
from kraftcheck.ci.explore.serve.documents import Subjects, graph_document, path_document, system_document
from kraftcheck.ci.explore.serve.finished import (
    Opened,
    QuestionRefused,
    by_cause,
    counterexample,
    instance_of,
    path_of,
    path_of_trace,
    step_of,
    system_key,
)
from kraftcheck.ci.run.questions import SearchQuestion, search, search_budget
from kraftcheck.ci.terminal.machine import default_memory
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.solvers.drawings.svg import STYLE
from kraftcheck.solvers.exploration.explore import Exploration, SearchProgress
from kraftcheck.solvers.expressions.checking import ExpressionError
from kraftcheck.solvers.expressions.expression import excluded, expression
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.program.verdict import Holds, Refuted, Vacuous
from kraftcheck.solvers.reference.confirm import EngineDisagreement
from kraftcheck.solvers.stepping.neighbourhood import UnknownField, grouped, places
from kraftcheck.solvers.stepping.session import Session

MOST_RUNNING, MOST_KEPT = 2, 20  # how many jobs run at once, and how many are remembered
Note = Callable[[str], None]  # says how far a job is
Work = Callable[[threading.Event, Note], Mapping[str, Any]]  # a job: it ends soon after the event is set


@define
class Job:
    """A piece of work."""

    number: int  # by which it is asked about
    stop: threading.Event = field(factory=threading.Event)  # set when it shall end
    state: str = "running"  # `running`, `done` or `failed`
    note: str = ""  # how far it is; why it failed
    result: Mapping[str, Any] | None = None  # of one that is done

    def document(self) -> dict[str, Any]:
        """The job as plain values."""
        state = "cancelled" if self.stop.is_set() else self.state  # a compiler hears nothing for a while
        return {"number": self.number, "state": state, "note": self.note, "result": self.result}

    def run(self, work: Work) -> None:
        """Do the work; what it is refused with becomes its note."""
        try:
            result = work(self.stop, self._say)
        except (Refusal, QuestionRefused) as error:
            self.note, state = " ".join(str(error).split()), "failed"
        except EngineDisagreement as error:
            self.note, state = f"the engine disagrees with the rules, no verdict: {error}", "failed"
        except Exception as error:
            self.note, state = f"fault of kraftcheck: {type(error).__name__}: {error}", "failed"
        else:
            self.result, state = None if self.stop.is_set() else result, "done"
        self.state = state

    def _say(self, note: str) -> None:
        self.note = note


@define
class Jobs:
    """The jobs of a server."""

    _jobs: dict[int, Job] = field(factory=dict)
    _lock: threading.Lock = field(factory=threading.Lock)
    _next: int = 1

    def start(self, work: Work) -> Job:
        """Begin some work on a thread of its own; raises QuestionRefused with status 429, while too many run."""
        with self._lock:
            if sum(job.state == "running" for job in self._jobs.values()) >= MOST_RUNNING:
                raise QuestionRefused(f"{MOST_RUNNING} searches are running; wait, or cancel one", 429)
            job = Job(self._next)
            self._next += 1
            self._jobs[job.number] = job
            for old in list(self._jobs)[:-MOST_KEPT]:
                if self._jobs[old].state != "running":
                    del self._jobs[old]
        threading.Thread(target=job.run, args=(work,), name=f"job {job.number}", daemon=True).start()
        return job

    def find(self, number: int) -> Job:
        """The job of a number; raises QuestionRefused with status 404, where it is gone."""
        with self._lock:
            if number not in self._jobs:
                raise QuestionRefused(f"there is no search {number}", 404)
            return self._jobs[number]

    def stop_all(self) -> None:
        """Ask every job to end."""
        with self._lock:
            for job in self._jobs.values():
                job.stop.set()


MOST_STATES = 50_000_000  # the largest budget of a search, in states


def exploration(subjects: Subjects, budget: int) -> Work:
    """The exploration of the whole space, up to so many states: its report, and the ways to its counterexamples."""

    def work(stop: threading.Event, note: Note) -> Mapping[str, Any]:
        note("compiling")
        whole = search_budget(memory=default_memory(), max_states=budget)
        question = SearchQuestion(subjects.chosen, whole)
        result = question.result(subjects.traced, lambda traced, budget: search(
            traced, budget, stop, lambda progress: note(progress_text(progress))))  # fmt: skip
        listed = [
            {"name": trace.claim, "property": trace.claim, "shortest": True, "cycle": None,
             **path_of_trace(subjects.traced, trace)} for trace in result.traces()
        ]  # fmt: skip
        return {**result.document, "counterexamples": by_cause(listed, subjects.traced, subjects.chosen)}

    return work


def progress_text(progress: SearchProgress) -> str:
    """How far a search is, in a line."""
    if progress.sweep:
        return f"backward sweep {progress.sweep}: {progress.queue:,} of {progress.distinct:,} states left"
    return f"depth {progress.depth}: {progress.distinct:,} states"


def state_search(subjects: Subjects, session: Session, text: str, budget: int) -> Work:
    """The search for the shortest way from the state of a session to one that satisfies an expression.

    Its result has the `verdict`: `found`, with the `steps` of the whole path; `none`, where no state that can follow
    satisfies it; or `unknown`, where the budget ended first. `detail` says what was searched.

    Raises:
        QuestionRefused: for an expression that does not fit the state.
    """
    chosen = subjects.chosen
    try:
        claim = excluded(expression(text, chosen.system.layout(chosen.setting)))
    except ExpressionError as error:
        raise QuestionRefused(str(error), 422) from error
    # Where every state may rest, no deadlock ends the search before the state is met.
    system = evolve(chosen.system, initial=[session.state], properties=[claim], quiescent=lambda _: True, fairness=[])

    def work(stop: threading.Event, note: Note) -> Mapping[str, Any]:
        note("compiling")
        first = search_budget(memory=default_memory(), max_states=budget, stop_at_first=True)
        result = search(trace(system, chosen.setting), first, stop, lambda progress: note(progress_text(progress)))
        return _search_document(subjects, session, result)

    return work


def _search_document(subjects: Subjects, session: Session, result: Exploration) -> Mapping[str, Any]:
    (claim,) = result.program.always
    verdict = result.verdict(claim.id).verdict
    own = [step_of(subjects.traced, instance) for instance in session.instances]
    match verdict:
        case Refuted(found):
            more = path_of_trace(result.program, found)["steps"]
            detail = f"{len(more)} step{'s' * (len(more) != 1)} away, shortest"
            return {"verdict": "found", "detail": detail, "steps": [*own, *more]}
        case Holds(bound):
            return {"verdict": "none", "detail": f"no state that can follow satisfies it: {bound}"}
        case Vacuous():  # the domains exclude it already
            bound = f"all {result.distinct:,} states of {subjects.chosen.name}"
            return {"verdict": "none", "detail": f"no state that can follow satisfies it: {bound}"}
        case _:
            return {"verdict": "unknown", "detail": result.cut or ""}


FOLDER = Path(__file__).parent
STYLES = (FOLDER.parent / "page" / "page.css", FOLDER / "page" / "serve.css")
"""The style of the page: that of the page of a trace, and its own."""

SCRIPTS = tuple(sorted([*(FOLDER / "page").glob("*.js"), *(FOLDER / "vendor").glob("*.mjs")]))

MOST_NODES = 5000  # states of the largest neighbourhood

Question = Mapping[str, Any]


@define
class Application:
    """The answers to the page."""

    opened: Opened  # what the command line names
    subjects: Subjects  # the system, traced
    beside: str | None  # the rules that the page sets beside first; None: none
    jobs: Jobs  # the work in the background

    def wsgi(self) -> bottle.Bottle:
        """The application with its routes."""
        app = bottle.Bottle()
        app.default_error_handler = _refused
        app.route("/", "GET", lambda: _file(_text(FOLDER / "page" / "index.html"), "text/html"))
        app.route("/icon.svg", "GET", lambda: _file(_text(FOLDER / "page" / "icon.svg"), "image/svg+xml"))
        app.route("/style.css", "GET", lambda: _file("\n".join([*map(_text, STYLES), STYLE]), "text/css"))
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
            "counterexamples": by_cause(examples, self.subjects.traced, self.subjects.chosen),
            "report": self.opened.document,
            "most_states": MOST_STATES,
            "most_nodes": MOST_NODES,
        }

    def path(self, question: Question) -> Mapping[str, Any]:
        """A path with all that can be seen at one of its steps."""
        sessions, at = self._sessions(question)
        rules = finished.text(question, "beside")
        return path_document(self.subjects, sessions, at, None if rules is None else self.subjects.other(rules))

    def graph(self, question: Question) -> Mapping[str, Any]:
        """The neighbourhood of the state at the end of a path, states joined by the fields that are named."""
        sessions, at = self._sessions(question)
        limit, names = finished.number(question, "limit", 200, MOST_NODES, 1), finished.texts(question, "fields")
        try:
            around = self.subjects.around(self.subjects.traced.layout.pack(sessions[at].state), limit)
            drawn = grouped(around, names)
        except UnknownField as error:
            raise QuestionRefused(str(error), 422) from error
        return graph_document(around, drawn, places(drawn))

    def explore(self, question: Question) -> Mapping[str, Any]:
        """Begin an exploration of the whole space."""
        budget = finished.number(question, "states", 1_000_000, MOST_STATES, 1)
        return self.jobs.start(exploration(self.subjects, budget)).document()

    def search(self, question: Question) -> Mapping[str, Any]:
        """Begin a search from a step of a path for a state that satisfies an expression."""
        sessions, at = self._sessions(question)
        wanted = finished.text(question, "expression")
        if wanted is None:
            raise QuestionRefused("expression is missing; give one, such as size(isr) == 0")
        budget = finished.number(question, "states", 1_000_000, MOST_STATES, 1)
        return self.jobs.start(state_search(self.subjects, sessions[at], wanted, budget)).document()

    def job(self, question: Question) -> Mapping[str, Any]:
        """How far a job is; it is asked to end where the question says so."""
        job = self.jobs.find(finished.number(question, "number", 0, finished.MOST_NUMBER))
        if question.get("cancel") is True:
            job.stop.set()
        return job.document()

    def _sessions(self, question: Question) -> tuple[tuple[Session, ...], int]:
        """The sessions along a question's path, and the step looked at; raises QuestionRefused for another system's."""
        system, own = finished.text(question, "of"), system_key(self.subjects.chosen)
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
        document, status = answer(finished.parsed(bottle.request.body.read())), 200
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
    bottle.response.content_type = "application/json"
    return json.dumps({"error": f"there is nothing here ({error.status_line})"})


def _file(text: str, kind: str) -> str:
    bottle.response.content_type = f"{kind}; charset=utf-8"
    return text


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")
