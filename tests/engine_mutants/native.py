"""Mutants of the native search: visited set, filter, chunks, threads, levels, limits, judging."""

from __future__ import annotations

from tests.engine_mutants.mutant import Killer, Mutant
from tests.solvers.search import test_engine_edges, test_explorer, test_recoverability, test_rounds, test_toys

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
IN_TURN = Killer(test_rounds.test_a_round_is_inserted_after_its_chunks_and_the_round_before, (1, 0))
AT_A_LIMIT = Killer(test_rounds.test_what_has_begun_is_carried_through_at_a_limit, (0,))

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
    Mutant("taken-slots-skipped", "A state is put behind all slots that are taken, one of its own tag among them.",
           "solvers.machine_code.visited_table:_is_other", "b.not_(shard.has_tag(entry, tag))",
           "ir.Constant(TRUTH, 1)", COMMIT_5),
    Mutant("own-tag-skipped", "Slots of a state's own tag are skipped instead of those of others.",
           "solvers.machine_code.visited_table:_is_other", "b.not_(shard.has_tag(entry, tag))",
           "shard.has_tag(entry, tag)", COMMIT_5),
    Mutant("slot-behind-another-tag-skipped", "The slot after one of another tag is passed over unread.",
           "solvers.machine_code.visited_table:_emit_batch", "slot_.set(shard.next(slot_.get()))",
           "slot_.set(shard.next(shard.next(slot_.get())))", COMMIT_7),
    Mutant("rehash-loses-the-first", "A table that grows forgets the first state of its shard.",
           "solvers.machine_code.visited_table:emit_rehash",
           "count_up(b, word(0), count)", "count_up(b, word(1), count)", ROAD),
    Mutant("rehash-loses-the-last", "A table that grows forgets the last state of its shard.",
           "solvers.machine_code.visited_table:emit_rehash",
           "count_up(b, word(0), count)", "count_up(b, word(0), b.sub(count, word(1)))",
           COMMIT_7),
    Mutant("rehash-left-out", "A table that grows is left empty.",
           "solvers.search.visited:Shard._make_table", "self.kernel.rehash(self._place)", "pass", COMMIT_7),
    Mutant("shards-share-rows", "All shards write their states to the rows of the first.",
           "solvers.search.visited:VisitedSet.__init__", "states[n]", "states[0]", COMMIT_3),
    Mutant("batch-resumed-late", "An insertion that waited for room resumes one record too late.",
           "solvers.machine_code.visited_table:emit_insert", "store(b, offset.get(), control, OFFSET)",
           "store(b, b.add(offset.get(), word(1)), control, OFFSET)", COMMIT_7),
    Mutant("wrong-shard-of-seeds", "Initial states go into a shard in which they are not looked for.",
           "solvers.machine_code.search_kernel:_emit_shard_of", "b.ret(shard_of_hash(b, hash_words(b, words), SHARDS))",
           "b.ret(b.xor(shard_of_hash(b, hash_words(b, words), SHARDS), word(1)))", CLOCK),
    Mutant("wrong-shard-on-insertion", "The candidates of one shard are inserted twice, those of the last never.",
           "solvers.search.levels:Round.next_shard",
           "self.receiving[self._shard_starts - 1]", "self.receiving[max(self._shard_starts - 2, 0)]", COMMIT_3),
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
           "solvers.search.visited:ThreadBuffers.__init__", "np.tile(initial, geometry.filter_slots)",
           "np.tile(initial * np.uint64(0), geometry.filter_slots)", LIFT),
    Mutant("self-loop-by-one-word", "A successor with the first word of its parent is dropped as a self-loop.",
           "solvers.machine_code.search_kernel:_emit_sift",
           "same_words(b, words, own)", "same_words(b, words[:1], own[:1])", GRID_Y),
    Mutant("chunk-lost", "A level of several chunks loses the last one that is not full.",
           "solvers.search.levels:Search._level", "chunks = max(-(-(end - begin) // self._slice)",
           "chunks = max(max(min(end - begin, 1), (end - begin) // self._slice)", COMMIT_7),
    Mutant("round-lost", "A level of several rounds loses the last one.",
           "solvers.search.levels:Search._level", "-(-chunks // self._chunks), make",
           "max(1, chunks // self._chunks), make", SMALL_ROUNDS),
    Mutant("piece-lost", "Where a chunk fills several candidate buffers, only the first is inserted.",
           "solvers.search.levels:Round.pieces", "for piece in batch]", "for piece in batch[:1]]", ROUNDS),
    Mutant("resumed-one-late", "A chunk that waited for an empty buffer resumes one state too late.",
           "solvers.machine_code.search_kernel:_emit_expand", "store(b, index.get(), frame, plan.index)",
           "store(b, b.add(index.get(), word(1)), frame, plan.index)", ROUNDS),
    Mutant("chunk-starts-late", "Each chunk leaves out its first state.",
           "solvers.search.levels:Search._level", "bounds[:-1], bounds[1:]", "bounds[:-1] + 1, bounds[1:]", COMMIT_7),
    Mutant("counters-of-one-thread", "Only the first thread's counters count.",
           "solvers.search.levels:Search.counters",
           "for buffers in self.buffers]", "for buffers in self.buffers[:1]]", EVERY_THREAD),
    Mutant("generated-of-one-thread", "Only the first thread's transitions count.",
           "solvers.search.levels:Search.generated",
           "for buffers in self.buffers)", "for buffers in self.buffers[:1])", EVERY_THREAD),
    Mutant("claims-of-one-piece", "What a round finds broken is noted from its first buffer only.",
           "solvers.search.levels:Search._end_round", "_note_claims(piece)", "_note_claims(one.pieces[0])", ROUNDS),
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

TURNS = (
    Mutant("gathered-too-early", "A round is inserted before all of its chunks are expanded.",
           "solvers.search.levels:Rounds._advance", "if one.needs_expansion:", "if False:", IN_TURN),
    Mutant("round-after-next", "A round is inserted while the one before it still is.",
           "solvers.search.levels:Rounds._advance", "if self._open[0].needs_insertion:",
           "if self._open[0].next_shard() is not None:", IN_TURN),
    Mutant("gathered-out-of-turn", "A round that is expanded first is gathered before the one ahead of it.",
           "solvers.search.levels:Rounds._advance", "for one in self._open:",
           "for one in sorted(self._open, key=lambda one: one.needs_expansion):",
           Killer(test_rounds.test_chunks_that_end_early_wait_for_those_before)),
    Mutant("nothing-ahead", "No round is expanded while one is inserted.",
           "solvers.search.levels:Rounds.run", "range(1 + self.ahead)", "range(1)",
           Killer(test_rounds.test_a_round_is_expanded_while_one_is_inserted)),
    Mutant("orders-look-meanwhile", "Where orders are reduced, states are looked up while others are inserted.",
           "solvers.search.levels:Search._level", "AHEAD if self.orders is None else 0", "AHEAD",
           Killer(test_rounds.test_a_search_in_some_orders_expands_nothing_meanwhile, (1,))),
    Mutant("round-after-the-limit", "Rounds begin after a limit is reached.",
           "solvers.search.levels:Rounds._begin", "and not self._enough", "", AT_A_LIMIT),
    Mutant("limit-drops-a-round", "The round that had begun when a limit was reached is left out.",
           "solvers.search.levels:Rounds._advance", "self._begin()",
           "self._begin() if not self._enough else self._open.clear()", AT_A_LIMIT),
    Mutant("stop-drops-candidates", "What was expanded before a stop is left out.",
           "solvers.search.levels:Rounds._stop", "self._advance()", "self._open.clear()",
           Killer(test_rounds.test_a_stop_leaves_out_what_has_not_begun, (0,))),
    Mutant("level-swallows", "What fails in a job of a level is forgotten.",
           "solvers.search.levels:Rounds.run", "if self._errors:", "if self._errors and False:",
           Killer(test_rounds.test_what_fails_in_a_job_fails_the_level, (0, 0))),
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
           "solvers.search.levels:Search._level", "if judge_only and", "if False and", DEPTH),
    Mutant("last-level-unjudged", "The states at the depth limit are not judged.",
           "solvers.machine_code.search_kernel:_emit_expand", "            b.call(judge, [state, frame, identity])\n",
           "            with b.if_then(searching):\n                b.call(judge, [state, frame, identity])\n",
           DEPTH),
    Mutant("memory-cut-untold", "A search that ran out of memory counts as complete.",
           "solvers.search.levels:Search._insert", "self.cut = self._memory_cut()", "pass", MEMORY),
    Mutant("memory-uncounted", "What the table takes does not count as memory.",
           "solvers.search.visited:Shard._room", "self.budget - 4 * slots", "self.budget", LARGER),
    Mutant("address-space-untold", "Where less address space is there, a shard that is full counts as whole.",
           "solvers.search.visited:Shard.insert", "return False", "return len(self.states) <= 4096",
           Killer(test_explorer.test_little_address_space_gives_incomplete)),
    Mutant("full-shard-takes-a-batch", "A shard that is full keeps what the last batch brought.",
           "solvers.search.visited:Shard.insert", "self.control[COUNT] = self.room", "pass",
           Killer(test_explorer.test_a_full_shard_holds_what_it_has_room_for)),
    Mutant("state-limit-untold", "A search that the state limit cut counts as complete.",
           "solvers.search.levels:Search._limit", 'return f"state limit', 'return None and f"state limit', STATE_LIMIT),
    Mutant("state-limit-on-the-last-level", "The state limit is not looked at after the last round of a level.",
           "solvers.search.levels:Search._level", "not last or self.distinct > sum(self.levels)", "not last",
           STATE_LIMIT),
    Mutant("stop-untold", "A search that was stopped counts as complete.",
           "solvers.search.levels:Search._limit", "return stop_reason(self.stop)", "return None", STOP),
    Mutant("cut-holds", "What a cut search did not refute holds.",
           "solvers.exploration.explore:_verdict", "elif reason is not None:", "elif reason is not None and False:",
           MEMORY),
    Mutant("goal-holds-unseen", "A goal that nothing shows holds.",
           "solvers.exploration.explore:_verdict",
           "Vacuous(name) if is_goal else Holds(bound)", "Holds(bound)", DIGRAPH),
)  # fmt: skip

NATIVE = (*VISITED, *EXPANSION, *TURNS, *LEVELS)
