"""Mutants of the native search: visited set, filter, chunks, threads, levels, limits, judging."""

from __future__ import annotations

from tests.engine_mutants.mutant import Killer, Mutant
from tests.solvers.search import test_engine_edges, test_explorer, test_recoverability, test_toys

GRID_Y = Killer(test_engine_edges.test_the_native_engine_finds_what_ints_find, (0,))
LIFT = Killer(test_engine_edges.test_the_native_engine_finds_what_ints_find, (2,))
ONE_TAG = Killer(test_engine_edges.test_states_of_one_tag_are_told_apart, (0,))
ONE_TAG_X = Killer(test_engine_edges.test_states_of_one_tag_are_told_apart, (1,))
ROAD = Killer(test_engine_edges.test_a_visited_set_that_grows_forgets_nothing)
SMALL_ROUNDS = Killer(test_engine_edges.test_small_slices_and_rounds_find_the_same, (0,))
COMMIT_3 = Killer(test_toys.test_two_phase_commit_has_its_known_number_of_states, (0,))
COMMIT_5 = Killer(test_toys.test_two_phase_commit_has_its_known_number_of_states, (1,))
COMMIT_7 = Killer(test_toys.test_two_phase_commit_has_its_known_number_of_states, (2,))
CLOCK = Killer(test_toys.test_a_clock_ticks_for_ever)
DIGRAPH = Killer(test_toys.test_a_digraph_gives_the_shortest_path)
PRUNED = Killer(test_toys.test_a_bound_that_prunes_is_named)
STUCK = Killer(test_toys.test_a_stuck_system_deadlocks_and_a_resting_one_does_not)
EVERY_THREAD = Killer(test_engine_edges.test_what_every_thread_counted_counts)
ROUNDS = Killer(test_explorer.test_results_do_not_depend_on_rounds_and_buffers)
MEMORY = Killer(test_explorer.test_a_memory_limit_gives_incomplete_with_what_was_done)
LARGER = Killer(test_explorer.test_a_larger_budget_reaches_further)
DEPTH = Killer(test_explorer.test_a_depth_limit_judges_the_last_level_without_expanding_it)
STATE_LIMIT = Killer(test_explorer.test_a_state_limit_gives_incomplete_unless_all_were_found)
STOP = Killer(test_explorer.test_a_stop_flag_gives_incomplete)

VISITED = (
    Mutant("collision-is-known", "A state whose slot of the table is taken counts as known.",
           "solvers.machine_code.visited_table:_insert_record",
           "same_words(b, state, state_at(b, candidate, len(state)))",
           "ir.Constant(TRUTH, 1)", ONE_TAG),
    Mutant("key-truncated", "States are compared by their first word only.",
           "solvers.machine_code.visited_table:_insert_record",
           "same_words(b, state, state_at(b, candidate, len(state)))",
           "same_words(b, state[:1], state_at(b, candidate, 1))", ONE_TAG),
    Mutant("key-loses-its-head", "States are compared without their first word.",
           "solvers.machine_code.visited_table:_insert_record",
           "same_words(b, state, state_at(b, candidate, len(state)))",
           "same_words(b, state[1:], state_at(b, candidate, len(state))[1:])", ONE_TAG_X),
    Mutant("action-of-another", "A new state is noted with the action instance after the one that led to it.",
           "solvers.machine_code.visited_table:_insert_record",
           "b.trunc(mark, U16)", "b.trunc(b.add(mark, word(1)), U16)", COMMIT_3,
           (KeyError,)),
    Mutant("tag-left-out-of-rehash", "A table that grows notes its states without their tags.",
           "solvers.machine_code.visited_table:emit_rehash", "shard.tag(hashed)", "word(0)", ROAD),
    Mutant("tag-covers-the-index", "The highest bit of an index is taken for one of the tag.",
           "solvers.machine_code.visited_table:ShardParts.index_part", "self.mask",
           "self.b.lshr(self.mask, word(1))", ROAD),
    Mutant("another-tag-looked-up", "A state is looked for where the tag is another.",
           "solvers.machine_code.visited_table:ShardParts.lookup", "self.has_tag(entry, tag)",
           "b.not_(self.has_tag(entry, tag))",
           Killer(test_recoverability.test_the_way_out_is_restricted)),
    Mutant("rehash-loses-the-first", "A table that grows forgets the first state of its shard.",
           "solvers.machine_code.visited_table:emit_rehash",
           "count_up(b, word(0), count)", "count_up(b, word(1), count)", ROAD),
    Mutant("rehash-loses-the-last", "A table that grows forgets the last state of its shard.",
           "solvers.machine_code.visited_table:emit_rehash",
           "count_up(b, word(0), count)", "count_up(b, word(0), b.sub(count, word(1)))",
           COMMIT_7),
    Mutant("rehash-left-out", "A table that grows is left empty.",
           "solvers.search.visited:Shard._grow",
           "rehash=slots != int(self.control[MASK]) + 1", "rehash=False", COMMIT_7),
    Mutant("growth-loses-a-row", "Arrays that grow take one row too few along.",
           "solvers.search.visited:_resized", "resized[:used] = array[:used]",
           "resized[:used] = array[:used]; resized[used - 1:used] = 0", COMMIT_7),
    Mutant("batch-resumed-late", "An insertion that waited for room resumes one record too late.",
           "solvers.machine_code.visited_table:emit_insert", "store(b, offset.get(), control, OFFSET)",
           "store(b, b.add(offset.get(), word(1)), control, OFFSET)", COMMIT_7),
    Mutant("wrong-shard-of-seeds", "Initial states go into a shard in which they are not looked for.",
           "solvers.machine_code.search_kernel:_emit_shard_of", "b.ret(shard_of_hash(b, hash_words(b, words), SHARDS))",
           "b.ret(b.xor(shard_of_hash(b, hash_words(b, words), SHARDS), word(1)))", CLOCK),
    Mutant("wrong-shard-on-insertion", "The candidates of one shard are inserted twice, those of the last never.",
           "solvers.search.levels:Search._insert",
           "shard = receiving[job]", "shard = receiving[max(job - 1, 0)]", COMMIT_3),
    Mutant("wrong-shard-backward", "The backward search looks for successors in another shard.",
           "solvers.machine_code.backward_sweep:_emit_recall", "shard_of_hash(b, hashed, shards)",
           "b.xor(shard_of_hash(b, hashed, shards), word(1))",
           Killer(test_recoverability.test_the_way_out_is_restricted)),
)  # fmt: skip

EXPANSION = (
    Mutant("filter-drops-collisions", "The filter of recent successors drops what shares a slot and the first word.",
           "solvers.machine_code.search_kernel:_emit_sift", "same_words(b, words, state_at(b, entry, geometry.words))",
           "same_words(b, words[:1], state_at(b, entry, 1))", GRID_Y),
    Mutant("filter-begins-with-zero", "The filter begins with the state of zeros, which nobody has visited.",
           "solvers.search.buffers:ThreadBuffers.__init__", "np.tile(initial, geometry.filter_slots)",
           "np.tile(initial * np.uint64(0), geometry.filter_slots)", LIFT),
    Mutant("self-loop-by-one-word", "A successor with the first word of its parent is dropped as a self-loop.",
           "solvers.machine_code.search_kernel:_emit_sift",
           "same_words(b, words, own)", "same_words(b, words[:1], own[:1])", GRID_Y),
    Mutant("chunk-lost", "A level of several chunks loses the last one that is not full.",
           "solvers.search.levels:Search._level", "chunks = max(-(-(end - begin) // self._slice)",
           "chunks = max(max(min(end - begin, 1), (end - begin) // self._slice)", COMMIT_7),
    Mutant("round-lost", "A level of several rounds loses the last one.",
           "solvers.search.levels:Search._level", "range(0, chunks, self._chunks)",
           "range(0, max(1, chunks - self._chunks + 1), self._chunks)", SMALL_ROUNDS),
    Mutant("piece-lost", "Where a chunk fills several candidate buffers, only the first is inserted.",
           "solvers.search.levels:Search._round", "for piece in group]", "for piece in group[:1]]", ROUNDS),
    Mutant("resumed-one-late", "A chunk that waited for an empty buffer resumes one state too late.",
           "solvers.machine_code.search_kernel:_emit_expand", "store(b, index.get(), frame, plan.index)",
           "store(b, b.add(index.get(), word(1)), frame, plan.index)", ROUNDS),
    Mutant("chunk-starts-late", "Each chunk leaves out its first state.",
           "solvers.search.levels:Search._round", "np.minimum(starts + chunk * self._slice, stops",
           "np.minimum(starts + chunk * self._slice + (chunk > 0), stops", COMMIT_7),
    Mutant("counters-of-one-thread", "Only the first thread's counters count.",
           "solvers.search.levels:Search.counters",
           "for buffers in self.buffers]", "for buffers in self.buffers[:1]]", EVERY_THREAD),
    Mutant("generated-of-one-thread", "Only the first thread's transitions count.",
           "solvers.search.levels:Search.generated",
           "for buffers in self.buffers)", "for buffers in self.buffers[:1])", EVERY_THREAD),
    Mutant("claims-of-one-piece", "What a round finds broken is noted from its first buffer only.",
           "solvers.search.levels:Search._round", "for piece in pieces:", "for piece in pieces[:1]:", ROUNDS),
    Mutant("claims-overwritten", "The last occasion of a claim is told instead of the first.",
           "solvers.search.levels:Search._note_claims", "self.claims.setdefault(claim, int(piece.claims[claim]) - 1)",
           "self.claims[claim] = int(piece.claims[claim]) - 1",
           Killer(test_toys.test_hasty_commit_is_refuted_by_a_shortest_trace)),
    Mutant("job-lost", "The last of several jobs that threads share is not done.",
           "solvers.machine_code.threads:ThreadPool.run", "< jobs and", "< max(1, jobs - 1) and",
           Killer(test_engine_edges.test_every_job_is_done_once)),
    Mutant("thread-swallows", "What fails in a thread is forgotten.",
           "solvers.machine_code.threads:ThreadPool.run", "if failed:", "if failed and False:",
           Killer(test_engine_edges.test_what_fails_in_a_thread_fails_the_run)),
)  # fmt: skip

LEVELS = (
    Mutant("small-level-ends", "A level of one state is taken for the end.",
           "solvers.search.levels:Search.run", "if ends == begins:", "if sum(ends) - sum(begins) <= 1 and self.levels:",
           DIGRAPH),
    Mutant("depth-limit-early", "The depth limit cuts a level too early.",
           "solvers.search.levels:Search._level", "len(self.levels) > self.limits.max_depth",
           "len(self.levels) >= self.limits.max_depth", DEPTH),
    Mutant("depth-limit-late", "The depth limit cuts a level too late.",
           "solvers.search.levels:Search._level", "len(self.levels) > self.limits.max_depth",
           "len(self.levels) > self.limits.max_depth + 1", DEPTH),
    Mutant("depth-limit-untold", "A search that the depth limit cut counts as complete.",
           "solvers.search.levels:Search._level", "if judge_only:", "if judge_only and False:", DEPTH),
    Mutant("last-level-unjudged", "The states at the depth limit are not judged.",
           "solvers.machine_code.search_kernel:_emit_expand", "            b.call(judge, [state, frame, identity])\n",
           "            with b.if_then(searching):\n                b.call(judge, [state, frame, identity])\n",
           DEPTH),
    Mutant("memory-cut-untold", "A search that ran out of memory counts as complete.",
           "solvers.search.levels:Search._insert", "if full:", "if full and False:", MEMORY),
    Mutant("memory-uncounted", "A shard may take twice its budget.",
           "solvers.search.visited:Shard._grow", "affordable = (budget - 4 * slots) // self.row\n",
           "budget *= 2; affordable = (budget - 4 * slots) // self.row\n", LARGER),
    Mutant("state-limit-untold", "A search that the state limit cut counts as complete.",
           "solvers.search.levels:Search._check_limits",
           'self.cut = f"state limit', 'return  # f"state limit', STATE_LIMIT),
    Mutant("state-limit-on-the-last-level", "The state limit is not looked at after the last round of a level.",
           "solvers.search.levels:Search._unfinished", "not last or self.distinct > sum(self.levels)", "not last",
           STATE_LIMIT),
    Mutant("stop-untold", "A search that was stopped counts as complete.",
           "solvers.search.levels:Search._check_limits", "self.cut = stop_reason(self.stop)", "return", STOP),
    Mutant("cut-holds", "What a cut search did not refute holds.",
           "solvers.search.explore:_verdict", "elif reason is not None:", "elif reason is not None and False:",
           MEMORY),
    Mutant("goal-holds-unseen", "A goal that nothing shows holds.",
           "solvers.search.explore:_verdict", "Vacuous(name) if is_goal else Holds(bound)", "Holds(bound)", DIGRAPH),
)  # fmt: skip

NATIVE = (*VISITED, *EXPANSION, *LEVELS)
