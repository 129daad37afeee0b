"""Mutants of the merging of old levels, of what is read of merged runs, and of split buckets, without Spark."""

from __future__ import annotations

from kraftcheck.ci.dataset.store.levelfiles import DamagedLevelError
from kraftcheck.ci.spark.exchange import LostCandidatesError
from kraftcheck.ci.terminal.refusal import Refusal
from tests.ci.dataset import test_groups
from tests.ci.spark import test_spark_runs, test_spark_splitting
from tests.engine_mutants.mutant import Killer, Mutant

MERGED = Killer(test_spark_runs.test_runs_change_nothing, (1,))
SPLIT = Killer(test_spark_splitting.test_a_search_with_split_buckets_is_the_native_one, (0,))
SPLIT_RUNS = Killer(test_spark_splitting.test_merged_levels_have_the_finest_buckets)
RECOVERY = Killer(test_spark_splitting.test_recovery_is_judged_on_split_buckets, (1,))

RUNS_OF_LEVELS = (
    Mutant("run-checksum-unread", "The states of a merged run are believed without their checksum.",
           "ci.dataset.store.runs:_read", "zlib.crc32(part) != crc", "False",
           Killer(test_spark_runs.test_a_run_is_read_by_buckets)),
    Mutant("run-of-another-exploration", "A merged run is taken up whatever manifest it names.",
           "ci.dataset.search.compaction:Compaction._read", 'document["of"] != self.log.seal(run.last - 1)', "False",
           Killer(test_spark_runs.test_a_run_of_something_else_is_dropped, (0,)), slow=True),
    Mutant("run-of-other-levels", "A merged run is taken up however many states its levels have.",
           "ci.dataset.search.compaction:Compaction._read",
           "run if run.rows == sum(level.rows for level in commits[run.first : run.last]) else None", "run",
           Killer(test_spark_runs.test_a_run_of_something_else_is_dropped, (1,)), slow=True),
    Mutant("merge-skips-bucket", "A merge leaves out the bucket after each that it holds at once.",
           "ci.spark.jobs:_windows", "lo = hi", "lo = hi + 1", MERGED, (RuntimeError,), slow=True),
    Mutant("merge-forgets-parts", "Once levels are merged, those before them are not read any more.",
           "ci.dataset.search.compaction:Compaction.parts", "(*parts[:at], made)", "(made,)", MERGED, slow=True),
    Mutant("split-last-part-unread", "Of coarser buckets the last that holds some of a task's states is not read.",
           "ci.dataset.store.groups:BucketRange.of", "-(-(self.hi << finer) >> coarser)",
           "(self.hi << finer) >> coarser",
           Killer(test_groups.test_finer_and_coarser_groups_of_some_buckets)),
    Mutant("split-part-unnoticed", "A task looks visited states up in the buckets of the run, not of its level.",
           "ci.spark.tasks:sift_task", "BucketRange(item.lo, item.hi, level.bits)",
           "BucketRange(item.lo, item.hi, shipped().bucket_bits)", SPLIT, slow=True),
    Mutant("split-by-one-stage", "Candidates are sent by the buckets of the run, and sifted by those of their level.",
           "ci.spark.tasks:expand_task", "shipped().with_bits(level.bits)", "shipped()", SPLIT,
           (LostCandidatesError,)),
    Mutant("split-bucket-unchecked", "Candidates are sifted as those of a bucket that they are not of.",
           "ci.spark.tasks:_check_buckets", "counts[: item.lo].any() or counts[item.hi :].any()", "False",
           Killer(test_spark_splitting.test_candidates_of_another_bucket_are_an_error)),
    Mutant("split-merged-whole", "A merge puts the states of a coarser bucket into one bucket of the run.",
           "ci.spark.jobs:_merged", "[one] if part.bits == job.bits else _split(kernel, one[1])", "[one]", SPLIT_RUNS,
           slow=True),
    Mutant("split-numbers-meet", "States of two parts of a bucket get the same numbers in the backward search.",
           "ci.spark.backward.arcs:Numbering.first_of", "+ int(before[own] - before[bucket * each])", "", RECOVERY,
           (DamagedLevelError, ValueError), slow=True),
    Mutant("split-places-meet", "The backward search names another state than the one that it means.",
           "ci.spark.backward.arcs:Numbering.places", "own, at - before[own]", "own, at - before[own] + 1",
           RECOVERY, (DamagedLevelError,), slow=True),
    Mutant("split-anew-in-repair", "A repair splits buckets as it would today, not as the level was made.",
           "ci.dataset.search.repair:_by_job", "bits = commits[-1].groups.bits", "bits = level.bits",
           Killer(test_spark_splitting.test_split_levels_are_repaired), (Refusal,), slow=True),
)  # fmt: skip
