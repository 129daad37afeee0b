"""A session of questions: from a terminal, and from a pipe."""

import io
import os
import pty
import select
import sys
import time
from pathlib import Path

import pytest

from kraftcheck.ci.explore.export import questions
from tests.shared.commands import Ran, kraftcheck, start


def test_questions_end_where_they_are_seen_to_end() -> None:
    """A semicolon at the end of a line, an empty line, and the end of the input end a question; comments are none."""
    text = "SELECT 1;\n\n-- why\nSELECT\n  2;\nSELECT ';'\n, 3\n\n\nSELECT 4\n"
    assert list(questions(text.splitlines(keepends=True))) == ["SELECT 1", "SELECT\n  2", "SELECT ';'\n, 3", "SELECT 4"]


def piped(out: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> Ran:
    """A session whose questions come from a pipe."""
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))
    return kraftcheck("query", out)


def test_a_script_answers_each_question(elections: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each question of a pipe is shown with its answer; the first that is refused ends the script."""
    ran = piped(elections, "SELECT count(*) AS n\nFROM states;\nSELECT max(depth) AS d FROM levels\n", monkeypatch)
    assert (ran.code, ran.err) == (0, "")
    first, second = ran.out.split("query> ")[1:]
    assert first.split() == ["SELECT", "count(*)", "AS", "n", "FROM", "states", "n", "18704", "1", "row"]
    assert second.split() == ["SELECT", "max(depth)", "AS", "d", "FROM", "levels", "d", "13", "1", "row"]
    ran = piped(elections, "SELECT 1 AS one;\nSELEC 2;\nSELECT 3 AS three;\n", monkeypatch)
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert "one" in ran.out
    assert "three" not in ran.out
    assert piped(elections, "", monkeypatch) == Ran(0, "", "")


def seen(master: int, text: str) -> str:
    """What a terminal shows up to a text."""
    shown, deadline = "", time.monotonic() + 60
    while text not in shown:
        assert time.monotonic() < deadline, shown
        if select.select([master], [], [], 0.2)[0]:
            shown += os.read(master, 4096).decode()
    return shown


def test_a_terminal_is_asked_until_ctrl_d(elections: Path) -> None:
    """A terminal gets a prompt; what is refused is one line, and the session goes on; Ctrl-D ends it with code 0."""
    master, slave = pty.openpty()
    running = start(["query", elections], stdin=slave, stdout=slave, stderr=slave, environment={"TERM": "dumb"})
    os.close(slave)
    try:
        assert "a question ends with `;` or an empty line" in seen(master, "query> ")
        os.write(master, b"SELECT leder FROM states;\n")
        refused = seen(master, "query> ").splitlines()
        assert [line.startswith("the query: ") for line in refused if "leder" in line and "SELECT" not in line] == [
            True
        ]
        os.write(master, b"SELECT count(*) AS n FROM states;\n")
        assert "18704" in seen(master, "query> ")
        os.write(master, b"\x04")
        assert running.wait(60) == 0
    finally:
        running.kill()
        os.close(master)
