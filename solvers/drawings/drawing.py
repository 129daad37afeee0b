"""What a drawing of a trace shows, whatever format it is written in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from attrs import field, frozen

from kraftcheck.model.language.legend import Arrow, Legend
from kraftcheck.solvers.drawings.default import default_legend
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.verdict import Trace, TraceStep
from kraftcheck.solvers.traces.cycles import fairness_texts, repeated_text
from kraftcheck.solvers.traces.failures import false_parts
from kraftcheck.solvers.traces.render import call, event_text, fields, show


@frozen
class DrawnArrow:
    """An arrow of a column: from lane to lane, by their numbers; an event where both are one.

    Attributes:
        label: what is sent; empty for an event.
    """

    source: int
    target: int
    label: str


@frozen
class Change:
    """A field that a step changed, as text."""

    name: str
    before: str
    after: str


@frozen
class Column:
    """A state of a trace and the step that led to it.

    Attributes:
        number: of the step; the initial state is 0.
        action: the step in words; `initial state`.
        arrows: what it draws.
        strip: the values in view, one for each label of the drawing.
        changes: the fields that the step changed.
        state: every field as text, by path.
        failing: conjuncts of the property that fail here; empty where it holds.
        event: what the step reports besides the state, in words.
    """

    number: int
    action: str
    arrows: tuple[DrawnArrow, ...]
    strip: tuple[str, ...]
    changes: tuple[Change, ...]
    state: Mapping[str, str]
    failing: tuple[str, ...] = ()
    event: str = ""


@frozen
class DrawnCycle:
    """The cycle at the end of a lasso.

    Attributes:
        start: number of the column where it begins, whose state the last one is again; the last one: it stays there.
        text: what is repeated, and whether for ever.
        fairness: how it satisfies each constraint.
    """

    start: int
    text: str
    fairness: tuple[str, ...] = ()


@frozen
class Drawing:
    """A trace as it is drawn.

    Attributes:
        title: system, scope and rules.
        claim, sentence: the property, and what it says.
        lanes: names, from the top; none for states without lanes.
        labels: of the strip above the lanes.
        columns: the states, the initial one first.
        other: how the same actions go under other rules; None where there are none.
        cycle: of a lasso, what is repeated for ever; None: it ends with the last column.
    """

    title: str
    claim: str
    sentence: str
    lanes: tuple[str, ...]
    labels: tuple[str, ...]
    columns: tuple[Column, ...]
    other: OtherRules | None = None
    cycle: DrawnCycle | None = None


@frozen
class OtherRules:
    """The same actions under another rule set.

    Attributes:
        rules: the rule set.
        columns: the states there, up to the first step that cannot be taken.
        divergence: number of the first step that goes otherwise; None where none does.
        stopped: why the step after the last column cannot be taken; empty where every step can.
        start: the fields that begin otherwise there, with their values; they count as no divergence.
    """

    rules: str
    columns: tuple[Column, ...]
    divergence: int | None
    stopped: str = ""
    start: Mapping[str, str] = field(factory=dict)


def legend_of(program: Program) -> Legend:
    """The legend that the system declares, or the default one."""
    return program.system.legend or default_legend(program.system.actions(program.setting))


def drawing(trace: Trace, program: Program, title: str) -> Drawing:
    """A trace as it is drawn.

    Args:
        trace: the trace.
        program: of its system.
        title: of the drawing.
    """
    legend = legend_of(program)
    lanes = legend.lanes(program.setting.bounds)
    claim = next((claim for claim in program.claims if claim.id == trace.claim), None)
    failing = {} if claim is None or claim.kind not in ("always", "step") else false_parts(claim, trace)
    last = {len(trace.steps): trace.failing} if trace.failing else {}
    return Drawing(
        title, trace.claim, "a state that is not quiescent has a successor" if claim is None else claim.sentence,
        lanes, tuple(legend.strip), columns(trace.initial, trace.steps, legend, lanes, {**failing, **last}),
        cycle=_cycle(trace),
    )  # fmt: skip


def _cycle(trace: Trace) -> DrawnCycle | None:
    if trace.loop is None:
        return None
    start = trace.loop.start
    return DrawnCycle(start, f"for ever: {repeated_text(start, len(trace.steps))}", tuple(fairness_texts(trace.loop)))


def columns(
    initial: Any, steps: Sequence[TraceStep], legend: Legend, lanes: Sequence[str],
    failing: Mapping[int, tuple[str, ...]],
) -> tuple[Column, ...]:  # fmt: skip
    """The columns of a run.

    Args:
        initial, steps: the run.
        legend, lanes: how and where it is drawn.
        failing: conjuncts that fail, by number of the step.
    """
    before = fields(initial)
    texts = _texts(before)
    drawn = [Column(0, "initial state", (), _strip(legend, texts), (), texts, failing.get(0, ()))]
    for number, step in enumerate(steps, start=1):
        after = fields(step.state)
        old, texts = texts, _texts(after)
        arrows = tuple(_drawn(arrow, step, legend, before, lanes) for arrow in legend.arrows[step.action])
        drawn.append(Column(
            number, call(step.action, step.arguments), arrows, _strip(legend, texts), changes(texts, old, texts), texts,
            failing.get(number, ()), event_text(step.event),
        ))  # fmt: skip
        before = after
    return tuple(drawn)


def changes(names: Iterable[str], before: Mapping[str, str], after: Mapping[str, str]) -> tuple[Change, ...]:
    """The fields of these names that differ between two states, as text; one that is not there is empty."""
    texts = ((name, before.get(name, ""), after.get(name, "")) for name in names)
    return tuple(Change(name, old, new) for name, old, new in texts if old != new)


def _texts(values: Mapping[str, Any]) -> dict[str, str]:
    return {name: show(value, name) for name, value in values.items()}


def _strip(legend: Legend, texts: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(texts[path] for path in legend.strip.values())


def _drawn(
    arrow: Arrow, step: TraceStep, legend: Legend, before: Mapping[str, Any], lanes: Sequence[str]
) -> DrawnArrow:
    """An arrow with its lanes; one whose lane does not exist, as of leader -1, is an event in its other lane."""
    in_view = {label: before[path] for label, path in legend.strip.items()}
    ends = arrow.ends({**before, **in_view, **step.arguments})
    numbers = [lanes.index(lane) for lane in ends if lane in lanes]
    if not numbers:
        raise ValueError(f"no lane {ends[0]!r} for {step.action}; there are {', '.join(lanes)}")
    return DrawnArrow(numbers[0], numbers[-1], arrow.label)
