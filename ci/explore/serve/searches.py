"""Searches in the background: the whole space of the subject for its charts."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from kraftcheck.ci.explore.serve.jobs import Note, Work
from kraftcheck.ci.explore.serve.numbering import path_of_trace
from kraftcheck.ci.explore.serve.subjects import Subjects
from kraftcheck.ci.run.questions import SearchBudget, SearchQuestion, search
from kraftcheck.ci.terminal.machine import default_memory
from kraftcheck.solvers.search.explore import SearchProgress

MOST_STATES = 50_000_000
"""The largest budget of a search, in states."""


def exploration(subjects: Subjects, budget: int) -> Work:
    """The exploration of the whole space, up to so many states: its report, and the ways to its counterexamples."""

    def work(stop: threading.Event, note: Note) -> Mapping[str, Any]:
        note("compiling")
        whole = SearchBudget(memory=default_memory(), max_states=budget)
        question = SearchQuestion(subjects.chosen, whole)
        result = question.result(subjects.traced, lambda traced, budget: search(
            traced, budget, stop, lambda progress: note(progress_text(progress))))  # fmt: skip
        examples = {trace.claim: path_of_trace(subjects.traced, trace) for trace in result.traces()}
        return {**result.document, "counterexamples": examples}

    return work


def progress_text(progress: SearchProgress) -> str:
    """How far a search is, in a line."""
    if progress.sweep:
        return f"backward sweep {progress.sweep}: {progress.queue:,} of {progress.distinct:,} states left"
    return f"depth {progress.depth}: {progress.distinct:,} states"
