"""The Chromium of this machine, and what a run of the tests says where there is none."""

import os
import shutil
from collections.abc import Callable
from functools import partial

import pytest

NAMES = ("chromium", "google-chrome", "google-chrome-stable", "chromium-browser")  # what distributions call it

ABSENT = f"no browser is on the PATH (none of {', '.join(NAMES)})"  # why a test is skipped


def executable() -> str | None:
    """Where it is; None where there is none."""
    return next((place for name in NAMES if (place := shutil.which(name))), None)


def notice(skipped: int) -> str:
    """What a run says that has skipped tests for want of a browser."""
    return f"tests of pages that did NOT run: {skipped}; {ABSENT}; tests/browser/install installs one"


class Notice:
    """Says in the last line of a run how many tests had no browser, and in an annotation where GitHub runs it."""

    last: Callable[[], None] | None = None

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """A section of its own, whatever reports are asked for."""
        skips = terminalreporter.stats.get("skipped", [])
        count = sum(isinstance(skip.longrepr, tuple) and ABSENT in skip.longrepr[2] for skip in skips)
        if not count:
            return
        terminalreporter.section("PAGES WERE NOT TESTED", sep="!", red=True, bold=True)
        self.last = partial(terminalreporter.write_line, notice(count), red=True, bold=True)
        if os.environ.get("GITHUB_ACTIONS"):
            terminalreporter.write_line(f"::warning title=Pages were not tested::{notice(count)}")

    def pytest_unconfigure(self) -> None:
        """Below what pytest counts."""
        if self.last is not None:
            self.last()


def install(config: pytest.Config) -> None:
    """Have this run say so."""
    config.pluginmanager.register(Notice(), "chromium")
