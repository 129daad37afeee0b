"""One driver at a time: a second one is refused and harms nothing, a dead one is no obstacle, a lost lease stops."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from kraftcheck.ci.dataset.store.commits import NAME, CommitLog, lease_on
from kraftcheck.ci.dataset.store.objects import AnyPath
from kraftcheck.ci.terminal.refusal import Refusal
from tests import toys
from tests.ci.spark.levels import begun, facts, finished, native_facts, program_of
from tests.shared.commands import kraftcheck
from tests.shared.places import ROOT

HOLD = (
    "import sys, time; from kraftcheck.ci.dataset.store.commits import lease_on\n"
    "from kraftcheck.ci.dataset.store.stores import place_of\n"
    "with lease_on(place_of(sys.argv[1])): print('held', flush=True); time.sleep(600)"
)


@contextmanager
def another_driver(out: AnyPath) -> Iterator[subprocess.Popen[str]]:
    """A process that has the lease; at the end it is killed, as by kill -9."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    words = [sys.executable, "-c", HOLD, str(out)]
    with subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, text=True) as driver:
        assert driver.stdout is not None
        assert driver.stdout.readline() == "held\n"
        try:
            yield driver
        finally:
            driver.send_signal(signal.SIGKILL)


def tree(out: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    return {str(path.relative_to(out)): path.read_bytes() for path in out.rglob("*") if path.is_file()}


@pytest.mark.parametrize("more", [(), ("--resume",)], ids=["anew", "resume"])
def test_a_second_driver_is_refused(more: tuple[str, ...], tmp_path: Path) -> None:
    """While a driver works in a folder another is refused in one line that names it, and no file is touched."""
    run, runner = begun(program_of(toys.HASTY, "3"), tmp_path, max_depth=4)
    run.expand(runner)
    begun_file = tmp_path / "levels" / "depth=5"
    begun_file.mkdir()
    (begun_file / "part-of-an-attempt.parquet").write_bytes(b"half")
    before = tree(tmp_path)
    words = ("explore", "tests.toys:HASTY", "--scope", 3, "--engine", "spark", "--buckets", 8, "--out", tmp_path)
    told = kraftcheck(*words, *more).refusal()
    assert f"{tmp_path} is in use by another driver (process {os.getpid()} on " in told
    assert "wait until it ends, or choose another --out" in told
    assert tree(tmp_path) == before
    again, runner = begun(program_of(toys.HASTY, "3"), tmp_path, resume=True)
    again.expand(runner)
    assert facts(finished(again)) == native_facts(program_of(toys.HASTY, "3"))


def test_a_dead_driver_is_no_obstacle(tmp_path: Path) -> None:
    """The lease of a driver of this machine that was killed is free at once; so is one that ended orderly."""
    with another_driver(tmp_path) as driver, pytest.raises(Refusal, match=f"process {driver.pid} on "):
        lease_on(tmp_path).__enter__()
    assert json.loads((tmp_path / NAME).read_text())["pid"] == driver.pid
    with lease_on(tmp_path) as lease:
        lease.check()
    assert list(tmp_path.iterdir()) == []


def test_one_of_many_gets_the_lease(tmp_path: Path) -> None:
    """Of drivers that come at the same time exactly one at a time has the lease, again and again."""
    inside, most, refused = [0], [0], [0]
    guard = threading.Lock()

    def drive() -> None:
        for _ in range(200):
            try:
                with lease_on(tmp_path):
                    with guard:
                        inside[0] += 1
                        most[0] = max(most[0], inside[0])
                    with guard:
                        inside[0] -= 1
            except Refusal:
                refused[0] += 1

    drivers = [threading.Thread(target=drive) for _ in range(8)]
    for one in drivers:
        one.start()
    for one in drivers:
        one.join()
    assert most[0] == 1
    assert refused[0] > 0


def test_a_lease_of_another_machine_is_honoured(tmp_path: Path) -> None:
    """What a driver of another machine left is refused, naming the file to remove; then the run goes on."""
    lease = tmp_path / NAME
    lease.write_text(json.dumps({"host": "elsewhere", "boot": "other", "pid": 7, "token": "t"}))
    with pytest.raises(Refusal, match=rf"process 7 on elsewhere.*if that driver has ended, remove {lease}"):
        lease_on(tmp_path).__enter__()
    assert json.loads(lease.read_text())["token"] == "t"
    lease.unlink()
    with lease_on(tmp_path) as mine:
        assert mine.holds()


@pytest.mark.parametrize("how", ["removed", "taken over"])
def test_a_driver_without_its_lease_commits_nothing(how: str, tmp_path: Path) -> None:
    """Once its lease is gone or another's, a driver stops at its next commit, and sweeps and writes nothing."""
    run, runner = begun(program_of(toys.HASTY, "3"), tmp_path)
    lost_at = 5

    def lose(level: Any) -> None:
        if level.depth == lost_at:
            (tmp_path / NAME).unlink()
            if how == "taken over":
                (tmp_path / NAME).write_text(json.dumps({"token": "another"}))

    runner.before = lose
    with pytest.raises(Refusal, match="is gone or another driver's"):
        run.expand(runner)
    assert len(CommitLog(tmp_path).commits()) == lost_at
    with pytest.raises(Refusal, match="is gone or another driver's"):
        run.log.sweep(run.commits)
    assert list((tmp_path / "levels" / f"depth={lost_at}").iterdir()) != []


@pytest.mark.parametrize("when", ["writes", "renames"])
def test_a_driver_that_stands_still_in_a_commit_commits_nothing(
    when: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where another driver takes over before the first writes its manifest or renames it, that of the other stays."""
    program, stood = program_of(toys.HASTY, "3"), list[dict[str, bytes]]()
    run, runner = begun(program, tmp_path, max_depth=4)
    run.expand(runner)
    run.cut, run.budget = None, evolve(run.budget, max_depth=None)
    write, rename = tempfile.mkstemp, os.replace

    def stand_still() -> None:
        monkeypatch.setattr(tempfile, "mkstemp", write)
        monkeypatch.setattr(os, "replace", rename)
        (tmp_path / NAME).unlink()
        other, its = begun(program, tmp_path, resume=True)
        other.expand(its)
        stood.append(tree(tmp_path))

    def written(**options: Any) -> Any:
        stand_still()
        return write(**options)

    def renamed(source: Any, target: Any) -> None:
        stand_still()
        rename(source, target)

    changed = (tempfile, "mkstemp", written) if when == "writes" else (os, "replace", renamed)
    monkeypatch.setattr(*changed)
    with pytest.raises(Refusal, match="is gone or another driver's"):
        run.expand(runner)
    assert tree(tmp_path) == stood[0]
    again, _ = begun(program, tmp_path, resume=True)
    assert facts(finished(again)) == native_facts(program)


def test_nothing_is_written_without_a_lease(tmp_path: Path) -> None:
    """A log that is opened to be read cannot begin, commit or sweep."""
    run, runner = begun(program_of(toys.HASTY, "3"), tmp_path)
    run.expand(runner)
    log, before = CommitLog(tmp_path), tree(tmp_path)
    for write in (lambda: log.begin({}, {}), lambda: log.commit(run.commits[0]), lambda: log.sweep([])):
        with pytest.raises(RuntimeError, match="without a lease"):
            write()
    assert tree(tmp_path) == before


def test_a_manifest_is_on_the_disk_before_it_has_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Level files and their folder, then the manifest, are written through before the rename, and its folder after."""
    done: list[tuple[str, str]] = []
    real_sync, real_replace = os.fsync, os.replace

    def synced(handle: int) -> None:
        done.append(("fsync", os.path.basename(os.readlink(f"/proc/self/fd/{handle}"))))
        real_sync(handle)

    def renamed(source: Any, target: Any) -> None:
        done.append(("rename", Path(target).name))
        real_replace(source, target)

    run, runner = begun(program_of(toys.HASTY, "3"), tmp_path, max_depth=3)
    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", renamed)
    run.expand(runner)
    at = done.index(("rename", "_00002.json"))
    before = [name for _, name in done[done.index(("rename", "_00001.json")) + 2 : at]]
    parts = [name for name in before if name.endswith(".parquet")]
    assert parts
    assert before.index("depth=2") > before.index(parts[0])
    assert before[-2] == "levels"
    assert before[-1].startswith("._00002.json.")
    assert done[at + 1] == ("fsync", "levels")
