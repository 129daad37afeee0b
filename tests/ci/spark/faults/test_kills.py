"""kill -9 at random moments, drawn from a seed: of executors, workers, Python workers, the JVM and the driver."""

import random
import signal
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from attrs import define, field, frozen

from tests.ci.spark.faults.cluster import Standalone
from tests.ci.spark.faults.driver import Driver, awaited, below, driven, send, words_of
from tests.ci.spark.faults.space import MEDIUM, SMALL, assert_whole, said

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

EXECUTOR, PYTHON = "CoarseGrainedExecutorBackend", "pyspark.daemon"


@frozen
class Strike:
    """A loss."""

    depth: int  # the level that counts already
    delay: float  # seconds after that
    victim: str  # what is lost
    which: float  # of several, as a share
    back: bool  # whether a lost worker comes back


def strikes(seed: int, victims: tuple[str, ...], depths: range, count: int) -> Iterator[Strike]:
    """Losses at moments that a seed draws, in the order of their levels."""
    drawn = random.Random(seed)
    for depth in sorted(drawn.choices(depths, k=count)):
        yield Strike(depth, drawn.uniform(0, 2), drawn.choice(victims), drawn.random(), drawn.random() < 0.5)


@define
class Reaper:
    """Ends processes of a run."""

    driver: Driver  # of the run
    cluster: Standalone | None = None  # where its tasks run; None: below the driver
    struck: list[str] = field(factory=list)  # the losses that happened

    def strike(self, one: Strike) -> None:
        """Wait for the moment, and end the victim; nothing where the run has ended before."""
        if not self.driver.reaches(one.depth):
            return
        time.sleep(one.delay)
        if self.driver.process.poll() is not None:
            return
        if one.victim == "driver":
            self.driver.kill()
            self.driver.begin(resume=True)
        elif one.victim == "worker":
            self._lose_worker(one)
        else:
            pattern = {"executor": EXECUTOR, "python": PYTHON, "jvm": "SparkSubmit"}[one.victim]
            awaited(lambda: self.driver.process.poll() is not None or bool(self.processes(pattern)))
            found = self.processes(pattern)
            if not found or not send([found[int(one.which * len(found))]], signal.SIGKILL):
                return
        self.struck.append(one.victim)

    def processes(self, pattern: str) -> list[int]:
        """Those that run tasks whose command line has a word."""
        if self.cluster is None:
            return self.driver.processes(pattern)
        found = [process for worker in self.cluster.workers.values() for process in below(worker.pid)]
        return [process for process in found if pattern in words_of(process)]

    def _lose_worker(self, one: Strike) -> None:
        """End a worker; it comes back, or another that was lost before does."""
        assert self.cluster is not None
        numbers = sorted(self.cluster.workers)
        lost = numbers[int(one.which * len(numbers))]
        self.cluster.lose_worker(lost)
        if one.back or not self.cluster.workers:
            self.cluster.start_workers(lost)


def suffer(driver: Driver, cluster: Standalone | None, losses: Iterable[Strike]) -> list[str]:
    """A run that suffers losses, compared with the native engine; what was lost."""
    with driven(driver):
        reaper = Reaper(driver, cluster)
        for one in losses:
            reaper.strike(one)
        assert said(driver.finish()) == driver.space.native()
    assert_whole(driver.out)
    awaited(lambda: not reaper.processes(EXECUTOR))
    return reaper.struck


@pytest.mark.slow
def test_a_cluster_that_loses_an_executor_finds_what_native_finds(cluster: Standalone, tmp_path: Path) -> None:
    """On a standalone cluster of two workers a run that loses an executor finds what the native engine finds."""
    driver = Driver(SMALL, tmp_path / "out", ("--master", cluster.url))
    assert suffer(driver, cluster, strikes(9, ("executor",), range(8, 9), 1)) == ["executor"]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 120))
def test_losses_at_random_moments_change_nothing(seed: int, cluster: Standalone, tmp_path: Path) -> None:
    """Whenever executors, workers and drivers of a cluster are lost, what is found is what the native engine finds."""
    driver = Driver(MEDIUM, tmp_path / "out", ("--master", cluster.url))
    assert suffer(driver, cluster, strikes(seed, ("executor", "worker", "driver"), range(8, 14), 4))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(200, 210))
def test_losses_where_candidates_are_in_files_change_nothing(seed: int, tmp_path: Path) -> None:
    """Whenever Python workers, the JVM and the driver of an embedded Spark are lost, the result is the native one."""
    driver = Driver(MEDIUM, tmp_path / "out", ("--workers", "2"))
    assert suffer(driver, None, strikes(seed, ("python", "python", "python", "jvm", "driver"), range(8, 14), 6))
