"""The load-bearing table in a browser: what its filters show, by mouse, keyboard and address, and for everyone."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from kraftcheck.ci.mutants.page import html, verdict
from kraftcheck.ci.mutants.table import place, read_parts
from tests.browser.accessibility import assert_accessible
from tests.browser.watching import Watch
from tests.shared.places import DOCS

SYSTEMS = ("elections", "broker-ids")
PARTS = [part for part in read_parts(DOCS / "reference" / "load-bearing.json") if part.system in SYSTEMS]
ROWS = [row for part in PARTS for row in part.rows]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page as a file."""
    place_ = tmp_path_factory.mktemp("table") / "table.html"
    place_.write_text(html(PARTS), encoding="utf-8")
    return place_


@pytest.fixture
def table(page: Page, file: Path) -> Page:
    """The page, opened."""
    page.goto(file.as_uri())
    return page


def shown(page: Page) -> int:
    """How many rows are seen."""
    return page.locator("tbody tr:visible").count()


def count(number: int) -> str:
    """What the page says of a number of rows."""
    return f"{number:,} of {len(ROWS):,} mutants"


def test_each_filter_leaves_its_rows(table: Page) -> None:
    """Rows are filtered by system, rule, property and verdict; the number that is said is the number that is seen."""
    rule, name = place(ROWS[0].mutant), ROWS[0].properties()[0]
    wanted = {
        ("system", "broker-ids"): sum(row.system == "broker-ids" for row in ROWS),
        ("rule", rule): sum(place(row.mutant) == rule for row in ROWS),
        ("property", name): sum(name in row.properties() for row in ROWS),
        ("verdict", "killed"): sum(row.word == "killed" for row in ROWS),
        ("verdict", "survives"): sum(row.word == "survives" for row in ROWS),
        ("verdict", "survives: redundant"): sum(verdict(row) == "survives: redundant" for row in ROWS),
    }
    for (label, value), number in wanted.items():
        table.get_by_label(label, exact=True).select_option(value)
        expect(table.get_by_role("status")).to_have_text(count(number))
        assert 0 < number == shown(table) < len(ROWS)
        table.get_by_role("button", name="all").click()
        expect(table.get_by_role("status")).to_have_text(count(len(ROWS)))


def test_filters_add_up_and_words_are_searched(table: Page) -> None:
    """Two filters leave what passes both, words in any order; what nothing passes shows no row and says so."""
    both = [row for row in ROWS if row.system == "elections" and row.word == "killed"]
    table.get_by_label("system", exact=True).select_option("elections")
    table.get_by_label("verdict", exact=True).select_option("killed")
    expect(table.get_by_role("status")).to_have_text(count(len(both)))
    table.get_by_label("words", exact=True).fill("unregister ELR-registered")
    found = [row for row in both if "elr-registered" in row.breaks_text() and "unregister" in row.breaks_text()]
    expect(table.locator("tbody tr:visible td:last-child")).to_have_count(shown(table))
    assert len(found) <= shown(table) < len(both)
    assert "elr-registered" in table.locator("tbody tr:visible").first.inner_text()
    table.get_by_label("words", exact=True).fill("no such words")
    expect(table.get_by_role("status")).to_have_text(count(0))


def test_the_keyboard_is_enough(table: Page) -> None:
    """A slash begins a search, Escape shows every row again, and each filter is reached with Tab."""
    table.keyboard.press("/")
    expect(table.get_by_label("words", exact=True)).to_be_focused()
    table.keyboard.type("redundant")
    assert 0 < shown(table) < len(ROWS)
    table.keyboard.press("Escape")
    expect(table.get_by_role("status")).to_have_text(count(len(ROWS)))
    table.get_by_label("system", exact=True).focus()
    names = []
    for _ in range(5):
        names.append(table.evaluate("document.activeElement.name || document.activeElement.textContent"))
        table.keyboard.press("Tab")
    assert names == ["system", "rule", "property", "verdict", "words"]


def test_the_address_keeps_the_filters(table: Page, file: Path) -> None:
    """The address of filtered rows shows them again; one with an unknown value shows every row."""
    table.get_by_label("system", exact=True).select_option("broker-ids")
    table.get_by_label("verdict", exact=True).select_option("goal lost")
    number = sum(row.system == "broker-ids" and row.word == "goal lost" for row in ROWS)
    address = table.url
    table.goto("about:blank")
    table.goto(address)
    expect(table.get_by_role("status")).to_have_text(count(number))
    expect(table.get_by_label("system", exact=True)).to_have_value("broker-ids")
    table.goto("about:blank")
    table.goto(f"{file.as_uri()}#system=no-such-system")
    expect(table.get_by_role("status")).to_have_text(count(len(ROWS)))


def test_the_table_serves_everyone_and_asks_nothing_of_the_network(table: Page, watch: Watch) -> None:
    """Axe finds no grave fault, light or dark, and the page requests nothing but itself."""
    table.get_by_label("system", exact=True).select_option("broker-ids")  # axe reads what is seen
    assert_accessible(table)
    assert watch.requests == [table.url.partition("#")[0]]


def test_without_scripts_every_row_is_there(browser: object, file: Path) -> None:
    """Where scripts are off, the page says so and shows every row."""
    context = browser.new_context(java_script_enabled=False)  # type: ignore[attr-defined]
    page = context.new_page()
    page.goto(file.as_uri())
    assert page.locator("tbody tr").count() == len(ROWS)
    assert "The filters need JavaScript" in page.locator("noscript").inner_text()
    context.close()
