"""A disk that is full: whatever write meets it, the run ends in one line, and goes on once there is room."""

import contextlib
import json
import os
import resource
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import define

from tests.ci.spark.faults.driver import CONF, LONG, QUICK
from tests.ci.spark.faults.space import SMALL, assert_whole, said
from tests.shared.commands import kraftcheck, start


@define
class Disk:
    """A small disk: a tmpfs where it can be mounted, else a limit on the size of each file of a process."""

    place: Path  # where it is
    size: int  # bytes
    mounted: bool  # whether it is a disk of its own

    def limit(self) -> None:
        """In a process that is about to run a command: what stands for the disk, where there is none."""
        if not self.mounted:
            resource.setrlimit(resource.RLIMIT_FSIZE, (self.size, self.size))

    def grow(self) -> None:
        """Make room."""
        if self.mounted:
            _mount(self.place, "remount,size=64m")
        else:
            self.size = resource.RLIM_INFINITY


def _mount(place: Path, options: str) -> bool:
    words = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)]
    return os.geteuid() == 0 and subprocess.run(words, capture_output=True).returncode == 0


@contextlib.contextmanager
def small_disk(place: Path, size: int) -> Iterator[Disk]:
    """A disk of so many bytes."""
    place.mkdir()
    disk = Disk(place, size, _mount(place, f"size={size}"))
    try:
        yield disk
    finally:
        if disk.mounted:
            subprocess.run(["umount", "-l", str(place)], check=True)


def explored(disk: Disk, *words: object) -> tuple[int, str, str]:
    """Explore into the disk: exit code, standard output and error."""
    every = [*SMALL.words, "--out", disk.place / "out", "--json", "-", *words]
    process = start(every, preexec_fn=disk.limit, environment=QUICK)
    out, error = process.communicate(timeout=LONG)
    return process.returncode, out, error


def assert_refused_or_whole(ended: int, told: str, error: str, code: int) -> None:
    """A run that ended with a code, or in one line that says what the disk lacks."""
    if ended != code:
        assert (ended, told, error.count("\n")) == (2, "", 1), error
        assert any(word in error for word in ("space", "File too large", "larger than the limit")), error


def judged(document: str) -> Any:
    """What a document says of the space, without properties that are searched backward."""
    told = said(json.loads(document))
    properties = [one for one in told["properties"] if one["kind"] != "recovers"]
    return told["states"], told["fired"], properties


@pytest.mark.parametrize(
    "kilobytes", [96, *(pytest.param(size, marks=pytest.mark.slow) for size in (16, 176, *range(8, 260, 12), 300, 400))]
)
def test_a_full_disk_ends_a_run_on_levels_in_files_in_one_line(kilobytes: int, tmp_path: Path) -> None:
    """On a disk of so many kilobytes `--engine disk` ends in one line, and with room resumes to the native result."""
    native = judged(kraftcheck(*SMALL.words, "--json", "-").out)
    with small_disk(tmp_path / "disk", kilobytes << 10) as disk:
        words = ("--engine", "disk", "--handover", 300)
        assert_refused_or_whole(*explored(disk, *words), code=12)
        disk.grow()
        again = ("--resume",) if (disk.place / "out" / "run.json").exists() else ()
        code, told, error = explored(disk, *words, *again)
        assert code == 12, error
        assert judged(told) == native
        assert_whole(disk.place / "out")


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
@pytest.mark.slow
@pytest.mark.parametrize(
    ("kilobytes", "scratch"), [(100, True), (180, True), (260, True), (300, True), (180, False), (260, False)]
)
def test_a_full_disk_ends_a_run_of_spark_in_one_line(kilobytes: int, scratch: bool, tmp_path: Path) -> None:
    """On a small disk, with Spark's scratch files on it or elsewhere, a run is refused in one line, and resumes."""
    with small_disk(tmp_path / "disk", kilobytes << 10) as disk:
        conf = {**CONF, "spark.local.dir": str((disk.place if scratch else tmp_path) / "scratch")}
        words = ("--engine", "spark", "--workers", 2, "--handover", 300,
                 *(word for pair in conf.items() for word in ("--conf", "=".join(pair))))  # fmt: skip
        assert_refused_or_whole(*explored(disk, *words), code=12)
        disk.grow()
        again = ("--resume",) if (disk.place / "out" / "run.json").exists() else ()
        code, told, error = explored(disk, *words, *again)
        assert code == 12, error
        assert said(json.loads(told)) == SMALL.native()
        assert_whole(disk.place / "out")
