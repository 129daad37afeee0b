"""Files appear whole or not at all, where they were asked for."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import socket
import stat
import tempfile
from pathlib import Path

import pytest

from kraftcheck.ci.terminal.files import JSON_WIDTH, check_writable, folder, read_json, write, write_json
from kraftcheck.ci.terminal.refusal import Refusal
from tests.shared.commands import kraftcheck


def test_a_file_appears_whole(tmp_path: Path) -> None:
    """A written file holds the text, replaces the old one, and nothing lies beside it."""
    path = tmp_path / "told.txt"
    write(path, "one")
    write(path, "zwei ü")
    assert path.read_text(encoding="utf-8") == "zwei ü"
    assert list(tmp_path.iterdir()) == [path]


def test_a_failure_leaves_the_old_file(tmp_path: Path) -> None:
    """A text that cannot be encoded leaves the old file and no temporary one."""
    path = tmp_path / "told.txt"
    write(path, "old")
    with pytest.raises(UnicodeEncodeError):
        write(path, "half \ud800")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_has_the_usual_permissions(tmp_path: Path) -> None:
    """Others may read a document as the umask says, although temporary files are private."""
    before = os.umask(0o027)
    try:
        write(tmp_path / "told.txt", "text")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "told.txt").stat().st_mode) == 0o640


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    """Writing to a link writes the file that it leads to."""
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    write(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_a_pipe_is_written_and_not_replaced(tmp_path: Path) -> None:
    """A named pipe (as a device) takes the text; it does not become a file."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write(pipe, "text")
        assert os.read(reader, 100) == b"text"
    finally:
        os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_unwritable_places_are_one_line(tmp_path: Path) -> None:
    """A missing folder or a folder in the place of a file is a refusal that names the path."""
    for path in (tmp_path / "no" / "file", tmp_path):
        with pytest.raises(Refusal, match="cannot write") as caught:
            write(path, "text")
        assert str(path) in caught.value.message
        with pytest.raises(Refusal, match="cannot write"):
            check_writable(str(path))
    assert list(tmp_path.iterdir()) == []


def test_writable_places_pass(tmp_path: Path) -> None:
    """A new file, an old one, a device, standard output and no file at all pass, and nothing is made."""
    (tmp_path / "old").write_text("old")
    for target in (str(tmp_path / "new"), str(tmp_path / "old"), os.devnull, "-", None):
        check_writable(target)
    assert [path.name for path in tmp_path.iterdir()] == ["old"]


def test_a_protected_folder_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder without permission to write is refused before work begins."""

    def refuse(**_: object) -> str:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(tempfile, "mkdtemp", refuse)
    with pytest.raises(Refusal, match=r"(?i)permission denied"):
        check_writable(str(tmp_path / "new"))
    with pytest.raises(Refusal, match=r"(?i)permission denied"):
        folder(tmp_path)


def test_folders_are_made(tmp_path: Path) -> None:
    """A folder is made with those above it; a file in its place is a refusal."""
    assert folder(tmp_path / "a" / "b").is_dir()
    (tmp_path / "file").write_text("")
    with pytest.raises(Refusal, match="cannot make the folder"):
        folder(tmp_path / "file" / "b")


def test_json_goes_to_standard_output_for_a_dash(capsys: pytest.CaptureFixture[str]) -> None:
    """A document for `-` is printed, and ends with a line break; lines are short, and nothing is lost between them."""
    write_json("-", {"a": [1]})
    assert capsys.readouterr().out == '{"a": [1]}\n'
    document = {"a": [{"b": ["c" * 30] * 9, "d": None}, []], "e": {"f": {}, "g": [*range(99)]}, 'h"': "i" * 150}
    write_json("-", document)
    text = capsys.readouterr().out
    assert json.loads(text) == document
    assert [len(line) > JSON_WIDTH for line in text.splitlines()].count(True) == 1, "the text that is longer itself"


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"{\n 1", "line 2: not JSON"),
        (b"\xff", "not UTF-8"),
        (b"", "line 1: not JSON"),
        (b"[" * 100_000, "not usable JSON"),
        (b"1" * 5000, "not usable JSON"),
        (b'{"a": {"b": 1, "b": 2}}', "key 'b' is repeated in one object"),
        (b'{"a": NaN}', "NaN is no JSON number"),
        (b"[-Infinity]", "-Infinity is no JSON number"),
        (b"[" * 200 + b"]" * 200, "nested deeper than 100 levels"),
    ],
)
def test_malformed_json_is_one_line(content: bytes, told: str, tmp_path: Path) -> None:
    """What is no JSON is a refusal that names file and line."""
    path = tmp_path / "told.json"
    path.write_bytes(content)
    with pytest.raises(Refusal, match=told) as caught:
        read_json(path)
    assert caught.value.message.startswith(str(path))


def test_the_deepest_document_is_read(tmp_path: Path) -> None:
    """A hundred levels are read, one more is not."""
    path = tmp_path / "deep.json"
    path.write_text("[" * 100 + "]" * 100)
    assert isinstance(read_json(path), list)
    path.write_text("[" * 101 + "]" * 101)
    with pytest.raises(Refusal, match="nested deeper"):
        read_json(path)


@pytest.fixture
def endless(tmp_path: Path) -> dict[str, Path]:
    """What never ends, or never begins, to be read."""
    os.mkfifo(tmp_path / "fifo")
    with contextlib.chdir(tmp_path), socket.socket(socket.AF_UNIX) as listening:
        listening.bind("s")  # a socket's whole path may have 107 characters
    return {"device": Path("/dev/zero"), "fifo": tmp_path / "fifo", "socket": tmp_path / "s"}


READERS = [
    "trace {}", "simulate tests.toys:CLOCK --from {}", "conform --vectors {}",
    "replay {}", "status {}", "whatif {}",
    "unclean-recovery --snapshot {} --all-offline-partitions --show-replica-info",
    "unclean-recovery --snapshot tests/snapshots/outage.json --path-to-json-file {} --show-replica-info",
    "elect-leaders --snapshot {} --election-type UNCLEAN --all-topic-partitions --dry-run",
    "elect-leaders --snapshot tests/snapshots/outage.json --election-type DESIGNATED --path-to-json-file {}",
]  # fmt: skip


@pytest.mark.parametrize("kind", ["device", "fifo", "socket"])
@pytest.mark.parametrize("words", READERS)
def test_only_regular_files_are_read(words: str, kind: str, endless: dict[str, Path]) -> None:
    """Each command that reads a file refuses a device, a pipe and a socket in one line, and waits for none."""
    told = kraftcheck(*words.format(endless[kind]).split()).refusal()
    assert told == (
        f"cannot read {endless[kind]}: it is a pipe or a device; save what it holds to a file, and name that"
    )


def test_a_file_too_large_is_refused(tmp_path: Path) -> None:
    """A file above the limit is not read; the message names its size and the limit."""
    path = tmp_path / "large.json"
    path.touch()
    os.truncate(path, (256 << 20) + (5 << 20))
    told = "it has 261 MB, and 256 MB are the most that is read of such a file"
    assert kraftcheck("trace", path).refusal() == f"cannot read {path}: {told}"
    log = tmp_path / "00000000000000000000.log"
    log.touch()
    os.truncate(log, 5 << 30)
    assert "it has 5,120 MB, and 4,096 MB are the most" in kraftcheck("replay", log).refusal()


@pytest.mark.parametrize("text", [r'"\ud800"', r'{"a": ["\uDFFF"]}', r'{"\udc00": 1}'])
def test_half_a_character_is_refused(tmp_path: Path, text: str) -> None:
    """A lone surrogate in a value or a key is refused with the file; a pair of them is a character."""
    path = tmp_path / "half.json"
    path.write_text(text)
    with pytest.raises(Refusal, match=r"half\.json: .*surrogate"):
        read_json(path)
    path.write_text(r'"\ud83d\ude00"')
    assert read_json(path) == "\N{GRINNING FACE}"
