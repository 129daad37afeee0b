"""HDFS: what is its own, on a cluster of Hadoop's on this machine."""

import json
from pathlib import Path
from typing import Any

import pytest

from kraftcheck.ci.dataset.store import stores as hdfs
from kraftcheck.ci.dataset.store.commits import lease_on
from kraftcheck.ci.dataset.store.dataset import Dataset
from kraftcheck.ci.dataset.store.objects import ObjectPath, PresentError
from kraftcheck.ci.dataset.store.stores import HdfsPath
from tests import toys
from tests.ci.spark.levels import begun, facts, finished, native_facts, program_of
from tests.ci.stores.minicluster import MiniCluster, cluster
from tests.ci.stores.test_url_runs import WORDS, compare_with_folder
from tests.shared.commands import kraftcheck

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("hdfs")]


def test_a_run_in_hdfs_is_the_one_in_a_folder(hdfs: ObjectPath, tmp_path: Path) -> None:
    """Explored into HDFS, space, report and answers are those of a folder, and nothing hidden stays there."""
    compare_with_folder(hdfs, tmp_path)
    assert not [place for place in hdfs.below() if place.name.startswith(".") and place.name != ".driver.lease"]


def test_what_cannot_be_served_is_refused(hadoop: MiniCluster, hdfs: HdfsPath) -> None:
    """A port of RPC, one where nobody listens, a folder of others and a bad name are one line each, and no file."""
    places = {
        f"hdfs://127.0.0.1:{hadoop.rpc}/runs/x": "speaks Hadoop's RPC there; name the port of the namenode's web",
        "webhdfs://127.0.0.1:1/runs/x": "no answer from 127.0.0.1:1: Connection refused",
        "hdfs://namenode.invalid/runs/x": "no answer from namenode.invalid:9870",
        f"{hadoop.url}/others/x": "Permission denied: user=alice",
        f"{hadoop.url}/runs/a:b": "Invalid path name",
    }
    for url, message in places.items():
        assert message in kraftcheck(*WORDS, url).refusal()
        assert kraftcheck("query", url, "SELECT 1").refusal()
    assert not list(HdfsPath(hadoop.url, "others").iterdir())
    assert not list(hdfs.iterdir())


def test_a_name_that_is_seen_is_a_whole_file(hdfs: HdfsPath, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that a datanode has only half of gets no name, and nothing of it stays."""
    send = hdfs.transfer

    def half(store: str, path: str, method: str, operation: str, body: bytes | None = None, **words: str) -> bytes:
        return send(store, path, method, operation, None if body is None else body[:2], **words)

    with monkeypatch.context() as patch:
        patch.setattr("kraftcheck.ci.dataset.store.stores.transfer", half)
        with pytest.raises(OSError, match="2 of 5 bytes were written"):
            (hdfs / "x").put_new(b"12345")
    assert list(hdfs.iterdir()) == []


def test_a_file_that_is_elsewhere_is_left_alone(hdfs: HdfsPath) -> None:
    """A file that was read and then moved is not removed where it is now, when another one has its name."""
    place, other = hdfs / "x", hdfs / "moved" / "x"
    version = place.put_new(b"1")
    other._ask("PUT", "MKDIRS", other.parent.key)
    place._ask("PUT", "RENAME", destination=f"/{other.key}", renameoptions="OVERWRITE")
    place.put_new(b"1")
    with pytest.raises(PresentError):
        place.put_instead(b"2", version)
    assert place.read_bytes() == b"1"
    assert other.exists()


def test_of_two_that_replace_a_file_one_does(hdfs: HdfsPath, monkeypatch: pytest.MonkeyPatch) -> None:
    """A writer that another overtakes at the last moment, after it looked which file is there, changes nothing."""
    place, look, others = hdfs / "x", HdfsPath._status, [b"2"]
    version = place.put_new(b"1")

    def slowly(self: HdfsPath, key: str | None = None) -> dict[str, Any]:
        status = look(self, key)
        if others and key is None:
            place.put_instead(others.pop(), version)
        return status

    monkeypatch.setattr(HdfsPath, "_status", slowly)
    with pytest.raises(PresentError):
        place.put_instead(b"3", version)
    assert place.read_bytes() == b"2"


def test_drafts_of_a_dead_driver_are_removed(hdfs: ObjectPath) -> None:
    """Hidden files of a driver that was killed while it wrote count for nothing, and a resume removes them."""
    program = program_of(toys.HASTY, "3")
    run, runner = begun(program, hdfs, handover=40, max_depth=4)
    run.expand(runner)
    drafts = [hdfs / "levels" / "._00005.json.0a", hdfs / "levels" / "depth=5" / ".part-0-0.parquet.0b"]
    for draft in drafts:
        draft.put(b"half")
    run, runner = begun(program, hdfs, resume=True, handover=40)
    run.expand(runner)
    assert facts(finished(run)) == native_facts(program)
    assert not any(draft.exists() for draft in drafts)


def test_a_namenode_that_takes_no_writes_is_said(hadoop: MiniCluster, hdfs: ObjectPath) -> None:
    """In the safe mode of its namenode a run is refused in the namenode's words; a dataset there can be read."""
    ran = kraftcheck(*WORDS, hdfs)
    hadoop.do("safe")
    try:
        assert "Name node is in safe mode" in kraftcheck(*WORDS, hdfs, "--resume").refusal()
        assert kraftcheck("query", hdfs, "SELECT count(*) FROM states", "--system", "tests.toys:HASTY").code == 0
    finally:
        hadoop.do("unsafe")
    again = kraftcheck(*WORDS, hdfs, "--resume")
    assert (again.code, again.last) == (ran.code, ran.last)


def test_a_datanode_that_dies_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """While the namenode still names a datanode that is dead, a run goes on with the replicas of another."""
    monkeypatch.setenv("HADOOP_USER_NAME", "alice")
    monkeypatch.setattr(hdfs, "ATTEMPTS", 40)  # either datanode is named by chance
    with cluster(datanodes=2) as two:
        out = HdfsPath(two.url, "runs/x")
        begin, runner = begun(program_of(toys.HASTY, "3"), out, handover=40, max_depth=4)
        begin.expand(runner)
        two.do("stop 0")
        run, runner = begun(program_of(toys.HASTY, "3"), out, resume=True, handover=40)
        run.expand(runner)
        assert facts(finished(run)) == native_facts(program_of(toys.HASTY, "3"))
        assert Dataset.open(out).complete


def test_a_lease_is_given_back(hdfs: ObjectPath) -> None:
    """The end of a driver leaves a lease that names nobody, so that one on any machine may go on."""
    with lease_on(hdfs) as lease:
        lease.check()
    assert not lease.holds()
    assert json.loads(lease.path.read_bytes()) == {}
