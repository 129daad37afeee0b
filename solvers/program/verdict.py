"""Verdicts: the answers of an engine about a property. Only `Holds` is a pass.

A verdict is one of five classes, never a bare bool. Exit codes follow TLC
where TLC has one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from attrs import frozen

from kraftcheck.model.language.fairness import LIVENESS

DEADLOCK = "deadlock"
"""Id of the built-in property that a state without successors is quiescent."""

RUN = "run"
"""What a trace is about that is no witness: a run that somebody took."""


@frozen
class TraceStep:
    """One step of a trace.

    Attributes:
        action, arguments: what happened.
        state: the state it led to.
        event: what the effect reported besides the state.
    """

    action: str
    arguments: Mapping[str, Any]
    state: Any
    event: Any = None


@frozen
class Closure:
    """The states that can follow a state that never recovers, by the rules on ints.

    Attributes:
        states: how many of the states that can follow (itself included) were checked; none satisfies the claim.
        complete: whether those are all.
        actions: the actions that may follow, in words; empty: every action.
    """

    states: int
    complete: bool
    actions: str = ""


@frozen
class FairnessShown:
    """How the cycle of a lasso satisfies a fairness constraint.

    Attributes:
        name: the constraint, as `WF(elect)`.
        taken: numbers of the steps of the trace that are steps of it.
        disabled: numbers of the states of the cycle where its steps are not enabled, or are excused.
        always: whether those are all states of the cycle.
    """

    name: str
    taken: tuple[int, ...]
    disabled: tuple[int, ...]
    always: bool


@frozen
class Loop:
    """The cycle at the end of a lasso, which is repeated for ever.

    Attributes:
        start: number of the state where it begins; the last state of the trace is this one again. The number of the
            last state itself: the behaviour stays there.
        fairness: how it satisfies each constraint.
    """

    start: int
    fairness: tuple[FairnessShown, ...]


@frozen
class Trace:
    """A witness: a run of the system, confirmed on ints.

    Attributes:
        initial: the state it starts in.
        steps: what happened then.
        claim: id of the property it is about.
        kind: `always`, `step`, `sometimes`, `happens`, `recovers`, `deadlock`, `run`, or one of `LIVENESS`.
        failing: names of the conjuncts that fail at its end (none for goals and `deadlock`).
        closure: for `recovers`, what can follow its end.
        loop: for liveness, what is repeated for ever.
    """

    initial: Any
    steps: tuple[TraceStep, ...]
    claim: str
    kind: str
    failing: tuple[str, ...] = ()
    closure: Closure | None = None
    loop: Loop | None = None

    @property
    def states(self) -> tuple[Any, ...]:
        """All states, the initial one first."""
        return (self.initial, *(step.state for step in self.steps))


@frozen
class Holds:
    """The property holds, of what the bound says; goals have a witness, `recovers` counts its cases."""

    bound: str
    witness: Trace | None = None
    cases: int | None = None


@frozen
class Refuted:
    """The property is broken, as the trace shows."""

    trace: Trace


@frozen
class Incomplete:
    """No counterexample was found, but the search is not complete."""

    cut: str


@frozen
class Unknown:
    """The engine could not decide."""

    reason: str


@frozen
class Vacuous:
    """A goal that had to be reached is not reachable, or a claim has no case."""

    goal: str
    reason: str = "no reachable case shows it"


Verdict: TypeAlias = Holds | Refuted | Incomplete | Unknown | Vacuous

EXIT_HOLDS = 0
EXIT_DEADLOCK = 11
EXIT_SAFETY = 12
EXIT_LIVENESS = 13
EXIT_INCOMPLETE = 20
EXIT_VACUOUS = 21
EXIT_UNKNOWN = 22

_REFUTED = {"deadlock": EXIT_DEADLOCK, "recovers": EXIT_LIVENESS, **dict.fromkeys(LIVENESS, EXIT_LIVENESS)}
_WORST_FIRST = (
    EXIT_SAFETY, EXIT_DEADLOCK, EXIT_LIVENESS, EXIT_INCOMPLETE, EXIT_UNKNOWN, EXIT_VACUOUS
)  # fmt: skip


def exit_code(verdict: Verdict) -> int:
    """The exit code of one verdict."""
    match verdict:
        case Holds():
            return EXIT_HOLDS
        case Refuted(trace):
            return _REFUTED.get(trace.kind, EXIT_SAFETY)
        case Incomplete():
            return EXIT_INCOMPLETE
        case Unknown():
            return EXIT_UNKNOWN
        case Vacuous():
            return EXIT_VACUOUS


def worst_exit_code(verdicts: Iterable[Verdict]) -> int:
    """The exit code of several verdicts: refuted beats incomplete beats unknown beats vacuous beats holds."""
    return worst_first(exit_code(verdict) for verdict in verdicts)


def worst_first(codes: Iterable[int]) -> int:
    """The worst of several exit codes; a code of the command line's own comes last before 0."""
    seen = set(codes)
    ranked = [code for code in _WORST_FIRST if code in seen]
    return ranked[0] if ranked else max(seen, default=EXIT_HOLDS)


@frozen
class PropertyVerdict:
    """A property and what was found about it.

    Attributes:
        claim: its id.
        kind: `always`, `step`, `sometimes`, `happens`, `recovers`, `deadlock` or one of `LIVENESS`.
        verdict: what was found.
        depth: steps of the witness or counterexample, if any.
    """

    claim: str
    kind: str
    verdict: Verdict
    depth: int | None = None
