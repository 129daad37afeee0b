"""The search for a state by an expression, in the background: the shortest way there from the state in view."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from attrs import evolve

from kraftcheck.ci.explore.serve.jobs import Note, Work
from kraftcheck.ci.explore.serve.numbering import path_of_trace, step_of
from kraftcheck.ci.explore.serve.questions import QuestionRefused
from kraftcheck.ci.explore.serve.searches import progress_text
from kraftcheck.ci.explore.serve.subjects import Subjects
from kraftcheck.ci.run.questions import SearchBudget, search
from kraftcheck.ci.terminal.machine import default_memory
from kraftcheck.solvers.expressions.checking import ExpressionError
from kraftcheck.solvers.expressions.expression import excluded, expression
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.program.verdict import Holds, Refuted, Vacuous
from kraftcheck.solvers.search.explore import Exploration
from kraftcheck.solvers.stepping.session import Session


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
        first = SearchBudget(memory=default_memory(), max_states=budget, stop_at_first=True)
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
