"""Mutants of what workers and the driver hold in memory of visited states. They run without Spark."""

from __future__ import annotations

from kraftcheck.ci.dataset.search.levels import JobFailedError
from tests.ci.spark import test_spark_levels, test_spark_small, test_spark_splitting
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
