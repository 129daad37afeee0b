"""Work in the background: explorations and searches, with budgets, which the page asks about and may cancel."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

from attrs import define, field

from kraftcheck.ci.explore.serve.questions import QuestionRefused
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.solvers.reference.confirm import EngineDisagreement

MOST_RUNNING, MOST_KEPT = 2, 20
"""How many jobs run at once, and how many are remembered."""

Note = Callable[[str], None]
"""Says how far a job is."""

Work = Callable[[threading.Event, Note], Mapping[str, Any]]
"""A job: it ends soon after the event is set."""


@define
class Job:
    """A piece of work.

    Attributes:
        number: by which it is asked about.
        stop: set when it shall end.
        state: `running`, `done` or `failed`.
        note: how far it is; why it failed.
        result: of one that is done.
    """

    number: int
    stop: threading.Event = field(factory=threading.Event)
    state: str = "running"
    note: str = ""
    result: Mapping[str, Any] | None = None

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
        """Begin some work on a thread of its own.

        Raises:
            QuestionRefused: with status 429, while too many run.
        """
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
        """The job of a number.

        Raises:
            QuestionRefused: with status 404, where it is gone.
        """
        with self._lock:
            if number not in self._jobs:
                raise QuestionRefused(f"there is no search {number}", 404)
            return self._jobs[number]

    def stop_all(self) -> None:
        """Ask every job to end."""
        with self._lock:
            for job in self._jobs.values():
                job.stop.set()
