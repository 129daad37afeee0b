"""Pages that are made from data are current."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kraftcheck.ci.terminal.commands import COMMANDS
from tests.documentation import commands, findings
from tests.documentation.console import pages
from tests.documentation.index import FIGURES, OF_SITE, described
from tests.documentation.pages import PAGES
from tests.shared.places import DOCS


@pytest.mark.parametrize("place", PAGES, ids=lambda place: f"{place.parent.name}/{place.name}")
def test_a_page_is_what_the_data_says(place: Path) -> None:
    """A page is exactly what its generator writes today."""
    assert place.read_text(encoding="utf-8") == PAGES[place](), "run `python -m tests.documentation`"


def test_every_finding_has_its_page() -> None:
    """Each finding has a page, exactly as the data says it, and there is no other."""
    assert {*findings.FOLDER.glob("*.md")} == {*findings.REPORTS, findings.FOLDER / "README.md"}
    wrong = [place for place, text in findings.REPORTS.items() if place.read_text(encoding="utf-8") != text()]
    assert wrong == [], "run `python -m tests.documentation`"


def test_the_page_of_commands_has_every_command() -> None:
    """Each command has a section with its usage, though commands are imported only when they are called."""
    page = commands.page()
    heads = {name: f"## kraftcheck {name}\n\n```text\nUsage: kraftcheck {name} " for name in COMMANDS}
    assert [name for name, head in heads.items() if head not in page] == []


def test_figures_are_of_pages() -> None:
    """Each figure of the reference is about a page that exists."""
    assert [name for name in FIGURES if name not in OF_SITE and not (DOCS / "reference" / name).exists()] == []


def test_pages_of_the_site_are_no_files() -> None:
    """A page that is made with the site is not in git, and no page in git links to it: there it leads nowhere."""
    assert [name for name in OF_SITE if (DOCS / "reference" / name).exists()] == []
    there = re.compile(rf"\]\((?:\S*reference/)?({'|'.join(map(re.escape, OF_SITE))})[)#]")
    linking = [(page, found) for page in pages() for found in there.findall(page.read_text(encoding="utf-8"))]
    assert linking == []
    assert there.findall("[a](rules.md) [b](../reference/words.md#c) [d](docs/reference/coverage.md)") != []


def test_every_page_begins_with_a_sentence() -> None:
    """Each page of docs/ has a title, and under it a sentence that ends: the indexes show it."""
    told = {page: described(page.read_text(encoding="utf-8")) for page in DOCS.rglob("*.md")}
    told |= {DOCS / "reference" / name: described(one.HEAD) for name, one in OF_SITE.items()}
    offenders = [page for page, (title, _) in told.items() if not title or "#" in title]
    for page, (_, sentence) in told.items():
        listed = page.parent.name in ("reference", "how-to", "tutorial")
        if listed and not (10 < len(sentence) < 300 and sentence.endswith(".")):
            offenders.append(page)
    assert offenders == []
