"""`kraftcheck status --follow`: what it tells while a controller writes."""

import queue
import re
import shutil
import signal
import threading
from pathlib import Path

import pytest

from kraftcheck.ci.logs.condition import condition_of
from kraftcheck.ci.logs.format.segments import whole_size
from kraftcheck.ci.logs.metrics import of_status
from kraftcheck.ci.logs.report import ReplayOptions
from tests.shared.captures import TROUBLE, batches, cut
from tests.shared.commands import kraftcheck, start
from tests.shared.places import ROOT, TESTS

LOG = TROUBLE / "00000000000000000000.log"
OUTAGE = TESTS / "snapshots" / "outage.txt"
WAIT_S = 40


class Lines:
    """The lines of a command that goes on."""

    def __init__(self, folder: Path, *words: object) -> None:
        self.process = start(["status", folder, "--follow", *words])
        self._lines: queue.Queue[str] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)

    def until(self, text: str) -> list[str]:
        """The lines up to one that has a text."""
        found = []
        while not found or text not in found[-1]:
            found.append(self._lines.get(timeout=WAIT_S))
        return found

    def interrupt(self) -> tuple[int, str]:
        """The exit code after Ctrl-C, and what was written on standard error."""
        self.process.send_signal(signal.SIGINT)
        code = self.process.wait(timeout=WAIT_S)
        assert self.process.stderr is not None
        return code, self.process.stderr.read()

    def close(self) -> None:
        """End it, whatever it does."""
        self.process.kill()
        self.process.wait()
        self._reader.join()
        for stream in (self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A controller's folder up to offset 37, when all is well."""
    place = tmp_path / "__cluster_metadata-0"
    place.mkdir()
    (place / LOG.name).write_bytes(cut(0, 38))
    return place


def test_changes_are_told_as_they_are_written(folder: Path, tmp_path: Path) -> None:
    """Appended batches, half a batch, and a new segment: each change is a line, and Ctrl-C ends it quietly."""
    metrics = tmp_path / "metrics.prom"
    following = Lines(folder, "--prometheus", metrics)
    try:
        assert "all is well" in following.until("offset 37")[-1]
        rest, segment = cut(38, 91), folder / LOG.name
        with segment.open("ab") as log:
            log.write(rest[:-7])
        assert "2 of 8 partitions are offline" in following.until("offset 89")[-1]
        assert "strict-1, alone-0" in following.until("offline now")[-1]
        with segment.open("ab") as log:
            log.write(rest[-7:])
        assert "broker 1 is starting" in following.until("offset 90")[-1]
        assert 'kraftcheck_partitions{state="offline"} 2' in metrics.read_text(encoding="utf-8")
        (folder / f"{91:020}.log").write_bytes(cut(91))
        assert "offset 249" in following.until("offset 249")[-1]
        (code, err) = following.interrupt()
        assert (code, err) == (10, "")
    finally:
        following.close()


def test_a_snapshot_in_place_of_old_segments(tmp_path: Path) -> None:
    """Where a controller has deleted the segments that a snapshot holds, the snapshot and what follows are read."""
    folder = tmp_path / "__cluster_metadata-0"
    shutil.copytree(LOG.parent, folder, ignore=shutil.ignore_patterns("*.txt"))
    following = Lines(folder)
    try:
        following.until("offset 249")
        (folder / f"{218:020}.log").write_bytes(cut(218))
        (folder / LOG.name).unlink()
        assert following.interrupt()[0] == 10
    finally:
        following.close()
    found = condition_of(folder, ReplayOptions(None, grows=True))
    assert (found["offset"], found["exit"]) == (249, 10)


def test_what_is_not_whole_is_not_read() -> None:
    """Of a segment that grows all whole batches are read, wherever it ends, and zeros behind them are none."""
    data = cut(0, 20)
    ends = {len(cut(0, batch.base_offset)) for batch in batches(TROUBLE)}
    for size in range(len(data) + 1):
        assert whole_size(data[:size]) == max(end for end in ends if end <= size)
    assert whole_size(data + bytes(100)) == len(data)


@pytest.mark.parametrize("words", [("-", "--follow"), (OUTAGE, "--follow", "--describe"), ("nothing", "--follow")])
def test_what_cannot_be_followed_is_refused(words: tuple[object, ...]) -> None:
    """Standard input, a table of one moment, and a place that is not there, are one line."""
    ran = kraftcheck("status", *words)
    assert (ran.code, len(ran.err.splitlines())) == (2, 1)


def test_alerts_name_what_is_written() -> None:
    """Each metric, label and value of the documented alerts is one that `status --prometheus` writes."""
    page = (ROOT / "docs" / "how-to" / "outage.md").read_text(encoding="utf-8")
    rules = page.partition("```yaml\n")[2].partition("```")[0]
    written = of_status(condition_of(OUTAGE, ReplayOptions(None)))
    of_defects = of_status(condition_of(TESTS / "captured" / "kafka-4.0.0-elr", ReplayOptions(None)))
    named = re.findall(r"(kraftcheck_\w+)(\{[^}]*\})?", rules)
    assert len(named) >= 4
    for name, labels in named:
        assert f"{name}{labels}" in written
    for label in re.findall(r"\$labels\.(\w+)", rules):
        assert f'{label}="' in of_defects


def test_a_log_that_cannot_be_read_or_goes_back_is_not_well(tmp_path: Path) -> None:
    """Damage is said once it stays, on standard output and in the numbers; an older copy deletes nothing."""
    folder, metrics = tmp_path / "log", tmp_path / "numbers.prom"
    log, whole, older = folder / LOG.name, cut(end=38), cut(end=25)
    folder.mkdir()
    log.write_bytes(whole)
    lines = Lines(folder, "--prometheus", metrics)
    try:
        assert "all is well" in lines.until("offset 37")[-1]
        log.write_bytes(whole + b"\xff" * 300)
        lines.until("the log cannot be read now; of those shown, ")
        assert 'not_all_known{because="read in part"} 1' in metrics.read_text(encoding="utf-8")
        log.write_bytes(older)
        told = lines.until("offset 24: the log has gone back from offset 37 to 24: another copy?; of those shown, ")
        assert not any("deleted" in line for line in told)
        log.write_bytes(whole)
        assert "all is well" in lines.until("offset 37")[-1]
        shutil.rmtree(folder)
        lines.until("the log cannot be read now; of those shown, ")
        code, err = lines.interrupt()
        assert (code, "cannot be read since" in err) == (10, True)
    finally:
        lines.close()


def test_a_batch_that_stays_incomplete_is_said(tmp_path: Path) -> None:
    """What is not whole is left for the next look; once nothing is written for a while it is a cut."""
    log, whole = tmp_path / LOG.name, cut(end=38)
    log.write_bytes(whole[:-10])
    lines = Lines(tmp_path)
    try:
        assert "cut off" not in lines.until("offset")[-1]
        lines.until("the log is cut off; of those shown, ")
        log.write_bytes(whole)
        assert "all is well" in lines.until("offset 37")[-1]
        assert lines.interrupt()[0] == 0
    finally:
        lines.close()
