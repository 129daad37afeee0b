"""The documentation builds as a site without a warning, and a broken link makes the build fail."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.documentation.hooks import LAYERS, packages
from tests.documentation.index import OF_SITE
from tests.shared.places import DOCS, ROOT


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
