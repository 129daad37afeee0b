"""Costly items: of those that take long, a change runs a share, drawn by its commit; a night runs them all."""

import contextlib
import os
import subprocess
import zlib
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from attrs import define, field

from tests.ci.night.plugin import GROUP, head

LIST = Path(__file__).with_name("costly.txt")
"""The ids of costly items, one a line, as the last run with `--costs` wrote them."""

LEAST = 0.4  # seconds of a processor, those of processes that it starts among them, from which an item is costly

SHARE = 10  # one in so many costly items is drawn for a commit

KEPT = "each_change"  # the marker of items that every change runs, whatever they take

COST = "processor seconds"
BEGUN = pytest.StashKey[float]()


def drawn(item: str, commit: str) -> bool:
    """Whether a costly item is run at a commit: each item at one in SHARE of all commits."""
    return zlib.crc32(item.encode()) % SHARE == int(commit[:8], 16) % SHARE


def used() -> float:
    """Seconds of a processor that this process and those that it has waited for have taken."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


@define(eq=False)  # pytest keeps plugins in sets
class Costly:
    """What becomes of costly items in a run of pytest."""

    root: Path  # the working tree, whose commit draws; without one every item is run
    mode: str  # `all` or `drawn`
    measures: bool  # whether the list is written anew from what the items of this run take
    # the ids of costly items
    listed: frozenset[str] = field(factory=lambda: frozenset(LIST.read_text(encoding="utf-8").splitlines()))
    # ran, found: how many of them are run, and of how many there are in this run
    ran: int = 0
    found: int = 0
    costs: dict[str, float] = field(factory=dict)  # by item what it took, where that is measured

    @pytest.hookimpl(tryfirst=True)  # before items are chosen by their markers
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Mark costly items, and leave out those that are not drawn."""
        costly = [one for one in items if GROUP.sub("", one.nodeid) in self.listed and not one.get_closest_marker(KEPT)]
        for item in costly:
            item.add_marker("costly")
        commit = self.commit() if self.mode == "drawn" else ""
        left = {one for one in costly if commit and not drawn(GROUP.sub("", one.nodeid), commit)}
        self.found, self.ran = len(costly), len(costly) - len(left)
        config.hook.pytest_deselected(items=[*left])
        items[:] = [item for item in items if item not in left]

    def commit(self) -> str:
        """The commit of the working tree, in hexadecimal digits; empty where it has none."""
        with contextlib.suppress(subprocess.CalledProcessError):
            return head(self.root)
        return ""

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Begin to measure an item."""
        item.stash[BEGUN] = used()

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, None]:
        """Add what an item took to its last report, which a worker sends to its controller."""
        made = yield
        if self.measures and call.when == "teardown":
            made.get_result().user_properties.append((COST, used() - item.stash[BEGUN]))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep what an item took."""
        measured: Any = [value for name, value in report.user_properties if name == COST]
        self.costs.update(dict.fromkeys([GROUP.sub("", report.nodeid)], *measured) if measured else {})

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say what is left out, and what would run it; write the list, where this run has measured."""
        if self.found > self.ran:
            said = f"{self.ran} of {self.found} costly tests were drawn by this commit"
            terminalreporter.write_line(f"{said}; `./ci/test --costly all` runs every one, and a night does")
        if self.costs:
            costly = sorted(item for item, cost in self.costs.items() if cost >= LEAST)
            LIST.write_text("".join(f"{item}\n" for item in costly), encoding="utf-8")


def options(parser: pytest.Parser) -> None:
    """The options of pytest that `install` reads."""
    parser.addoption("--costly", choices=["all", "drawn"], default="all", help="costly tests: all, or a commit's share")
    parser.addoption("--costs", action="store_true", help="write the list of costly tests anew")


def install(config: pytest.Config, root: Path) -> None:
    """Have a run of pytest draw, or measure, as it was asked to."""
    config.pluginmanager.register(Costly(root, config.getoption("costly"), config.getoption("costs")), "costly")
