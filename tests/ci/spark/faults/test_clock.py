"""A wall clock that jumps by hours, forwards and backwards, under a driver and all its processes."""

import mmap
import os
import random
import shutil
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from kraftcheck.ci.dataset.store.commits import lease_on
from kraftcheck.ci.terminal.refusal import Refusal
from tests.ci.spark.faults.driver import Driver, driven
from tests.ci.spark.faults.space import MEDIUM, assert_whole, said
from tests.ci.spark.faults.test_stops import IMPATIENT
from tests.ci.spark.test_spark_lease import another_driver
from tests.shared.places import ROOT

HOURS = 3600

Jump = Callable[[int], None]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library that shifts clocks, compiled."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or sys.platform != "linux":
        pytest.skip("a clock is made to jump by a library that a C compiler of Linux makes, and there is none")
    path = tmp_path_factory.mktemp("clock") / "clock.so"
    words = [compiler, "-shared", "-fPIC", "-O1", "-o", str(path), str(Path(__file__).with_name("clock.c"))]
    subprocess.run(words, check=True)
    return path


@pytest.fixture
def jump(tmp_path: Path) -> Jump:
    """Sets the seconds by which clocks are shifted."""
    place = tmp_path / "shift"
    place.write_bytes(struct.pack("q", 0))

    def set_to(seconds: int) -> None:
        with open(place, "r+b") as stream, mmap.mmap(stream.fileno(), 8) as memory:
            memory[:] = struct.pack("q", seconds)

    return set_to


def shifted(library: Path, place: Path) -> Mapping[str, str]:
    """The environment of processes whose clock jumps."""
    return {"LD_PRELOAD": str(library), "KRAFTCHECK_TEST_CLOCK": str(place / "shift"), "PYTHONPATH": str(ROOT)}


ASK = "import sys, time\nfor line in sys.stdin: print(time.time(), time.monotonic(), flush=True)"


def test_the_wall_clock_jumps_and_durations_do_not(library: Path, jump: Jump, tmp_path: Path) -> None:
    """The library moves what `time.time` says of a process that runs, and leaves `time.monotonic` as it is."""
    asked = subprocess.Popen(
        [sys.executable, "-c", ASK], env={**os.environ, **shifted(library, tmp_path)}, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    with asked:
        assert asked.stdin is not None
        assert asked.stdout is not None
        for seconds in (0, 5 * HOURS, -7 * HOURS):
            jump(seconds)
            asked.stdin.write("now\n")
            asked.stdin.flush()
            wall, steady = map(float, asked.stdout.readline().split())
            assert abs(wall - time.time() - seconds) < 60
            assert abs(steady - time.monotonic()) < 60
        asked.stdin.close()


@pytest.mark.parametrize("hours", [9, -9])
def test_a_lease_does_not_age(
    hours: int, library: Path, jump: Jump, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However its driver's clock jumps, a lease is its driver's as long as that lives, and free once it is dead."""
    for name, value in shifted(library, tmp_path).items():
        monkeypatch.setenv(name, value)
    out = tmp_path / "out"
    out.mkdir()
    with another_driver(out) as driver:
        for seconds in (hours * HOURS, 0, -hours * HOURS):
            jump(seconds)
            with pytest.raises(Refusal, match=f"process {driver.pid} on "):
                lease_on(out).__enter__()
    with lease_on(out) as lease:
        assert lease.holds()


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(500, 504))
def test_a_clock_that_jumps_changes_nothing(seed: int, library: Path, jump: Jump, tmp_path: Path) -> None:
    """While the clock of the driver, the JVM and the workers jumps by hours, a run finds what native does, in time."""
    drawn = random.Random(seed)
    driver = Driver(MEDIUM, tmp_path / "out", ("--workers", "2"), IMPATIENT, shifted(library, tmp_path))
    begun = time.monotonic()
    with driven(driver):
        for depth in sorted(drawn.sample(range(8, 14), k=3)):
            if driver.reaches(depth):
                time.sleep(drawn.uniform(0, 2))
                jump(drawn.choice((-1, 1)) * drawn.randrange(HOURS, 30 * HOURS))
        document = driver.finish()
    assert said(document) == MEDIUM.native()
    assert_whole(driver.out)
    seconds = document["seconds"]
    assert all(0 <= seconds[name] <= time.monotonic() - begun for name in ("explore", "backward", "compile", "audit"))
