"""Brokers and controllers of a released Kafka as ordinary processes on loopback, and what is asked of them.

Each node is isolated, a broker has two log directories. Kafka's own classes do everything else, so nothing but the jars
is needed. Requests are put by Kafka's own clients in a Java process of their own.
"""

from __future__ import annotations

import json
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from attrs import Factory, define, field, frozen

from kraftcheck.ci.conformance.kafka.jars import SERVER, SHORT_RUN, any_jars, known_versions, program

DUMP = Path(__file__).parent / "MetadataDump.java"
"""The program that decodes a metadata log; Java compiles it when it starts."""

PAYLOAD = " payload: "

ELR = "eligible.leader.replicas.version"  # the feature of eligible leader replicas
ADMIN = Path(__file__).parent / "ClusterAdmin.java"  # the program that puts requests; Java compiles it when it starts


class ClusterError(RuntimeError):
    """The cluster does not do what the script needs."""


class RequestRefused(ClusterError):
    """Kafka refuses a request, or answers too late; the message begins with the class of its exception."""


@frozen
class PartitionDescription:
    """A partition as Kafka describes it to clients; a leader of -1 is none."""

    partition: int
    leader: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    elr: tuple[int, ...]
    last_known: tuple[int, ...]


@frozen
class Produced:
    """How many records were acknowledged, and how many failed by the name of the exception."""

    acknowledged: int
    errors: dict[str, int]


@define
class AdminProcess:
    """The Java process that puts requests; one request at a time."""

    process: subprocess.Popen[str]
    bootstrap: str

    def ask(self, request: str, **fields: Any) -> Any:
        """Kafka's answer to one request; raises RequestRefused, or ClusterError when the process has died."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            self.process.stdin.write(json.dumps({"request": request, "bootstrap": self.bootstrap, **fields}) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise ClusterError(f"the process that puts requests died at {request!r}")
        reply = json.loads(line)
        if "error" in reply:
            raise RequestRefused(f"{reply['error']}: {reply['message']}")
        return reply["answer"]

    def describe(self, topic: str) -> list[PartitionDescription]:
        """The partitions of a topic, by number."""
        rows = self.ask("describe", topic=topic)
        lists = ("replicas", "isr", "elr", "last_known")
        return [PartitionDescription(**{**row, **{name: tuple(row[name]) for name in lists}}) for row in rows]

    def send(
        self, topic: str, partition: int, records: int, size: int = 100, timeout_ms: int = 20_000, pause_ms: int = 0
    ) -> None:
        """Send records to one partition with acks=all, no two alike, with a pause after each."""
        self.ask("send", topic=topic, partition=partition, records=records, size=size, timeout_ms=timeout_ms,
                 pause_ms=pause_ms)  # fmt: skip

    def sent(self) -> Produced:
        """Wait for what comes of the records that were sent."""
        return Produced(**self.ask("sent"))

    def produce(self, topic: str, partition: int, records: int, **how: int) -> Produced:
        """Send records as `send` does, and wait for what comes of them."""
        self.send(topic, partition, records, **how)
        return self.sent()

    def readable(self, topic: str) -> int:
        """How many different acknowledged records of a topic's first partition a consumer can read."""
        answer: int = self.ask("consume", topic=topic, partition=0)
        return answer


@contextmanager
def admin_process(java: list[str], bootstrap: str, output: Path) -> Iterator[AdminProcess]:
    """Start the process of a class path, asking these brokers, and end it; its messages go to a file."""
    with output.open("ab") as messages:
        process = subprocess.Popen(
            [*java, str(ADMIN)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=messages, text=True
        )
    try:
        yield AdminProcess(process, bootstrap)
    finally:
        process.kill()
        process.communicate()


HEAP = "-Xmx256m"  # memory of each process
TIMEOUT_S = 600  # how long one state is waited for


def free_port() -> int:
    """A port of loopback that nobody uses now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@frozen
class ClusterLayout:
    """What a cluster is formatted with."""

    brokers: tuple[int, ...] = (0, 1, 2)  # node ids of the brokers
    controllers: tuple[int, ...] = (100,)  # node ids of the controllers
    settings: tuple[str, ...] = ()  # lines for the configuration of every node
    features: tuple[str, ...] = ()  # levels to format with, as `name=level`
    release: str | None = None  # release to format for; None takes the newest that the jars know


@define
class KafkaCluster:
    """The processes of one cluster."""

    version: str  # Kafka's release
    home: Path  # where configurations, directories and output go
    layout: ClusterLayout  # its nodes and what they are formatted with
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
        """Write every node's configuration and format its directories; raises ClusterError when Kafka's tool fails."""
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

    def java(self, version: str | None = None) -> list[str]:
        """The command that runs a class of the release, or of another one."""
        return [program("java"), HEAP, *SHORT_RUN, "-cp", any_jars(version or self.version, SERVER)]

    def start(self, *nodes: int, options: Sequence[str] = ()) -> None:
        """Start nodes, with options for their virtual machines; each writes its output to a file of its own."""
        java, *rest = self.java()
        for node in nodes:
            command = [java, *options, *rest, "kafka.Kafka", str(self._config(node))]
            with self.output(node).open("ab") as output:
                self.running[node] = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)

    def pause(self, node: int) -> None:
        """Let a node stand still, with its connections and its sessions as they are."""
        self.running[node].send_signal(signal.SIGSTOP)

    def resume(self, node: int) -> None:
        """Let a node that stands still go on."""
        self.running[node].send_signal(signal.SIGCONT)

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
        """Wait for a node that ends; raises ClusterError when it does not."""
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
        """Wait until something holds; raises ClusterError when it takes too long."""
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

    def create(self, topic: str, assignment: Iterable[Sequence[int]], **configs: str) -> None:
        """Create a topic with the replicas of each partition; of a configuration's name, `_` stands for a dot."""
        named = {name.replace("_", "."): value for name, value in configs.items()}
        self.admin.ask("create", topic=topic, assignment=[list(replicas) for replicas in assignment], configs=named)
        self.wait(f"{topic} is led", lambda: all(one.leader >= 0 for one in self.admin.describe(topic)))

    def configure(self, topic: str, setting: str, value: str | None) -> None:
        """Set one configuration of a topic, or with None take it away."""
        self.admin.ask("configure", kind="TOPIC", name=topic, configs={setting: value})

    def reassign(self, topic: str, partition: int, replicas: Sequence[int] | None) -> None:
        """Ask that a partition gets these replicas, or with None that its reassignment is cancelled."""
        target = None if replicas is None else list(replicas)
        self.admin.ask("reassign", topic=topic, partition=partition, replicas=target)

    @property
    def controllers(self) -> str:
        """Addresses of every controller, for requests that no broker is to hand on."""
        return ",".join(f"127.0.0.1:{self.ports[node]}" for node in self.layout.controllers)

    def elect(self, kind: str, topic: str, partition: int) -> str:
        """An election of one partition, PREFERRED or UNCLEAN; what Kafka says where it elects nobody, else nothing."""
        try:
            self.admin.ask("elect", kind=kind, topic=topic, partition=partition)
        except RequestRefused as refusal:
            return str(refusal)
        return ""

    def change_feature(self, feature: str, level: int, kind: str = "UPGRADE") -> None:
        """Finalize a level of a feature: UPGRADE, SAFE_DOWNGRADE or UNSAFE_DOWNGRADE."""
        self.admin.ask("feature", name=feature, level=level, kind=kind)

    def unregister(self, broker: int) -> None:
        """Unregister a broker."""
        self.admin.ask("unregister", broker=broker)

    def fill(self, topic: str, records: int = 200) -> None:
        """Records to each partition of a topic that has a leader."""
        for one in self.admin.describe(topic):
            if one.leader >= 0:
                self.admin.produce(topic, one.partition, records)

    def wait_for_isr_without(self, topic: str, broker: int) -> None:
        """Wait until no partition of a topic has the broker in its ISR."""

        def gone() -> bool:
            return all(broker not in one.isr for one in self.admin.describe(topic))

        self.wait(f"broker {broker} leaves the ISRs of {topic}", gone)

    def wait_in_sync(self) -> None:
        """Wait until every replica is in sync."""

        def in_sync() -> bool:
            topics = [self.admin.describe(topic) for topic in self.admin.ask("topics")]
            return all(set(one.isr) == set(one.replicas) for partitions in topics for one in partitions)

        self.wait("every replica is in sync", in_sync)

    def wait_until_fenced(self, broker: int) -> None:
        """Wait until clients do not see the broker any more."""
        self.wait(f"broker {broker} is fenced", lambda: broker not in self.admin.ask("brokers"))

    def wait_until_unfenced(self, *brokers: int) -> None:
        """Wait until clients see the brokers."""
        self.wait(f"brokers {brokers} are unfenced", lambda: set(brokers) <= set(self.admin.ask("brokers")))

    def bring_back(self, *brokers: int) -> None:
        """Start brokers and wait until clients see them."""
        self.start(*brokers)
        self.wait_until_unfenced(*brokers)

    def partition(self, topic: str, number: int = 0) -> PartitionDescription:
        """One partition as Kafka describes it."""
        return self.admin.describe(topic)[number]

    def leaderless(self, topic: str) -> int:
        """How many partitions of a topic have no leader."""
        return sum(one.leader < 0 for one in self.admin.describe(topic))

    def messages(self, node: int) -> str:
        """The output of a node."""
        return self.output(node).read_text(encoding="utf-8", errors="replace")

    def dump(self, segments: Sequence[Path]) -> str:
        """Segments of a metadata log as Kafka's dump tool of the release decodes them; raises ClusterError."""
        command = [*self.java(), str(DUMP), *map(str, segments)]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        if run.returncode:
            raise ClusterError(f"{segments} cannot be decoded: {run.stderr[-800:]}")
        return run.stdout

    def records_of(self, kind: str) -> Iterator[dict[str, Any]]:
        """The fields of every record of one type in the metadata log, in order; the cluster may be running."""
        folder = self.metadata(self.layout.controllers[0])
        return (data for one, data in self.records_in(sorted(folder.glob("*.log"))) if one == kind)

    def records_in(self, segments: Sequence[Path]) -> Iterator[tuple[str, dict[str, Any]]]:
        """Type and fields of every record in segments or snapshots of a metadata log, in order."""
        for line in self.dump(segments).splitlines():
            if PAYLOAD in line:
                record = json.loads(line.partition(PAYLOAD)[2])
                yield record["type"], record["data"]


@contextmanager
def running_cluster(version: str, home: Path, layout: ClusterLayout) -> Iterator[KafkaCluster]:
    """A formatted cluster whose brokers are all unfenced; every process ends with the block."""
    cluster = KafkaCluster(version, home, layout)
    cluster.format()
    try:
        client = None if version in known_versions() else known_versions()[-1]  # new clients speak to old brokers
        with admin_process(cluster.java(client), cluster.bootstrap, home / "admin.out") as cluster.admin:
            cluster.start(*cluster.nodes)
            cluster.wait("every broker is there", lambda: cluster.admin.ask("brokers") == sorted(layout.brokers))
            yield cluster
    finally:
        cluster.close()


@contextmanager
def fresh_cluster(version: str, home: Path | None, layout: ClusterLayout) -> Iterator[KafkaCluster]:
    """A running cluster in a folder that is kept when given, and else removed with the end of the block."""
    place = home or Path(tempfile.mkdtemp(prefix="kraftcheck-cluster-"))
    try:
        with running_cluster(version, place, layout) as cluster:
            yield cluster
    finally:
        if home is None:
            shutil.rmtree(place, ignore_errors=True)
