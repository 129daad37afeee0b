"""Files for users' CI: the example workflow, the hook, the Dockerfile and the completion do what the page says."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from kraftcheck.ci.terminal.commands import cli
from tests.documentation.console import files_of
from tests.shared.places import DOCS, ROOT

PAGE = (DOCS / "how-to" / "ci.md").read_text(encoding="utf-8")
WORKFLOW = yaml.safe_load((DOCS / "examples" / "github-workflow.yml").read_text(encoding="utf-8"))
HOOKS = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
STEPS: list[dict[str, Any]] = WORKFLOW["jobs"]["check"]["steps"]


def kraftcheck_lines() -> list[str]:
    """What the workflow runs of kraftcheck."""
    return [step["run"] for step in STEPS if step.get("run", "").startswith("kraftcheck ")]


def parse(line: str) -> click.Context:
    """A command line of kraftcheck, parsed and not executed."""
    _, name, *words = shlex.split(line)
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    return command.make_context(name, words, parent=click.Context(cli, **cli.context_settings))


def test_the_workflow_runs_what_the_page_shows() -> None:
    """The only command of the workflow is on the page, and its options are those of the command."""
    (line,) = kraftcheck_lines()
    assert f"$ {line}\n" in PAGE
    assert str(parse(line).params["junit"]) == "kraftcheck.xml"


def test_the_workflow_uploads_what_the_command_writes() -> None:
    """The SARIF file and the folder of pages that are uploaded, also after a failure, are those of the command."""
    given = parse(kraftcheck_lines()[0]).params
    uploads = {step["uses"].partition("@")[0]: step for step in STEPS if "upload" in step.get("uses", "")}
    sarif, artefact = uploads["github/codeql-action/upload-sarif"], uploads["actions/upload-artifact"]
    assert sarif["with"]["sarif_file"] == str(given["sarif"])
    assert artefact["with"]["path"].split() == [str(given["out"]), str(given["junit"])]
    assert all("always()" in step["if"] for step in uploads.values())
    assert WORKFLOW["permissions"]["security-events"] == "write"


def test_the_workflow_works_in_a_new_repository(tmp_path: Path) -> None:
    """With the files of the page, the command of the workflow passes, and writes all that is uploaded."""
    for name, text in files_of(PAGE).items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    words = [sys.executable, "-m", "kraftcheck.ci.main", *shlex.split(kraftcheck_lines()[0])[1:]]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "GITHUB_ACTIONS": "true"}
    ran = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    names = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.*")}
    page = "counterexamples/lamp.py-LAMP-explore/never-two.html"
    assert {"kraftcheck.xml", "kraftcheck.sarif", page} <= names


def test_the_hook_is_that_of_the_page() -> None:
    """The hook runs the entry that the page shows, which is a command of kraftcheck, once for all files."""
    (hook,) = HOOKS
    assert f"entry: {hook['entry']}\n" in PAGE
    assert parse(hook["entry"]).params["quiet"] is True
    assert hook["pass_filenames"] is False


def test_the_image_has_a_python_that_the_package_takes() -> None:
    """The Dockerfile names what is in a checkout, a Python of pyproject.toml, and installs by pip alone."""
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    (version,) = re.findall(r"^FROM python:([\d.]+)-slim$", text, re.MULTILINE)
    least = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["requires-python"]
    assert tuple(map(int, version.split("."))) >= tuple(map(int, least.removeprefix(">=").split(".")))
    (install,) = re.findall(r"^RUN (pip install .*) && rm", text, re.MULTILINE)
    assert shlex.split(install) == ["pip", "install", "--no-cache-dir", "-c", "/src/constraints.txt", "/src"]
    assert (ROOT / "constraints.txt").is_file()
    assert 'ENTRYPOINT ["kraftcheck"]' in text


@pytest.mark.parametrize(
    ("words", "offered"),
    [("kraftcheck expl", {"explore", "explain"}), ("kraftcheck check --jun", {"--junit"}),
     ("kraftcheck prove --solver z", {"z3"})],
)  # fmt: skip
def test_the_shell_completes(words: str, offered: set[str]) -> None:
    """Commands, options and choices are offered, as the script of the page asks for them."""
    environment = {
        **os.environ, "PYTHONPATH": str(ROOT), "_KRAFTCHECK_COMPLETE": "bash_complete", "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split()) - 1),
    }  # fmt: skip
    ran = subprocess.run(
        [sys.executable, "-m", "kraftcheck.ci.main"], env=environment, capture_output=True, text=True, check=True
    )
    assert {line.partition(",")[2] for line in ran.stdout.splitlines()} == offered
    assert "_KRAFTCHECK_COMPLETE=bash_source kraftcheck" in PAGE


def test_no_address_is_invented() -> None:
    """The project has no public address yet, so that pyproject.toml names none; the classifiers are there."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert "urls" not in project
    least = project["requires-python"].removeprefix(">=")
    assert f"Programming Language :: Python :: {least}" in project["classifiers"]
    assert f"## {project['version']} " in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
