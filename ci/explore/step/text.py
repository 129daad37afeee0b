"""What `kraftcheck step` prints of a session: the state, what can happen, and the properties."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from attrs import evolve

from kraftcheck.solvers.program.verdict import RUN, Trace
from kraftcheck.solvers.stepping.session import Choice, PropertyStatus, Session
from kraftcheck.solvers.traces.render import lines

SHOWN_STATES = 20
"""Initial states that are listed."""


def last_step(session: Session) -> list[str]:
    """The last step with what it changed; of a run without steps, the initial state."""
    return steps_after(session, len(session.steps) - 1)


def steps_after(session: Session, number: int) -> list[str]:
    """The steps after the one of a number, each with what it changed; from -1 on, with the initial state."""
    trace = evolve(session.trace(), failing=(), kind=RUN, claim=RUN)
    text = lines(trace)
    return text[next(place for place, line in enumerate(text) if line.startswith(f"{number + 1:3d}  ")) :]


def state(session: Session) -> list[str]:
    """Every field of the present state."""
    return lines(Trace(session.state, (), RUN, RUN))[1:]


def enabled(session: Session) -> list[str]:
    """The enabled instances with their numbers; those that no field has room for say so."""
    text = [
        f"{choice.instance:5d}  {choice}"
        + (f"   beyond the scope: {session.beyond[choice.instance]}" if choice.instance in session.beyond else "")
        for choice in session.enabled
    ]
    return text or ["no action is enabled: " + ("a deadlock" if session.deadlock else "the state is quiescent")]


def disabled(choices: Sequence[Choice]) -> Iterator[str]:
    """The disabled instances with the conjuncts that fail; those of an action that fail alike in one line."""
    for (action, failing), members in groupby(choices, key=lambda choice: (choice.action, choice.failing)):
        alike = list(members)
        what = str(alike[0]) if len(alike) == 1 else action
        yield f"{_ranges([choice.instance for choice in alike]):>5}  {what}: false: {', '.join(failing)}"


def _ranges(numbers: Sequence[int]) -> str:
    """Ascending numbers with runs written as ranges.

    >>> _ranges([1, 2, 3, 5])
    '1-3, 5'
    """
    by_run = groupby(enumerate(numbers), key=lambda placed: placed[1] - placed[0])
    runs = [[number for _, number in run] for _, run in by_run]
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs)


def properties(statuses: Sequence[PropertyStatus], every: bool = False) -> list[str]:
    """The properties that fail or are open, and how many say what; or each of them."""
    shown = [status for status in statuses if every or status.finding in ("fails", "open")]
    text = [
        f"  {status.finding}: {status.claim.id}"
        + (f" ({', '.join(status.failing)})" if status.failing not in ((), (status.claim.id,)) else "")
        for status in shown
    ]
    counts: dict[str, int] = {}
    for status in statuses:
        counts[status.finding] = counts.get(status.finding, 0) + 1
    return [*text, "properties: " + ", ".join(f"{number} {finding}" for finding, number in counts.items())]


def initial_states(session: Session) -> Iterator[str]:
    """How many initial states there are, and which one the run began in."""
    number_of_states = len(session.program.initial)
    plural = "" if number_of_states == 1 else "s"
    yield f"{number_of_states} initial state{plural}; the run began in {session.start}"
    first = session.at(0)
    for number in range(min(number_of_states, SHOWN_STATES)):
        other = Session.begin(session.program, number)
        yield f"{number:5d}  " + ("; ".join(_differences(first, other)) or "this one")


def _differences(first: Session, other: Session) -> Iterator[str]:
    """The fields in which another initial state differs."""
    ours, theirs = (lines(session.trace())[1:] for session in (first, other))
    yield from (line.strip() for line in theirs if line not in ours and " = " in line)
