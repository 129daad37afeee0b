"""Drawings of lassos: each format shows where the cycle begins again, and how it satisfies every constraint."""

from __future__ import annotations

import functools
import time
from typing import Any
from xml.etree import ElementTree

import pytest

from kraftcheck.ci.explore.trace import html
from kraftcheck.solvers.drawings.drawing import Drawing, dot, drawing, foreign_drawing, mermaid
from kraftcheck.solvers.drawings.svg import svg
from kraftcheck.solvers.exploration.explore import explore
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.program.verdict import Refuted
from kraftcheck.solvers.traces.itf import TraceError
from tests.solvers.drawings.test_drawings import STATES, SVG
from tests.solvers.liveness.toys import LIFT

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
    assert [line.rpartition(" ")[2] for line in told[begin + 1 : end]] == ["up()", "up()", "up()", "down()"]
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
