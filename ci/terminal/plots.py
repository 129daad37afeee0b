"""Plots: states by level and transitions by action of an exploration, saturation of random walks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.ci.terminal.urls import check_local
from kraftcheck.solvers.walks.walks import Walks

FORMATS = (".png", ".svg")


def check_plot(path: Path) -> None:
    """Refuse a picture that cannot be made, before work is spent.

    Raises:
        Refusal: for another kind of file, or without matplotlib.
    """
    check_local(path)
    if path.suffix not in FORMATS:
        raise Refusal(f"--plot writes {' or '.join(FORMATS)}, not {path.name!r}")
    if not path.parent.is_dir():
        raise Refusal(f"cannot write {path}: there is no folder {path.parent}; choose another place")
    try:
        __import__("matplotlib")
    except ImportError as error:
        raise Refusal(f"--plot needs matplotlib ({error}); pip install 'kraftcheck[plots]'") from error


def plot(path: Path, title: str, levels: Sequence[int], fired: Mapping[str, int]) -> None:
    """Draw states per level above, transitions per action below.

    Args:
        path: a PNG or SVG file.
        title: what was explored.
        levels: states by depth.
        fired: transitions by action.

    Raises:
        Refusal: when the file cannot be written.
    """
    import matplotlib as mpl  # only with the extra

    mpl.use("Agg")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4 + 0.22 * len(fired)), layout="constrained")
    upper, lower = figure.subplots(2, 1, height_ratios=[3, 0.22 * len(fired) + 1])
    upper.bar(range(len(levels)), levels, color="#4477aa")
    upper.set_title(f"{title}: {sum(levels):,} states", fontsize=10, wrap=True)
    upper.set_xlabel("depth")
    upper.set_ylabel("distinct states")
    upper.yaxis.set_major_formatter("{x:,.0f}")
    ordered = sorted(fired.items(), key=lambda item: item[1])
    lower.barh([name for name, _ in ordered], [count for _, count in ordered], color="#228833")
    lower.set_xscale("symlog")
    lower.set_xlabel("transitions taken (logarithmic)")
    try:
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
    except OSError as error:
        raise Refusal(f"cannot write {path}: {error.strerror or error}; choose another place") from error


def plot_walks(path: Path, title: str, walks: Walks) -> None:
    """Draw the distinct states, and the goals, that random walks had reached by so many steps: their saturation.

    Args:
        path: a PNG or SVG file.
        title: what was walked.
        walks: with their curve.

    Raises:
        Refusal: when the file cannot be written.
    """
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
    try:
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
    except OSError as error:
        raise Refusal(f"cannot write {path}: {error.strerror or error}; choose another place") from error
