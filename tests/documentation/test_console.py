"""The documentation is run: every command in a console block prints what the page shows below it."""

import os
import re
import subprocess
import sys
from contextlib import chdir
from pathlib import Path
from unittest import mock

import pytest

from tests.documentation.console import PROGRESS, Command, commands_of, files_of, fits, masked, pages, typed
from tests.shared.commands import Ran, kraftcheck
from tests.shared.places import ROOT

PROGRAMS = {
    "kraftcheck": [], "pytest": ["-m", "pytest", "-p", "no:cacheprovider", "--no-header"], "python3": [],
}  # fmt: skip
"""What pages may run, as modules of this Python."""

REFUSED = 2  # the exit code of bad input, whose line is on standard error

TEXTS = {str(page.relative_to(ROOT)): page.read_text(encoding="utf-8") for page in pages()}
SESSIONS = {name: commands_of(text) for name, text in TEXTS.items() if commands_of(text)}
QUICK = [name for name, commands in SESSIONS.items() if not all(command.nightly for command in commands)]
BY_NIGHT = ("how-to/testing.md", "how-to/pictures.md", "how-to/proofs.md", "how-to/step.md", "how-to/kip.md",
            "tutorial/five-proposals.md", "reference/expressions.md")  # fmt: skip
"""Pages whose commands take five seconds and more together: they are run by night."""

SLOW = [name for name, commands in SESSIONS.items() if any(command.nightly for command in commands)]


def check(name: str, commands: list[Command], folder: Path) -> None:
    """Run commands of a page in a folder, one after the other, and compare what they print."""
    (folder / "tests").symlink_to(ROOT / "tests")
    for file, text in files_of(TEXTS[name]).items():
        (folder / file).write_text(text, encoding="utf-8")
    for command in commands:
        with chdir(folder), mock.patch.dict(os.environ, {"PYTHONPATH": str(ROOT), "COLUMNS": "120"}):
            ran = ran_as(command.line)
        output = ran.err if ran.code == REFUSED else ran.out
        said = [line for line in ran.err.splitlines() if not PROGRESS.match(line)]
        assert ran.code == REFUSED or not said, f"{name}: {command.line}"
        printed, shown = masked(output.splitlines()), masked(command.shown)
        if not fits(shown, printed):
            assert printed == shown, f"{name}: {command.line}"


def ran_as(line: str) -> Ran:
    """What a command line does: `kraftcheck` in this process, with modules of the page that no other page finds."""
    (program, *words), text = typed(line)
    if program != "kraftcheck":
        ran = subprocess.run([sys.executable, *PROGRAMS[program], *words], capture_output=True, text=True, input=text)
        return Ran(ran.returncode, ran.stdout, ran.stderr)
    for module in {*sys.modules} & {path.stem for path in Path.cwd().glob("*.py")}:
        del sys.modules[module]  # another test's
    before = {*sys.modules}
    try:
        return kraftcheck(*words, given=text)
    finally:
        for module in {*sys.modules} - before:
            if Path(getattr(sys.modules[module], "__file__", None) or ROOT).parent == Path.cwd():
                del sys.modules[module]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name.endswith(BY_NIGHT) else name for name in QUICK]
)
def test_commands_print_what_a_page_shows(name: str, tmp_path: Path) -> None:
    """The commands of a page print the lines below them, times and rates aside; those marked nightly are left out."""
    check(name, [command for command in SESSIONS[name] if not command.nightly], tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW)
def test_long_commands_print_what_a_page_shows(name: str, tmp_path: Path) -> None:
    """All commands of a page print the lines below them, those that take long among them."""
    check(name, SESSIONS[name], tmp_path)


def test_console_blocks_are_commands_that_are_run() -> None:
    """Each console block begins with a program that is run here; a block for reading only is `text`."""
    blocks = [(name, body) for name, text in TEXTS.items() for body in re.findall(r"```console\n(.*?)```", text, re.S)]
    starts = ("$ printf '", *(f"$ {program} " for program in PROGRAMS))
    assert [(name, body[:60]) for name, body in blocks if not body.startswith(starts)] == []
    assert sum(len(commands) for commands in SESSIONS.values()) >= 12
    run = sum(body.count("\n$ ") + 1 for _, body in blocks)
    assert run == sum(len(commands) for commands in SESSIONS.values())


def test_a_page_that_shows_something_else_fails(tmp_path: Path) -> None:
    """A line that the command does not print makes the comparison fail."""
    [shown, *_] = SESSIONS["README.md"]
    wrong = Command(shown.line, (*shown.shown[:-1], "nothing is refuted (exit 0)"), nightly=False)
    with pytest.raises(AssertionError):
        check("README.md", [wrong], tmp_path)


def test_the_types_of_the_first_system_are_checked(tmp_path: Path) -> None:
    """`mypy --strict` finds nothing in the files of the tutorial, and something in a call with another state."""
    for file, text in files_of(TEXTS["docs/tutorial/a-system-of-your-own.md"]).items():
        (tmp_path / file).write_text(text, encoding="utf-8")
    mypy = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", "cache"]
    good = subprocess.run([*mypy, "."], cwd=tmp_path, capture_output=True, text=True)
    assert good.returncode == 0, good.stdout
    (tmp_path / "wrong.py").write_text("from lease import fence\nfence(3, 0)\n", encoding="utf-8")
    wrong = subprocess.run([*mypy, "wrong.py"], cwd=tmp_path, capture_output=True, text=True)
    assert 'Argument 1 to "fence" has incompatible type "int"; expected "Lease"' in wrong.stdout
