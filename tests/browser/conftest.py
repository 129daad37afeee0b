"""One browser for all tests of pages, and a fresh page of it for each.

Playwright keeps an event loop running in the thread that started it, so the browser is closed after the last test of
this folder: tests that come later in the same process may start loops of their own.
"""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.browser import chromium
from tests.browser.watching import Watch, watching

PATIENCE = 20_000  # milliseconds; a busy machine draws late, and a test that passes waits for nothing


def pytest_itemcollected(item: pytest.Item) -> None:
    """All tests of this folder go to one worker, which starts one browser."""
    item.add_marker(pytest.mark.xdist_group("browser"))


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """The machine's Chromium without a window; where there is none, the test is skipped, and the run says so."""
    place = chromium.executable()
    if place is None:
        pytest.skip(chromium.ABSENT)
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=place, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture
def opened(browser: Browser) -> Iterator[tuple[Page, Watch]]:
    """A page in a profile of its own, and the watch over it; a script that fails fails the test."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    watch = watching(page)
    yield page, watch
    context.close()
    assert watch.faults == []


@pytest.fixture
def page(opened: tuple[Page, Watch]) -> Page:
    """A page of 1280 by 800 pixels; `page.goto(path.as_uri())` opens a file."""
    return opened[0]


@pytest.fixture
def watch(opened: tuple[Page, Watch]) -> Watch:
    """What the page asks of the network, and the faults of its scripts; a test that expects faults clears them."""
    return opened[1]
