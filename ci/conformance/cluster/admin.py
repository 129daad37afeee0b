"""Requests to a cluster, put by Kafka's own clients in a Java process of their own."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from attrs import define, frozen

SOURCE = Path(__file__).parent / "ClusterAdmin.java"
"""The program that answers; Java compiles it when it starts."""


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
        """Put one request and return what Kafka answers.

        Raises:
            RequestRefused: when Kafka refuses it.
            ClusterError: when the process has died.
        """
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

    def produce(self, topic: str, partition: int, records: int, size: int = 100, timeout_ms: int = 20_000) -> Produced:
        """Send records to one partition with acks=all."""
        return Produced(**self.ask("produce", topic=topic, partition=partition, records=records, size=size,
                                   timeout_ms=timeout_ms))  # fmt: skip


@contextmanager
def admin_process(java: list[str], bootstrap: str, output: Path) -> Iterator[AdminProcess]:
    """Start the process, and end it; its messages go to a file.

    Args:
        java: the Java command with its class path.
        bootstrap: addresses of the brokers that are asked.
        output: the file for messages.
    """
    with output.open("ab") as messages:
        process = subprocess.Popen(
            [*java, str(SOURCE)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=messages, text=True
        )
    try:
        yield AdminProcess(process, bootstrap)
    finally:
        process.kill()
        process.communicate()
