"""`kraftcheck serve`: what it prints, what it refuses, how it ends."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import time
import urllib.request
from pathlib import Path

import pytest

from tests.shared.commands import kraftcheck, start

URL = re.compile(r"http://127\.0\.0\.1:\d+/[\w-]{32}/\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_prints_its_address_once_and_ends_at_once(number: signal.Signals) -> None:
    """Through a pipe too: title, address, how it ends; then Ctrl-C or SIGTERM ends it quietly, amid an exploration."""
    process = start(("serve", "tests.toys:TWO_PHASE", "--managers", 9))
    try:
        check_served(process, number)
    finally:
        process.kill()
        process.communicate()


def check_served(process: subprocess.Popen[str], number: signal.Signals) -> None:
    """The lines, an exploration that begins, and the end by a signal."""
    assert process.stdout is not None
    assert process.stdout.readline() == "tests.toys:TWO_PHASE, scope 3 (managers 9)\n"
    url = process.stdout.readline()
    assert URL.fullmatch(url)
    assert process.stdout.readline() == "Ctrl-C ends it\n"
    asked = {"Content-Type": "application/json"}
    body = json.dumps({"states": 50_000_000}).encode()
    with urllib.request.urlopen(urllib.request.Request(f"{url.strip()}api/explore", body, asked)) as answer:
        assert json.load(answer)["state"] == "running"
    begun = time.monotonic()
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (0, "", "")
    assert time.monotonic() - begun < 3


@pytest.mark.parametrize(
    ("words", "refusal"),
    [
        ("elctions", "unknown system 'elctions'; did you mean elections"),
        ("elections --scope tinny", "elections has no scope 'tinny'; did you mean tiny"),
        ("elections --brokers", "--brokers takes an int, not ''"),
        ("elections --beside fxed", "unknown rule set 'fxed'; did you mean fixed"),
        ("elections --system a:B", "--system is of TRACE and OUT; leave it out"),
        ("elections clock", "one SYSTEM at a time; 'clock' is too much"),
        ("missing/x.itf.json", "cannot read missing/x.itf.json: No such file or directory"),
        ("missing/x.py:SYSTEM", "missing/x.py"),
        (".", "holds neither a trace nor report.json; give the folder of explore --out"),
        ("foreign.json", "foreign.json: key #meta: missing"),
        ("foreign.json --rules fixed", "--rules is of SYSTEM, and a file says its own; leave it out"),
        ("foreign.json --brokers 2", "--brokers is of SYSTEM, and a file says its own; leave it out"),
        ("elections --port 70000", "Invalid value for '--port': 70000 is not in the range"),
    ],
)
def test_what_cannot_be_served_is_refused(
    words: str, refusal: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line, with the mend, before anything listens."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "foreign.json").write_text('{"states": [{"x": 1}]}')
    assert refusal in kraftcheck("serve", *words.split()).refusal()


def test_open_opens_the_address(monkeypatch: pytest.MonkeyPatch) -> None:
    """--open gives the browser the address that is printed; without an argument the system is elections."""
    opened: list[str] = []

    def browse(url: str) -> None:
        opened.append(url)
        signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr("webbrowser.open", browse)
    done = kraftcheck("serve", "--scope", "tiny", "--open")
    assert done.code == 0, done.err
    title, url, _ = done.out.splitlines()
    assert title.startswith("elections, scope tiny (brokers 2, ")
    assert opened == [url]


def test_a_file_in_a_folder_is_served_as_it_is_explored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`folder/file.py:NAME` names a system, with its bounds and scopes, and no trace file."""
    (tmp_path / "systems").mkdir()
    (tmp_path / "systems" / "commit.py").write_text("from tests.toys import TWO_PHASE\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("webbrowser.open", lambda url: signal.raise_signal(signal.SIGTERM))
    done = kraftcheck("serve", "systems/commit.py:TWO_PHASE", "--managers", 4, "--open")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("systems/commit.py:TWO_PHASE, scope 3 (managers 4)\n")
