"""The page of `replay --html` in a browser: what is seen, what one looks for, and that a long log stays usable."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from kraftcheck.ci.bench.synthetic import SyntheticLog, SyntheticSize
from tests.browser.accessibility import assert_accessible
from tests.browser.watching import Watch
from tests.shared.captures import DEAD_LEADER, ELR, replayed
from tests.shared.commands import kraftcheck

ELEMENTS = 1500
"""More elements than this a page never has, however long its log is; 200 rows of a batch are among them."""

SEEN = """() => [...document.querySelectorAll(".column")].map((column) =>
    [...column.querySelectorAll("text")].map((text) => text.textContent))"""


def synthetic(folder: Path, records: int) -> Path:
    """The page of a log of some records."""
    log = folder / f"log-{records}"
    log.mkdir()
    with (log / f"{0:020}.log").open("wb") as segment:
        segment.writelines(SyntheticLog(SyntheticSize(topics=8, records=records)).batches())
    target = folder / f"{records}.html"
    assert kraftcheck("replay", log, "--html", target).code in (0, 12)
    return target


def write_pages(folder: Path) -> Path:
    """Write pages into a folder: of a log with violations, of one that is not explained, and of a longer one."""
    assert kraftcheck("replay", DEAD_LEADER, "--html", folder / "violated.html").code == 12
    words = ("--rules", "kafka-4.0", "--html", folder / "unexplained.html")
    assert kraftcheck("replay", ELR, *words).code == 23
    synthetic(folder, 3_000)
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages."""
    return write_pages(tmp_path_factory.mktemp("logs"))


def opened(page: Page, path: Path, address: str = "") -> None:
    """Open a page and wait until its data are read."""
    page.goto(path.as_uri() + address)
    expect(page.locator("body[data-ready]")).to_be_attached()


@pytest.fixture
def violated(page: Page, folder: Path) -> Page:
    """The log with violations, opened."""
    opened(page, folder / "violated.html")
    return page


def test_the_first_violation_is_shown_first(violated: Page) -> None:
    """A page opens at the first problem: red, with the properties, the event, and what it changed in a partition."""
    current = violated.locator(".column.current")
    assert current.locator("text").all_text_contents() == [
        "68", "broker 1 registers after an", "unclean stop", "2", "1", "BrokerRegistration", "fails: leader-active",
        "fails: isr-active-while-led", "fails: unclean-stop-loses-e…",
    ]  # fmt: skip
    assert current.locator("rect").evaluate("part => getComputedStyle(part).fill") == "rgb(209, 36, 47)"
    expect(violated.locator("#batch")).to_have_text("offset 68, 2 records")
    assert violated.locator("#wrong p").all_text_contents() == [
        "VIOLATED leader-active by lone-0",
        "VIOLATED isr-active-while-led by lone-0: broker 1",
        "VIOLATED unclean-stop-loses-eligibility by lone-0",
    ]
    cells = violated.locator("#changes tr").first.locator("th, td").all_text_contents()
    assert cells == ["lone-0", "none → 1", "{} → {1}", "{1} → {}", "[1]", "2"]
    assert violated.locator("#changes .changed").count() == 3


def test_a_batch_that_is_not_explained_says_why(page: Page, folder: Path) -> None:
    """Such a batch is marked, and the nearest event and the fields that differ are named."""
    opened(page, folder / "unexplained.html")
    expect(page.locator(".column.current .why").first).to_have_text("not explained")
    expect(page.locator("#wrong")).to_contain_text("nearest: ")
    expect(page.locator("#wrong")).to_contain_text("required")
    assert page.locator("#marks rect:not(.here)").count() == 7


def test_one_walks_by_keys_clicks_and_buttons(violated: Page) -> None:
    """Keys, a click on a batch, and the buttons lead to a batch or to a problem; the address keeps its offset."""
    place, batch = violated.locator("#place"), violated.locator("#batch")
    expect(place).to_have_text("batch 29 of 76")
    violated.keyboard.press("ArrowRight")
    expect(batch).to_have_text("offset 70, 1 record")
    violated.locator(".column", has_text="fence broker 1").first.click()
    expect(batch).to_have_text("offset 60, 8 records")
    assert violated.url.endswith("#offset=60")
    violated.get_by_role("button", name="problem →").click()
    violated.get_by_role("button", name="problem →").click()
    expect(place).to_have_text("batch 45 of 76")
    violated.go_back()
    expect(batch).to_have_text("offset 68, 2 records")
    violated.keyboard.press("End")
    expect(violated.get_by_role("button", name="forward →")).to_be_disabled()
    violated.keyboard.press("Home")
    expect(batch).to_have_text("offset 0, 1 record")
    violated.get_by_label("Go to offset").fill("69")
    violated.keyboard.press("Enter")
    expect(batch).to_have_text("offset 68, 2 records")


def test_one_partition_has_its_own_timeline(violated: Page) -> None:
    """Of one partition the batches that change or concern it are shown, with its state above and changes in colour."""
    violated.get_by_label("Partition").fill("lone-0")
    violated.keyboard.press("Enter")
    expect(violated.locator("#place")).to_contain_text(re.compile(r" of (1\d|\d)$"))
    names = violated.locator(".names text").all_text_contents()
    assert names[:4] == ["leader", "ISR", "ELR", "replicas"]
    changed = violated.locator(".column.current .changed").all_text_contents()
    assert changed == ["1", "{1}", "{}"]
    assert "partition=lone-0" in violated.url
    violated.reload()
    expect(violated.locator("#batch")).to_have_text("offset 68, 2 records")
    violated.get_by_label("Partition").fill("lone-77")
    violated.keyboard.press("Enter")
    expect(violated.locator("#place")).to_have_text("no batch matches")
    violated.go_back()
    expect(violated.locator("#batch")).to_have_text("offset 68, 2 records")


def test_one_looks_for_events_and_problems(violated: Page) -> None:
    """The words of events, and a box, leave the batches that have them; every problem of the log is there."""
    violated.get_by_label("only what is violated").check()
    expect(violated.locator("#place")).to_have_text("batch 1 of 5")
    assert all(any(text.startswith("fails: ") for text in column) for column in violated.evaluate(SEEN))
    violated.get_by_label("only what is violated").uncheck()
    violated.get_by_label("Events that say").fill("Fence Broker 1")
    violated.keyboard.press("Enter")
    names = ([step.name for step in b.explanation.steps] for b in replayed(DEAD_LEADER) if b.explanation is not None)
    matching = [events for events in names if any("fence broker 1" in event for event in events)]
    expect(violated.locator("#place")).to_contain_text(f" of {len(matching)}")
    violated.locator("h1").click()
    for events in reversed(matching):
        violated.keyboard.press("End" if events is matching[-1] else "ArrowLeft")
        assert violated.locator("#events th").all_text_contents() == events
    violated.get_by_label("Events that say").fill("of orders-0 proposes")
    violated.keyboard.press("Enter")
    expect(violated.locator("#events")).to_contain_text("of orders-0 proposes ISR")


def test_a_page_needs_no_network_and_serves_everyone(violated: Page, watch: Watch, folder: Path) -> None:
    """A page asks for nothing but itself, and has no grave fault of access, light or dark."""
    violated.keyboard.press("ArrowRight")
    assert_accessible(violated)
    assert {request.partition("#")[0] for request in watch.requests} == {(folder / "violated.html").as_uri()}


def check_elements_stay_few(page: Page, path: Path) -> None:
    """Walk and scroll through a log: the batch at hand is in view, and the elements are no more anywhere."""
    opened(page, path)
    (total,) = re.findall(r" of (\d+)$", page.locator("#place").inner_text())
    for key, number in (("End", int(total)), ("Home", 1), ("ArrowRight", 2)):
        page.keyboard.press(key)
        expect(page.locator("#place")).to_have_text(f"batch {number} of {total}")
        expect(page.locator(".column.current")).to_be_in_viewport(ratio=0.5)
        assert page.locator("*").count() < ELEMENTS
    seen = page.evaluate(SEEN)
    page.locator(".scroll").evaluate("part => { part.scrollLeft = (part.scrollWidth - part.clientWidth) / 2; }")
    page.wait_for_function("before => document.querySelector('.column text').textContent !== before", arg=seen[0][0])
    first = int(page.locator(".column").first.get_attribute("data-index") or "")
    assert abs(first - int(total) / 2) < 12
    assert page.locator("*").count() < ELEMENTS
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280


def test_a_longer_log_has_no_more_elements(page: Page, folder: Path) -> None:
    """In a log of 3,000 records only what is in view is an element, and every batch can be reached."""
    check_elements_stay_few(page, folder / "3000.html")


@pytest.mark.slow
def test_a_long_log_has_no_more_elements(page: Page, tmp_path: Path) -> None:
    """In a log of 100,000 records only what is in view is an element, and every batch can be reached."""
    check_elements_stay_few(page, synthetic(tmp_path, 100_000))


def test_very_many_batches_fit_a_scroll_bar(page: Page, folder: Path) -> None:
    """Where a browser could not make so wide an element, a pixel is more than one, and both ends are reached."""
    text = (folder / "3000.html").read_text(encoding="utf-8")
    path = folder / "narrow.html"
    path.write_text(text.replace("WIDEST = 8e6", "WIDEST = 2e4"), encoding="utf-8")
    check_elements_stay_few(page, path)
    assert page.locator(".scroll").evaluate("part => part.scrollWidth") <= 20_000


def test_a_narrow_window_is_enough(page: Page, folder: Path) -> None:
    """In a window of 360 pixels the batch at hand and the names of lanes are in view, and nothing is wider."""
    page.set_viewport_size({"width": 360, "height": 800})
    opened(page, folder / "violated.html")
    expect(page.locator(".column.current")).to_be_in_viewport(ratio=0.5)
    expect(page.locator(".names .name").first).to_be_in_viewport(ratio=1)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
