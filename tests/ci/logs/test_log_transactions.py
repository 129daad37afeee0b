"""Metadata transactions (KIP-868) in `replay` and `whatif`: what was aborted or has not ended has not happened."""

import base64
import gzip
import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.shared.commands import kraftcheck

GHOST, REAL = "5zoAlv-xEh9xRANKXt1Lbg", "6zoAlv-xEh9xRANKXt1Lbg"
DIRECTORY = "7zoAlv-xEh9xRANKXt1Lbg"

Record = tuple[str, int, dict[str, Any]]  # a record's kind, version and fields

BEGIN: Record = ("BEGIN_TRANSACTION_RECORD", 0, {"name": "migration"})
END: Record = ("END_TRANSACTION_RECORD", 0, {})
ABORT: Record = ("ABORT_TRANSACTION_RECORD", 0, {"reason": "failover"})
LEADER: Record = ("LEADER_CHANGE", 0, {"leaderId": 9})
START: tuple[Record, ...] = (
    ("FEATURE_LEVEL_RECORD", 0, {"name": "metadata.version", "featureLevel": 25}),
    ("REGISTER_BROKER_RECORD", 3, {
        "brokerId": 1, "incarnationId": "P3UFsWoNR-erL9PK98YLsA", "brokerEpoch": 1, "endPoints": [],
        "features": [{"name": "metadata.version", "minSupportedVersion": 1, "maxSupportedVersion": 25}],
        "rack": None, "fenced": True, "inControlledShutdown": False, "logDirs": [DIRECTORY],
    }),
    ("BROKER_REGISTRATION_CHANGE_RECORD", 1, {"brokerId": 1, "brokerEpoch": 1, "fenced": -1}),
)  # fmt: skip


def topic(name: str, topic_id: str) -> tuple[Record, ...]:
    """The records of a new topic with one partition, on broker 1."""
    partition = {
        "partitionId": 0, "topicId": topic_id, "replicas": [1], "isr": [1], "removingReplicas": [],
        "addingReplicas": [], "leader": 1, "leaderEpoch": 0, "partitionEpoch": 0, "directories": [DIRECTORY],
    }  # fmt: skip
    return ("TOPIC_RECORD", 0, {"name": name, "topicId": topic_id}), ("PARTITION_RECORD", 1, partition)


def log(folder: Path, *batches: Sequence[Record], name: str = "x.jsonl") -> Path:
    """A log of some batches as JSON lines; one that begins with LEADER is the quorum's."""
    lines, offset = [], 0
    for batch in (*((record,) for record in START), *batches):
        base = offset
        for kind, version, data in batch:
            row = {"offset": offset, "batch": base, "epoch": 1, "type": kind, "version": version, "data": data}
            lines.append(json.dumps(row | {"control": kind == LEADER[0]}))
            offset += 1
    path = folder / name
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return path


GHOSTS = topic("ghost", GHOST)

ABORTED: dict[str, tuple[Sequence[Record], ...]] = {
    "one batch": ((BEGIN, *GHOSTS, ABORT),),
    "a batch each": ((BEGIN,), GHOSTS, (ABORT,)),
    "a record each": ((BEGIN,), *((record,) for record in GHOSTS), (ABORT,)),
    "begins and ends within batches": ((*topic("other", DIRECTORY), BEGIN, GHOSTS[0]), (GHOSTS[1], ABORT)),
    "over a failover": ((BEGIN, *GHOSTS), (LEADER,), (ABORT,)),
    "twice in a batch": ((BEGIN, *GHOSTS, ABORT, BEGIN, *GHOSTS, ABORT),),
    "after one that ended": ((BEGIN, *topic("other", DIRECTORY), END, BEGIN, *GHOSTS, ABORT),),
    "of an unexplained change": ((BEGIN, GHOSTS[0]), ((*GHOSTS[1][:2], GHOSTS[1][2] | {"leader": 7}),), (ABORT,)),
}
"""A topic in a transaction that is aborted, over batches in many ways."""


def whatif(path: Path, code: int = 0) -> dict[str, Any]:
    """The document of `whatif`."""
    ran = kraftcheck("whatif", path, "--json", "-")
    assert ran.code == code, ran.err
    document: dict[str, Any] = ran.document()
    return document


def replayed(path: Path, code: int = 0) -> tuple[dict[str, Any], str]:
    """The document of `replay` for one log, and what it tells a reader."""
    ran = kraftcheck("replay", path, "--json", "-")
    assert ran.code == code, ran.err
    (document,) = ran.document()["logs"]
    return document, ran.err


def topics(rows: Iterable[dict[str, Any]]) -> list[str]:
    """The topics of the rows of `whatif`."""
    return [row["topic"] for row in rows]


@pytest.mark.parametrize("batches", ABORTED.values(), ids=ABORTED)
def test_an_aborted_transaction_leaves_nothing_behind(batches: tuple[Sequence[Record], ...], tmp_path: Path) -> None:
    """A topic of an aborted transaction is not judged, has no distance, and may be created afterwards."""
    path = log(tmp_path, *batches, topic("ghost", REAL))
    document, text = replayed(path)
    aborted = sum(record == ABORT for batch in batches for record in batch)
    assert (document["unexplained"], document["violations"]) == (0, 0)
    assert document["transactions"]["aborted"] == aborted
    assert f"{aborted} aborted" in text
    given = whatif(path)
    assert topics(given["partitions"]).count("ghost") == 1
    assert given["transactions"]["aborted"] == aborted
    assert all(row["faults_to_offline"] == 1 for row in given["partitions"])


@pytest.mark.parametrize("batches", ABORTED.values(), ids=ABORTED)
def test_an_open_transaction_has_not_happened(batches: tuple[Sequence[Record], ...], tmp_path: Path) -> None:
    """Without its last record the last transaction is open: what is in it has not happened, and nothing is a pass."""
    path = log(tmp_path, *batches[:-1], *([batches[-1][:-1]] if len(batches[-1]) > 1 else []))
    document, text = replayed(path, 20)
    assert (document["unexplained"], document["violations"]) == (0, 0)
    assert document["transactions"]["not ended"] == 1
    assert "1 not ended" in text
    told = kraftcheck("status", path)
    assert (told.code, told.out.partition(";")[0]) == (10, "a transaction has not ended, and is left out")
    given = whatif(path, 20)
    assert "ghost" not in topics(given["partitions"])
    assert given["transactions"]["not ended"] == 1


def test_an_ended_transaction_has_happened(tmp_path: Path) -> None:
    """The records of a transaction that ended count, whatever batches they fill; no longer if the end is missing."""
    path = log(tmp_path, (BEGIN, GHOSTS[0]), (GHOSTS[1],), (END,))
    assert topics(whatif(path)["partitions"]) == ["ghost"]
    transactions = replayed(path, 23)[0]["transactions"]  # no event of the model writes one record of a topic
    assert transactions == {"ended": 1, "aborted": 0, "not ended": 0, "records undone": 0}
    assert topics(whatif(log(tmp_path, (BEGIN, GHOSTS[0]), (GHOSTS[1],)), 20)["partitions"]) == []


def test_a_transaction_is_judged_at_its_end(tmp_path: Path) -> None:
    """What is broken within a transaction and right at its end is no violation; what is broken at its end is one."""
    wrong = {**GHOSTS[1][2], "leader": -1, "isr": [1], "leaderEpoch": 0}
    mend: Record = ("PARTITION_CHANGE_RECORD", 1, {"partitionId": 0, "topicId": GHOST, "leader": 1, "isr": [1]})
    broken = (BEGIN, GHOSTS[0], (*GHOSTS[1][:2], wrong | {"isr": []}))
    mended, _ = replayed(log(tmp_path, broken, (mend,), (END,)), 23)
    assert mended["violations"] == 0
    outside, _ = replayed(log(tmp_path, broken[1:]), 23)
    within, _ = replayed(log(tmp_path, broken, (END,)), 23)
    assert within["violations"] == outside["violations"] > 0


@pytest.mark.parametrize(
    ("batches", "reason"),
    [
        (((BEGIN,), (BEGIN,)), "offset 4: a transaction begins within another one"),
        (((BEGIN, *GHOSTS, BEGIN),), "offset 6: a transaction begins within another one"),
        (((END,),), "offset 3: a transaction ends, but none has begun"),
        (((ABORT,),), "offset 3: a transaction is aborted, but none has begun"),
        (((BEGIN, *GHOSTS, ABORT, ABORT),), "offset 7: a transaction is aborted, but none has begun"),
        (((END, BEGIN),), "offset 3: a transaction ends, but none has begun"),
        (((START[0], ABORT, BEGIN),), "offset 4: a transaction is aborted, but none has begun"),
        (((BEGIN, BEGIN, END),), "offset 4: a transaction begins within another one"),
    ],
    ids=[
        "begin begin",
        "begin begin in a batch",
        "end",
        "abort",
        "abort abort",
        "end begin",
        "a record before",
        "begin begin end",
    ],
)
def test_marks_that_do_not_fit_are_not_replayed(
    batches: tuple[Sequence[Record], ...], reason: str, tmp_path: Path
) -> None:
    """A beginning within a transaction and an end outside of one cannot be replayed, and are named with the offset."""
    path = log(tmp_path, *batches)
    document, text = replayed(path, 23)
    assert document["unexplained"] == 1
    assert reason in text
    before = int(reason.split(":")[0].split()[1]) - len(START) - sum(map(len, batches[:-1]))
    assert [int(found) <= before for found in re.findall(r"(\d+) of \d+ records explained", text)] == [True]
    assert re.match(rf"{re.escape(str(path))}:\d+: {reason}; give all of the log", kraftcheck("whatif", path).refusal())


def test_a_page_shows_what_was_aborted(tmp_path: Path) -> None:
    """The page has the batches of an aborted transaction as such, and knows no partition of it."""
    page = tmp_path / "log.html"
    assert kraftcheck("replay", log(tmp_path, (BEGIN, *GHOSTS), (ABORT,)), "--html", page).code == 0
    text = page.read_text(encoding="utf-8")
    packed = max(re.findall(r'"([A-Za-z0-9+/=]{100,})"', text), key=len)
    drawing = json.loads(gzip.decompress(base64.b64decode(packed)))
    assert drawing["partitions"] == []
    said = [words[0] for words in drawing["words"]]
    assert "transaction aborted: 3 records have not happened" in said
    assert "1 aborted" in text


def test_no_metric_of_what_was_aborted(tmp_path: Path) -> None:
    """The text for Prometheus has no gauge of a partition that never was."""
    ran = kraftcheck("whatif", log(tmp_path, *ABORTED["one batch"]), "--prometheus", "-")
    assert ran.code == 0
    assert "ghost" not in ran.out
    assert "kraftcheck_faults_explored" in ran.out


def test_a_transaction_over_segments(tmp_path: Path) -> None:
    """A transaction that begins in one file of a folder may be aborted in the next one."""
    whole = log(tmp_path, (BEGIN, *GHOSTS), (ABORT,)).read_text(encoding="utf-8").splitlines(keepends=True)
    folder = tmp_path / "log"
    folder.mkdir()
    for number, lines in enumerate((whole[:6], whole[6:])):
        (folder / f"{number}.jsonl").write_text("".join(lines), encoding="utf-8")
    assert whatif(folder)["partitions"] == []
    assert replayed(folder)[0]["transactions"]["records undone"] == 4
