"""A drawing as SVG: steps from left to right, the strip above, a lane below for each participant."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from html import escape

from attrs import frozen

from kraftcheck.solvers.drawings.drawing import Drawing, DrawnArrow, DrawnCycle, StateColumn

CHARACTER, LINE, PAD = 7.2, 16, 8  # width of a character, height of a line of text, and the space around it, in pixels
LANE = 46  # height of a lane
MOST_OPEN, SLIVER = 60, 4  # steps of a drawing in which none is folded; the width of a folded one
ABOUT = 3  # steps on either side of one that matters, which stay open too

STYLE = """
svg { font: 12px ui-monospace, Menlo, Consolas, monospace; color: #1f2328; fill: currentColor }
.paper { fill: #ffffff } .lane { stroke: currentColor; stroke-opacity: .25 } .name, .label { font-weight: bold }
.arrow { stroke: #1f6feb; stroke-width: 1.5; fill: none } .head, .dot { fill: #1f6feb; stroke: none }
.changed { fill: #8f4700; font-weight: bold } .why { fill: #b31d28; font-weight: bold }
rect.fails { fill: #d1242f; fill-opacity: .14 } rect.cycle { fill: #1f6feb; fill-opacity: .07 }
.again { font-weight: bold } .folded rect.pick { fill: currentColor; fill-opacity: .04 }
.sent { stroke: #ffffff; stroke-width: 3px; paint-order: stroke }
.other { stroke: #8250df; stroke-width: 2; stroke-dasharray: 5 3 } .otherwise { fill: #7340cf; font-weight: bold }
@media (prefers-color-scheme: dark) {
svg { color: #e6edf3 } .paper { fill: #0d1117 } .sent { stroke: #0d1117 }
.arrow { stroke: #58a6ff } .head, .dot { fill: #58a6ff } .changed { fill: #ffb366 } .why { fill: #ff8a8f }
.other { stroke: #b78aff } .otherwise { fill: #c9a6ff }
}
"""
"""Colours on white paper, and on dark paper where the reader prefers that; no viewer needs variables for them."""


@frozen
class _Grid:
    """Where things stand."""

    left: tuple[float, ...]  # left edges of the columns, and the right edge of the last
    folded: Mapping[int, str]  # by number the steps that are folded; the first of a run says how many
    actions: int  # height of the longest action in lines
    strip_top: float
    top: float  # upper edge of the lanes
    bottom: float  # lower edge of the lanes

    def middle(self, column: int) -> float:
        """The horizontal middle of a column."""
        return (self.left[column] + self.left[column + 1]) / 2

    def lane(self, number: int) -> float:
        """The height at which a lane runs."""
        return self.top + LANE * number + LANE / 2


def folded(drawing: Drawing, at: int | None = None) -> dict[int, str]:
    """The steps of a long drawing that are far from all that matters, by number; the first of a run says how many.

    What matters is the beginning, the end, the step in view, and where a property first fails, rules part, or a cycle
    begins.
    """
    last, marks = len(drawing.columns) - 1, {0, len(drawing.columns) - 1}
    if last <= MOST_OPEN:
        return {}
    marks |= set() if at is None else {at}
    marks |= {*[column.number for column in drawing.columns if column.failing][:1]}
    marks |= {drawing.cycle.start} if drawing.cycle is not None else set()
    marks |= {drawing.other.divergence or 0} if drawing.other is not None else set()
    far = [number for number in range(last + 1) if all(abs(number - mark) > ABOUT for mark in marks)]
    in_a_row = itertools.groupby(enumerate(far), lambda pair: pair[1] - pair[0])
    runs = [[number for _, number in pairs] for _, pairs in in_a_row]
    return {number: f"{len(run)} steps" * (number == run[0]) for run in runs for number in run}


def svg(drawing: Drawing, shut: Mapping[int, str] | None = None) -> str:
    """The drawing as an SVG document, without a script or anything from elsewhere.

    Args:
        shut: as `folded` has it, which it is where nothing is given.
    """
    grid = _grid(drawing, folded(drawing) if shut is None else shut)
    width, height = _size(drawing, grid)
    columns = (part for column in drawing.columns for part in _column(drawing, column, grid))
    paper = f'<rect class="paper" width="{width:.0f}" height="{height:.0f}"/>'
    names = _names(drawing, grid, height)
    cycle = _cycle(drawing, grid)
    body = "\n".join((paper, *_lanes(drawing, grid), *cycle, *columns, *_divergence(drawing, grid), *names))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{escape(_summary(drawing))}" '
        f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}">\n'
        f"<style>{STYLE}</style>\n{body}\n</svg>\n"
    )


def _size(drawing: Drawing, grid: _Grid) -> tuple[float, float]:
    """Width and height, with what is below the lanes: failing parts, and the cycle with its fairness."""
    width, height, texts = grid.left[-1] + PAD, _cycle_top(drawing, grid) + PAD, _cycle_texts(drawing.cycle)
    if texts:
        width = max(width, grid.left[0] + CHARACTER * 1.1 * max(map(len, texts)) + PAD)
        height += LINE * (len(texts) + 1)
    return width, height


def _cycle_top(drawing: Drawing, grid: _Grid) -> float:
    return grid.bottom + LINE * (2 + max(len(column.failing) for column in drawing.columns))


def _cycle_texts(cycle: DrawnCycle | None) -> list[str]:
    return [] if cycle is None else [cycle.text, *(f"fair: {text}" for text in cycle.fairness)]


def _cycle(drawing: Drawing, grid: _Grid) -> Iterator[str]:
    """The columns of the cycle in a colour, an arrow below them from the last back to the first, and what it says."""
    if drawing.cycle is None:
        return
    start, last = drawing.cycle.start, len(drawing.columns) - 1
    left, right = grid.left[start], grid.left[last + 1]
    yield f'<rect class="cycle" x="{left:.0f}" y="0" width="{right - left:.0f}" height="{grid.bottom:.0f}"/>'
    aside = 12 if start == last else 0  # where it stays, the arrow goes around
    x, begin, turn = grid.middle(start) - aside, grid.middle(last) + aside, _cycle_top(drawing, grid)
    tip, neck = grid.bottom, grid.bottom + 6
    yield f'<path class="arrow" d="M{begin:.0f} {tip:.0f} V{turn:.0f} H{x:.0f} V{neck:.0f}"/>'
    yield f'<polygon class="head" points="{x - 4:.0f},{neck:.0f} {x + 4:.0f},{neck:.0f} {x:.0f},{tip:.0f}"/>'


def _summary(drawing: Drawing) -> str:
    steps = f"{drawing.claim} of {drawing.title}: {len(drawing.columns) - 1} steps"
    return steps if drawing.cycle is None else f"{steps}; {drawing.cycle.text}"


def action_lines(action: str) -> list[str]:
    """An action's name and each of its arguments, a line each.

    >>> action_lines("fence(broker=0)")
    ['fence', 'broker=0']
    """
    name, _, rest = action.partition("(")
    arguments, depth, current = list[str](), 0, ""
    for character in rest[:-1]:
        depth += character in "([{"
        depth -= character in ")]}"
        if character == "," and depth == 0:
            arguments.append(current.strip())
            current = ""
        else:
            current += character
    return [name, *arguments, *([current.strip()] if current.strip() else [])]


def _grid(drawing: Drawing, shut: Mapping[int, str]) -> _Grid:
    names = [*drawing.lanes, *drawing.labels]
    left = [PAD * 2 + CHARACTER * 1.15 * max(map(len, names), default=0)]
    for column in drawing.columns:
        if column.number in shut:
            told = shut[column.number]
            left.append(left[-1] + (CHARACTER * len(told) + 2 * PAD if told else SLIVER))
            continue
        texts = [*action_lines(column.action), *column.strip, *(arrow.label for arrow in column.arrows)]
        texts += [f"fails: {part}" for part in column.failing]
        left.append(left[-1] + max(70, CHARACTER * max(map(len, texts))) + 2 * PAD)
    actions = max(len(action_lines(column.action)) for column in drawing.columns)
    strip_top = PAD + LINE * (actions + 1)
    top = strip_top + LINE * len(drawing.labels) + PAD
    return _Grid(tuple(left), shut, actions, strip_top, top, top + LANE * len(drawing.lanes))


def _lanes(drawing: Drawing, grid: _Grid) -> Iterator[str]:
    for number in range(len(drawing.lanes)):
        height = grid.lane(number)
        yield f'<line class="lane" x1="{grid.left[0]:.0f}" x2="{grid.left[-1]:.0f}" y1="{height}" y2="{height}"/>'


def _names(drawing: Drawing, grid: _Grid, height: float) -> Iterator[str]:
    """What stands at the left, as one group above all else: a page keeps it in view where the steps are scrolled."""
    yield f'<g class="names"><rect class="paper" y="1" width="{grid.left[0] - 2:.0f}" height="{height - 2:.0f}"/>'
    for row, label in enumerate(drawing.labels):
        yield _text(PAD, grid.strip_top + LINE * (row + 1), label, "label", "start")
    for number, name in enumerate(drawing.lanes):
        yield _text(PAD, grid.lane(number) + 4, name, "name", "start")
    for row, text in enumerate(_cycle_texts(drawing.cycle), start=1):
        yield _text(grid.left[0], _cycle_top(drawing, grid) + LINE * row, text, "again" if row == 1 else "", "start")
    yield "</g>"


def _column(drawing: Drawing, column: StateColumn, grid: _Grid) -> Iterator[str]:
    number, middle = column.number, grid.middle(column.number)
    told = grid.folded.get(number)
    kind = "step" if told is None else "step folded"
    yield f'<g class="{kind}" data-step="{number}"><title>{escape(f"{number}  {column.action}")}</title>'
    left, width = grid.left[number], grid.left[number + 1] - grid.left[number]
    shade = "fails" if column.failing else "pick"
    fill = "" if column.failing else ' fill="none" pointer-events="all"'
    yield f'<rect class="{shade}"{fill} x="{left:.0f}" y="0" width="{width:.0f}" height="{grid.bottom:.0f}"/>'
    if told is not None:
        yield f"{_text(middle, PAD + LINE - 4, told, 'name') if told else ''}</g>"
        return
    yield _text(middle, PAD + LINE - 4, str(number), "name")
    for row, line in enumerate(action_lines(column.action)):
        yield _text(middle, PAD + LINE * (row + 2) - 4, line, "name" if row == 0 else "")
    before = drawing.columns[number - 1].strip if number else column.strip
    for row, (value, old) in enumerate(zip(column.strip, before, strict=True)):
        yield _text(middle, grid.strip_top + LINE * (row + 1), value, "changed" if value != old else "")
    for arrow in column.arrows:
        yield from _arrow(arrow, middle, grid)
    for row, part in enumerate(column.failing):
        yield _text(middle, grid.bottom + LINE * (row + 1), f"fails: {part}", "why")
    yield "</g>"


def _divergence(drawing: Drawing, grid: _Grid) -> Iterator[str]:
    """A line before the first step that goes otherwise under the other rules."""
    other = drawing.other
    if other is None or other.divergence is None:
        return
    x, bottom = grid.left[other.divergence] - 3, grid.bottom + LINE  # beside the outline of the step in view
    yield f'<line class="other" x1="{x:.0f}" x2="{x:.0f}" y1="{PAD}" y2="{bottom:.0f}"/>'
    failing = len(drawing.columns[other.divergence].failing)
    height = grid.bottom + LINE * (failing + 1.5)
    yield _text(x, height, f"{other.rules} goes otherwise", "otherwise", "start" if other.divergence < 2 else "middle")


def _arrow(arrow: DrawnArrow, x: float, grid: _Grid) -> Iterator[str]:
    start, end = grid.lane(arrow.source), grid.lane(arrow.target)
    if arrow.source == arrow.target:
        yield f'<circle class="dot" cx="{x:.0f}" cy="{start}" r="4"/>'
        return
    tip = end - 6 if end > start else end + 6
    yield f'<line class="arrow" x1="{x:.0f}" x2="{x:.0f}" y1="{start}" y2="{tip}"/>'
    yield f'<polygon class="head" points="{x - 4:.0f},{tip} {x + 4:.0f},{tip} {x:.0f},{end}"/>'
    yield f'<circle class="dot" cx="{x:.0f}" cy="{start}" r="3"/>'
    yield _text(x, start + (-8 if end < start else 14), arrow.label, "sent")


def _text(x: float, y: float, text: str, kind: str, anchor: str = "middle") -> str:
    kinds = f' class="{kind}"' if kind else ""
    return f'<text{kinds} x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}">{escape(text)}</text>'
