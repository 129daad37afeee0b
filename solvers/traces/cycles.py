"""Lassos as text, and their replay: what happens for ever, and how it satisfies each fairness constraint."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from kraftcheck.model.language.system import Property
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.verdict import FairnessShown, Loop, Trace
from kraftcheck.solvers.reference.confirm import EngineDisagreement
from kraftcheck.solvers.reference.lasso import confirm_lasso

INDENT = "      "


class BrokenTrace(ValueError):
    """A trace that the rules do not follow; the message names the step and what stops it."""


def cycle_begin(trace: Trace, number: int) -> list[str]:
    """A line below the state where the cycle of a lasso begins."""
    loop = trace.loop
    return [f"{INDENT}(the cycle begins here)"] if loop is not None and number == loop.start < len(trace.steps) else []


def cycle_lines(trace: Trace, loop: Loop) -> list[str]:
    """What is repeated for ever at the end of a lasso, and why that is fair."""
    repeated = repeated_text(loop.start, len(trace.steps))
    lines = [f"     breaks: {trace.claim}", f"{INDENT}for ever: {repeated}"]
    return lines + [f"{INDENT}fair: {text}" for text in fairness_texts(loop)]


def repeated_text(start: int, last: int) -> str:
    """What is repeated for ever where the last state is the one of a number, which may be its own.

    >>> repeated_text(1, 4), repeated_text(3, 4), repeated_text(4, 4)
    ('steps 2 to 4 again, for state 4 is state 1', 'step 4 again, for state 4 is state 3', 'nothing happens any more')
    """
    if start == last:
        return "nothing happens any more"
    steps = f"steps {start + 1} to {last}" if start + 1 < last else f"step {last}"
    return f"{steps} again, for state {last} is state {start}"


def fairness_texts(loop: Loop) -> list[str]:
    """How the cycle satisfies each constraint, in words: `WF(up): taken in step 1`."""
    return [f"{one.name}: {_satisfied(one)}" for one in loop.fairness]


def _satisfied(shown: FairnessShown) -> str:
    if shown.taken:
        return f"taken in {_numbered('step', shown.taken)}"
    if shown.always:
        return "not enabled in any state of it"
    return f"not enabled in {_numbered('state', shown.disabled)}"


def _numbered(noun: str, numbers: Sequence[int]) -> str:
    """Numbers in words, more than three in a row by the first and the last.

    >>> _numbered("step", [3]), _numbered("state", [1, 2, 3, 7, 8, 9, 10])
    ('step 3', 'states 1, 2, 3, 7 to 10')
    """
    in_a_row = itertools.groupby(enumerate(numbers), lambda pair: pair[1] - pair[0])
    rows = [[number for _, number in pairs] for _, pairs in in_a_row]
    texts = [f"{row[0]} to {row[-1]}" if len(row) > 3 else ", ".join(map(str, row)) for row in rows]
    return f"{noun}{'s' * (len(numbers) > 1)} {', '.join(texts)}"


def replay_lasso(
    program: Program, claim: Property, initial: Sequence[int], instances: Sequence[int], start: int
) -> Trace:
    """The lasso of action instances, as the rules on ints run it.

    Raises:
        BrokenTrace: naming what is no cycle, not fair, or does not break the property.
    """
    try:
        return confirm_lasso(program, claim, initial, instances, start)
    except EngineDisagreement as error:
        raise BrokenTrace(f"every step can be taken, but {error}") from error
