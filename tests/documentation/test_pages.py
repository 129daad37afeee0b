"""Pages that are made from data are current, name what exists, list every key, and build as a site."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import griffe
import pytest

from kraftcheck.ci.terminal.commands import COMMANDS
from tests.documentation import commands, findings
from tests.documentation.console import files_of, pages
from tests.documentation.hooks import LAYERS, packages
from tests.documentation.index import FIGURES, OF_SITE, described
from tests.documentation.pages import PAGES
from tests.shared.commands import kraftcheck
from tests.shared.places import DOCS, ROOT, TESTS


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


PAGE = (DOCS / "reference" / "file-formats.md").read_text(encoding="utf-8")
LINE = re.compile(r"^\| `([^`]+)` \| (\d+) \| (.*) \|$", re.MULTILINE)
ROWS = {name: (int(version), keys) for name, version, keys in LINE.findall(PAGE)}

RUNS = {
    "list": "list elections",
    "explore": "explore tests.toys:CLOCK --quiet",
    "diff": "diff tests.toys:CLOCK tests.toys:CLOCK --quiet",
    "simulate": "simulate tests.toys:CLOCK --runs 2 --steps 5 --quiet",
    "prove": "prove tests.toys:CLOCK --quiet",
    "prove --bmc": "prove tests.toys:CLOCK --bmc 2 --quiet",
    "explain": "explain tests.gates:GATE --quiet",
    "bugs": "bugs requests-removed-first --quiet",
    "check": "check broker-ids --scope tiny --rules fixed --quiet",
    "conform --vectors": "conform --vectors {tests}/vectors/directory_id.json",
    "replay": "replay {tests}/captured/elr",
    "status": "status {tests}/captured/elr",
    "ask": "ask {tests}/snapshots/outage.txt unregister 2",
    "whatif": "whatif {tests}/captured/no-elr --faults 1",
}
"""A quick run of each command; `conform --kafka` and `query` need Java."""


def test_every_command_with_documents_has_a_row() -> None:
    """The page has a row for each command that is run here, and for those that need Java."""
    assert set(ROWS) == {*RUNS, "branch", "conform --kafka", "query"}


@pytest.mark.parametrize("command", RUNS)
def test_a_document_has_the_listed_keys(command: str) -> None:
    """A document has the version and exactly the keys of its row, those of another engine aside."""
    version, told = ROWS[command]
    document = kraftcheck(*RUNS[command].format(tests=TESTS).split(), "--json", "-").document()
    listed = set(re.findall(r"`(\w+)`", told.partition("; with")[0]))
    assert (document["version"], set(document) - {"version", "command"}) == (version, listed)


def test_a_trace_has_the_listed_keys(tmp_path: Path) -> None:
    """A counterexample says of itself what the page lists."""
    kraftcheck("explore", "tests.toys:DIGRAPH", "--quiet", "--out", tmp_path / "out")
    [first, *_] = sorted((tmp_path / "out").glob("*.itf.json"))
    told = json.loads(first.read_text(encoding="utf-8"))["#meta"]["kraftcheck"]
    [row] = re.findall(r"^\| `#meta.kraftcheck` \| (.*) \|$", PAGE, re.MULTILINE)
    assert set(re.findall(r"`(\w+)`", row)) == set(told)
    assert f"`version` {told['version']}," in row


SPAN = re.compile(r"`((?:model|properties|solvers|ci|tests|docs|kraftcheck)/[\w./*-]*)(?:::?\s?\w+)*(?: [^`]*)?`")
MODULE = re.compile(r"`(?:python -m )?((?:kraftcheck|tests)(?:\.\w+)+)(?:[: ][^`]*)?`")
FILE = re.compile(r"`(\w+\.(?:py|java|json|txt|toml))(?:::?\s?\w+)*`")
ELSEWHERE = {
    "check.py", "cluster.json", "file.py", "index.json", "kraftcheck.toml", "leaders.json", "manifest.json",
    "partitions.json", "report.json", "result.json", "run.json",
}  # fmt: skip
"""Files that a command writes, or that its user has."""

TEXTS = {str(page.relative_to(ROOT)): page.read_text(encoding="utf-8") for page in pages()}


NAMES = {
    path.name for layer in ("ci", "model", "properties", "solvers", "tests") for path in (ROOT / layer).rglob("*.*")
}
NAMES |= {path.name for path in ROOT.iterdir()}


def is_module(name: str) -> bool:
    """Whether a dotted name is a module, a package, or a name inside of a module."""
    parts = name.split(".")
    path = ROOT.joinpath(*parts)
    if path.is_dir() or path.with_suffix(".py").is_file():
        return True
    inside = ROOT.joinpath(*parts[:-1]).with_suffix(".py")
    return inside.is_file() and re.search(rf"\b{parts[-1]}\b", inside.read_text(encoding="utf-8")) is not None


def test_named_files_and_modules_exist() -> None:
    """Each path, file name and dotted module name in a code span leads to something in the repository."""
    for page, text in TEXTS.items():
        missing = [path for path in SPAN.findall(text) if not list(ROOT.glob(path.rstrip("/")))]
        missing += [name for name in MODULE.findall(text) if name not in ELSEWHERE and not is_module(name)]
        own = {*files_of(text), *ELSEWHERE}
        missing += [name for name in FILE.findall(text) if name not in own and name not in NAMES]
        assert missing == [], page


def test_many_are_named() -> None:
    """The patterns see the names: the pages have more than a hundred of either kind."""
    assert sum(len(SPAN.findall(text)) for text in TEXTS.values()) > 100
    assert sum(len(MODULE.findall(text)) for text in TEXTS.values()) > 50


def test_the_reference_tells_what_stands_behind_a_field(tmp_path: Path) -> None:
    """A comment behind a field or above it is in the section of its class, one behind a constant is its docstring."""
    text = '''"""A module."""

MOST = 3  # the largest
NONE = ""  # noqa: X1


class Place:
    """A place.

    Attributes:
        kept: as it was.
    """

    at: int = 0  # where it is
    # low, high: what is
    # between them
    low: int
    high: int
    plain: str  # fmt: skip
'''
    (tmp_path / "commented.py").write_text(text, encoding="utf-8")
    extensions = griffe.load_extensions(str(ROOT / "tests" / "documentation" / "comments.py"))
    made = griffe.load("commented", search_paths=[tmp_path], extensions=extensions)
    fields = ["at: where it is.", "low, high: what is between them.", "kept: as it was."]
    section = "\n    ".join(["A place.\n\nAttributes:", *fields])
    found = [made[name].docstring for name in ("Place", "MOST", "NONE")]
    assert [one and one.value.rstrip() for one in found] == [section, "The largest.", None]


def built(project: Path, site: Path) -> subprocess.CompletedProcess[str]:
    """Build the site of a project, strictly; `--quiet` would hide warnings from the build itself."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(site)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True)


@pytest.mark.shipped
def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    """Every page of docs/ and every package of the API reference is a page of the site; nothing is warned of."""
    ran = built(ROOT, tmp_path)
    assert (ran.returncode, ran.stdout) == (0, ""), ran.stderr
    assert [line for line in ran.stderr.splitlines() if not line.startswith("INFO")] == []
    pages = [path.relative_to(DOCS) for path in DOCS.rglob("*.md")]
    pages += [Path("reference", name) for name in OF_SITE]
    pages += [Path("api") / place for place, _ in packages(ROOT)]
    places = [page.with_name("index.html" if page.name == "README.md" else f"{page.stem}.html") for page in pages]
    assert [str(place) for place in places if not (tmp_path / place).is_file()] == []
    table = (tmp_path / "reference" / "load-bearing-table.html").read_text(encoding="utf-8")
    assert table.count("<tr data-system=") > 1000
    findings = (tmp_path / "reference" / "load-bearing.html").read_text(encoding="utf-8")
    assert "load-bearing-table.html" in findings
    shown = (tmp_path / "api" / "model" / "partition.html").read_text(encoding="utf-8")
    assert 'id="kraftcheck.model.partition.change' in shown


@pytest.mark.slow
def test_a_broken_link_fails_the_build(tmp_path: Path) -> None:
    """A link to a page, to a heading or to a file that the site does not have is named, and the build fails."""
    project = tmp_path / "project"
    for name in ("docs", *LAYERS):
        (project / name).mkdir(parents=True)  # without packages, so that the API reference is short
    for name in ("kraftcheck", "tests"):
        (project / name).symlink_to(ROOT / name)
    shutil.copy(ROOT / "mkdocs.yml", project)
    (project / "docs" / "README.md").write_text("# Home\n", encoding="utf-8")
    links = "[a](no-such-page.md) [b](README.md#no-such-heading) [c](../model/partition/change.py)\n"
    (project / "docs" / "broken.md").write_text(f"# Broken\n\n{links}", encoding="utf-8")
    ran = built(project, tmp_path / "site")
    assert ran.returncode != 0
    for target in ("no-such-page.md", "#no-such-heading", "../model/partition/change.py"):
        assert any(target in line and "broken.md" in line for line in ran.stderr.splitlines()), ran.stderr
