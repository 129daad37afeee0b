"""Every command with a table, in terminals of 80 and 40 columns and in a pipe: no id is cut, no line ends in blanks."""

import fcntl
import io
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections import Counter
from contextlib import redirect_stdout

import pytest
from rich.cells import cell_len

from kraftcheck.ci.dataset.engine import Answer
from kraftcheck.ci.explore.export import print_answer
from kraftcheck.ci.terminal.console import COMMAND, console
from tests.shared.commands import kraftcheck
from tests.shared.places import ROOT, TESTS

OUTAGE = TESTS / "snapshots" / "outage.json"
ONLY = ("--property", "unclean-stop-loses-eligibility", "--property", "elr-within-replicas")
TABLES: dict[str, tuple[object, ...]] = {
    "list": ("list", "--variants"),
    "list-system": ("list", "elections"),
    "explore": ("explore", "elections", "--scope", "tiny", "--rules", "kafka-4.0", "--quiet", *ONLY),
    "explore-verbose": ("explore", "elections", "--scope", "tiny", "--rules", "fixed", "-v", "--quiet", *ONLY),
    "check": ("check", "broker-ids", "--scope", "tiny", "-v", "--quiet"),
    "prove": ("prove", "tests.toys:CLOCK", "-v", "--quiet", "--workers", "1"),
    "prove-bounded": ("prove", "tests.toys:CLOCK", "--bmc", "2", "--quiet"),
    "findings": ("findings",),
    "status": ("status", next((TESTS / "captured" / "elr").glob("*.checkpoint")), "--describe"),
    "whatif": ("whatif", TESTS / "captured" / "no-elr", "--faults", "1"),
    "unclean-recovery": (
        "unclean-recovery", "--snapshot", OUTAGE, "--all-offline-partitions", "--show-replica-info"
    ),
}  # fmt: skip
"""By name the words of a command that prints a table."""

ID = re.compile(r"(?<![\w.+-])[A-Za-z_]+(?:[-_.+][\w.]+)+(?![\w+-])")
"""What is copied from a table: names with dashes, underscores, dots and signs."""


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def shown(words: tuple[object, ...], columns: int, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The lines of a command in a terminal of some width, without colours."""
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("TERM", "xterm")
    with monkeypatch.context() as patch:
        patch.setattr("tests.shared.commands.io.StringIO", Terminal)
        ran = kraftcheck(*words)
    assert ran.code != 2, ran.err
    return re.sub(r"\x1b\[[\d;]*m", "", ran.out).splitlines()


def ids(lines: list[str]) -> Counter[str]:
    """How often each id is in some lines, those of times and rates aside."""
    return Counter(found for line in lines if " s (" not in line for found in ID.findall(line))


@pytest.mark.parametrize("name", TABLES)
def test_no_id_is_cut_and_no_line_ends_in_blanks(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """At 80 and at 40 columns, and in a pipe, the ids are those of a very wide terminal, each whole in one line."""
    wide = shown(TABLES[name], 2000, monkeypatch)
    assert sum(ids(wide).values()) >= 2
    told = {"pipe": kraftcheck(*TABLES[name]).out.splitlines()}
    told |= {str(columns): shown(TABLES[name], columns, monkeypatch) for columns in (80, 40)}
    for place, lines in told.items():
        assert ids(lines) >= ids(wide), place  # a title is repeated in each record
        assert set(ids(lines)) == set(ids(wide)), place
        assert [line for line in lines if line != line.rstrip()] == [], place
    for columns in (80, 40):
        long = [line for line in told[str(columns)] if cell_len(line) > columns and not COMMAND.match(line)]
        behind = [re.sub(r"^(\S+ )*\S* {2,}", "", line) for line in long]  # the title of a field aside, one word
        assert [line for line in behind if " s " not in line and len(line.split()) > 1] == []


def test_a_terminal_of_80_columns_is_asked_for_its_width() -> None:
    """In a terminal whose width only the system knows, the rows of `list` fit into 80 columns."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    environment = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "LINES")}
    words = [sys.executable, "-m", "kraftcheck", "list", "directories", "--properties"]
    with subprocess.Popen(words, stdout=slave, stdin=slave, cwd=ROOT, env=environment) as process:
        os.close(slave)
        parts = []
        while True:
            try:
                part = os.read(master, 1 << 16)
            except OSError:  # the terminal is closed
                break
            if not part:
                break
            parts.append(part)
    os.close(master)
    lines = re.sub(r"\x1b\[[\d;]*m", "", b"".join(parts).decode()).replace("\r\n", "\n").splitlines()
    assert process.returncode == 0
    assert "id          leader-active" in lines
    assert [line for line in lines if len(line) > 80 or line != line.rstrip()] == []


def test_wide_rows_of_a_query_are_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of a result that fit are a table; those that do not are records, one field a line, a blank line between."""
    monkeypatch.setenv("COLUMNS", "40")
    names = ["depth", *(f"controller.partition.field_{number}" for number in range(3))]
    with redirect_stdout(Terminal()) as stream:
        print_answer(console(), Answer(names, [(1, 22, None, "[0, 1]"), (2, 23, True, "")], more=True))
        print_answer(console(), Answer(["depth", "leader"], [(1, -1), (20, 0)], more=False))
    assert re.sub(r"\x1b\[[\d;]*m", "", stream.getvalue()).splitlines() == [
        "depth                         1",
        "controller.partition.field_0  22",
        "controller.partition.field_1  None",
        "controller.partition.field_2  [0, 1]",
        "",
        "depth                         2",
        "controller.partition.field_0  23",
        "controller.partition.field_1  True",
        "controller.partition.field_2",
        "2 rows, and more (--limit)",
        "depth  leader",
        "1      -1",
        "20     0",
        "2 rows",
    ]


def test_help_has_no_trailing_blanks() -> None:
    """Neither the list of commands nor what a command says of itself has blanks at the end of a line."""
    for words in ((), ("explore",), ("query",)):
        ran = kraftcheck(*words, "--help")
        assert ran.code == 0
        assert [line for line in ran.out.splitlines() if line != line.rstrip()] == []
