"""The tests of pages can fail: each fault that is put into a page is found by the test that looks for it."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Error, Page, expect

from tests.browser import test_log_page as log
from tests.browser import test_trace_page as trace
from tests.browser.conftest import PATIENCE
from tests.browser.watching import Watch

pytestmark = pytest.mark.slow

Check = Callable[[Page, Watch, Path], None]  # a test of a page that is opened, its watch, and the folder of pages

IMAGE = '<img alt="" src="http://127.0.0.1:9/a.png"></main>'

TRACE: dict[str, tuple[str, str, str, Check]] = {
    "lane": ("four", ">broker 0</text>", ">broker 9</text>", lambda p, w, f: trace.test_arrows_end_in_their_lanes(p)),
    "red": ("four", "rect.fails { fill: #d1242f", "rect.fails { fill: #22aa22",
            lambda p, w, f: trace.test_what_fails_and_what_changed_have_their_colours(p, "light")),
    "dark": ("four", "--ink: #e6edf3", "--ink: #333333",
             lambda p, w, f: trace.test_what_fails_and_what_changed_have_their_colours(p, "dark")),
    "contrast": ("four", "--ink: #e6edf3", "--ink: #333333",
                 lambda p, w, f: trace.test_a_page_needs_no_network_and_serves_everyone(p, w, f, "four")),
    "language": ("four", '<html lang="en">', "<html>",
                 lambda p, w, f: trace.test_a_page_needs_no_network_and_serves_everyone(p, w, f, "four")),
    "network": ("four", "</main>", IMAGE,
                lambda p, w, f: trace.test_a_page_needs_no_network_and_serves_everyone(p, w, f, "four")),
    "state": ("four", "names.has(name)", "false", lambda p, w, f: trace.test_the_last_step_is_shown_first(p)),
    "heading": ("four", "<h2>State</h2>", "<p>State</p>",
                lambda p, w, f: trace.test_a_page_is_the_same_to_a_screen_reader(p)),
    "key": ("four", "ArrowLeft: current - 1", "ArrowLeft: current",
            lambda p, w, f: trace.test_one_walks_by_keys_clicks_and_buttons(p)),
    "click": ("four", "go(index, false, true)", "go(0, false, true)",
              lambda p, w, f: trace.test_one_walks_by_keys_clicks_and_buttons(p)),
    "back": ("four", "history.pushState", "history.replaceState",
             lambda p, w, f: trace.test_the_address_is_that_of_the_step(p)),
    "divergence": ("four", 'class="other"', 'class="lane"', lambda p, w, f: trace.test_other_rules_are_beside(p)),
    "names": ("eighty", "translate(${scroll.scrollLeft})", "translate(0)",
              lambda p, w, f: trace.test_eighty_steps_stay_usable(p, f, 1280)),
    "width": ("eighty", ".scroll { overflow-x: auto", ".scroll { overflow-x: visible",
              lambda p, w, f: trace.test_eighty_steps_stay_usable(p, f, 360)),
    "repeat": ("eighty", "!event.repeat", "true", lambda p, w, f: trace.test_a_held_key_leaves_one_entry(p, f)),
    "round": ("lasso", "drawing.cycle.start + 1", "drawing.cycle.start",
              lambda p, w, f: trace.test_one_walks_round_the_cycle_of_a_lasso(p, f)),
    "variables": ("foreign", 'class="label"', 'class="name"',
                  lambda p, w, f: trace.test_a_foreign_trace_has_variables_and_no_lanes(p, f)),
}  # fmt: skip
"""By name: the page, what is replaced in it, by what, and the test that finds it."""

LOG: dict[str, tuple[str, str, str, Check]] = {
    "problem": ("violated", "if (first >= 0) go(first, false);", "",
                lambda p, w, f: log.test_a_violation_is_a_bar_and_stands_at_its_batch(p)),
    "danger": ("outage", "if (leader < 0) return OFFLINE;", "",
               lambda p, w, f: log.test_a_page_opens_at_what_is_wrong(p)),
    "backwards": ("outage", "this.at[this.changed[n]] = this.before[n];", "",
                  lambda p, w, f: log.test_the_cluster_is_shown_at_any_offset(p)),
    "since": ("outage", "first = this.before[first];", "break;",
              lambda p, w, f: log.test_a_page_opens_at_what_is_wrong(p)),
    "bars": ("violated", "spans.some(([start, end]) => start <= batch && batch < end)", "true",
             lambda p, w, f: log.test_a_violation_is_a_bar_and_stands_at_its_batch(p)),
    "lanes": ("outage", "well(a) - well(b) || a - b", "a - b",
              lambda p, w, f: log.test_brokers_are_lanes_with_what_they_did(p)),
    "reason": ("unexplained", "log.reasons.get(batch) || []", "[]",
               lambda p, w, f: log.test_a_batch_that_is_not_explained_says_why(p, f)),
    "address": ("violated", 'parts.set("offset", log.offsets[held])', "0",
                lambda p, w, f: log.test_one_walks_by_keys_clicks_and_buttons(p)),
    "partition": ("violated", "if (named && !this.concerns(batch, named)) continue;", "",
                  lambda p, w, f: log.test_one_partition_has_its_own_batches(p)),
    "before": ("violated", "old[which] !== text", "false",
               lambda p, w, f: log.test_a_violation_is_a_bar_and_stands_at_its_batch(p)),
    "words": ("violated", "if (wanted && !this.says(batch, says, wanted)) continue;", "",
              lambda p, w, f: log.test_one_looks_for_events_and_problems(p)),
    "only": ("violated", "if (problems && !this.isProblem(batch)) continue;", "",
             lambda p, w, f: log.test_one_looks_for_events_and_problems(p)),
    "label": ("violated", '<label class="short">Go to offset', '<label class="short"></label>Go to offset',
              lambda p, w, f: log.test_a_page_needs_no_network_and_serves_everyone(p, w, f)),
    "window": ("3000", "Math.min(this.count, Math.ceil(exact + this.room + 1))", "this.count",
               lambda p, w, f: log.test_a_longer_log_has_no_more_elements(p, f)),
    "sticky": ("3000", ".view { position: sticky", ".view { position: static",
               lambda p, w, f: log.test_a_longer_log_has_no_more_elements(p, f)),
    "scale": ("3000", "if (this.count * this.height <= TALLEST) return", "return",
              lambda p, w, f: log.test_very_many_batches_fit_a_scroll_bar(p, f)),
    "narrow": ("violated", "h1 { font-size: 1.4rem;", "h1 { min-width: 40rem;",
               lambda p, w, f: log.check_width(p, f / "violated.html", 390)),
}  # fmt: skip
"""The same of the page of a log."""


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages of traces."""
    return trace.write_pages(tmp_path_factory.mktemp("traces"))


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages of logs."""
    return log.write_pages(tmp_path_factory.mktemp("logs"))


@pytest.fixture(autouse=True)
def impatient(page: Page) -> Iterator[None]:
    """What does not come soon does not come."""
    page.set_default_timeout(2_000)
    page.set_default_navigation_timeout(60_000)
    expect.set_options(timeout=1_000)
    yield
    expect.set_options(timeout=PATIENCE)


def check_found(page: Page, watch: Watch, pages: Path, folder: Path, mutant: tuple[str, str, str, Check]) -> None:
    """The test passes on the page as it is, and fails on the mutant."""
    name, before, after, check = mutant
    text = (pages / f"{name}.html").read_text(encoding="utf-8")
    assert before in text
    for content, fails in ((text, False), (text.replace(before, after), True)):
        place = folder / f"{name}.html"
        place.write_text(content, encoding="utf-8")
        page.goto("about:blank")
        page.goto(place.as_uri())
        if fails:
            with pytest.raises((AssertionError, Error)):
                check(page, watch, folder)
        else:
            check(page, watch, folder)
        page.set_viewport_size({"width": 1280, "height": 800})
        watch.requests.clear()
    watch.faults.clear()


@pytest.mark.parametrize("name", TRACE)
def test_a_fault_in_the_page_of_a_trace_is_found(
    page: Page, watch: Watch, traces: Path, tmp_path: Path, name: str
) -> None:
    """A fault in the drawing, its colours, its keys, its addresses or its access is found."""
    check_found(page, watch, traces, tmp_path, TRACE[name])


@pytest.mark.parametrize("name", LOG)
def test_a_fault_in_the_page_of_a_log_is_found(page: Page, watch: Watch, logs: Path, tmp_path: Path, name: str) -> None:
    """A fault in what is shown, looked for or kept in view is found."""
    check_found(page, watch, logs, tmp_path, LOG[name])
