"""What a drawing of a trace shows, whatever format it is written in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from attrs import evolve, field, frozen

from kraftcheck.model.language.layout import DomainError
from kraftcheck.model.language.system import Action, Arrow, Legend, Property, event
from kraftcheck.model.visible import visible
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.starts import initial_states
from kraftcheck.solvers.program.verdict import Trace, TraceStep
from kraftcheck.solvers.traces.itf import ACTION, PICKS, TraceError, normal, spelled
from kraftcheck.solvers.traces.render import (
    StepMarks,
    call,
    event_text,
    fairness_texts,
    false_parts,
    fields,
    refusal,
    repeated_text,
    show,
)


def default_legend(actions: Sequence[Action]) -> Legend:
    """The legend of a system that declares none: a lane for each value of each action's first argument.

    An action without arguments happens in the lane `system`.
    """
    lanes, arrows = ["system"], dict[str, tuple[Arrow, ...]]()
    for action in actions:
        first = next(iter(action.parameters), None)
        if first is None:
            arrows[action.name] = event("system")
            continue
        arrows[action.name] = event(f"{first} {{{first}}}")
        lanes += [f"{first} {value}" for value in action.parameters[first]]
    distinct = tuple(dict.fromkeys(lanes))
    return Legend(lambda bounds: distinct, arrows)


@frozen
class DrawnArrow:
    """An arrow of a column: from lane to lane, by their numbers; an event where both are one."""

    source: int
    target: int
    label: str  # what is sent; empty for an event


@frozen
class FieldChange:
    """A field that a step changed, as text."""

    name: str
    before: str
    after: str


@frozen
class StateColumn:
    """A state of a trace and the step that led to it."""

    number: int  # of the step; the initial state is 0
    action: str  # the step in words; `initial state`
    arrows: tuple[DrawnArrow, ...]  # what it draws
    strip: tuple[str, ...]  # the values in view, one for each label of the drawing
    changes: tuple[FieldChange, ...]  # the fields that the step changed
    state: Mapping[str, str]  # every field as text, by path
    failing: tuple[str, ...] = ()  # conjuncts of the property that fail here; empty where it holds
    event: str = ""  # what the step reports besides the state, in words


@frozen
class DrawnCycle:
    """The cycle at the end of a lasso."""

    start: int  # number of the column where it begins, whose state the last one is again; the last one: it stays there
    text: str  # what is repeated, and whether for ever
    fairness: tuple[str, ...] = ()  # how it satisfies each constraint


@frozen
class Drawing:
    """A trace as it is drawn."""

    title: str  # system, scope and rules
    # claim, sentence: the property, and what it says
    claim: str
    sentence: str
    lanes: tuple[str, ...]  # names, from the top; none for states without lanes
    labels: tuple[str, ...]  # of the strip above the lanes
    columns: tuple[StateColumn, ...]  # the states, the initial one first
    other: OtherRules | None = None  # how the same actions go under other rules; None where there are none
    cycle: DrawnCycle | None = None  # of a lasso, what is repeated for ever; None: it ends with the last column


@frozen
class OtherRules:
    """The same actions under another rule set."""

    rules: str  # the rule set
    columns: tuple[StateColumn, ...]  # the states there, up to the first step that cannot be taken
    # number of the first step that leads elsewhere, reports or breaks something else; None where none does
    divergence: int | None = None
    stopped: str = ""  # why the step after the last column cannot be taken; empty where every step can
    # the fields that begin otherwise there, with their values; they count as no divergence
    start: Mapping[str, str] = field(factory=dict)
    own: str = ""  # what the rules of the run are called beside it; empty where the title says it
    is_judged: bool = True  # whether the columns say what fails there
    texts: tuple[str, ...] = ()  # for each state of the run, how it is there


def legend_of(program: Program) -> Legend:
    """The legend that the system declares, or the default one.

    An action that a declared legend does not know, as one that is added to a shipped system, happens in the lane of its
    first argument where there is one, else where most arrows end.
    """
    actions, declared = program.system.actions(program.setting), program.system.legend
    if declared is None:
        return default_legend(actions)
    lanes = declared.lanes(program.setting.bounds)
    others = [action for action in actions if action.name not in declared.arrows]
    known = {action.name for action in others if {*default_legend([action]).lanes({})[1:]} <= {*lanes}}
    ends = Counter(arrow.target for drawn in declared.arrows.values() for arrow in drawn if arrow.target in lanes)
    usual = max(lanes, key=lambda lane: ends[lane])
    arrows = {name: drawn if name in known and drawn != event("system") else event(usual)
              for name, drawn in default_legend(others).arrows.items()}  # fmt: skip
    return evolve(declared, arrows={**declared.arrows, **arrows})


def drawing(trace: Trace, program: Program, title: str) -> Drawing:
    """A trace as it is drawn."""
    legend = legend_of(program)
    lanes = legend.lanes(program.setting.bounds)
    claim, found = _failing(program, trace)
    failing = found or {}
    last = {len(trace.steps): trace.failing} if trace.failing else {}
    drawn = Drawing(
        title, trace.claim, "a state that is not quiescent has a successor" if claim is None else claim.sentence,
        lanes, tuple(legend.strip), columns=columns(trace.initial, trace.steps, legend, lanes, {**failing, **last}),
        cycle=_cycle(trace),
    )  # fmt: skip
    return drawn if legend.strip else with_strip(drawn)


def _failing(program: Program, trace: Trace) -> tuple[Property | None, StepMarks | None]:
    """The promise of a trace, and its conjuncts that fail, by step; the latter None where no step decides it alone."""
    claim = next((claim for claim in program.claims if claim.id == trace.claim), None)
    return claim, None if claim is None or claim.kind not in ("always", "step") else false_parts(claim, trace)


def with_strip(drawing: Drawing) -> Drawing:
    """The drawing with the fields that change above its lanes, for a legend that names none; of one state, with all."""
    lines = [drawing.columns] if drawing.other is None else [drawing.columns, drawing.other.columns]
    every = [column for columns in lines for column in columns]
    names = {change.name for column in every for change in column.changes}
    labels = tuple(name for name in every[0].state if name in names or len(drawing.columns) == 1)
    shown = [tuple(evolve(column, strip=tuple(column.state[name] for name in labels)) for column in columns)
             for columns in lines]  # fmt: skip
    other = None if drawing.other is None else evolve(drawing.other, columns=shown[1])
    return evolve(drawing, labels=labels, columns=shown[0], other=other)


def _cycle(trace: Trace) -> DrawnCycle | None:
    if trace.loop is None:
        return None
    start = trace.loop.start
    return DrawnCycle(start, f"for ever: {repeated_text(start, len(trace.steps))}", tuple(fairness_texts(trace.loop)))


def columns(
    initial: Any, steps: Sequence[TraceStep], legend: Legend, lanes: Sequence[str],
    failing: Mapping[int, tuple[str, ...]],
) -> tuple[StateColumn, ...]:  # fmt: skip
    """The columns of a run.

    Args:
        legend, lanes: how and where it is drawn.
        failing: conjuncts that fail, by number of the step.
    """
    before = fields(initial)
    texts = _texts(before)
    drawn = [StateColumn(0, "initial state", (), _strip(legend, texts), (), state=texts, failing=failing.get(0, ()))]
    for number, step in enumerate(steps, start=1):
        after = fields(step.state)
        old, texts = texts, _texts(after)
        arrows = tuple(_drawn(arrow, step, legend, before, lanes) for arrow in legend.arrows[step.action])
        drawn.append(StateColumn(
            number, call(step.action, step.arguments), arrows, _strip(legend, texts), changes(texts, old, texts),
            state=texts,
            failing=failing.get(number, ()), event=event_text(step.event),
        ))  # fmt: skip
        before = after
    return tuple(drawn)


def changes(names: Iterable[str], before: Mapping[str, str], after: Mapping[str, str]) -> tuple[FieldChange, ...]:
    """The fields of these names that differ between two states, as text; one that is not there is empty."""
    texts = ((name, before.get(name, ""), after.get(name, "")) for name in names)
    return tuple(FieldChange(name, old, new) for name, old, new in texts if old != new)


def _texts(values: Mapping[str, Any]) -> dict[str, str]:
    return {name: show(value) for name, value in values.items()}


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


def dot(drawing: Drawing) -> str:
    """The drawing as a directed graph: states with the values in view, what a step changed, what fails."""
    return "\n".join(("digraph trace {", "    node [shape=box, fontname=monospace];", *_lines(drawing), "}")) + "\n"


def _lines(drawing: Drawing) -> Iterator[str]:
    yield f"    label={_quoted(f'{drawing.claim}: {drawing.title}')};"
    for column in drawing.columns:
        colour = ", color=red" if column.failing else ""
        yield f"    s{column.number} [label={_quoted(_label(drawing, column))}{colour}];"
    for column in drawing.columns[1:]:
        yield f"    s{column.number - 1} -> s{column.number} [label={_quoted(column.action)}];"
    if drawing.cycle is not None:
        again = "\n".join([drawing.cycle.text, *(f"fair: {text}" for text in drawing.cycle.fairness)])
        yield f"    s{len(drawing.columns) - 1} -> s{drawing.cycle.start} [style=dashed, label={_quoted(again)}];"


def _label(drawing: Drawing, column: StateColumn) -> str:
    values = [f"{label} = {value}" for label, value in zip(drawing.labels, column.strip, strict=True)]
    changes = [f"{change.name}: {change.before} → {change.after}" for change in column.changes]
    return "\n".join([str(column.number), *values, *changes, *(f"fails: {part}" for part in column.failing)])


def _quoted(text: str) -> str:
    """A string of Graphviz; its lines are left-justified."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\l") + '"'


def with_other_rules(drawing: Drawing, trace: Trace, other: Program, rules: str, own: str = "") -> Drawing:
    """The drawing with the same actions under another rule set beside it.

    Args:
        other: the same system and bounds, traced with the other rules.
        own: that of the trace's own rules, where it is to stand beside them.
    """
    initial = nearest_initial(trace.initial, other)
    steps, stopped = _run(trace, initial, other)
    _, failing = _failing(other, evolve(trace, initial=initial, steps=tuple(steps)))
    drawn = columns(initial, steps, legend_of(other), drawing.lanes, failing or {})
    return set_beside(drawing, OtherRules(rules, drawn, stopped=stopped, own=own, is_judged=failing is not None))


def set_beside(drawing: Drawing, other: OtherRules) -> Drawing:
    """The drawing with the same actions under other rules beside it, and where these go otherwise.

    Args:
        other: the columns there, up to the first step that cannot be taken, and why it cannot.
    """
    pairs = [*zip(drawing.columns, other.columns, strict=False)]
    starts = _differing(*pairs[0])
    reports = [(ours.event, ours.failing * other.is_judged) != (theirs.event, theirs.failing * other.is_judged)
               for ours, theirs in pairs]  # fmt: skip
    divergence = next((n for n, pair in enumerate(pairs) if _differing(*pair) - starts or reports[n]), None)
    if divergence is None and other.stopped:
        divergence = len(pairs)
    start = {name: text for name, text in other.columns[0].state.items() if name in starts}
    placed = evolve(other, divergence=divergence, start=start)
    texts = tuple(_other_text(column, placed) for column in drawing.columns)
    beside = evolve(drawing, other=evolve(placed, texts=texts))
    return beside if other.columns[0].strip else with_strip(beside)


def _other_text(ours: StateColumn, other: OtherRules) -> str:
    """How a step of the run is under the other rules: what it reports and breaks there, besides the state."""
    number, rules = ours.number, other.rules
    if other.divergence is None or number < other.divergence:
        start = ", ".join(f"{name} {text}" for name, text in other.start.items())
        begun = f" (which starts with {start})" if start else ""
        if ours.failing and not other.is_judged:
            return f"the same states under {rules}{begun}, of which no step alone tells whether the promise fails there"
        return f"the same under {rules}{begun}"
    if number >= len(other.columns):
        return f"cannot be taken under {rules} after step {len(other.columns) - 1}: {other.stopped}"
    theirs = other.columns[number]
    told = [theirs.event or "nothing is reported"] * (theirs.event != ours.event)
    if other.is_judged:
        told += [f"{part} does not fail" for part in ours.failing if part not in theirs.failing]
        told += [f"{part} fails" for part in theirs.failing if part not in ours.failing]
    return f"otherwise under {rules} since step {other.divergence}{'; there: ' * bool(told)}{'; '.join(told)}"


def _differing(ours: StateColumn, theirs: StateColumn) -> set[str]:
    """The fields that are not the same in two states."""
    return {name for name in {*ours.state, *theirs.state} if ours.state.get(name) != theirs.state.get(name)}


def nearest_initial(initial: Any, other: Program) -> Any:
    """The initial state under other rules that has the most in common with this one."""
    own = fields(initial)

    def distance(state: Any) -> int:
        return sum(own.get(name) != value for name, value in fields(state).items())

    return min(initial_states(other.system, other.setting), key=distance)


def _run(trace: Trace, initial: Any, other: Program) -> tuple[Sequence[TraceStep], str]:
    """The steps that can be taken, and why the next one cannot."""
    actions = {action.name: action for action in other.system.actions(other.setting)}
    state, steps = initial, list[TraceStep]()
    for step in trace.steps:
        action = actions.get(step.action)
        if action is None:
            return steps, f"there is no action {step.action}"
        reason = refusal(action, state, step.arguments)
        if reason:
            return steps, reason
        try:
            outcome = action.outcome(state, step.arguments)
            other.layout.values(outcome.state)  # a step beyond the scope cannot be taken there
        except DomainError as error:
            return steps, str(error)
        state = other.layout.named(outcome.state)
        steps.append(TraceStep(step.action, step.arguments, state, outcome.event))
    return steps, ""


def mermaid(drawing: Drawing) -> str:
    """The drawing as a sequence diagram: a participant for each lane, a note for each event and each failure.

    The steps of a cycle are in a `loop`.
    """
    return "\n".join(("sequenceDiagram", *_mermaid_lines(drawing))) + "\n"


def _mermaid_lines(drawing: Drawing) -> Iterator[str]:
    lanes = drawing.lanes or ("state",)
    for number, name in enumerate(lanes):
        yield f"    participant L{number} as {_escaped(name)}"
    cycle, end = drawing.cycle, len(drawing.columns) - 1
    for column in drawing.columns:
        if cycle is not None and column.number == cycle.start + 1:
            yield "    loop for ever"
        yield from _column(drawing, column, len(lanes) - 1)
    if cycle is not None:
        if cycle.start < end:
            yield "    end"
        parts = [cycle.text, *(f"fair: {text}" for text in cycle.fairness)]
        yield f"    Note over L0,L{len(lanes) - 1}: {_escaped('<br/>'.join(parts))}"


def _column(drawing: Drawing, column: StateColumn, last: int) -> Iterator[str]:
    text = f"{column.number} {column.action}"
    if not column.arrows:
        values = [f"{label} {value}" for label, value in zip(drawing.labels, column.strip, strict=True)]
        yield f"    Note over L0,L{last}: {_escaped('<br/>'.join([text, *filter(None, [', '.join(values)])]))}"
    for arrow in column.arrows:
        if arrow.source == arrow.target:
            yield f"    Note over L{arrow.source}: {_escaped(text)}"
        else:
            yield f"    L{arrow.source}->>L{arrow.target}: {_escaped(f'{text}: {arrow.label}')}"
    before = drawing.columns[column.number - 1].strip if column.number else column.strip
    pairs = zip(drawing.labels, before, column.strip, strict=True)
    changed = [f"{label} {old} → {new}" for label, old, new in pairs if old != new]
    if changed:
        yield f"    Note over L0,L{last}: {_escaped('<br/>'.join(changed))}"
    if column.failing:
        parts = [f"fails: {part}" for part in column.failing]
        yield f"    Note over L0,L{last}: {_escaped('<br/>'.join(parts))}"


def _escaped(text: str) -> str:
    """Text in which Mermaid sees no syntax of its own: `#` and `;` begin and end its entities.

    >>> _escaped("a;b#c")
    'a#59;b#35;c'
    """
    return "".join({"#": "#35;", ";": "#59;"}.get(character, character) for character in text)


def foreign_drawing(document: Any, title: str) -> Drawing:
    """The drawing of an ITF document that does not say which system it is of.

    Args:
        title: of the drawing, such as the name of its file.

    Raises:
        TraceError: naming the key that is missing or malformed.
    """
    states = document.get("states") if isinstance(document, dict) else None
    if not isinstance(states, list) or not states:
        raise TraceError("key states: missing, or no list of states")
    texts = [_foreign_texts(state, number) for number, state in enumerate(states)]
    names = tuple(dict.fromkeys(name for values in texts for name in values))
    columns = []
    for number, (state, values) in enumerate(zip(states, texts, strict=True)):
        before = texts[number - 1] if number else values
        action = "initial state" if number == 0 else visible(str(state.get(ACTION) or f"state {number}"))
        strip = tuple(values.get(name, "") for name in names)
        columns.append(StateColumn(number, action, (), strip, changes(names, before, values), state=values))
    meta = document.get("#meta")
    about = visible(str(meta.get("description", ""))) if isinstance(meta, dict) else ""
    return Drawing(
        title, about or title, "", (), names, columns=tuple(columns), cycle=_foreign_cycle(document, len(states) - 1)
    )


def _foreign_cycle(document: Mapping[str, Any], last: int) -> DrawnCycle | None:
    """The cycle of a lasso: ITF's `loop` is the number of the state that the last one is again."""
    if "loop" not in document:
        return None
    start = document["loop"]
    if type(start) is not int or not 0 <= start <= last:
        raise TraceError(f"key loop: not the number of a state, 0 to {last}")
    return DrawnCycle(start, f"for ever: {repeated_text(start, last)}")


def _foreign_texts(state: Any, number: int) -> dict[str, str]:
    if not isinstance(state, dict):
        raise TraceError(f"key states[{number}]: not a record")
    try:
        return {
            visible(name): visible(spelled(normal(value)))
            for name, value in state.items()
            if name not in ("#meta", ACTION, PICKS)
        }
    except (ValueError, RecursionError) as error:
        raise TraceError(f"key states[{number}]: not ITF: {error}") from error
