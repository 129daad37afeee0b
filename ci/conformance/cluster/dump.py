"""A cluster's metadata log as text, decoded by the classes of its own release."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from kraftcheck.ci.conformance.cluster.admin import ClusterError
from kraftcheck.ci.conformance.cluster.processes import KafkaCluster

SOURCE = Path(__file__).parent / "MetadataDump.java"
"""The program that decodes; Java compiles it when it starts."""

PAYLOAD = " payload: "


def dump(cluster: KafkaCluster, segments: Sequence[Path]) -> str:
    """Segments of a metadata log, in the form of Kafka's dump tool.

    Raises:
        ClusterError: when they cannot be decoded.
    """
    command = [*cluster.java(), str(SOURCE), *map(str, segments)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode:
        raise ClusterError(f"{segments} cannot be decoded: {run.stderr[-800:]}")
    return run.stdout


def records_of(cluster: KafkaCluster, kind: str) -> Iterator[dict[str, Any]]:
    """The fields of every record of one type in the metadata log, in order; the cluster may be running."""
    folder = cluster.metadata(cluster.layout.controllers[0])
    for line in dump(cluster, sorted(folder.glob("*.log"))).splitlines():
        record = json.loads(line.partition(PAYLOAD)[2]) if PAYLOAD in line else {}
        if record.get("type") == kind:
            yield record["data"]
