"""Drawings of traces, lassos and replayed logs, in each format."""

import functools
import random
import re
import time
from collections.abc import Iterable
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from attrs import evolve

from kraftcheck.ci.explore.trace import html
from kraftcheck.ci.logs.condition import condition_of
from kraftcheck.ci.logs.format.read import SkipCount, find, read_compact
from kraftcheck.ci.logs.releases import rules_of
from kraftcheck.ci.logs.report import ReplayOptions, event_kind
from kraftcheck.ci.systems.subject import program, subject
from kraftcheck.model.language.layout import DomainError, Layout
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
    with_strip,
)
from kraftcheck.solvers.drawings.log import BROKER_STATES, GONE, PARTITION, LogDrawing
from kraftcheck.solvers.drawings.svg import MOST_OPEN, action_lines, folded, svg
from kraftcheck.solvers.exploration.explore import explore
from kraftcheck.solvers.logs.explain.explain import ReplayedBatch
from kraftcheck.solvers.logs.memo.ledger import MemoisedBatch
from kraftcheck.solvers.logs.memo.replay import MemoisedReplay
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.program.verdict import Refuted, Trace, TraceStep
from kraftcheck.solvers.traces.itf import TraceError
from kraftcheck.solvers.traces.render import call, event_text, fields, show
from tests.shared.captures import CAPTURED, DEAD_LEADER, ELR, TROUBLE, batches, json_lines, replayed
from tests.shared.places import DOCS
from tests.solvers.liveness.toys import LIFT
from tests.toys import TWO_PHASE

SVG = "{http://www.w3.org/2000/svg}"


def walk(system: System, rules: str | None, steps: tuple[tuple[str, dict[str, Any]], ...], start: int = 0) -> Trace:
    """A run of named steps, as a trace, from an initial state by its number."""
    chosen = subject(system, None, {}, rules)
    actions = {action.name: action for action in chosen.system.actions(chosen.setting)}
    initial = state = [*chosen.system.initial(chosen.setting)][start]
    layout, taken = Layout(chosen.system.layout(chosen.setting)), []
    for name, arguments in steps:
        outcome = actions[name].outcome(state, arguments)
        state = layout.named(outcome.state)
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


def test_a_system_without_a_legend_shows_what_changes() -> None:
    """The fields that some step changes stand above the lanes, by their paths; of one state all fields do."""
    picture = lasso("weak", "bell")
    changed = {change.name for column in picture.columns for change in column.changes}
    assert {*picture.labels} == changed != {*picture.columns[0].state}
    assert all(column.strip == tuple(column.state[name] for name in picture.labels) for column in picture.columns)
    alone = with_strip(evolve(picture, columns=picture.columns[:1], labels=(), cycle=None))
    assert alone.labels == tuple(picture.columns[0].state)


def test_a_long_trace_is_folded_where_nothing_matters() -> None:
    """Far from the ends, the first failure, the cycle, other rules and the step in view, steps are slivers."""
    short = lasso("weak", "bell")
    assert folded(short) == {}
    columns = tuple(evolve(short.columns[0], number=number) for number in range(401))
    long = evolve(short, columns=(*columns[:100], evolve(columns[100], failing=("bell",)), *columns[101:]), cycle=None)
    shut = folded(long, at=200)
    assert {*range(401)} - {*shut} == {*range(4), *range(97, 104), *range(197, 204), *range(397, 401)}
    assert [text for text in shut.values() if text] == ["93 steps", "93 steps", "193 steps"]
    whole, closed = (float(ElementTree.fromstring(svg(long, some)).attrib["width"]) for some in ({}, shut))
    assert closed < whole / 10
    assert "<summary>all 400 steps</summary>" in html(long)
    assert all(f"more than {MOST_OPEN} steps" in " ".join((DOCS / "how-to" / name).read_text("utf-8").split())
               for name in ("serve.md", "pictures.md"))  # fmt: skip
    assert "<summary>" not in html(short)


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


def test_other_rules_differ_in_what_a_step_reports_and_breaks() -> None:
    """A step that leads to the same state goes otherwise where it reports or breaks something else, and says what."""
    base, changed = "kafka-4.4.0", "kafka-4.4.0+no-bump-on-replica-removal"
    release, own = (program(subject("elections", "default", {}, rules)) for rules in (base, changed))
    (reassign,) = (kind for kind in own.kinds if kind.action.name == "reassign")
    steps = tuple(("reassign", one) for one in reassign.instances if call("reassign", one) == "reassign(target=[0])")
    starts = [show(fields(one)["replicas"]) for one in own.system.initial(own.setting)]
    trace = evolve(
        walk(ELECTIONS, changed, steps, starts.index("[0,1]")), claim="removal-bumps-leader-epoch", kind="step"
    )
    beside = with_other_rules(drawing(trace, own, ""), trace, release, base).other
    assert beside is not None
    assert beside.columns[1].state == drawing(trace, own, "").columns[1].state
    assert beside.divergence == 1
    said = f"{beside.columns[1].event}; removal-bumps-leader-epoch does not fail"
    assert beside.texts == (f"the same under {base}", f"otherwise under {base} since step 1; there: {said}")
    mended = with_other_rules(drawing(evolve(trace, failing=()), own, ""), trace, own, changed).other
    assert mended is not None
    assert mended.texts[1] == f"the same under {changed}"


def test_other_rules_are_the_same_only_where_that_is_known() -> None:
    """Of a promise that no step alone breaks, equal states are not said to break it under the other rules as well."""
    traced = program(subject("elections", "default", {}, "kafka-4.0"))
    trace = evolve(walk(ELECTIONS, "kafka-4.0", FENCED), claim="deadlock", failing=("broker 0",))
    other = with_other_rules(drawing(trace, traced, ""), trace, traced, "kafka-4.0").other
    assert other is not None
    assert (other.divergence, other.texts[2]) == (None, "the same under kafka-4.0")
    assert other.texts[3].startswith("the same states under kafka-4.0, of which no step alone tells")


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


FAIR = ("WF(up): taken in steps 1, 2, 3", "WF(down): taken in step 4", "WF(ring): not enabled in states 0, 1, 3")
AGAIN = "for ever: steps 1 to 4 again, for state 4 is state 0"


@functools.cache
def lasso(scope: str, claim: str) -> Drawing:
    """The lasso of a property of the lift, as it is drawn."""
    program = trace(LIFT, LIFT.setting(scope))
    verdict = explore(program, clock=time.perf_counter).verdict(claim).verdict
    assert isinstance(verdict, Refuted)
    return drawing(verdict.trace, program, "lift")


@functools.cache
def picture(scope: str, claim: str) -> ElementTree.Element:
    """Its SVG."""
    return ElementTree.fromstring(svg(lasso(scope, claim)))


def texts(element: ElementTree.Element, kind: str | None = None) -> list[str]:
    """The texts of an SVG, of one class."""
    return [text.text or "" for text in element.iter(f"{SVG}text") if kind is None or text.get("class") == kind]


def test_a_drawing_says_what_is_repeated_and_why_that_is_fair() -> None:
    """The cycle has the column where it begins, what is repeated, and a line for each constraint; a halt stays."""
    cycle, halt = lasso("weak", "bell").cycle, lasso("idle", "up").cycle
    assert cycle is not None
    assert (cycle.start, cycle.text, cycle.fairness) == (0, AGAIN, FAIR)
    assert halt is not None
    assert (halt.start, halt.text, halt.fairness) == (1, "for ever: nothing happens any more", ())


def test_the_svg_has_an_arrow_back() -> None:
    """An arrow leads below the lanes from the last column to where the cycle begins; the texts are in view."""
    root = picture("weak", "bell")
    (way,) = [path for path in root.iter(f"{SVG}path") if path.get("class") == "arrow"]
    begin, end = (float(part[1:]) for part in (way.attrib["d"].split()[0], way.attrib["d"].split()[3]))
    boxes = [step.find(f"{SVG}rect") for step in root.iter(f"{SVG}g") if step.get("class") == "step"]
    edges = [(float(box.attrib["x"]), float(box.attrib["width"])) for box in boxes if box is not None]
    assert begin == pytest.approx(edges[4][0] + edges[4][1] / 2, abs=1.5)
    assert end == pytest.approx(edges[0][0] + edges[0][1] / 2, abs=1.5)
    assert texts(root, "again") == [AGAIN]
    assert [text for text in texts(root) if text.startswith("fair: ")] == [f"fair: {one}" for one in FAIR]
    assert max(float(text.attrib["y"]) for text in root.iter(f"{SVG}text")) < float(root.attrib["height"])
    assert AGAIN in root.attrib["aria-label"]


def test_the_columns_of_the_cycle_are_marked() -> None:
    """The mark covers the columns of the cycle and no other: all of one, and the last column of a halt."""
    for scope, claim, first, last in (("weak", "bell", 0, 4), ("idle", "up", 1, 1)):
        root = picture(scope, claim)
        (mark,) = [box for box in root.iter(f"{SVG}rect") if box.get("class") == "cycle"]
        boxes = [step.find(f"{SVG}rect") for step in root.iter(f"{SVG}g") if step.get("class") == "step"]
        edges = [(float(box.attrib["x"]), float(box.attrib["width"])) for box in boxes if box is not None]
        assert float(mark.attrib["x"]) == edges[first][0]
        assert float(mark.attrib["x"]) + float(mark.attrib["width"]) == pytest.approx(sum(edges[last]), abs=2)


def test_a_sequence_diagram_loops() -> None:
    """The steps of the cycle are in a `loop` of Mermaid; a halt has a note and no empty loop."""
    told = [line.strip() for line in mermaid(lasso("weak", "bell")).splitlines()]
    begin, end = told.index("loop for ever"), told.index("end")
    assert [line.rpartition(" ")[2] for line in told[begin + 1 : end] if "(" in line] == [*["up()"] * 3, "down()"]
    assert "<br/>fair: ".join([AGAIN, *FAIR]) in told[-1]
    halt = mermaid(lasso("idle", "up"))
    assert "loop" not in halt
    assert "for ever: nothing happens any more" in halt


def test_a_graph_has_an_edge_back() -> None:
    """A dashed edge leads from the last state to the one that it is again; from a halt to itself."""
    assert '    s4 -> s0 [style=dashed, label="for ever: steps 1 to 4' in dot(lasso("weak", "bell"))
    assert "    s1 -> s1 [style=dashed, " in dot(lasso("idle", "up"))


def test_a_page_lists_what_is_fair() -> None:
    """The page has the cycle as text, and each constraint as an item of a list."""
    page = html(lasso("weak", "bell"))
    assert [f"<li>{one}</li>" in page for one in FAIR] == [True] * 3
    assert "It is fair" not in html(lasso("idle", "up"))


@pytest.mark.parametrize("loop", [0, 1])
def test_a_lasso_of_another_checker_is_drawn_too(loop: int) -> None:
    """ITF's field `loop` is drawn, whoever wrote it; nothing is said of its fairness."""
    cycle = foreign_drawing({**STATES, "loop": loop}, "x").cycle
    assert cycle is not None
    assert (cycle.start, cycle.fairness) == (loop, ())


@pytest.mark.parametrize("loop", [-1, 2, "0", True, None])
def test_a_loop_that_is_no_state_is_refused(loop: Any) -> None:
    """A `loop` that names no state of the file is refused by its key."""
    with pytest.raises(TraceError, match="key loop: not the number of a state, 0 to 1"):
        foreign_drawing({**STATES, "loop": loop}, "x")


def document(batches: Iterable[ReplayedBatch | MemoisedBatch]) -> dict[str, Any]:
    """What is drawn of some batches."""
    drawing = LogDrawing(event_kind)
    for batch in batches:
        drawing.add(batch)
    return drawing.document()


def from_memo(folder: Path) -> tuple[dict[str, Any], int]:
    """What is drawn of a log whose explanations are memoised, and how many are."""
    replay = MemoisedReplay(rules_of)
    (log,) = find((folder,))
    return document(replay.replay(read_compact(log, SkipCount(0)))), replay.memo_hits


def groups(counts: list[int], rows: Iterable[Any]) -> list[list[Any]]:
    """Rows, parted into groups of these sizes."""
    listed = list(rows)
    return [listed[start:end] for start, end in pairwise(accumulate(counts, initial=0))]


def read_back(drawn: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Of each batch what the columns say of it, in words."""
    partitions = drawn["partitions"]

    def event(number: int, partition: int) -> tuple[str, str, int]:
        text, kind, broker = drawn["words"][number]
        named = text.replace(PARTITION, partitions[partition]) if partition >= 0 else text
        return named, kind, broker

    pairs = zip(drawn["events"], drawn["eventPartitions"], strict=True)
    events = groups(drawn["eventCounts"], (event(*pair) for pair in pairs))
    rows = zip(drawn["changed"], drawn["states"], drawn["epochs"], drawn["within"], strict=True)
    gone = (None,) * 5
    told = ((partitions[p], *(gone if s == GONE else drawn["shown"][s]), *more) for p, s, *more in rows)
    changes = groups(drawn["changeCounts"], told)
    plain = (drawn[name] for name in ("offsets", "records", "explanations", "places", "times"))
    return list(zip(*plain, events, changes, strict=True))


@pytest.mark.parametrize("folder", [ELR, DEAD_LEADER, TROUBLE], ids=lambda folder: folder.name)
def test_the_memo_draws_what_is_drawn_without_it(folder: Path) -> None:
    """Events, changes and violations are those of a replay without a memo, which explains each batch anew."""
    (memoised, hits), whole = from_memo(folder), document(replayed(folder))
    assert hits > 0
    assert read_back(memoised) == read_back(whole)
    names = [
        sorted((batch, claim, drawn["partitions"][p], parts) for batch, claim, p, parts in drawn["violations"])
        for drawn in (memoised, whole)
    ]
    assert names[0] == names[1]


@pytest.mark.parametrize("least", [2, 9])
@pytest.mark.parametrize("folder", [ELR, TROUBLE, CAPTURED / "kafka-3.5.2"], ids=lambda folder: folder.name)
def test_the_last_change_is_the_state_at_the_end(folder: Path, least: int, tmp_path: Path) -> None:
    """The last change that is drawn of a partition is what `status` shows of it, with the min ISR that its leader asks.

    That is more than there are replicas up to 3.6, where that is configured.
    """
    text, path = json_lines(batches(folder)), tmp_path / "log.jsonl"
    path.write_text(re.sub(r'("min.insync.replicas", "value": )"2"', rf'\1"{least}"', text), encoding="utf-8")
    last = {change[0]: change[1:] for row in read_back(from_memo(path)[0]) for change in row[6]}
    found = condition_of(path, ReplayOptions(None))["partitions"]
    columns = ("leader", "isr", "elr", "replicas", "min_isr")
    rows = {f"{row['topic']}-{row['partition']}": [row[name] for name in columns] for row in found}
    assert {name: [*shown[:5]] for name, shown in last.items() if shown[0] is not None} == rows
    assert max(row[4] for row in rows.values()) == (9 if folder.name == "kafka-3.5.2" and least == 9 else min(least, 3))


@pytest.mark.parametrize("folder", [ELR, TROUBLE, CAPTURED / "kafka-4.4.0"], ids=lambda folder: folder.name)
def test_what_brokers_do_is_that_of_their_registrations(folder: Path) -> None:
    """After each batch a broker is gone, live, shutting down or down, as its registration is; only changes are told."""
    drawn, batches = from_memo(folder)[0], replayed(folder)
    told = list(drawn["brokers"])
    doing = dict[int, str]()
    for number, batch in enumerate(batches):
        while told and told[0][0] == number:
            _, broker, state = told.pop(0)
            assert doing.get(broker) != BROKER_STATES[state]
            doing[broker] = BROKER_STATES[state]
        known = batch.state.controller.image.registrations
        assert {broker for broker, word in doing.items() if word != "gone"} == known.keys()
        for broker, registration in known.items():
            down = {"fenced", "shut down", "starting"}
            up = {"shutting down"} if registration.in_controlled_shutdown else {"live"}
            assert doing[broker] in (down if registration.fenced else up)
    assert not told
    assert {"live", "fenced", "starting", "shut down"} <= {BROKER_STATES[state] for _, _, state in drawn["brokers"]}


def test_violations_stand_at_their_batches() -> None:
    """A log that breaks properties has each violation at its batch, with the partition and the part that fails."""
    drawn, _ = from_memo(DEAD_LEADER)
    found = {(drawn["offsets"][b], claim, drawn["partitions"][p], parts) for b, claim, p, parts in drawn["violations"]}
    assert (68, "isr-active-while-led", "lone-0", "broker 1") in found
    assert len(found) == len(drawn["violations"]) == sum(len(batch.violations) for batch in replayed(DEAD_LEADER))


def test_an_event_names_its_broker() -> None:
    """A broker's lane has the events whose words name it; others are nobody's."""
    drawn, _ = from_memo(TROUBLE)
    found = {text: broker for text, _, broker in drawn["words"]}
    assert found["fence broker 1"] == found["unfence broker 1"] == 1
    assert found["create topic loose"] == -1
    assert {broker for text, broker in found.items() if text.startswith("leader 2 of ")} == {2}
