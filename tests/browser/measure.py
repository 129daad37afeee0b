"""Measures the page of a long log: `python -m tests.browser.measure [RECORDS]`, 100,000 by default.

It prints the size of the page, the seconds that its writing takes besides the replay, and in Chromium the seconds until
the page answers and the milliseconds that a step, a jump to the end and a search take; then that of a large cluster.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from kraftcheck.ci.bench.synthetic import SyntheticLog, SyntheticSize
from kraftcheck.ci.logs.format.read import LogFiles, find
from kraftcheck.ci.logs.page import draw, html
from kraftcheck.ci.logs.report import ReplayOptions, event_kind
from kraftcheck.solvers.drawings.log import LogDrawing
from tests.browser.chromium import ABSENT, executable
from tests.browser.large import large_page

READY = "body[data-ready]"


def seconds(work: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """What some work takes, by a clock."""
    start = clock()
    work()
    return clock() - start


def written(log: LogFiles, target: Path) -> str:
    """Write the page, and say how large it is and how much processor time that took."""
    drawing = LogDrawing(event_kind)
    alone = seconds(lambda: ReplayOptions(None).replay(log, detailed=False), time.process_time)
    start = time.process_time()
    summary = ReplayOptions(None).replay(log, observe=partial(draw, drawing), detailed=False)
    target.write_text(html(drawing, summary, "the end is not worked out"), encoding="utf-8")
    both = time.process_time() - start
    size = f"{summary.records:,} records in {summary.batches:,} batches: {target.stat().st_size / 1e6:.2f} MB"
    return f"{size}, written in {both - alone:.1f} s of a processor besides the replay's {alone:.1f} s"


def answered(page: Page, target: Path) -> str:
    """Open the page, and say how long it takes to answer."""

    def opened() -> None:
        page.goto(target.as_uri())
        page.wait_for_selector(READY, state="attached")

    ready = seconds(opened)
    step = seconds(lambda: [page.keyboard.press("ArrowRight") for _ in range(20)]) / 20
    end = seconds(lambda: page.keyboard.press("End"))
    search = seconds(lambda: page.get_by_label("Event or property").fill("fence broker 1"))
    count = page.locator("*").count()
    times = f"step {step * 1000:.0f} ms, end {end * 1000:.0f} ms, search {search * 1000:.0f} ms"
    return f"answers after {ready:.2f} s; {times}; {count} elements"


def main(records: int) -> None:
    """Measure a synthetic log of so many records."""
    place = executable()
    if place is None:
        raise SystemExit(ABSENT)
    with tempfile.TemporaryDirectory(prefix="kraftcheck-") as name:
        folder = Path(name)
        (folder / "log").mkdir()
        with (folder / "log" / f"{0:020}.log").open("wb") as segment:
            segment.writelines(SyntheticLog(SyntheticSize(records=records)).batches())
        print(written(find((folder / "log",))[0], folder / "log.html"))
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=place, args=["--no-sandbox"])
            print(answered(browser.new_page(), folder / "log.html"))
            large = large_page(folder / "large.html", brokers=1_000, partitions=100_000)
            print(f"1,000 brokers, 100,000 partitions: {large.stat().st_size / 1e6:.2f} MB")
            print(answered(browser.new_page(), large))
            browser.close()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
