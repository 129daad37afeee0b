"""What MkDocs calls while it builds the site: pages that are made with it, and the order of sections.

A page of the API reference holds one package and nothing but its docstrings, so that these pages are made during the
build and are no files of the repository.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.nav import Navigation, Section
    from mkdocs.structure.pages import Page

LAYERS = ("model", "properties", "solvers")
"""Layers whose packages have pages; `ci` is used by its commands."""

TABLE = "reference/load-bearing.json"
"""The load-bearing table, below the pages."""

ORDER = (
    "index.md", "README.md", "findings", "tutorial", "how-to", "reference", "explanation", "api",
    "first-ten-minutes.md", "a-system-of-your-own.md",
)  # fmt: skip
"""Folders and pages that come before the others of their section, in this order."""

TITLES = {"Adr": "Decisions", "Api": "API reference", "How to": "How-to guides"}
"""Sections whose titles are not the names of their folders."""

PAGE = """---
title: {title}
---

# `{name}`

::: {name}
    options:
      show_root_heading: false
      show_root_toc_entry: false
{options}"""


def packages(root: Path) -> Iterator[tuple[str, str]]:
    """The pages of the API reference: the place of each below `api`, and the package that it is about."""
    yield "README.md", "kraftcheck"
    for layer in LAYERS:
        yield f"{layer}/README.md", f"kraftcheck.{layer}"
        for folder in sorted((root / layer).iterdir()):
            if (folder / "__init__.py").exists():
                yield f"{layer}/{folder.name}.md", f"kraftcheck.{layer}.{folder.name}"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the API reference, the long tables of the reference, and the load-bearing table with its filters.

    A package whose own pages follow shows its docstring alone.
    """
    from mkdocs.structure.files import File

    from kraftcheck.ci.mutants.page import html
    from kraftcheck.ci.mutants.table import read_parts
    from tests.documentation.index import OF_SITE

    table = Path(config.docs_dir) / TABLE
    if table.exists():
        place = str(Path(TABLE).with_name("load-bearing-table.html"))
        files.append(File.generated(config, place, content=html(read_parts(table))))
    for name, made in OF_SITE.items():
        files.append(File.generated(config, f"reference/{name}", content=made.page()))
    for place, name in packages(Path(config.config_file_path).parent):
        options = "      show_submodules: false\n" if place.endswith("README.md") else ""
        title = name.rpartition(".")[2]
        text = PAGE.format(title=title, name=name, options=options)
        files.append(File.generated(config, f"api/{place}", content=text))
    return files


def on_nav(nav: Navigation, config: MkDocsConfig, files: Files) -> Navigation:
    """Put sections and pages into the order of reading."""
    for item in nav.items:
        _order(item)
    nav.items.sort(key=_rank)
    return nav


def _order(item: Section | Page) -> None:
    children = getattr(item, "children", None)
    if children is not None:
        item.title = TITLES.get(str(item.title), item.title)
        for child in children:
            _order(child)
        children.sort(key=_rank)


def _rank(item: Section | Page) -> int:
    """The position in ORDER of an item; all others stay behind, as they were."""
    name = _name(item)
    return ORDER.index(name) if name in ORDER else len(ORDER)


def _name(item: Section | Page) -> str:
    """The file name of a page, or the folder of a section, which is that of its first page."""
    children = getattr(item, "children", None)
    if not children:
        return Path(item.file.src_uri).name
    first = next((child for child in children if not getattr(child, "children", None)), None)
    return Path(first.file.src_uri).parent.name if first is not None else ""
