"""Files for users' CI: the example workflow, the hook, the Dockerfile and the completion do what the page says."""

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from kraftcheck.ci.terminal.commands import cli
from tests.documentation.console import files_of
from tests.project.pages import cells
from tests.shared.places import DOCS, ROOT

PAGE = (DOCS / "how-to" / "ci.md").read_text(encoding="utf-8")
PLATFORMS = (DOCS / "reference" / "platforms.md").read_text(encoding="utf-8")
WORKFLOW_TEXT = (DOCS / "examples" / "github-workflow.yml").read_text(encoding="utf-8")
WORKFLOW = yaml.safe_load(WORKFLOW_TEXT)
HOOKS = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
JOBS: dict[str, dict[str, Any]] = WORKFLOW["jobs"]
STEPS: list[dict[str, Any]] = JOBS["check"]["steps"]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


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
    steps = {step["uses"].partition("@")[0]: step for job in JOBS.values() for step in job["steps"] if "uses" in step}
    sarif, artefact = steps["github/codeql-action/upload-sarif"], steps["actions/upload-artifact"]
    assert sarif["with"]["sarif_file"] == str(given["sarif"])
    assert artefact["with"]["path"].split() == [str(given["out"]), str(given["junit"]), str(given["sarif"])]
    assert artefact["if"] == JOBS["scanning"]["if"] == "always()"
    assert steps["actions/download-artifact"]["with"]["name"] == artefact["with"]["name"]
    assert JOBS["scanning"]["needs"] == "check"


def test_actions_are_pinned_by_commit() -> None:
    """Each action is named by a whole commit, with its release beside it, and one action by one commit."""
    lines = [line for line in WORKFLOW_TEXT.splitlines() if "uses:" in line]
    pins = [re.fullmatch(r" +- uses: ([\w/-]+)@([0-9a-f]{40})  # v\d+\.\d+\.\d+(; .*)?", line) for line in lines]
    assert [line for line, pin in zip(lines, pins, strict=True) if pin is None] == []
    assert len(lines) == sum("uses" in step for job in JOBS.values() for step in job["steps"])
    assert len({(pin[1], pin[2]) for pin in pins if pin}) == len({pin[1] for pin in pins if pin})


def test_code_of_a_change_may_only_read() -> None:
    """Nothing is allowed to all jobs; a job that runs commands reads contents, and one that may write runs none."""
    assert WORKFLOW["permissions"] == {}
    for job in JOBS.values():
        runs = any("run" in step for step in job["steps"])
        checked_out = [step for step in job["steps"] if step.get("uses", "").startswith("actions/checkout@")]
        assert all(step["with"]["persist-credentials"] is False for step in checked_out)
        if runs or checked_out:
            assert job["permissions"] == {"contents": "read"}
    assert JOBS["scanning"]["permissions"]["security-events"] == "write"
    assert not [right for right, level in JOBS["scanning"]["permissions"].items() if level == "write"][1:]


def test_the_workflow_for_kafka_asks_the_branch() -> None:
    """It is the other one with a build of Kafka before the command; what is uploaded is what the command writes."""
    text = (DOCS / "examples" / "kafka-workflow.yml").read_text(encoding="utf-8")
    jobs = yaml.safe_load(text)["jobs"]
    steps = jobs["branch"]["steps"]
    (command,) = [step["run"] for step in steps if step.get("run", "").startswith("kraftcheck ")]
    given = parse(command).params
    (uploaded,) = [step["with"]["path"] for step in steps if "upload-artifact" in step.get("uses", "")]
    assert parse(command).info_name == "branch"
    assert uploaded.split() == [str(given["out"]), str(given["junit"]), str(given["sarif"])]
    assert set(re.findall(r"uses: (\S+)", text)) == set(re.findall(r"uses: (\S+)", WORKFLOW_TEXT))
    assert jobs["scanning"] == {**JOBS["scanning"], "needs": "branch"}
    assert jobs["branch"]["permissions"] == JOBS["check"]["permissions"]
    assert f"\n{command}\n" in (DOCS / "how-to" / "branch.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(("built", "code", "said"), [
    (0, 0, 0), (0, 12, 12), (0, 23, 23), (0, 2, 125), (0, 20, 125), (0, 21, 125), (1, 0, 125),
])  # fmt: skip
def test_a_bisection_is_by_the_answer_and_skips_what_has_none(built: int, code: int, said: int, tmp_path: Path) -> None:
    """The line of the page calls a commit good or bad by the command's code, and skips one that is not asked whole."""
    page = (DOCS / "how-to" / "branch.md").read_text(encoding="utf-8")
    (line,) = re.findall(r"^git bisect run (sh -c '.*?')$", page, re.MULTILINE | re.DOTALL)
    for name, ends in (("gradlew", built), ("kraftcheck", code)):
        (tmp_path / name).write_text(f"#!/bin/sh\nexit {ends}\n")
        (tmp_path / name).chmod(0o700)
    path = {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    assert subprocess.run(shlex.split(line), cwd=tmp_path, env=path, check=False).returncode == said


def test_the_workflow_installs_by_digest_as_the_page_says() -> None:
    """The line that installs asks for digests and takes no sources, is on the page, and its Python is a tested one."""
    (line,) = [step["run"] for step in STEPS if "pip" in step.get("run", "")]
    assert {"--require-hashes", "--only-binary", ":all:"} <= set(shlex.split(line))
    assert f"\n{line}\n" in PAGE
    (python,) = [step["with"]["python-version"] for step in STEPS if "setup-python" in step.get("uses", "")]
    assert f"Programming Language :: Python :: {python}" in PROJECT["classifiers"]
    assert f"vendor/{PROJECT['name']}-{PROJECT['version']}-py3-none-any.whl" in PAGE


def requirements() -> dict[str, tuple[str, int]]:
    """The example of requirements: version and number of digests by name."""
    text = (DOCS / "examples" / "requirements.txt").read_text(encoding="utf-8")
    blocks = [line for line in text.replace("\\\n", " ").splitlines() if line and not line.startswith("#")]
    found = {}
    for block in blocks:
        pin, *digests = block.split()
        name, _, version = pin.partition("==")
        assert all(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", digest) for digest in digests)
        found[canonicalize_name(name)] = (version, len(digests))
    return found


def base_install() -> set[str]:
    """What an installation without extras brings here, by the libraries' own words."""
    names, left = set[str](), [Requirement(text) for text in PROJECT["dependencies"]]
    while left:
        needed = left.pop()
        name = canonicalize_name(needed.name)
        if name not in names and (needed.marker is None or needed.marker.evaluate({"extra": ""})):
            names.add(name)
            left += [Requirement(text) for text in metadata.requires(name) or []]
    return names


def test_the_base_install_is_listed_by_digest() -> None:
    """The example lists the libraries of the base install, at the versions of the constraints, by their digests."""
    constraints = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pinned = {canonicalize_name(line.partition("==")[0]): line.partition("==")[2] for line in constraints}
    listed = requirements()
    assert listed.keys() == base_install()
    assert {name: version for name, (version, _) in listed.items()} == {name: pinned[name] for name in listed}
    assert all(count for _, count in listed.values())


@pytest.mark.slow
def test_the_bill_of_materials_is_of_the_base_install(tmp_path: Path) -> None:
    """The lines of the page list what the example of requirements installs, with licences but for the one it names."""
    page = (DOCS / "explanation" / "security.md").read_text(encoding="utf-8")
    (lines,) = re.findall(r"^```text\n(python -m venv .*?)^```", page, re.MULTILINE | re.DOTALL)
    (tmp_path / "docs").symlink_to(DOCS)
    (tmp_path / "pyproject.toml").symlink_to(ROOT / "pyproject.toml")
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    subprocess.run(["bash", "-euc", lines], cwd=tmp_path, env=environment, check=True, capture_output=True)
    parts = json.loads((tmp_path / "kraftcheck.cdx.json").read_text(encoding="utf-8"))["components"]
    found = {canonicalize_name(part["name"]): (part["version"], bool(part.get("licenses"))) for part in parts}
    assert found == {name: (version, name != "z3-solver") for name, (version, _) in requirements().items()}


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
    least = PROJECT["requires-python"]
    assert tuple(map(int, version.split("."))) >= tuple(map(int, least.removeprefix(">=").split(".")))
    (install,) = re.findall(r"^RUN (pip install .*) && rm", text, re.MULTILINE)
    assert shlex.split(install) == ["pip", "install", "--no-cache-dir", "-c", "/src/constraints.txt", "/src$EXTRAS"]
    (extras,) = re.findall(r"--build-arg EXTRAS='\[([a-z0-9,]+)\]'", text)
    assert {*extras.split(",")} <= {*PROJECT["optional-dependencies"]}
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


def test_classifiers_are_what_is_tested() -> None:
    """The classifiers name the Python that runs these tests in CI, and the systems of the page's tested rows."""
    tested = [row for row in cells(PLATFORMS, "machine") if row[2] == "tested"]
    kinds = [name.split(" :: ") for name in PROJECT["classifiers"]]
    assert {kind[-1] for kind in kinds if kind[0] == "Operating System"} == {row[0].split()[0] for row in tested}
    assert {kind[-1] for kind in kinds if kind[:2] == ["Programming Language", "Python"]} - {"3"} == {
        row[1] for row in tested
    }


def test_no_address_is_invented() -> None:
    """The project has no public address yet, so that pyproject.toml names none; the classifiers are there."""
    assert "urls" not in PROJECT
    least = PROJECT["requires-python"].removeprefix(">=")
    assert f"Programming Language :: Python :: {least}" in PROJECT["classifiers"]
    assert f"## {PROJECT['version']} " in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("place", sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml")), ids=lambda one: one.stem)
def test_a_template_of_issues_is_a_form(place: Path) -> None:
    """It asks for something that must be answered, each part by an id of its own, and names commands that there are."""
    form = yaml.safe_load(place.read_text(encoding="utf-8"))
    assert {"name", "description", "body"} <= {*form}
    ids = [part["id"] for part in form["body"]]
    assert len({*ids}) == len(ids)
    assert any(part.get("validations", {}).get("required") for part in form["body"])
    named = re.findall(r"`kraftcheck ([a-z-]+)", place.read_text(encoding="utf-8"))
    assert {*named} <= {*cli.list_commands(click.Context(cli))}


def test_who_cites_names_this_version() -> None:
    """The version and the licence of CITATION.cff are those of the package."""
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert (cited["version"], cited["license"]) == (PROJECT["version"], PROJECT["license"])
