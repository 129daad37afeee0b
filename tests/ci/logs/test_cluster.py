"""The cluster of the captured logs: requests to it, and the dump of its log by Kafka's own classes."""

import subprocess
import sys
from pathlib import Path

import pytest

from kraftcheck.ci.conformance.cluster.processes import (
    AdminProcess,
    ClusterError,
    ClusterLayout,
    KafkaCluster,
    PartitionDescription,
    RequestRefused,
)
from kraftcheck.ci.conformance.kafka.jars import known_versions
from tests.shared.captures import TROUBLE

ANSWERS = """
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    if request["request"] == "delete":
        print(json.dumps({"error": "UnknownTopic", "message": request["topic"]}), flush=True)
    elif request["request"] == "end":
        sys.exit()
    else:
        row = {"partition": 0, "leader": 34, "replicas": [34, 1], "isr": [34], "elr": [1], "last_known": []}
        print(json.dumps({"answer": [row]}), flush=True)
"""


def test_requests_are_answered_or_refused() -> None:
    """An answer is made a record; a refusal names Kafka's exception; a process that has died is an error."""
    command = [sys.executable, "-c", ANSWERS]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        admin = AdminProcess(process, "127.0.0.1:1")
        assert admin.describe("orders") == [PartitionDescription(0, 34, (34, 1), (34,), (1,), ())]
        with pytest.raises(RequestRefused, match=r"^UnknownTopic: orders$"):
            admin.ask("delete", topic="orders")
        with pytest.raises(ClusterError, match="died at 'end'"):
            admin.ask("end")


def test_nodes_have_ports_of_their_own(tmp_path: Path) -> None:
    """No two nodes listen on one port, and clients ask every broker but no controller."""
    cluster = KafkaCluster("4.4.0", tmp_path, ClusterLayout((1, 16, 34), (100, 101)))
    assert len(set(cluster.ports.values())) == 5
    assert cluster.bootstrap == ",".join(f"127.0.0.1:{cluster.ports[broker]}" for broker in (1, 16, 34))


def test_a_refusal_is_waited_for(tmp_path: Path) -> None:
    """What a broker refuses to say does not hold yet; what it says later does, and what it never says is an error."""
    cluster = KafkaCluster("4.4.0", tmp_path, ClusterLayout((1,)))
    answers = iter([RequestRefused("UnknownTopic: orders"), True])

    def holds() -> bool:
        answer = next(answers)
        if isinstance(answer, RequestRefused):
            raise answer
        return answer

    cluster.wait("orders is led", holds)
    with pytest.raises(ClusterError, match=r"in vain until it holds"):
        cluster.wait("it holds", lambda: False, -1)


@pytest.mark.slow
@pytest.mark.xdist_group("kafka")
def test_the_dump_is_that_of_kafkas_tool(tmp_path: Path) -> None:
    """A log is decoded by the newest release's classes to the payloads that Kafka's dump tool wrote of it."""
    cluster = KafkaCluster(known_versions()[-1], tmp_path, ClusterLayout())
    ours = cluster.dump(sorted(TROUBLE.glob("*.log"))).splitlines()
    theirs = (TROUBLE / "decoded.txt").read_text(encoding="utf-8").splitlines()
    payloads = [[line.partition("payload: ")[2] for line in lines if "payload: " in line] for lines in (ours, theirs)]
    assert payloads[0] == payloads[1]
    assert len(payloads[0]) > 200
