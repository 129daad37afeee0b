"""Plots: what the levels of an exploration had and took, transitions by action, saturation of random walks."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import frozen

from kraftcheck.ci.terminal.files import check_local, check_writable
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.solvers.walks.walks import Walks

if TYPE_CHECKING:  # matplotlib comes with an extra
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = (".png", ".svg")
GIGA = 10**9


def check_plot(path: Path) -> None:
    """Refuse, before work is spent, another kind of file than pictures have, and any without matplotlib."""
    check_local(path)
    if path.suffix not in FORMATS:
        raise Refusal(f"--plot writes {' or '.join(FORMATS)}, not {path.name!r}")
    check_writable(str(path))
    try:
        __import__("matplotlib")
    except ImportError as error:
        raise Refusal(f"--plot needs matplotlib ({error}); pip install 'kraftcheck[plots]'") from error


@frozen
class LevelCost:
    """The cost of one level of an exploration."""

    states: int  # that were new
    transitions: int  # from the level before
    seconds: float  # of the wall clock; 0: below what was measured
    memory: int  # most bytes in use; 0: not measured
    files: int  # bytes in files


def plot(path: Path, title: str, levels: Sequence[LevelCost], fired: Mapping[str, int]) -> None:
    """Draw, as PNG or SVG, what each level had, took and held, and transitions by action; raises Refusal."""
    import matplotlib as mpl  # only with the extra

    mpl.use("Agg")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 9 + 0.22 * len(fired)), layout="constrained")
    states, rates, sizes, actions = figure.subplots(4, 1, height_ratios=[3, 2.5, 2.5, 0.22 * len(fired) + 1])
    states.bar(range(len(levels)), [level.states for level in levels], color="#4477aa")
    states.set_title(f"{title}: {sum(level.states for level in levels):,} states", fontsize=10, wrap=True)
    states.set_ylabel("distinct states")
    states.yaxis.set_major_formatter("{x:,.0f}")
    _draw_rates(rates, levels)
    _draw_sizes(sizes, levels)
    for axis in (states, rates, sizes):
        axis.set_xlabel("depth")
        axis.set_xlim(-1, len(levels))
    ordered = sorted(fired.items(), key=lambda item: item[1])
    actions.barh([name for name, _ in ordered], [count for _, count in ordered], color="#228833")
    actions.set_xscale("symlog")
    actions.set_xlabel("transitions taken (logarithmic)")
    _save(figure, path)


def _draw_rates(axis: Axes, levels: Sequence[LevelCost]) -> None:
    """States and transitions a second, of the levels whose time was measured."""
    measured = [(depth, level) for depth, level in enumerate(levels) if level.seconds > 0]
    depths = [depth for depth, _ in measured]
    axis.plot(depths, [level.transitions / level.seconds for _, level in measured], "o-", color="#228833",
              label="transitions a second")  # fmt: skip
    axis.plot(depths, [level.states / level.seconds for _, level in measured], "o-", color="#4477aa",
              label="new states a second")  # fmt: skip
    axis.set_yscale("symlog")
    axis.set_ylabel("a second")
    axis.legend(fontsize=8)


def _draw_sizes(axis: Axes, levels: Sequence[LevelCost]) -> None:
    """Most memory of each level that measured it, and all files so far."""
    measured = [(depth, level) for depth, level in enumerate(levels) if level.memory]
    axis.plot([depth for depth, _ in measured], [level.memory / GIGA for _, level in measured], "o-", color="#aa3377",
              label="memory in use at most")  # fmt: skip
    files = itertools.accumulate(level.files / GIGA for level in levels)
    axis.plot(range(len(levels)), list(files), "o-", color="#ccbb44", label="files so far")
    axis.set_ylabel("GB")
    axis.legend(fontsize=8)


def plot_walks(path: Path, title: str, walks: Walks) -> None:
    """Draw the distinct states and goals that walks had reached by steps, as PNG or SVG; raises Refusal."""
    import matplotlib as mpl  # only with the extra

    mpl.use("Agg")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 5), layout="constrained")
    states = figure.subplots()
    steps = [0, *(point.steps for point in walks.curve)]
    states.plot(steps, [0, *(point.distinct for point in walks.curve)], color="#4477aa")
    states.set_title(f"{title}, seed {walks.seed}", fontsize=10, wrap=True)
    states.set_xlabel("steps")
    states.set_ylabel("distinct states", color="#4477aa")
    states.set_ylim(bottom=0)
    for axis in (states.xaxis, states.yaxis):
        axis.set_major_formatter("{x:,.0f}")
    goals, count = states.twinx(), len(walks.goals_shown) + len(walks.goals_missed)
    goals.step(steps, [0, *(point.goals for point in walks.curve)], where="post", color="#228833")
    goals.set_ylabel(f"goals reached, of {count}", color="#228833")
    goals.set_ylim(0, max(1, count) * 1.05)
    _save(figure, path)


def _save(figure: Figure, path: Path) -> None:
    """Write a figure; raises Refusal when the file cannot be written."""
    import matplotlib as mpl

    try:
        with mpl.rc_context({"svg.fonttype": "none"}):  # words, not outlines of letters: half of the bytes
            figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
    except OSError as error:
        raise Refusal(f"cannot write {path}: {error.strerror or error}; choose another place") from error
