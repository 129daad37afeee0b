"""Mutants of searches in files and under Spark, of their stores, and of readers of foreign files."""

import atexit
import contextlib
import functools
import os
import uuid
from pathlib import Path

from kraftcheck.ci.dataset.store import stores
from kraftcheck.ci.dataset.store.levelfiles import DamagedLevelError
from kraftcheck.ci.dataset.store.objects import ObjectPath
from kraftcheck.ci.dataset.store.stores import HdfsPath
from tests.ci.dataset import test_forged, test_liveness
from tests.ci.dataset.forging import EXPLORE
from tests.ci.logs import test_log_reading
from tests.ci.spark import (
    test_spark_backward,
    test_spark_damage,
    test_spark_lease,
    test_spark_levels,
    test_spark_splitting,
)
from tests.ci.stores import test_hdfs, test_objects
from tests.ci.stores.minicluster import MiniCluster, cluster
from tests.ci.stores.server import serving, settings
from tests.engine_mutants.mutant import Killer, Mutant
from tests.shared.commands import kraftcheck
from tests.solvers.blocks import test_block_edges, test_compact_set
from tests.solvers.machine_code import test_closure

APART = Killer(test_block_edges.test_states_whose_hashes_meet_stay_apart, (0,))
LOST_FILES = Killer(test_spark_levels.test_a_lost_attempt_changes_nothing, (0, 1))
DAMAGED = Killer(test_spark_levels.test_a_damaged_file_is_noticed, (1,))
RUNS = {"whole": test_spark_damage.explored}
STOOD_STILL = test_spark_lease.test_a_driver_that_stands_still_in_a_commit_commits_nothing
TAKEN_OVER = Killer(test_spark_lease.test_a_driver_without_its_lease_commits_nothing, (1,))


def edited(sealed: int, edit: str) -> Killer:
    """The test that an edited document is refused, as it is or with its digest made anew."""
    return Killer(test_spark_damage.test_no_edit_gives_a_wrong_answer, (sealed, EDITS.index(edit)), RUNS)


EDITS, DAMAGES = tuple(test_spark_damage.EDITS), tuple(test_spark_damage.DAMAGES)
ONE_PLACE = Killer(test_compact_set.test_states_of_one_place_stay_apart, (0, 1))
FIXPOINT = Killer(test_closure.test_marks_rise_to_the_fixpoint, (0,))


def backward(system: int, memory: int) -> Killer:
    """The test that recovery of a toy is judged as natively, by rounds (0) or by arcs in memory (1)."""
    return Killer(test_spark_backward.test_recovery_is_judged_as_natively, (system, memory))


def fair(by_memory: int) -> Killer:
    """The test that fair behaviours of a toy are judged as natively, by rounds (0) or in memory (1)."""
    return Killer(test_liveness.test_every_kind_of_property_has_the_native_lasso, (by_memory, 0))


TWO_RUNS = Killer(test_spark_levels.test_two_runs_in_one_worker_share_no_memo, (1,))
RECOVERY = Killer(test_spark_splitting.test_recovery_is_judged_on_split_buckets, (1,))


@functools.cache
def _endpoint() -> str:
    """The URL of a server that runs as long as this process."""
    stack = contextlib.ExitStack()
    atexit.register(stack.close)
    return stack.enter_context(serving())


def _store(_: Path) -> ObjectPath:
    """A folder of its own in that server's store."""
    os.environ.update(settings(_endpoint()))
    stores.bucket.cache_clear()
    return stores.BucketPath("s3://runs", uuid.uuid4().hex)


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
OTHER_PROCESSES = Killer(test_objects.test_a_driver_elsewhere_that_lives_is_honoured, (1,), STORE)
MOVED = Killer(test_hdfs.test_a_file_that_is_elsewhere_is_left_alone, (), HDFS)


def _kept(folder: Path) -> Path:
    kraftcheck(*EXPLORE, "--out", folder)
    return folder


def _precious(folder: Path) -> Path:
    folder.mkdir()
    (folder / "thesis.tex").write_text("precious data")
    return folder


DATASET = {"kept": _kept, "precious": _precious}
HARD_LINK = Killer(test_forged.test_what_is_written_in_place_is_no_other_file, fixtures=DATASET)


def _forged(case: int) -> Killer:
    return Killer(test_log_reading.test_a_forged_batch_is_refused, (case,))


MUTANTS = (
    Mutant("block-tag-only", "A record whose hash has the tag of another counts as the same state.",
           "solvers.blocks.tasks:_insert_record", "b.if_then(records.holds(entry, state))",
           "b.if_then(records.has_tag(entry, hashed))", APART),
    Mutant("file-order", "Of equal candidates that of the last task stays, where they are in files.",
           "ci.dataset.jobs:Arrived.__init__", "sorted(found)]", "sorted(found, reverse=True)]", LOST_FILES,
           slow=True),
    Mutant("candidates-uncounted", "Candidates that do not arrive are not missed.",
           "ci.spark.jobs:job_result", "if sent != candidates:", "if False:",
           Killer(test_block_edges.test_candidates_that_do_not_arrive_end_the_run)),
    Mutant("committed-before-data", "A file is described before it is whole.",
           "ci.spark.tasks:sift_task",
           '        yield jobs.result_row("file", _description(writer.result(), writer, candidates))',
           '            yield jobs.result_row("file", _description(writer.result(), writer, candidates))',
           DAMAGED, slow=True),
    Mutant("lease-of-another", "A lease that another driver took over counts as one's own.",
           "ci.dataset.store.levelfiles:names", "== token", "is not None", TAKEN_OVER),
    Mutant("commit-after-standstill", "Whether a driver has its lease is not asked again before it renames a manifest.",
           "ci.dataset.store.commits:CommitLog.commit", "document, self.check_lease)", "document)",
           Killer(STOOD_STILL, (0,)), (DamagedLevelError,)),
    Mutant("compact-wide-tag-vacant", "An entry whose tag is a multiple of 32 counts as vacant.",
           "solvers.blocks.visited:_emit_place", "b.and_(first, compact.most_lines)", "b.and_(first, 31)",
           ONE_PLACE, (RuntimeError,)),
    Mutant("arcs-dealt-late", "In memory the first arc of each state is that of the one before.",
           "solvers.machine_code.closure:_emit_deal", "at = b.add(b.get(targets, k), 1)", "at = b.get(targets, k)",
           FIXPOINT, (RuntimeError,)),
    Mutant("region-outside", "Steps out of the region of a property count as steps within it.",
           "ci.dataset.backward.arcs:_RegionPart._order", "np.flatnonzero(self._inside[targets - self._first])",
           "np.arange(len(targets))", fair(1)),
    Mutant("sweep-flows-all", "In a sweep over files every bit flows through each way.",
           "ci.dataset.backward.search:CommittedBackward._sweep", "flows[ways] & marks[targets] & ~marks[sources]",
           "marks[targets] & ~marks[sources]", backward(0, 0)),
    Mutant("memo-of-another-run", "A worker's memo of one run serves another run.",
           "solvers.blocks.expansion:SuccessorMemo.begin",
           "if key != self._key or not (is_next or descent == kept) or self._next >= self.slots:",
           "if self._next >= self.slots:", TWO_RUNS),
    Mutant("memo-last-lost", "What waits for the memo when a block of states ends is lost.",
           "solvers.blocks.expansion:emit_expand_with_memo", "    settle()\n    b.ret(at.get())",
           "    b.ret(at.get())", TWO_RUNS),
    Mutant("split-places-meet", "The backward search names another state than the one that it means.",
           "ci.dataset.backward.arcs:StateNumbering.places", "own, at - before[own]", "own, at - before[own] + 1",
           RECOVERY, (DamagedLevelError,), slow=True),
    Mutant("object-replaced-anyway", "An object is replaced though it has changed since it was read.",
           "ci.dataset.store.stores:BucketPath.put_instead", 'dict(version)', '"overwrite"', ONCE),
    Mutant("lease-of-unseen-processes", "Processes that are not seen from here count as dead.",
           "ci.dataset.store.commits:_is_seen", 'owner.get("processes") == _processes()', "True",
           OTHER_PROCESSES),
    Mutant("hdfs-file-of-elsewhere", "A file is removed where it is now, though it was moved there.",
           "ci.dataset.store.stores:HdfsPath.put_instead", '["fileId"] == version', "is not None", MOVED, slow=True),
    Mutant("hard-link-written", "A file is written that is another one too.",
           "solvers.machine_code.regular:open_regular", "status.st_nlink > 1", "False", HARD_LINK),
    Mutant("stream-without-end", "A compressed batch expands to any size.", "ci.logs.format.segments:_expanded",
           "stream.decompress(data, MAX_EXPANDED)", "stream.decompress(data)", _forged(14)),
)  # fmt: skip
