"""Files and packages that the documentation names exist."""

from __future__ import annotations

import re

from tests.documentation.console import files_of, pages
from tests.shared.places import ROOT

SPAN = re.compile(r"`((?:model|properties|solvers|ci|tests|docs|kraftcheck)/[\w./*-]*)(?:::?\s?\w+)*(?: [^`]*)?`")
MODULE = re.compile(r"`(?:python -m )?((?:kraftcheck|tests)(?:\.\w+)+)(?:[: ][^`]*)?`")
FILE = re.compile(r"`(\w+\.(?:py|java|json|txt|toml))(?:::?\s?\w+)*`")
ELSEWHERE = {
    "check.py", "cluster.json", "file.py", "index.json", "kraftcheck.toml", "leaders.json", "manifest.json",
    "partitions.json", "report.json", "result.json", "run.json",
}  # fmt: skip
"""Files that a command writes, or that its user has."""

PAGES = {str(page.relative_to(ROOT)): page.read_text(encoding="utf-8") for page in pages()}


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
    for page, text in PAGES.items():
        missing = [path for path in SPAN.findall(text) if not list(ROOT.glob(path.rstrip("/")))]
        missing += [name for name in MODULE.findall(text) if name not in ELSEWHERE and not is_module(name)]
        own = {*files_of(text), *ELSEWHERE}
        missing += [name for name in FILE.findall(text) if name not in own and name not in NAMES]
        assert missing == [], page


def test_many_are_named() -> None:
    """The patterns see the names: the pages have more than a hundred of either kind."""
    assert sum(len(SPAN.findall(text)) for text in PAGES.values()) > 100
    assert sum(len(MODULE.findall(text)) for text in PAGES.values()) > 50
