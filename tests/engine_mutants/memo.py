"""Mutants of what workers and the driver hold of visited states, and of old levels that are merged, without Spark."""

from __future__ import annotations

from kraftcheck.ci.dataset.search.levels import JobFailedError
from kraftcheck.ci.dataset.store.levelfiles import DamagedLevelError
from kraftcheck.ci.spark.exchange import LostCandidatesError
from kraftcheck.ci.terminal.refusal import Refusal
from tests.ci.dataset import test_groups
from tests.ci.spark import test_spark_levels, test_spark_runs, test_spark_small, test_spark_splitting
from tests.engine_mutants.mutant import Killer, Mutant
from tests.solvers.blocks import test_compact_set, test_memo

LOST = Killer(test_spark_levels.test_a_lost_attempt_changes_nothing, (0, 0))
LOST_SPLIT = Killer(test_spark_splitting.test_lost_attempts_with_split_buckets)
MEMO_APART = Killer(test_memo.test_states_whose_hashes_meet_stay_apart)
STAMPS = Killer(test_memo.test_a_memo_without_stamps_is_emptied)
TWO_RUNS = Killer(test_spark_levels.test_two_runs_in_one_worker_share_no_memo, (1,))
CROWDED = Killer(test_compact_set.test_states_of_one_place_stay_apart, (0, 0))
ONLY_COMMITTED = Killer(test_spark_small.test_only_committed_states_are_dropped)
SEQUENCES = tuple(test_memo.SEQUENCES)


def sequence(name: str) -> Killer:
    """The test of what a memo serves after some expansions."""
    return Killer(test_memo.test_a_memo_serves_its_own_next_level_alone, (SEQUENCES.index(name),))


MEMO = (
    Mutant("memo-of-the-level", "What a lost attempt generated is dropped when the attempt is repeated.",
           "solvers.blocks.expansion:SuccessorMemo.begin", "if is_next:", "if True:", LOST),
    Mutant("memo-of-a-split-level", "The same, where a level has finer buckets than the one before.",
           "solvers.blocks.expansion:SuccessorMemo.begin", "if is_next:", "if True:", LOST_SPLIT),
    Mutant("memo-of-another-run", "A worker's memo of one run serves another run.",
           "solvers.blocks.expansion:SuccessorMemo.begin",
           "if key != self._key or not (is_next or descent == kept) or self._next >= self.slots:",
           "if self._next >= self.slots:", TWO_RUNS),
    Mutant("memo-of-another-key", "A memo serves another kernel, or another driver.",
           "solvers.blocks.expansion:SuccessorMemo.begin", "key != self._key or", "", sequence("another key")),
    Mutant("memo-without-descent", "A memo serves whatever level is expanded, and counts it as the next.",
           "solvers.blocks.expansion:SuccessorMemo.begin", "descent.before == kept.level", "descent != kept",
           sequence("an earlier level")),
    Mutant("memo-of-a-hash", "States of two words are dropped by their hash alone.",
           "solvers.blocks.expansion:MemoTable.comparison", "b.and_(b.icmp_unsigned(\"==\", other, word(0)), ",
           "b.or_(b.icmp_unsigned(\"==\", other, word(0)), ", MEMO_APART),
    Mutant("memo-of-vacancy", "A vacant entry of a memo counts as one of a committed level.",
           "solvers.blocks.expansion:MemoTable.comparison",
           "b.sub(stamp, word(FIRST_STAMP)), b.sub(self.fresh, word(FIRST_STAMP))", "stamp, self.fresh", MEMO_APART),
    Mutant("memo-stamps-overrun", "Stamps of a memo run into the hashes beside them.",
           "solvers.blocks.expansion:SuccessorMemo.begin", " or self._next >= self.slots", "", STAMPS),
    Mutant("memo-last-lost", "What waits for the memo when a block of states ends is lost.",
           "solvers.blocks.expansion_kernel:emit_expand_with_memo", "    settle()\n    b.ret(at.get())",
           "    b.ret(at.get())", TWO_RUNS),
)  # fmt: skip

HELD = (
    Mutant("small-visited-adds", "What the driver looks for among visited states counts as visited from then on.",
           "solvers.blocks.visited:_emit_place", "                if adds:", "                if True:",
           ONLY_COMMITTED, (JobFailedError,)),
    Mutant("small-visited-crowded", "A state counts as visited where all lines that it may stand in are full.",
           "solvers.blocks.visited:_emit_seek", '"==", result, word(PRESENT)', '"!=", result, word(ADDED_NOW)',
           CROWDED),
    Mutant("small-visited-later", "An earlier level that is made again meets the states of later ones as visited.",
           "ci.spark.small:DriverVisited.catch_up", "if self._levels > level.depth:", "if False:",
           ONLY_COMMITTED, (JobFailedError,)),
    Mutant("small-visited-uncounted", "Visited states that the driver did not find are not missed.",
           "ci.spark.small:DriverVisited._take", " or self.count != rows", "",
           Killer(test_spark_small.test_a_visited_state_that_is_not_there_is_damage)),
    Mutant("small-visited-finer", "Candidates of a finer bucket are looked for in another bucket of the driver's.",
           "ci.spark.small:DriverVisited.others", "bucket // finer", "bucket % len(self._buckets)",
           Killer(test_spark_splitting.test_small_levels_may_have_finer_buckets), (JobFailedError,)),
    Mutant("small-visited-behind", "The driver does not add the last committed level to what it holds.",
           "ci.spark.small:DriverVisited._take", "if depth > self._levels:", "if depth > self._levels + 1:",
           Killer(test_spark_small.test_small_levels_have_the_files_of_jobs, (0,)), (JobFailedError,), slow=True),
)  # fmt: skip

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
