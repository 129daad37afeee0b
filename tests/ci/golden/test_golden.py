"""Every command shows, writes and ends with what is recorded of it: `python -m tests.ci.golden` records it anew."""

import subprocess
import sys
from pathlib import Path

import pytest

from kraftcheck.ci.terminal.commands import COMMANDS
from tests.ci.golden.session import EXPECTED, commands_of, played
from tests.shared.places import ROOT

SESSIONS = {path.stem: path.read_text(encoding="utf-8") for path in sorted(EXPECTED.glob("*.txt"))}

OF_Z3 = ("prove",)  # sessions in a process of their own: what Z3 finds hangs on what it was asked before


@pytest.mark.each_change
@pytest.mark.parametrize("name", SESSIONS)
def test_a_command_shows_what_is_recorded(name: str, tmp_path: Path) -> None:
    """Standard output, refusals, documents and exit codes of a session are those of its file."""
    if name in OF_Z3:
        code = (f"from pathlib import Path\nfrom tests.ci.golden.test_golden import SESSIONS, commands_of, played\n"
                f"print(played(commands_of(SESSIONS[{name!r}]), Path({str(tmp_path)!r})), end='')")  # fmt: skip
        ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
        assert ran.stdout == SESSIONS[name]
        return
    assert played(commands_of(SESSIONS[name]), tmp_path) == SESSIONS[name]


def test_every_command_has_a_session() -> None:
    """There is a case for each command of the command line, one that is refused among them."""
    words = [line.split()[1] for text in SESSIONS.values() for line in commands_of(text) if line.startswith("$ ")]
    assert set(COMMANDS) <= set(words)


def test_a_changed_line_is_seen(tmp_path: Path) -> None:
    """A recorded exit code that a command does not end with makes the comparison fail."""
    text = played(["$ list nothing"], tmp_path)
    assert text.endswith("= 2\n")
    wrong = text.replace("= 2", "= 0")
    (tmp_path / "again").mkdir()
    assert played(commands_of(wrong), tmp_path / "again") != wrong
