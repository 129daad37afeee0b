"""Traces as text for people: numbered actions and the fields that changed; and minimised traces."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from kraftcheck.model.language.collections import has_text
from kraftcheck.model.language.layout import DomainError
from kraftcheck.model.language.symbolic import record_fields
from kraftcheck.model.language.system import UNNAMED, Action, Property, Step
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.verdict import DEADLOCK, FairnessShown, Loop, Trace
from kraftcheck.solvers.reference.confirm import EngineDisagreement, confirm, confirm_lasso, successor

INDENT = "      "
DEADLOCKED = "no action is enabled, and the state is not quiescent (quiescent= of the system says which may rest)"


class BrokenTrace(ValueError):
    """A trace that the rules do not follow; the message names the step and what stops it."""


def cycle_begin(trace: Trace, number: int) -> list[str]:
    """A line below the state where the cycle of a lasso begins."""
    loop = trace.loop
    return [f"{INDENT}(the cycle begins here)"] if loop is not None and number == loop.start < len(trace.steps) else []


def cycle_lines(trace: Trace, loop: Loop) -> list[str]:
    """The steps that a lasso repeats for ever, and why they are fair."""
    repeated = repeated_text(loop.start, len(trace.steps))
    lines = [f"     breaks: {trace.claim}", f"{INDENT}for ever: {repeated}"]
    return lines + [f"{INDENT}fair: {text}" for text in fairness_texts(loop)]


def repeated_text(start: int, last: int) -> str:
    """The steps that are repeated for ever where the last state is the one of a number, which may be its own.

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


MarkedStep = tuple[int, bool]  # an action instance, and whether it is a step of the cycle


def show(value: Any) -> str:
    """A value in a few characters."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return "[" + ", ".join(show(item) for item in value) + "]"
    if _is_record(value):
        names = record_fields(type(value)) or ()
        return f"({', '.join(f'{name}={show(getattr(value, name))}' for name in names)})"
    return str(value)


def _is_record(value: Any) -> bool:
    """Whether a value is shown by its parts: a record without a text of its own."""
    return record_fields(type(value)) is not None and not has_text(value)


def fields(state: Any, path: str = "") -> dict[str, Any]:
    """The parts of a state by path, records and tuples of records opened up; the rest shown whole."""
    if _is_record(state):
        names = record_fields(type(state)) or ()
        inner = [(f"{path}.{name}" if path else name, getattr(state, name)) for name in names]
    elif isinstance(state, tuple) and any(_is_record(item) for item in state):
        inner = [(f"{path}[{number}]", item) for number, item in enumerate(state)]
    else:
        return {path or "state": state}
    return {name: value for part, item in inner for name, value in fields(item, part).items()}


def call(action: str, arguments: Mapping[str, Any]) -> str:
    """An action with its arguments, as `fence(broker=0)`."""
    return f"{action}({', '.join(f'{name}={show(value)}' for name, value in arguments.items())})"


def _full_state(state: Any) -> list[str]:
    return [f"{INDENT}{name} = {show(value)}" for name, value in fields(state).items()]


def changes(before: Any, after: Any) -> list[str]:
    """The fields in which two states differ, as `isr: {0,1} -> {0}`."""
    old = fields(before)
    return [
        f"{name}: {show(old[name])} -> {show(value)}" for name, value in fields(after).items() if value != old[name]
    ]


def event_text(event: Any) -> str:
    """The event of a step in words: its counts above zero, and its truths that hold; empty where it has none."""
    if event is None:
        return ""
    return ", ".join(
        f"{name.replace('_', ' ')}{'' if value is True else ' ' + show(value)}"
        for name, value in fields(event).items()
        if value is True or (type(value) is int and value > 0)
    )


def _event(event: Any) -> list[str]:
    text = event_text(event)
    return [f"{INDENT}({text})"] if text else []


def lines(trace: Trace, full: bool = False, marks: Mapping[int, Sequence[str]] | None = None) -> list[str]:
    """The trace, a line for the initial state and for each step, with what changed below it.

    Args:
        full: show whole states instead of changes.
    """
    marked = {number: [f"{INDENT}{mark}" for mark in texts] for number, texts in (marks or {}).items()}
    text = ["  0  initial state", *_full_state(trace.initial), *cycle_begin(trace, 0), *marked.get(0, [])]
    before = trace.initial
    for number, step in enumerate(trace.steps, start=1):
        text.append(f"{number:3d}  {call(step.action, step.arguments)}")
        changed = _full_state(step.state) if full else [INDENT + text for text in changes(before, step.state)]
        text += changed or [f"{INDENT}(the state does not change)"]
        text += _event(step.event) + cycle_begin(trace, number) + marked.get(number, [])
        before = step.state
    if trace.failing or trace.kind == DEADLOCK:
        text.append(f"     fails: {trace.claim}")
        text += [f"{INDENT}false: {name}" for name in trace.failing if name != trace.claim]
    if trace.closure is not None:
        states = f"{trace.closure.states:,} state{'' if trace.closure.states == 1 else 's'}"
        extent = f"all {states}" if trace.closure.complete else f"the nearest {states}, of more,"
        by = f" by {trace.closure.actions}" if trace.closure.actions else ""
        text.append(f"{INDENT}never again: nothing that can follow{by} satisfies it ({extent} checked on ints)")
    if trace.loop is not None:
        text += cycle_lines(trace, trace.loop)
    if trace.kind == DEADLOCK:
        text.append(f"{INDENT}{DEADLOCKED}")
    return text


def refusal(action: Action, state: Any, arguments: Mapping[str, Any]) -> str:
    """Why an action is not enabled in a state, by the conjuncts of its guard; empty where it is."""
    false = [name for name, part in action.guards(state, arguments).items() if not part]
    if not false:
        return ""
    return "its guard is false" if false == [UNNAMED] else f"false: {', '.join(false)}"


def replay_trace(
    program: Program, claim: Property | None, initial: Sequence[int], instances: Sequence[int], loop: int | None = None
) -> Trace:
    """The trace of action instances, as the rules on ints run it.

    Args:
        claim: the property that must fail (or, for goals, be shown) at its end; None: deadlock.
        loop: of a lasso, the number of the state where its cycle begins.

    Raises:
        BrokenTrace: naming the step and the guard that stop it, or what does not fail at its end.
    """
    state = program.layout.unpack(initial)
    for number, instance in enumerate(instances, start=1):
        action, arguments = program.instance(instance)
        step = f"step {number}, {call(action.name, arguments)}"
        reason = refusal(action, state, arguments)
        if reason:
            raise BrokenTrace(f"{step}, is not enabled: {reason}")
        try:
            step_taken = successor(program, state, instance)
        except DomainError as error:
            raise BrokenTrace(f"{step}: {error}") from error
        state = step_taken.state if step_taken is not None else state
    if claim is not None and loop is not None:
        return replay_lasso(program, claim, initial, instances, loop)
    try:
        return confirm(program, claim, initial, instances, None)
    except EngineDisagreement as error:
        raise BrokenTrace(
            f"every step can be taken, but the last one does not lead to it: {_missing_text(claim)}"
        ) from error


def _missing_text(claim: Property | None) -> str:
    if claim is None:
        return "the state is quiescent, or an action is enabled"
    if claim.kind == "recovers":
        return f"{claim.id} holds there, or can hold again"
    return f"{claim.id} {'is not shown' if claim.kind in ('sometimes', 'happens') else 'holds'}"


def minimise(
    program: Program, claim: Property | None, initial: Sequence[int], instances: Sequence[int], loop: int | None = None
) -> Trace:
    """A trace that fails the same property and from which no single step can be dropped.

    Runs of steps are dropped first: a detour leaves together or not at all. Of a lasso, steps are dropped on the way
    to the cycle and on the cycle, as long as it is fair and breaks the property.

    Args:
        loop: of a lasso, the number of the state where its cycle begins.

    Raises:
        EngineDisagreement: when the trace given does not fail the property.
        BrokenTrace: when too much follows its end to be sure on ints that a shorter trace never recovers.
    """
    run = [(instance, loop is not None and number >= loop) for number, instance in enumerate(instances)]

    def judged(steps: Sequence[MarkedStep]) -> Trace:
        taken = [instance for instance, _ in steps]
        if claim is None or loop is None:
            return confirm(program, claim, initial, taken, None)
        return confirm_lasso(program, claim, initial, taken, sum(not on_cycle for _, on_cycle in steps))

    shortest = judged(run)
    if shortest.closure is not None and not shortest.closure.complete:
        raise BrokenTrace(f"more than {shortest.closure.states:,} states can follow: it cannot be shortened on ints")
    length = len(run)
    while length > 0:
        shorter = _shorter(judged, run, length)
        if shorter is None:
            length = length // 2 if length > 8 else length - 1
        else:
            shortest, run = shorter
            length = min(length, len(run))
    return shortest


def _shorter(
    judged: Callable[[Sequence[MarkedStep]], Trace], run: Sequence[MarkedStep], length: int
) -> tuple[Trace, list[MarkedStep]] | None:
    """The trace without some run of so many steps, the last such run first; None where each is needed."""
    for position in range(len(run) - length, -1, -1):
        rest = [*run[:position], *run[position + length :]]
        try:
            trace = judged(rest)
        except EngineDisagreement:
            continue
        if trace.closure is None or trace.closure.complete:
            return trace, rest
    return None


StepMarks = dict[int, tuple[str, ...]]  # what to say below a step of a trace, by its number; the initial state is 0


def subjects(trace: Trace, kind: str) -> Iterator[tuple[int, Any]]:
    """The subjects of a claim of this kind along a trace, by step: each state, or each transition."""
    steps = kind in ("step", "happens")
    if not steps:
        yield 0, trace.initial
    before = trace.initial
    for number, step in enumerate(trace.steps, start=1):
        transition = Step(before, step.state, step.action, step.arguments, step.event)
        yield number, transition if steps else step.state
        before = step.state


def false_parts(claim: Property, trace: Trace) -> StepMarks:
    """The conjuncts of a claim that fail, by step; steps at which it holds are left out."""
    failing = ((number, claim.failing(subject)) for number, subject in subjects(trace, claim.kind))
    return {number: names for number, names in failing if names}


def already_false(claim: Property | None, trace: Trace) -> StepMarks:
    """The conjuncts of the refuted property that fail before the last step, which `lines` tells of by itself.

    A shortest trace has none.
    """
    if claim is None or claim.kind not in ("always", "step"):
        return {}
    last = len(trace.steps)
    return {n: ("already false: " + ", ".join(names),) for n, names in false_parts(claim, trace).items() if n < last}


def every_property(program: Program, trace: Trace) -> StepMarks:
    """All properties that fail, with their conjuncts, at every step; or that none does."""
    texts: dict[int, list[str]] = {number: [] for number in range(len(trace.steps) + 1)}
    for claim in (*program.always, *program.steps):
        for number, names in false_parts(claim, trace).items():
            parts = [name for name in names if name != claim.id]
            texts[number].append(f"false: {claim.id}" + (f" ({', '.join(parts)})" if parts else ""))
    return {number: tuple(lines or ["every property holds"]) for number, lines in texts.items()}
