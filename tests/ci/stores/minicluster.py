"""HDFS on this machine: Hadoop's mini cluster, in a process of its own, of the Hadoop that Spark brings."""

import contextlib
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from subprocess import PIPE
from typing import IO

import pyspark
from attrs import frozen

from kraftcheck.ci.bench.cases import jar
from kraftcheck.ci.conformance.kafka.jars import SHORT_RUN, program

VERSION = "3.5.0"
DIGEST = "06772d24529e59939915979b3edba204d367750ef7dc5120411f35221dd4818c"
DRIVER = Path(__file__).with_name("MiniCluster.java")


@frozen
class MiniCluster:
    """A cluster that runs."""

    # web, rpc: ports of its namenode
    web: int
    rpc: int
    log: Path  # what Hadoop says
    process: subprocess.Popen[str]  # it reads commands, and answers each with a line

    @property
    def url(self) -> str:
        """The URL of its namenode."""
        return f"webhdfs://127.0.0.1:{self.web}"

    def do(self, command: str) -> None:
        """Let it obey a command, such as `stop 0`."""
        commands, answers = streams(self.process)
        commands.write(f"{command}\n")
        commands.flush()
        assert answers.readline() == f"{command}\n", self.log.read_text()[-2000:]


@contextlib.contextmanager
def cluster(datanodes: int = 1) -> Iterator[MiniCluster]:
    """A cluster, which ends with the context."""
    with tempfile.TemporaryDirectory(prefix="kraftcheck-hdfs-") as name:
        words = [program("java"), *SHORT_RUN, "-Xmx256m", "-cp", class_path(), str(DRIVER), name, str(datanodes)]
        log = Path(name, "log")
        with open(log, "w", encoding="utf-8") as errors:
            process = subprocess.Popen(words, stdin=PIPE, stdout=PIPE, stderr=errors, text=True, cwd=name)
        try:
            with process:
                commands, answers = streams(process)
                ports = answers.readline().split()
                if len(ports) != 2:
                    raise RuntimeError(f"no mini cluster: {log.read_text()[-2000:]}")
                yield MiniCluster(int(ports[0]), int(ports[1]), log, process)
                commands.close()
                process.wait(60)
        finally:
            process.kill()


def streams(process: subprocess.Popen[str]) -> tuple[IO[str], IO[str]]:
    """What a process reads, and what it writes."""
    assert process.stdin is not None
    assert process.stdout is not None
    return process.stdin, process.stdout


def class_path() -> str:
    """Spark's jars of Hadoop and of logging, and the mini cluster for them."""
    brought = Path(pyspark.__file__).parent / "jars"
    assert (brought / f"hadoop-client-api-{VERSION}.jar").exists(), "Spark brings another Hadoop: change VERSION"
    jars = [path for kind in ("hadoop-client", "slf4j-api", "log4j", "jcl-over") for path in brought.glob(f"{kind}*")]
    jars.append(jar(f"org.apache.hadoop:hadoop-client-minicluster:{VERSION}", DIGEST))
    return os.pathsep.join(map(str, jars))
