"""Drawings of traces: lanes, arrows, what is in view and what fails, in each format."""

from __future__ import annotations

import random
import re
from typing import Any
from xml.etree import ElementTree

import pytest
from attrs import evolve

from kraftcheck.ci.systems.subject import program, subject
from kraftcheck.model.language.layout import DomainError
from kraftcheck.model.language.system import System
from kraftcheck.properties.catalogue import SYSTEMS
from kraftcheck.solvers.drawings.drawing import (
    Drawing,
    DrawnArrow,
    columns,
    dot,
    drawing,
    foreign_drawing,
    legend_of,
    mermaid,
    with_other_rules,
)
from kraftcheck.solvers.drawings.svg import action_lines, svg
from kraftcheck.solvers.program.verdict import Trace, TraceStep
from kraftcheck.solvers.traces.itf import TraceError
from kraftcheck.solvers.traces.render import event_text
from tests.toys import TWO_PHASE

SVG = "{http://www.w3.org/2000/svg}"


def walk(system: System, rules: str | None, steps: tuple[tuple[str, dict[str, Any]], ...]) -> Trace:
    """A run of named steps, as a trace."""
    chosen = subject(system, None, {}, rules)
    actions = {action.name: action for action in chosen.system.actions(chosen.setting)}
    initial = state = next(iter(chosen.system.initial(chosen.setting)))
    taken = []
    for name, arguments in steps:
        outcome = actions[name].outcome(state, arguments)
        state = outcome.state
        taken.append(TraceStep(name, arguments, state, outcome.event))
    return Trace(initial, tuple(taken), "leader-active", "always")


ELECTIONS = SYSTEMS["elections"]
FENCED = (("fence", {"broker": 0}), ("fence", {"broker": 1}), ("elect_preferred", {}))


def drawn(rules: str = "kafka-4.0") -> Drawing:
    """Two brokers are fenced, one after the other; then an election that finds nobody."""
    chosen = subject("elections", "default", {}, rules)
    trace = walk(ELECTIONS, rules, FENCED)
    return drawing(trace, program(chosen), chosen.title())


def test_steps_are_arrows_between_lanes() -> None:
    """A request goes from its sender to the controller; what happens in one lane is an event there."""
    picture = drawn()
    assert picture.lanes == ("operator", "controller", "broker 0", "broker 1", "broker 2")
    assert [column.arrows for column in picture.columns] == [
        (),
        (DrawnArrow(1, 1, ""),),
        (DrawnArrow(1, 1, ""),),
        (DrawnArrow(0, 1, "ElectLeaders PREFERRED"),),
    ]


def test_the_partition_is_in_view() -> None:
    """The strip has leader, ISR, ELR, replicas and fenced brokers of every state; the changes are those of the step."""
    picture = drawn()
    assert picture.labels[:3] == ("leader", "ISR", "ELR")
    assert [column.strip[0] for column in picture.columns][:2] == ["0", "none"]
    changed = {change.name: (change.before, change.after) for change in picture.columns[1].changes}
    assert changed["leader"] == ("0", "none")
    assert changed["fenced"] == ("{}", "{0}")
    assert picture.columns[1].event == event_text(walk(ELECTIONS, "kafka-4.0", FENCED).steps[0].event) != ""


def test_what_fails_is_marked_where_it_fails() -> None:
    """The conjuncts that fail at the end, and those that fail before, stand at their columns."""
    chosen = subject("elections", "default", {}, "kafka-4.0")
    trace = evolve(walk(ELECTIONS, "kafka-4.0", FENCED), claim="deadlock", failing=("broker 0",))
    failing = [column.failing for column in drawing(trace, program(chosen), "").columns]
    assert failing == [(), (), (), ("broker 0",)]


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_walk_can_be_drawn(name: str) -> None:
    """Whatever a system does, each step has its lanes, also where nobody leads; SVG of it is well formed."""
    chosen = subject(name, None, {}, "fixed")
    actions, draw = list(chosen.system.actions(chosen.setting)), random.Random(name)
    instances = [
        (action, dict(zip(action.parameters, values, strict=True)))
        for action in actions
        for values in _sample(action.parameters, draw)
    ]
    initial = state = next(iter(chosen.system.initial(chosen.setting)))
    steps = list[TraceStep]()
    for _ in range(2000):
        if len(steps) == 40:
            break
        action, arguments = draw.choice(instances)
        if not action.enabled(state, arguments):
            continue
        try:
            outcome = action.outcome(state, arguments)
        except DomainError:
            continue
        state = outcome.state
        steps.append(TraceStep(action.name, arguments, state, outcome.event))
    assert len(steps) > 3
    legend = legend_of(program(subject(name, None, {}, "fixed")))
    lanes = legend.lanes(chosen.setting.bounds)
    picture = Drawing("", name, "", lanes, tuple(legend.strip), columns(initial, steps, legend, lanes, {}))
    assert all(column.arrows for column in picture.columns[1:])
    groups = [group.attrib["class"] for group in ElementTree.fromstring(svg(picture)).iter(f"{SVG}g")]
    assert groups == ["step"] * (len(steps) + 1) + ["names"]


def _sample(parameters: Any, draw: random.Random) -> list[tuple[Any, ...]]:
    """Some values for the parameters of an action."""
    listed = {name: list(values) for name, values in parameters.items()}
    return [tuple(draw.choice(values) for values in listed.values()) for _ in range(12)]


def test_a_system_without_a_legend_has_lanes_of_its_arguments() -> None:
    """A lane for each value of an action's first argument, and one for what has none."""
    chosen = subject(TWO_PHASE, "3", {}, None)
    legend = legend_of(program(chosen))
    lanes = legend.lanes(chosen.setting.bounds)
    assert lanes[0] == "system"
    assert len(lanes) == 4
    assert set(legend.arrows) == {action.name for action in chosen.system.actions(chosen.setting)}


def test_other_rules_go_otherwise_at_a_step() -> None:
    """The first step that leads elsewhere is marked; what begins otherwise is no divergence, and is named."""
    trace = walk(ELECTIONS, "kafka-4.0", (("set_min_isr", {"minimum": 2}), *FENCED))
    picture = drawing(trace, program(subject("elections", "default", {}, "kafka-4.0")), "")
    same = with_other_rules(picture, trace, program(subject("elections", "default", {}, "kafka-4.0")), "kafka-4.0")
    assert same.other is not None
    assert (same.other.divergence, same.other.stopped, dict(same.other.start)) == (None, "", {})
    kip = with_other_rules(picture, trace, program(subject("elections", "default", {}, "kafka-3.9")), "kafka-3.9")
    assert kip.other is not None
    assert len(kip.other.columns) == 5
    moved = evolve(trace, steps=(TraceStep("enable_elr", {}, trace.initial),))
    stopped = with_other_rules(picture, moved, program(subject("elections", "default", {}, "kafka-3.9")), "kafka-3.9")
    assert stopped.other is not None
    assert (stopped.other.divergence, stopped.other.stopped) == (1, "there is no action enable_elr")


def test_svg_shows_what_the_drawing_has() -> None:
    """Every lane, label, action, argument and value is a text; an arrow is a line and a head; failures are named."""
    picture = drawn()
    last = evolve(picture.columns[-1], failing=("broker <0>",))
    picture = evolve(picture, columns=(*picture.columns[:-1], last))
    root = ElementTree.fromstring(svg(picture))
    texts = [text.text for text in root.iter(f"{SVG}text")]
    expected = {*picture.lanes, *picture.labels, "fence", "broker=0", "ElectLeaders PREFERRED", "fails: broker <0>"}
    assert expected <= set(texts)
    assert {value for column in picture.columns for value in column.strip} <= set(texts)
    assert len(list(root.iter(f"{SVG}polygon"))) == 1
    assert "elections" in root.attrib["aria-label"] or "leader-active" in root.attrib["aria-label"]


@pytest.mark.parametrize(
    ("action", "lines"),
    [
        ("initial state", ["initial state"]),
        ("cancel()", ["cancel"]),
        ("alter_partition(isr={0,1}, recovering=no)", ["alter_partition", "isr={0,1}", "recovering=no"]),
        ("heartbeat(broker=0, failed=[(1, 2), 3])", ["heartbeat", "broker=0", "failed=[(1, 2), 3]"]),
    ],
)
def test_an_argument_stands_in_a_line(action: str, lines: list[str]) -> None:
    """Commas within brackets part nothing."""
    assert action_lines(action) == lines


def test_mermaid_has_a_message_for_each_request() -> None:
    """A participant for each lane, a note for each event and change; text holds none of Mermaid's own characters."""
    picture = drawn()
    last = evolve(picture.columns[-1], failing=("a;b#c",))
    text = mermaid(evolve(picture, columns=(*picture.columns[:-1], last)))
    assert text.startswith("sequenceDiagram\n    participant L0 as operator\n")
    assert "    L0->>L1: 3 elect_preferred(): ElectLeaders PREFERRED\n" in text
    assert "    Note over L1: 1 fence(broker=0)\n" in text
    assert "fails: a#59;b#35;c" in text


def test_dot_has_a_node_for_each_state() -> None:
    """As many nodes as states, as many edges as steps; quotes and backslashes in names are quoted."""
    picture = evolve(drawn(), title='say "x"\\')
    text = dot(picture)
    assert len(re.findall(r"^    s\d+ \[", text, re.MULTILINE)) == 4
    assert len(re.findall(r"^    s\d+ -> s\d+ \[", text, re.MULTILINE)) == 3
    assert '"leader-active: say \\"x\\"\\\\"' in text


STATES = {
    "#meta": {"format": "ITF", "description": "Counter of Apalache"},
    "vars": ["x", "s"],
    "states": [
        {"#meta": {"index": 0}, "x": {"#bigint": "1"}, "s": {"#set": ["b", "a"]}},
        {"#meta": {"index": 1}, "x": {"#bigint": "2"}, "s": {"#set": ["b", "a"]}},
    ],
}


def test_traces_of_other_checkers_are_tables() -> None:
    """Variables are in view, sets in one order; there are no lanes, and nothing is said to fail."""
    picture = foreign_drawing(STATES, "counter.itf.json")
    assert (picture.claim, picture.lanes, picture.labels) == ("Counter of Apalache", (), ("x", "s"))
    assert [column.strip for column in picture.columns] == [("1", '{"a", "b"}'), ("2", '{"a", "b"}')]
    assert [change.name for change in picture.columns[1].changes] == ["x"]
    assert "sequenceDiagram" in mermaid(picture)
    ElementTree.fromstring(svg(picture))


@pytest.mark.parametrize(
    ("document", "place"),
    [
        ([], "key states: missing"),
        ({"states": []}, "key states: missing"),
        ({"states": [3]}, "key states[0]: not a record"),
        ({"states": [{"x": {"#bigint": "one"}}]}, "key states[0]: not ITF"),
    ],
)
def test_what_is_no_itf_is_refused(document: Any, place: str) -> None:
    """The key that is missing or malformed is named."""
    with pytest.raises(TraceError, match=re.escape(place)):
        foreign_drawing(document, "")


HOSTILE = "a\x1b[2J\n%%{init: {}}%%\nclick L0 call alert()\u202e\x00"


def test_names_of_a_stranger_are_no_syntax() -> None:
    """A name with an escape sequence, ends of lines and marks of direction leaves every format what it is."""
    state = {"#meta": {}, HOSTILE: HOSTILE, "mbt::actionTaken": HOSTILE}
    picture = foreign_drawing({"#meta": {"description": HOSTILE}, "states": [state, state | {HOSTILE: "b"}]}, "x")
    root = ElementTree.fromstring(svg(picture))
    assert "%%{init: {}}%%" in "".join(root.itertext())
    for made in (svg(picture), "\n".join(mermaid(picture).splitlines()), "\n".join(dot(picture).splitlines())):
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", made)
    assert not any(line.strip().startswith(("%%", "click")) for line in mermaid(picture).splitlines())
