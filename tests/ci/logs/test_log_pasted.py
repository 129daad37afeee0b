"""Logs as people paste them: behind prefixes, between other lines, packed, in another encoding, without metadata."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kraftcheck.ci.logs.format.read import LogError, SkipCount, find, read
from kraftcheck.ci.logs.report import NO_OFFSETS, ReplayOptions
from kraftcheck.solvers.logs.explain.state import Batch
from tests.ci.logs.test_status import OUTAGE
from tests.shared.places import ROOT

TEXT = OUTAGE.read_text(encoding="utf-8")
LINES = TEXT.splitlines(keepends=True)

NOISE = (
    "OpenJDK 64-Bit Server VM warning: Sharing is only supported for boot loader classes\n"
    "Picked up JAVA_TOOL_OPTIONS: -Xmx1g\n"
    "[2026-11-21 22:51:38,567] WARN Session expired (org.apache.kafka.Controller)\n"
)


def batches(path: Path) -> tuple[list[Batch], SkipCount]:
    """The batches of a file without their places, and what was passed over."""
    skipped = SkipCount(0)
    (log,) = find((path,))
    return [without_place(batch) for batch in read(log, skipped)], skipped


def without_place(batch: Batch) -> Batch:
    """The batch, read nowhere."""
    return Batch(batch.base_offset, batch.last_offset, batch.epoch, batch.entries, "", batch.control, batch.time)


def each(prefix: str) -> Callable[[], bytes]:
    """The log with a text before each line."""
    return lambda: "".join(prefix + line for line in LINES).encode()


def without_metadata() -> bytes:
    """As the tool prints it with `--skip-record-metadata`."""
    return re.sub(r"(?m)^\| offset: .* (?=payload: )", "| ", TEXT).encode()


PASTED: dict[str, Callable[[], bytes]] = {
    "a JVM's lines": lambda: (NOISE + LINES[0] + NOISE + "".join(LINES[1:])).encode(),
    "docker compose": each("kafka-1  | "),
    "a journal": each("Nov 21 22:51:38 host-1 kafka-dump[812]: "),
    "kubectl": each("[pod/kafka-0/kafka] "),
    "indented": each("    "),
    "a byte order mark": lambda: b"\xef\xbb\xbf" + TEXT.encode(),
    "UTF-16": lambda: TEXT.encode("utf-16"),
    "gzip": lambda: gzip.compress(TEXT.encode()),
    "an old tool": lambda: TEXT.replace("Log starting offset", "Starting offset").encode(),
    "no metadata of records": without_metadata,
}


@pytest.mark.parametrize("pasted", PASTED.values(), ids=PASTED)
def test_what_is_pasted_is_the_log(pasted: Callable[[], bytes], tmp_path: Path) -> None:
    """The batches are those of the plain text; lines of the JVM and of logging are counted, no other is left out."""
    path = tmp_path / "pasted.txt"
    path.write_bytes(pasted())
    found, skipped = batches(path)
    assert found == batches(OUTAGE)[0]
    assert (skipped.noise, skipped.places) == (6 if pasted is PASTED["a JVM's lines"] else 0, [])


@pytest.mark.parametrize("line", ["kafka-1  | baseOffset 1\n", "x| offset: 1 \n", "baseOffset: 1\n", "2026 WARN\n"])
def test_what_is_no_line_of_a_log_is_not_passed_over(line: str, tmp_path: Path) -> None:
    """A line that only looks like one of a log, or of logging, is refused with its place."""
    path = tmp_path / "pasted.txt"
    path.write_text(LINES[0] + LINES[1] + line + "".join(LINES[2:]), encoding="utf-8")
    with pytest.raises(LogError, match=rf"{path}:3: not a line of the dump tool"):
        batches(path)


def test_payloads_alone_are_counted_from_0(tmp_path: Path) -> None:
    """What `grep -o 'payload: .*'` leaves is read, each record as a batch, and a warning says what that costs."""
    payloads = re.findall(r"payload: \{.*\}", TEXT)
    path = tmp_path / "payloads.txt"
    path.write_text("\n".join(payloads), encoding="utf-8")
    found, skipped = batches(path)
    assert [batch.base_offset for batch in found] == list(range(len(payloads)))
    assert [batch.entries[0].type for batch in found] == [json.loads(one[9:])["type"] for one in payloads]
    assert skipped.counted
    (log,) = find((path,))
    assert NO_OFFSETS in ReplayOptions(None).replay(log, detailed=False).notes


def test_damaged_archives_are_refused(tmp_path: Path) -> None:
    """A packed log that is cut is refused in a line, whatever it is called."""
    path = tmp_path / "log.gz"
    path.write_bytes(gzip.compress(TEXT.encode())[:-20])
    with pytest.raises(LogError, match="damaged, as gzip says"):
        batches(path)


def test_standard_input_is_a_log() -> None:
    """`status -` reads the text that is piped into it, more than once, and says the same as of the file."""
    told = []
    for words, text in ((["-"], TEXT), ([str(OUTAGE)], "")):
        command = [sys.executable, "-m", "kraftcheck", "status", *words]
        ran = subprocess.run(command, input=text, capture_output=True, text=True, cwd=ROOT)
        assert ran.returncode == 14, ran.stderr
        told.append(ran.stdout.replace("standard input", "LOG").replace(str(OUTAGE), "LOG"))
    assert told[0] == told[1]
