"""A standalone cluster of Spark on this machine: a master, and workers as processes on addresses of loopback."""

import contextlib
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from attrs import define, field

from kraftcheck.ci.spark.explore import ship_sources
from kraftcheck.ci.spark.session import start_session

HOST = "127.0.0.1"
AWAITED = 600.0  # seconds that a process of the cluster has to report, which takes a while on a busy machine


@define
class Standalone:
    """A cluster whose workers can be started and lost."""

    place: Path  # where its logs and scratch files are
    environment: Mapping[str, str] = field(factory=dict)  # of all its processes, beside this one's
    cores: int = 1  # of each worker
    url: str = ""  # the master's, as `--master` takes it
    # the processes of workers that were started and not ended here, by number
    workers: dict[int, subprocess.Popen[bytes]] = field(factory=dict)
    _master: subprocess.Popen[bytes] | None = None
    _started: int = 0

    def start(self, workers: int) -> None:
        """Start the master and so many workers."""
        log = self.place / "master.log"
        self._master = self._daemon(log, "master.Master", "--host", HOST, "--port", "0")
        self.url = _awaited(log, r"Starting Spark master at (spark://\S+)")
        self.start_workers(*range(workers))

    def start_workers(self, *numbers: int) -> None:
        """Start workers, each on an address of its own, so that Spark takes it for another machine."""
        self._started += 1
        logs = {number: self.place / f"worker{number}-{self._started}.log" for number in numbers}
        for number, log in logs.items():
            words = ["--host", f"127.0.0.{number + 2}", "--cores", str(self.cores), "--memory", "768m",
                     "--work-dir", str(self.place / f"work{number}"), self.url]  # fmt: skip
            self.workers[number] = self._daemon(log, "worker.Worker", *words)
        for log in logs.values():
            _awaited(log, r"(Successfully registered with master)")

    def lose_worker(self, number: int) -> None:
        """End a worker by kill -9; its executors follow it."""
        self.workers[number].kill()
        self.workers.pop(number).wait()

    def session(self, cores: int, conf: Mapping[str, str], log: Path) -> Any:
        """A session on the cluster, once so many executors of one core are there; they have the sources."""
        own = {"spark.executor.memory": "512m", "spark.driver.host": HOST, **conf}
        session = start_session(self.url, cores, own, log)
        store, deadline = session.sparkContext._jsc.sc().statusStore(), time.monotonic() + AWAITED
        while (found := store.executorList(True).size() - 1) < cores:  # the driver is among them
            if time.monotonic() > deadline:
                raise RuntimeError(f"{found} of {cores} executors came in {AWAITED:.0f} s")
            time.sleep(0.1)
        ship_sources(session, log.with_name("sources.zip"))
        return session

    def close(self) -> None:
        """End all processes: a worker that is asked to ends its executors."""
        daemons = [*self.workers.values(), *([] if self._master is None else [self._master])]
        for daemon in daemons:
            daemon.send_signal(signal.SIGCONT)
            daemon.terminate()
        for daemon in daemons:
            try:
                daemon.wait(30)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()

    def _daemon(self, log: Path, main: str, *words: str) -> subprocess.Popen[bytes]:
        """A process of the cluster, which writes a log."""
        import pyspark

        home = Path(pyspark.__file__).parent
        command = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{main}", "--webui-port", "0", *words]
        own = {"SPARK_HOME": str(home), "SPARK_DAEMON_MEMORY": "256m", "SPARK_LOCAL_DIRS": str(self.place / "scratch")}
        environment = {**os.environ, **own, **self.environment}
        with open(log, "wb") as stream:
            return subprocess.Popen(command, cwd=self.place, env=environment, stdout=stream, stderr=subprocess.STDOUT)


@contextlib.contextmanager
def standalone(place: Path, workers: int, environment: Mapping[str, str] | None = None) -> Iterator[Standalone]:
    """A cluster with workers of one core each, whose processes end with the context."""
    cluster = Standalone(place, environment or {})
    try:
        cluster.start(workers)
        yield cluster
    finally:
        cluster.close()


def _awaited(log: Path, pattern: str) -> str:
    """The group of a pattern, once the log has it."""
    deadline = time.monotonic() + AWAITED
    while (match := re.search(pattern, log.read_text(encoding="utf-8"))) is None:
        if time.monotonic() > deadline:
            raise RuntimeError(f"{log} has no {pattern} after {AWAITED:.0f} s: {log.read_text()[-1000:]}")
        time.sleep(0.1)
    return match[1]
