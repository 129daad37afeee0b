"""The pictures of the documentation are those of the pages as they are now, and each is shown."""

import itertools
import math
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page

from tests.browser.drawn import DRAWN, ENGINES, WIDE, boxes, measured, scale
from tests.browser.screenshots import IMAGES, SCENES, VIEW, dead_leader, lasso, stored, structure
from tests.documentation.console import pages
from tests.shared.places import ROOT

AGAIN = "python -m tests.browser.screenshots writes the pictures anew"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of the pages, which share a search."""
    return tmp_path_factory.mktemp("scenes")


@pytest.mark.slow
@pytest.mark.parametrize("name", SCENES)
def test_a_screenshot_shows_the_page_of_now(page: Page, name: str, folder: Path) -> None:
    """The structure that a screenshot carries is that of its page: headings, text, buttons, tables."""
    page.set_viewport_size(VIEW)
    SCENES[name](page, folder)
    assert structure(page) == stored(name), AGAIN


def test_the_picture_of_a_trace_is_the_trace_of_now(folder: Path) -> None:
    """The drawing of the README's counterexample is what `trace --svg` writes."""
    assert (IMAGES / "dead-leader.svg").read_text(encoding="utf-8") == dead_leader(folder), AGAIN


def test_the_picture_of_a_lasso_is_the_lasso_of_now(folder: Path) -> None:
    """The drawing of what goes on for ever is what `trace --svg` writes of a stored lasso."""
    assert (IMAGES / "lasso.svg").read_text(encoding="utf-8") == lasso(folder), AGAIN


def test_every_picture_is_shown_and_small() -> None:
    """Each picture stands in a page with words for who cannot see it, and is small."""
    names = {path.name for path in IMAGES.iterdir()}
    drawn = {"dead-leader.svg", "lasso.svg", *DRAWN}
    drawn |= {f"lemmas-{system}.svg" for system in ("elections", "replication", "directories")}
    assert names == drawn | {f"{name}.png" for name in SCENES}
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages())
    shown = re.findall(r"!\[([^\]]{20,})\]\((?:\.\./|docs/)images/([\w.-]+)\)", text)
    assert {name for _, name in shown} == names
    assert all((IMAGES / name).stat().st_size < 100_000 for name in names)
    assert (ROOT / "docs" / "images").samefile(IMAGES)


def test_the_parts_of_the_architecture_are_in_the_sources() -> None:
    """Each box is of folders that there are, and lies within the picture and beside all others."""
    placed = boxes()
    named = {folder for box in placed.values() for folder in box.folders}
    assert {folder for folder in named if not (ROOT / folder / "__init__.py").exists()} == set()
    for one, other in itertools.combinations(placed.values(), 2):
        beside = one.x + one.width <= other.x or other.x + other.width <= one.x
        assert beside or one.y + one.height <= other.y or other.y + other.height <= one.y
    assert max(box.x + box.width for box in placed.values()) < WIDE


def test_the_costs_that_are_drawn_are_those_of_the_page() -> None:
    """Every engine of the page has a point for each figure of its table."""
    rows = measured()
    assert {engine for engine, *_ in rows} == set(ENGINES)
    points = sum(not math.isnan(number) for _, _, *numbers in rows for number in numbers)
    assert scale().count(' r="4"') == points
