"""Mutants of the distributed search: blocks, tasks, jobs, commits, the native start. They run without Spark."""

from __future__ import annotations

from kraftcheck.ci.dataset.search.levels import JobFailedError
from kraftcheck.ci.dataset.store.levelfiles import DamagedLevelError
from kraftcheck.ci.spark.exchange import LostCandidatesError
from tests.ci.dataset import test_groups
from tests.ci.explore import test_disk
from tests.ci.spark import (
    test_spark_damage,
    test_spark_exchange,
    test_spark_lease,
    test_spark_levels,
    test_spark_small,
    test_spark_splitting,
    test_spark_written,
)
from tests.engine_mutants.mutant import Killer, Mutant
from tests.solvers.blocks import test_block_edges, test_blocks, test_compact_set
from tests.solvers.search import test_engine_edges

APART = Killer(test_block_edges.test_states_whose_hashes_meet_stay_apart, (0,))
APART_2 = Killer(test_block_edges.test_states_whose_hashes_meet_stay_apart, (1,))
BATCHES = Killer(test_block_edges.test_batches_lose_nothing, (4,))
FIRST_CLAIMS = Killer(test_blocks.test_first_claims_are_the_first_rows)
LEVELS = Killer(test_spark_levels.test_limits_cut_between_levels)
KILLED_RUN = Killer(test_spark_levels.test_a_run_killed_within_a_level_resumes_to_the_same, (1,))
ALTERED = Killer(test_spark_exchange.test_a_damaged_file_of_candidates_is_noticed, (0,))
LOST_FILES = Killer(test_spark_levels.test_a_lost_attempt_changes_nothing, (0, 1))
LOST = Killer(test_spark_levels.test_a_lost_attempt_changes_nothing, (0, 0))
DAMAGED = Killer(test_spark_levels.test_a_damaged_file_is_noticed, (1,))
SMALL_SETS = Killer(test_spark_levels.test_small_sets_and_blocks_give_the_same_states, (0,))
SMALL_SETS_FILES = Killer(test_spark_levels.test_small_sets_and_blocks_give_the_same_states, (1,))
GRID = Killer(test_engine_edges.test_the_distributed_engine_finds_what_ints_find, (0,))
LIFT = Killer(test_engine_edges.test_the_distributed_engine_finds_what_ints_find, (2,))
HOTEL = Killer(test_engine_edges.test_the_distributed_engine_finds_what_ints_find, (3,))


def natively(handover: int, system: int) -> Killer:
    """The test that a toy is explored as natively, handed over at levels of so many states."""
    return Killer(test_spark_levels.test_the_same_is_found_as_natively, (handover, system))


EXITS = Killer(test_block_edges.test_what_flows_back_is_what_the_native_search_finds, (0,))
EXITS_BOUND = Killer(test_block_edges.test_what_flows_back_is_what_the_native_search_finds, (1,))


def missing(position: int) -> Killer:
    """The test that results which are missing or twice end the run."""
    return Killer(test_block_edges.test_results_that_are_missing_or_twice_end_the_run, (position,))


RUNS = {"whole": test_spark_damage.explored}
COUNTED = Killer(test_spark_damage.test_completeness_is_read_off_the_levels, (), RUNS)
UNLEASED = Killer(test_spark_lease.test_a_driver_without_its_lease_commits_nothing, (0,))
STOOD_STILL = test_spark_lease.test_a_driver_that_stands_still_in_a_commit_commits_nothing
TAKEN_OVER = Killer(test_spark_lease.test_a_driver_without_its_lease_commits_nothing, (1,))


def edited(sealed: int, edit: str) -> Killer:
    """The test that an edited document is refused, as it is or with its digest made anew."""
    return Killer(test_spark_damage.test_no_edit_gives_a_wrong_answer, (sealed, EDITS.index(edit)), RUNS)


EDITS = tuple(test_spark_damage.EDITS)

RUN_OVER = Killer(test_compact_set.test_full_lines_run_over, (0,))
ONE_PLACE = Killer(test_compact_set.test_states_of_one_place_stay_apart, (0, 1))
RESUMED = Killer(test_disk.test_a_run_that_dies_within_a_level_resumes_to_the_same, (2,))
QUARTERS = Killer(test_compact_set.test_a_large_set_grows_by_small_steps, (0,))
GROWN = Killer(test_compact_set.test_a_set_keeps_its_states_while_it_grows, (0,))
SMALL_JOBS = Killer(test_disk.test_files_do_not_depend_on_threads_or_rounds)

BLOCKS = (
    Mutant("block-tag-only", "A record whose hash has the tag of another counts as the same state.",
           "solvers.blocks.tasks:_insert_record", "b.if_then(records.holds(entry, state))",
           "b.if_then(records.has_tag(entry, hashed))", APART),
    Mutant("block-known-by-tag", "A candidate whose hash has the tag of a visited state counts as visited.",
           "solvers.blocks.tasks:_mark_duplicate", "b.if_then(records.holds(entry.get(), state))",
           "b.if_then(records.has_tag(entry.get(), hashed))", APART),
    Mutant("block-key-truncated", "Records are compared by the first word of their states.",
           "solvers.blocks.tasks:RecordSet.holds",
           "same_words(self.b, state, state_at(self.b, record, self.words))",
           "same_words(self.b, state[:1], state_at(self.b, record, 1))", APART_2),
    Mutant("block-probe-ends", "A candidate is not looked for beyond the first slot of its hash.",
           "solvers.blocks.tasks:_mark_duplicate", "entry.set(load(b, records.table, slot.get()))",
           "entry.set(word(0))",
           APART),
    Mutant("block-batch-lost", "The last record of each batch is not taken into the set.",
           "solvers.blocks.tasks:emit_gather", "b.call(insert, [control, first, hashes, size])",
           "b.call(insert, [control, first, hashes, b.sub(size, word(1))])", BATCHES),
    Mutant("block-strike-lost", "The first visited state of each batch is not struck.",
           "solvers.blocks.tasks:emit_mark_duplicates",
           "with count_up(b, word(0), size) as k:\n            state =",
           "with count_up(b, word(1), size) as k:\n            state =", BATCHES),
    Mutant("block-filter-begins-with-zero",
           "The filter of a task begins with the state of zeros, which nobody has visited.",
           "solvers.blocks.expansion:Expansion.take", "np.tile(states[0], self.kernel.spec.filter_slots)",
           "np.tile(states[0] * np.uint64(0), self.kernel.spec.filter_slots)", LIFT),
    Mutant("block-filter-truncated", "The filter of a task compares the first word of states.",
           "solvers.blocks.expansion_kernel:_emit_sift", "same_words(b, values, state_at(b, entry, words))",
           "same_words(b, values[:1], state_at(b, entry, 1))", GRID, slow=True),
    Mutant("block-resumed-late", "A task whose set was full resumes one state too late.",
           "solvers.blocks.expansion:Expansion.take",
           "yield self.empty()", "yield self.empty(); at += 1", SMALL_SETS,
           slow=True),
    Mutant("block-rest-lost", "What a task's set holds at the end of a block of its bucket is cut by one.",
           "solvers.blocks.tasks:blocks_of", "ends[bucket] - counts[bucket] : ends[bucket]]",
           "ends[bucket] - counts[bucket] : max(1, ends[bucket] - 1)]", SMALL_SETS_FILES,
           (LostCandidatesError,), slow=True),
    Mutant("bucket-overwritten", "Records of one bucket are written over each other when they are sorted.",
           "solvers.blocks.tasks:emit_scatter", "store(b, b.add(place, word(1)), places, bucket)", "pass", BATCHES),
    Mutant("claims-second-word", "Claims beyond the first 63 are not read.",
           "solvers.blocks.tasks:first_claims", "for at in range(bits.shape[1]):", "for at in range(1):",
           FIRST_CLAIMS),
    Mutant("claims-last-row", "The last row that shows a claim is told instead of the first.",
           "solvers.blocks.tasks:first_claims", "int(np.argmax(column & np.uint64(1 << position) != 0))",
           "int(np.flatnonzero(column & np.uint64(1 << position))[-1])",
           Killer(test_block_edges.test_the_first_of_several_rows_shows_a_claim)),
    Mutant("exits-of-all-actions", "Under Spark any action heals.",
           "solvers.blocks.tasks:BlockKernel.exits_of", "np.array(spec.flows, dtype=np.uint64)",
           "np.array([max(spec.flows)] * len(spec.flows), dtype=np.uint64)", EXITS),
    Mutant("exits-leave-nothing", "Under Spark it is not noted that a bound cut a way.",
           "solvers.blocks.tasks:BlockKernel.exits_of", "return records, counts, leaves",
           "return records, counts, 0 * leaves", EXITS_BOUND),
    Mutant("exits-of-the-first", "Under Spark each state has the ways out of the one before.",
           "solvers.blocks.kernel:_emit_exits", "counts, k)", "counts, b.sub(count, b.add(k, word(1))))", EXITS),
    Mutant("kernel-of-another", "A worker goes on with the kernel that it loaded first.",
           "solvers.blocks.tasks:load_block_kernel", "return BlockKernel(spec)",
           "return load_block_kernel.__dict__.setdefault('first', BlockKernel(spec))",
           Killer(test_block_edges.test_each_spec_has_its_own_kernel)),
)  # fmt: skip

TASKS = (
    Mutant("bucket-unread", "Of the visited states of a task those of its last bucket are not read.",
           "ci.dataset.store.groups:Groups.within", "(buckets < mine.hi)", "(buckets < max(mine.hi - 1, mine.lo + 1))",
           Killer(test_groups.test_groups_of_some_buckets)),
    Mutant("level-unread", "The last committed level is not among the visited ones.",
           "ci.dataset.search.levels:plan", "tuple(log.stored(level) for level in commits)",
           "tuple(log.stored(level) for level in commits[:-1])",
           Killer(test_spark_splitting.test_a_search_with_split_buckets_is_the_native_one, (0,))),
    Mutant("bucket-split", "The records of a bucket go to more than one task.",
           "ci.spark.exchange:candidate_rows", "(target_of(spec, targets, table[:, 0]),",
           "(target_of(spec, targets, table[:, 0]) ^ (source & 1),", LOST, (JobFailedError,), slow=True),
    Mutant("neighbours-lost", "Where a task sifts its buckets in several parts, the last part is lost.",
           "ci.spark.exchange:from_rows", "    if blocks:\n        yield", "    if blocks and lo == 0:\n        yield",
           SMALL_SETS, (JobFailedError,), slow=True),
    Mutant("file-group-lost", "Where a task sifts its buckets in several parts, the last part of each file is lost.",
           "ci.spark.exchange:_groups", "    if size:", "    if size and lo == 0:", SMALL_SETS_FILES, (JobFailedError,),
           slow=True),
    Mutant("file-run-joined", "Blocks of a file between which others lie are read as one piece.",
           "ci.spark.exchange:Places.read", "chosen[1:, 1] != ends[:-1]", "chosen[1:, 1] < 0", SMALL_SETS_FILES,
           (LostCandidatesError,), slow=True),
    Mutant("file-order", "Of equal candidates that of the last task stays, where they are in files.",
           "ci.spark.exchange:from_files", "sorted(found)]", "sorted(found, reverse=True)]", LOST_FILES, slow=True),
    Mutant("file-checksum-unread", "The checksums of candidates in files are not compared.",
           "ci.spark.exchange:Places._run", "zlib.crc32(data[at : at + size]) != checksum", "False", ALTERED),
    Mutant("candidates-uncounted", "Candidates that do not arrive are not missed.",
           "ci.spark.jobs:job_result", "if sent != candidates:", "if False:",
           Killer(test_block_edges.test_candidates_that_do_not_arrive_end_the_run)),
    Mutant("frontier-group-lost", "A task of several row groups leaves out the last.",
           "ci.dataset.search.levels:splits", "first, before = last, int(ends[last - 1])",
           "first, before = last + 1, int(ends[last - 1])",
           Killer(test_spark_splitting.test_a_search_with_split_buckets_is_the_native_one, (0,)), (JobFailedError,)),
    Mutant("claims-of-task-lost", "What a task finds broken in its later buckets is not told.",
           "ci.spark.tasks:sift_task", "claims.setdefault(claim, bucket << ROW_BITS | row)",
           "claims.setdefault(claim, row)", natively(0, 6), slow=True),
    Mutant("counters-of-last-level", "Only the last level's transitions count.",
           "ci.dataset.search.run:DatasetRun._commit_of", "plan.join(np.stack([self.counters(), frame]))",
           "plan.join(np.stack([0 * frame, frame]))", HOTEL),
    Mutant("steps-of-level-before", "Claims about steps are told of the level that they lead to.",
           "ci.dataset.search.run:DatasetRun._commit_of",
           "Place(depth - 1, mark >> 16)", "Place(depth, mark >> 16)", LIFT,
           (DamagedLevelError,)),
    Mutant("result-lost", "A task whose result did not come back is not missed.",
           "ci.spark.jobs:job_result",
           'if len(frames) != cost["expand_tasks"] or parts != cost["sift_tasks"] or duplicate:',
           "if duplicate:", missing(0)),
    Mutant("result-twice", "A bucket that two tasks wrote is not noticed.",
           "ci.spark.jobs:job_result", "or duplicate:", "or False:", missing(4)),
    Mutant("written-elsewhere", "A round of jobs without a file counts as one of no rows.",
           "ci.spark.written:written", "if not files:", "if False:",
           Killer(test_spark_written.test_a_round_that_was_written_elsewhere_is_an_error)),
    Mutant("small-unordered", "The driver sifts the candidates of a small level in the order in which they come.",
           "ci.spark.small:rows_here", "ordered = candidates.sort_by", "ordered = candidates; candidates.sort_by",
           Killer(test_spark_small.test_small_levels_have_the_files_of_jobs, (0,)), (JobFailedError,), slow=True),
)  # fmt: skip

COMMITS = (
    Mutant("committed-before-data", "A file is described before it is whole.",
           "ci.spark.tasks:sift_task",
           '        yield result_row("file", _description(writer.result(), writer.groups, claims, candidates))',
           '            yield result_row("file", _description(writer.result(), writer.groups, claims, candidates))',
           DAMAGED, slow=True),
    Mutant("half-level-kept", "What a run that died left of a level is not removed.",
           "ci.dataset.search.run:DatasetRun.resume", "self.log.sweep(self.commits)", "pass", KILLED_RUN, slow=True),
    Mutant("lost-attempts-kept", "Files of lost attempts stay.",
           "ci.dataset.search.run:DatasetRun.expand", "    self.log.sweep(self.commits)", "    pass",
           Killer(test_spark_levels.test_a_lost_attempt_changes_nothing, (1, 0)), slow=True),
    Mutant("another-run-resumed", "A run of another system is taken up.",
           "ci.dataset.store.commits:CommitLog.check_same", "if before.get(name) != of.get(name):", "if False:",
           Killer(test_spark_levels.test_another_model_or_scope_does_not_resume, (0,)), slow=True),
    Mutant("depth-limit-untold-spark", "A distributed search that the depth limit cut counts as complete.",
           "ci.dataset.search.run:DatasetRun._within_limits",
           'self.cut = f"depth limit {bounds.max_depth}"', "return False",
           LEVELS,
           slow=True),
    Mutant("state-limit-untold-spark", "A distributed search that the state limit cut counts as complete.",
           "ci.dataset.search.run:DatasetRun._within_limits",
           'self.cut = f"state limit {bounds.max_states:,}"', "return False",
           LEVELS, slow=True),
    Mutant("digest-unread", "A committed file is believed by its size.",
           "ci.dataset.store.levelfiles:verify",
           "if digest.hexdigest() != file.sha256:", "if False:", DAMAGED, slow=True),
    Mutant("checksum-unread", "The checksums of pages are not verified when states are read.",
           "ci.dataset.store.levelfiles:row_groups",
           "page_checksum_verification=True", "page_checksum_verification=False",
           DAMAGED, slow=True),
    Mutant("handed-over-mark", "Natively found states are noted with the action after theirs.",
           "ci.dataset.store.handover:Export.write", "marks[later] & np.uint64(0xFFFF)",
           "(marks[later] + np.uint64(1)) & np.uint64(0xFFFF)", natively(1, 5), slow=True),
    Mutant("handed-over-parents", "Parents of natively found states keep their native ids.",
           "ci.dataset.store.handover:Export.write",
           "self.new_ids[(marks[later] >> np.uint64(16)).astype(np.int64)].astype(np.uint64)",
           "marks[later] >> np.uint64(16)", natively(2, 6), (DamagedLevelError,), slow=True),
    Mutant("handed-over-twice", "The counters of the native start count twice.",
           "ci.dataset.search.run:DatasetRun.start", "tuple(native.counters[depth].tolist())",
           "tuple((2 * native.counters[depth]).tolist())", natively(1, 5), slow=True),
)  # fmt: skip

MANIFESTS = (
    Mutant("seal-unread", "A document that was edited by hand is believed.",
           "ci.dataset.store.sealed:read_sealed", "if seal is None or seal != digest(content):", "if seal is None:",
           edited(0, "counters")),
    Mutant("chain-unread", "A manifest that does not follow the one before it is believed.",
           "ci.dataset.store.commits:CommitLog._read_levels", 'if previous != seal:', "if False:",
           edited(1, "counters")),
    Mutant("expanded-unread", "A level that was made from a part of the one before it is believed.",
           "ci.dataset.store.manifests:check", "if level.expanded != before or", "if", COUNTED),
    Mutant("emptied-unseen", "A level whose manifest lost its states ends the run.",
           "ci.dataset.store.manifests:check", "if level.last and", "if False and", COUNTED),
    Mutant("complete-at-once", "A dataset is complete before an expansion has found nothing.",
           "ci.dataset.store.dataset:Dataset.complete", "self.commits[-1].last", "True", COUNTED),
    Mutant("expanded-uncounted", "A level is committed though its tasks left states out.",
           "ci.dataset.search.run:DatasetRun._commit_of", "if result.expanded != before:", "if False:",
           Killer(test_spark_damage.test_a_task_that_expands_too_little_fails_the_level)),
    Mutant("lease-unchecked", "A driver that lost its lease goes on writing.",
           "ci.dataset.store.commits:CommitLog.check_lease", "self.lease.check()", "pass", UNLEASED),
    Mutant("lease-of-another", "A lease that another driver took over counts as one's own.",
           "ci.dataset.store.sight:names", "== token", "is not None", TAKEN_OVER),
    Mutant("commit-after-standstill", "Whether a driver has its lease is not asked again before it renames a manifest.",
           "ci.dataset.store.commits:CommitLog.commit", "document, self.check_lease)", "document)",
           Killer(STOOD_STILL, (0,)), (DamagedLevelError,)),
    Mutant("half-manifest-kept", "Who takes over a run leaves the manifest that the driver before has not renamed.",
           "ci.dataset.store.folders:remove_unnamed", "_unlink(name, top)", "pass",
           Killer(STOOD_STILL, (1,)), (DamagedLevelError,)),
)  # fmt: skip

COMPACT = (
    Mutant("compact-tag-unread", "A state that was put into a later line counts as one of that line.",
           "solvers.blocks.visited:_emit_place", 'b.icmp_unsigned("==", first, wanted)',
           'b.icmp_unsigned("<=", b.xor(first, wanted), compact.most_lines)', RUN_OVER),
    Mutant("compact-wide-tag-vacant", "An entry whose tag is a multiple of 32 counts as vacant.",
           "solvers.blocks.visited:_emit_place", "b.and_(first, compact.most_lines)", "b.and_(first, word(31))",
           ONE_PLACE, (RuntimeError,)),
    Mutant("compact-wide-tag-regrown", "A table that grows reads the five lowest bits of each tag.",
           "solvers.blocks.visited:_emit_regrow", "tag = b.and_(first, compact.most_lines)",
           "tag = b.and_(first, word(31))", ONE_PLACE, (RuntimeError,)),
    Mutant("compact-tag-in-the-rest", "The rest of a hash is read with bits of a wide tag.",
           "solvers.blocks.visited:_emit_regrow", "b.lshr(first, compact.tag_bits)", "b.lshr(first, word(5))",
           ONE_PLACE, (RuntimeError,)),
    Mutant("compact-beaten-table", "A table is taken though one with more room takes no more bytes.",
           "solvers.blocks.visited:CompactBucket._next", "following = other", "pass",
           Killer(test_compact_set.test_no_table_is_taken_that_a_larger_one_beats)),
    Mutant("compact-home-lost", "A table that grows takes each state for one of the line where it is.",
           "solvers.blocks.visited:CompactSet.home_of", "before = b.sub(tag, word(1))", "before = word(0)",
           RUN_OVER, (RuntimeError,)),
    Mutant("compact-next-multiple", "The rest of a hash is read as if its line began with a multiple of the factor.",
           "solvers.blocks.visited:CompactSet.quotient", ", missing)", ", word(0))", QUARTERS, (RuntimeError,)),
    Mutant("compact-first-word", "States are compared by the hash, not by their other words.",
           "solvers.blocks.visited:_emit_place",
           'same = b.and_(same, b.icmp_unsigned("==", compact.read(at_other, mask), value))', "pass", ONE_PLACE),
    Mutant("compact-entry-too-wide", "Writing an entry clears the bytes behind it.",
           "solvers.blocks.visited:CompactSet.write", "self.b.or_(kept, value)", "value", GROWN, (RuntimeError,)),
    Mutant("disk-forgets", "A run that goes on has visited nothing.",
           "ci.dataset.disk.runner:DiskRunner.run", "self._catch_up(level.visited, pool)",
           "self._levels = len(level.visited)", RESUMED),
    Mutant("disk-parent-of-slice", "Parents are numbered anew in each job.",
           "ci.dataset.disk.runner:_LevelWork._slices", "group.bucket << ROW_BITS | at", "group.bucket << ROW_BITS",
           SMALL_JOBS),
    Mutant("disk-last-job", "The last job of a level is left out.",
           "ci.dataset.disk.runner:_LevelWork._jobs", "if job:", "if False:", RESUMED, (JobFailedError,)),
)  # fmt: skip
