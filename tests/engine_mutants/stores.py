"""Mutants of what keeps drivers apart in a store, each killed by a test on a server of S3, or on a cluster of HDFS."""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import uuid
from pathlib import Path

from kraftcheck.ci.dataset.store import s3
from kraftcheck.ci.dataset.store.hdfs import HdfsPath
from kraftcheck.ci.dataset.store.objects import ObjectPath
from kraftcheck.ci.terminal.refusal import Refusal
from tests.ci.stores import test_hdfs, test_objects, test_s3, test_url_runs, test_webhdfs
from tests.ci.stores.minicluster import MiniCluster, cluster
from tests.ci.stores.server import serving, settings
from tests.engine_mutants.mutant import Killer, Mutant


@functools.cache
def _endpoint() -> str:
    """The URL of a server that runs as long as this process."""
    stack = contextlib.ExitStack()
    atexit.register(stack.close)
    return stack.enter_context(serving())


def _store(_: Path) -> ObjectPath:
    """A folder of its own in that server's store."""
    os.environ.update(settings(_endpoint()))
    s3.bucket.cache_clear()
    return s3.S3Path("s3://runs", uuid.uuid4().hex)


@functools.cache
def _hadoop() -> MiniCluster:
    """A cluster that runs as long as this process."""
    stack = contextlib.ExitStack()
    atexit.register(stack.close)
    return stack.enter_context(cluster())


def _hdfs(_: Path) -> HdfsPath:
    """A folder of its own in that cluster."""
    os.environ["HADOOP_USER_NAME"] = "alice"
    return HdfsPath(_hadoop().url, f"runs/{uuid.uuid4().hex}")


STORE, HDFS = {"store": _store}, {"hdfs": _hdfs}
ONCE = Killer(test_objects.test_an_object_is_made_once, (), STORE)
ALONE = Killer(test_objects.test_one_driver_at_a_time_writes_to_a_url, (), STORE)
ELSEWHERE = Killer(test_objects.test_a_driver_elsewhere_is_honoured, (0,), STORE)
OTHER_PROCESSES = Killer(test_objects.test_a_driver_elsewhere_is_honoured, (1,), STORE)
TOGETHER = Killer(test_objects.test_of_two_that_come_together_one_gets_the_lease, (), STORE)
CARELESS = Killer(test_s3.test_a_store_that_heeds_no_condition_is_refused, (), {"bucket": _store})
WORKER = Killer(test_objects.test_a_worker_looks_for_the_lease_of_its_driver, (), STORE)
COMMITTED = Killer(test_url_runs.test_a_driver_whose_commit_another_made_stops, (), STORE)
UNSEEN = Killer(test_url_runs.test_a_task_that_does_not_see_the_run_writes_nothing, (), STORE)
HDFS_ONCE = Killer(test_objects.test_an_object_is_made_once, (), {"store": _hdfs})
OVERTAKEN = Killer(test_hdfs.test_of_two_that_replace_a_file_one_does, (), HDFS)
MOVED = Killer(test_hdfs.test_a_file_that_is_elsewhere_is_left_alone, (), HDFS)
HALF = Killer(test_hdfs.test_a_name_that_is_seen_is_a_whole_file, (), HDFS)
DRAFTS = Killer(test_hdfs.test_drafts_of_a_dead_driver_are_removed, (), HDFS)
OTHER_DATANODE = Killer(test_webhdfs.test_another_datanode_is_asked_for)

STORES = (
    Mutant("object-made-twice", "An object that is there already is made again.",
           "ci.dataset.store.s3:S3Path.put_new", '"create"', '"overwrite"', ONCE),
    Mutant("object-replaced-anyway", "An object is replaced though it has changed since it was read.",
           "ci.dataset.store.s3:S3Path.put_instead", '{"e_tag": version}', '"overwrite"', ONCE),
    Mutant("manifest-of-another", "A manifest that another driver wrote counts as one's own.",
           "ci.dataset.store.sealed:_make", "if path.read_bytes() != data:", "if False:", COMMITTED),
    Mutant("lease-of-the-living", "A driver that lives counts as dead.",
           "ci.dataset.store.lease:_is_dead", 'return started is not None and started != owner.get("started")',
           "return True", ALONE),
    Mutant("lease-of-another-machine", "The processes of another machine are looked for on this one.",
           "ci.dataset.store.lease:_is_dead", '_boot() and owner.get("boot") == _boot() and', "", ELSEWHERE),
    Mutant("lease-of-unseen-processes", "Processes that are not seen from here count as dead.",
           "ci.dataset.store.lease:_is_dead", 'and _processes() and owner.get("processes") == _processes()', "",
           OTHER_PROCESSES),
    Mutant("lease-without-condition", "A lease is taken over whoever took it meanwhile.",
           "ci.dataset.store.lease:_lease_of_objects", "path.put_instead(document, version)",
           "(path.put(document), path.read_version()[1])[1]", TOGETHER),
    Mutant("conditions-untried", "A store that heeds no condition is used.",
           "ci.dataset.store.lease:check_conditions", "if kept != len(attempts) or not whole:", "if False:", CARELESS),
    Mutant("sight-of-any-lease", "A worker that sees another driver's lease goes to work.",
           "ci.dataset.store.sight:check_sight", "sight is not None and not", "False and not", WORKER),
    Mutant("tasks-look-for-nothing", "Tasks are not said whose lease they have to see.",
           "ci.dataset.search.levels:plan", "None if log.lease is None else log.lease.sight(),", "None,", UNSEEN,
           dies=(Refusal,)),
    Mutant("hdfs-file-made-twice", "A file that is there already is made again.",
           "ci.dataset.store.hdfs:HdfsPath.put_new", '"NONE"', '"OVERWRITE"', HDFS_ONCE, slow=True),
    Mutant("hdfs-file-replaced-by-name", "Whichever file has the name is replaced, though another writer was faster.",
           "ci.dataset.store.hdfs:HdfsPath.put_instead", "_inode(version)[1:]", "self.key", OVERTAKEN, slow=True),
    Mutant("hdfs-file-of-elsewhere", "A file is removed where it is now, though it was moved there.",
           "ci.dataset.store.hdfs:HdfsPath.put_instead", '["fileId"] == version', "is not None", MOVED, slow=True),
    Mutant("hdfs-half-a-file", "A file that was not written whole gets its name.",
           "ci.dataset.store.hdfs:HdfsPath._write", 'if status["length"] != size:', "if False:", HALF, slow=True),
    Mutant("hdfs-draft-stays", "What was written in vain stays.",
           "ci.dataset.store.hdfs:HdfsPath._write", 'self._ask("DELETE", "DELETE", draft)', "pass", HALF, slow=True),
    Mutant("hdfs-drafts-stay", "The drafts of a dead driver's manifests are not removed.",
           "ci.dataset.store.folders:remove_unnamed", 'or one.name.startswith(".")', "", DRAFTS, slow=True),
    Mutant("datanode-asked-once", "A datanode that is dead ends the work, though another has the data.",
           "ci.dataset.store.webhdfs:transfer", "attempt == ATTEMPTS - 1", "True", OTHER_DATANODE, dies=(OSError,)),
)  # fmt: skip
