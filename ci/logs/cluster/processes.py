"""Brokers and a controller of a released Kafka as ordinary processes on loopback.

One isolated controller (node 100) and brokers 0, 1, 2 with two log directories
each. Kafka's own shipped tools do everything else; they are called as Java
classes, so nothing but the jars is needed.
"""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from attrs import Factory, define

from kraftcheck.ci.conformance.kafka.jars import program

CONTROLLER = 100
"""Node id of the controller."""

BROKERS = (0, 1, 2)
"""Node ids of the brokers."""

HEAP = "-Xmx256m"
"""Memory of each process."""

TIMEOUT_S = 60
"""How long one state is waited for."""


class ClusterError(RuntimeError):
    """The cluster does not do what the script needs."""


def free_port() -> int:
    """A port of loopback that nobody uses now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@define
class KafkaCluster:
    """The processes of one cluster.

    Attributes:
        jars: a folder of Kafka's jars with all that they need.
        home: where configurations, directories and output go.
        settings: lines for the configuration of every node.
        features: levels to format with, as `name=level`.
        release: release to format for; None takes the newest that the jars know.
    """

    jars: Path
    home: Path
    settings: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    release: str | None = None
    ports: dict[int, int] = Factory(lambda: {node: free_port() for node in (CONTROLLER, *BROKERS)})
    running: dict[int, subprocess.Popen[bytes]] = Factory(dict)

    def directories(self, node: int) -> tuple[Path, Path]:
        """The two log directories of a broker."""
        return self.home / f"broker-{node}-a", self.home / f"broker-{node}-b"

    @property
    def metadata(self) -> Path:
        """The folder of the controller's metadata log."""
        return self.home / "controller" / "__cluster_metadata-0"

    @property
    def bootstrap(self) -> str:
        """Addresses of every broker, for tools."""
        return ",".join(f"127.0.0.1:{self.ports[node]}" for node in BROKERS)

    def format(self) -> None:
        """Write every node's configuration and format its directories."""
        shutil.rmtree(self.home, ignore_errors=True)
        self.home.mkdir(parents=True)
        for node in (CONTROLLER, *BROKERS):
            self._config(node).write_text("\n".join(self._settings(node)) + "\n", encoding="utf-8")
            arguments = ["format", "-t", "kraftcheckKraftcheckQQ", "-c", str(self._config(node))]
            arguments += ["--release-version", self.release] if self.release else []
            for feature in self.features:
                arguments += ["--feature", feature]
            self.tool("kafka.tools.StorageTool", *arguments)

    def _config(self, node: int) -> Path:
        return self.home / f"node-{node}.properties"

    def _settings(self, node: int) -> list[str]:
        port, quorum = self.ports[node], f"{CONTROLLER}@127.0.0.1:{self.ports[CONTROLLER]}"
        shared = [
            f"node.id={node}", f"controller.quorum.voters={quorum}", "controller.listener.names=CONTROLLER",
            "listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT", *self.settings,
        ]  # fmt: skip
        if node == CONTROLLER:
            node_settings = [f"listeners=CONTROLLER://127.0.0.1:{port}", f"log.dirs={self.metadata.parent}"]
            return ["process.roles=controller", *node_settings, *shared]
        first, second = self.directories(node)
        node_settings = [f"log.dirs={first},{second}", f"metadata.log.dir={self.home / f'broker-{node}-metadata'}"]
        return ["process.roles=broker", f"listeners=PLAINTEXT://127.0.0.1:{port}", *node_settings, *shared]

    def _java(self, main: str, *arguments: str) -> list[str]:
        return [program("java"), HEAP, "-XX:TieredStopAtLevel=1", "-cp", f"{self.jars}/*", main, *arguments]

    def start(self, *nodes: int) -> None:
        """Start nodes; each writes its output to a file of its own."""
        for node in nodes:
            with (self.home / f"node-{node}.out").open("ab") as output:
                self.running[node] = subprocess.Popen(
                    self._java("kafka.Kafka", str(self._config(node))), stdout=output, stderr=subprocess.STDOUT
                )

    def kill(self, node: int) -> None:
        """End a node without warning."""
        self._end(node, signal.SIGKILL)

    def stop(self, node: int) -> None:
        """Ask a node to end: a controlled shutdown."""
        self._end(node, signal.SIGTERM)

    def _end(self, node: int, how: signal.Signals) -> None:
        process = self.running.pop(node)
        process.send_signal(how)
        process.wait(timeout=TIMEOUT_S)

    def wait_for_end(self, node: int) -> None:
        """Wait for a node that ends by itself.

        Raises:
            ClusterError: when it does not.
        """
        try:
            self.running[node].wait(timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            raise ClusterError(f"node {node} still runs after {TIMEOUT_S} s; see {self.home}") from None
        del self.running[node]

    def close(self) -> None:
        """End whatever still runs."""
        for node in [*BROKERS, CONTROLLER]:
            if node in self.running:
                self.kill(node)

    def tool(self, main: str, *arguments: str, check: bool = True) -> str:
        """Run one of Kafka's tools; what it printed, without its errors.

        Raises:
            ClusterError: when it fails and `check` holds.
        """
        process = subprocess.run(self._java(main, *arguments), capture_output=True, text=True, timeout=120, check=False)
        if check and process.returncode:
            raise ClusterError(f"{main} {' '.join(arguments)}: {process.stdout[-800:]}{process.stderr[-800:]}")
        return process.stdout

    def topics(self, *arguments: str) -> str:
        """`kafka-topics`."""
        return self.tool("org.apache.kafka.tools.TopicCommand", "--bootstrap-server", self.bootstrap, *arguments)

    def produce(self, topic: str, records: int = 200) -> str:
        """Records of 100 bytes to a topic, with acks=all."""
        properties = ("acks=all", f"bootstrap.servers={self.bootstrap}", "delivery.timeout.ms=20000")
        return self.tool(
            "org.apache.kafka.tools.ProducerPerformance", "--topic", topic, "--num-records", str(records),
            "--record-size", "100", "--throughput", "-1", "--producer-props", *properties, check=False,
        )  # fmt: skip

    def wait(self, what: str, holds: Callable[[], bool]) -> None:
        """Wait until something holds.

        Raises:
            ClusterError: when it takes too long.
        """
        end = time.monotonic() + TIMEOUT_S
        while not holds():
            if time.monotonic() > end:
                raise ClusterError(f"waited {TIMEOUT_S} s in vain until {what}; see {self.home}")
            time.sleep(1)

    def describe(self, topic: str) -> str:
        """How `kafka-topics` describes a topic."""
        return self.topics("--describe", "--topic", topic)

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


def elect(cluster: KafkaCluster, kind: str, topic: str, partition: int) -> str:
    """`kafka-leader-election` for one partition; it may refuse."""
    arguments: Sequence[str] = ("--election-type", kind, "--topic", topic, "--partition", str(partition))
    return cluster.tool(
        "org.apache.kafka.tools.LeaderElectionCommand", "--bootstrap-server", cluster.bootstrap, *arguments, check=False
    )
