"""Brokers and controllers of a released Kafka as ordinary processes on loopback.

Each node is isolated, a broker has two log directories. Kafka's own classes do
everything else, so nothing but the jars is needed.
"""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from attrs import Factory, define, field, frozen

from kraftcheck.ci.conformance.cluster.admin import AdminProcess, ClusterError, RequestRefused, admin_process
from kraftcheck.ci.conformance.kafka.jars import SERVER, SHORT_RUN, jars, program

HEAP = "-Xmx256m"
"""Memory of each process."""

TIMEOUT_S = 180
"""How long one state is waited for."""


def free_port() -> int:
    """A port of loopback that nobody uses now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@frozen
class ClusterLayout:
    """What a cluster is formatted with.

    Attributes:
        brokers: node ids of the brokers.
        controllers: node ids of the controllers.
        settings: lines for the configuration of every node.
        features: levels to format with, as `name=level`.
        release: release to format for; None takes the newest that the jars know.
    """

    brokers: tuple[int, ...] = (0, 1, 2)
    controllers: tuple[int, ...] = (100,)
    settings: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    release: str | None = None


@define
class KafkaCluster:
    """The processes of one cluster.

    Attributes:
        version: Kafka's release.
        home: where configurations, directories and output go.
        layout: its nodes and what they are formatted with.
    """

    version: str
    home: Path
    layout: ClusterLayout
    admin: AdminProcess = field(init=False)
    ports: dict[int, int] = field(init=False)
    running: dict[int, subprocess.Popen[bytes]] = Factory(dict)

    def __attrs_post_init__(self) -> None:
        self.ports = {node: free_port() for node in self.nodes}

    @property
    def nodes(self) -> tuple[int, ...]:
        """Every node, controllers first."""
        return (*self.layout.controllers, *self.layout.brokers)

    def directories(self, node: int) -> tuple[Path, Path]:
        """The two log directories of a broker."""
        return self.home / f"broker-{node}-a", self.home / f"broker-{node}-b"

    def metadata(self, controller: int) -> Path:
        """The folder of a controller's metadata log."""
        return self.home / f"controller-{controller}" / "__cluster_metadata-0"

    @property
    def bootstrap(self) -> str:
        """Addresses of every broker."""
        return ",".join(f"127.0.0.1:{self.ports[node]}" for node in self.layout.brokers)

    def output(self, node: int) -> Path:
        """The file of a node's messages."""
        return self.home / f"node-{node}.out"

    def format(self) -> None:
        """Write every node's configuration and format its directories.

        Raises:
            ClusterError: when Kafka's tool fails.
        """
        shutil.rmtree(self.home, ignore_errors=True)
        self.home.mkdir(parents=True)
        for node in self.nodes:
            self._config(node).write_text("\n".join(self._settings(node)) + "\n", encoding="utf-8")
            arguments = ["kafka.tools.StorageTool", "format", "-t", "kraftcheckKraftcheckQQ", "-c", self._config(node)]
            arguments += ["--release-version", self.layout.release] if self.layout.release else []
            for feature in self.layout.features:
                arguments += ["--feature", feature]
            run = subprocess.run([*self.java(), *map(str, arguments)], capture_output=True, text=True, check=False)
            if run.returncode:
                raise ClusterError(f"node {node} is not formatted: {run.stdout[-800:]}{run.stderr[-800:]}")

    def _config(self, node: int) -> Path:
        return self.home / f"node-{node}.properties"

    def _settings(self, node: int) -> list[str]:
        port = self.ports[node]
        quorum = ",".join(f"{one}@127.0.0.1:{self.ports[one]}" for one in self.layout.controllers)
        shared = [
            f"node.id={node}", f"controller.quorum.voters={quorum}", "controller.listener.names=CONTROLLER",
            "listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT", *self.layout.settings,
        ]  # fmt: skip
        if node in self.layout.controllers:
            node_settings = [f"listeners=CONTROLLER://127.0.0.1:{port}", f"log.dirs={self.metadata(node).parent}"]
            return ["process.roles=controller", *node_settings, *shared]
        first, second = self.directories(node)
        node_settings = [f"log.dirs={first},{second}", f"metadata.log.dir={self.home / f'broker-{node}-metadata'}"]
        return ["process.roles=broker", f"listeners=PLAINTEXT://127.0.0.1:{port}", *node_settings, *shared]

    def java(self) -> list[str]:
        """The command that runs a class of the release."""
        return [program("java"), HEAP, *SHORT_RUN, "-cp", jars(self.version, SERVER)]

    def start(self, *nodes: int) -> None:
        """Start nodes; each writes its output to a file of its own."""
        for node in nodes:
            with self.output(node).open("ab") as output:
                self.running[node] = subprocess.Popen(
                    [*self.java(), "kafka.Kafka", str(self._config(node))], stdout=output, stderr=subprocess.STDOUT
                )

    def kill(self, node: int) -> None:
        """End a node without warning."""
        self._end(node, signal.SIGKILL)

    def stop(self, node: int) -> None:
        """Ask a node to end: a controlled shutdown."""
        self._end(node, signal.SIGTERM)

    def _end(self, node: int, how: signal.Signals) -> None:
        self.running[node].send_signal(how)
        self.wait_for_end(node)

    def wait_for_end(self, node: int) -> None:
        """Wait for a node that ends.

        Raises:
            ClusterError: when it does not.
        """
        try:
            self.running[node].wait(timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            raise ClusterError(f"node {node} still runs after {TIMEOUT_S} s; see {self.home}") from None
        del self.running[node]

    def runs(self, node: int) -> bool:
        """Whether a node that was started has not ended."""
        return node in self.running and self.running[node].poll() is None

    def close(self) -> None:
        """End whatever still runs."""
        for process in self.running.values():
            process.kill()
        for process in self.running.values():
            process.wait()
        self.running.clear()

    def wait(self, what: str, holds: Callable[[], bool], timeout_s: float = TIMEOUT_S) -> None:
        """Wait until something holds.

        Raises:
            ClusterError: when it takes too long.
        """
        if not self.happens(holds, timeout_s):
            raise ClusterError(f"waited {timeout_s:.0f} s in vain until {what}; see {self.home}")

    def happens(self, holds: Callable[[], bool], timeout_s: float = TIMEOUT_S) -> bool:
        """Whether something comes to hold within a time; while brokers refuse to say so, it does not hold."""
        end = time.monotonic() + timeout_s
        while time.monotonic() <= end:
            with suppress(RequestRefused):  # by a broker that starts, or has not heard of a topic
                if holds():
                    return True
            time.sleep(1)
        return False

    def break_directory(self, node: int, which: int) -> Path:
        """Put a file in the place of a broker's log directory; the next checkpoint there fails."""
        place = self.directories(node)[which]
        place.rename(place.with_name(f"{place.name}.gone"))
        place.write_text("not a folder\n", encoding="utf-8")
        return place

    def mend_directory(self, node: int, which: int) -> None:
        """Bring a broken directory back."""
        place = self.directories(node)[which]
        place.unlink()
        place.with_name(f"{place.name}.gone").rename(place)


@contextmanager
def running_cluster(version: str, home: Path, layout: ClusterLayout) -> Iterator[KafkaCluster]:
    """A formatted cluster whose brokers are all unfenced; every process ends with the block."""
    cluster = KafkaCluster(version, home, layout)
    cluster.format()
    try:
        with admin_process(cluster.java(), cluster.bootstrap, home / "admin.out") as cluster.admin:
            cluster.start(*cluster.nodes)
            cluster.wait("every broker is there", lambda: cluster.admin.ask("brokers") == sorted(layout.brokers))
            yield cluster
    finally:
        cluster.close()
