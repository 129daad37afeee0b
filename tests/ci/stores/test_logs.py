"""Logs in stores: read where they lie, and told by their URLs."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from kraftcheck.ci.dataset.store.objects import ObjectPath
from tests.shared.captures import DEAD_LEADER, ELR
from tests.shared.commands import kraftcheck


def put(place: ObjectPath) -> None:
    """Two clusters' folders in a store, one with what its node has noted."""
    for folder in (ELR, DEAD_LEADER):
        for file in folder.iterdir():
            (place / folder.name / "__cluster_metadata-0" / file.name).put(file.read_bytes())
    (place / ELR.name / "meta.properties").put(b"cluster.id=M4nwvB\n")


@pytest.mark.parametrize("kind", ["bucket", "google", "azure"])
def test_a_log_in_a_store_is_explained_as_on_disk(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """Exit code, verdicts and tables are those of the files, named by URLs; a folder of folders is searched."""
    place: ObjectPath = request.getfixturevalue(kind)
    put(place)
    documents = []
    for given in ((place,), (DEAD_LEADER, ELR)):
        target, out = tmp_path / "document.json", tmp_path / "out"
        ran = kraftcheck("replay", *given, "--json", target, "--out", out, "--workers", "1")
        document = json.loads(target.read_text(encoding="utf-8"))
        logs = {log["log"].removesuffix("/__cluster_metadata-0").rpartition("/")[2]: log for log in document["logs"]}
        for log in logs.values():
            assert log.pop("log").startswith(str(given[0]).removesuffix(DEAD_LEADER.name))
        documents.append((ran.code, logs, pq.read_table(out / "timelines").drop_columns(["cluster", "cluster_id"])))
        known = set(pq.read_table(out / "brokers")["cluster_id"].to_pylist())
        assert known == ({None, "M4nwvB"} if len(given) == 1 else {None})
    assert documents[0][:2] == documents[1][:2]
    key = [("topic", "ascending"), ("topic_id", "ascending"), ("partition", "ascending"), ("offset", "ascending")]
    assert documents[0][2].sort_by(key) == documents[1][2].sort_by(key)


def test_a_url_without_a_log_is_refused(bucket: ObjectPath) -> None:
    """What is not there, holds no log, or is of no store that is served ends with one line that names it."""
    (bucket / "other" / "notes.md").put(b"text")
    for place, said in (
        (bucket / "nothing", "no log is there"), (bucket / "other", "no log is there"),
        ("dbfs:/b/x", "dbfs:/b/x is a URL"), ("gs://bucket", "write gs://BUCKET/FOLDER"),
    ):  # fmt: skip
        assert said in kraftcheck("replay", place).refusal()
