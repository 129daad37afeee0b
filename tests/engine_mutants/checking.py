"""Mutants of what confirms and completes a search: recovery, symmetry, witnesses, traces, walks, caches, the check."""

from __future__ import annotations

from kraftcheck.model.language.layout import DomainError
from kraftcheck.model.language.symmetry import SymmetryError
from tests.ci.verdicts import test_check_processes, test_numbers
from tests.engine_mutants.mutant import Killer, Mutant
from tests.solvers.hypothesis import test_machine
from tests.solvers.reference import test_confirm_edges
from tests.solvers.search import test_explorer, test_recoverability, test_symmetry
from tests.solvers.traces import test_itf
from tests.solvers.walks import test_walks

WAY_BACK = Killer(test_confirm_edges.test_a_long_way_back_is_found, (0,))
WAY_OUT = Killer(test_recoverability.test_the_way_out_is_restricted)
CAPPED = Killer(test_recoverability.test_a_way_out_that_a_cap_cuts_makes_its_state_uncertain)
BOUND = Killer(test_recoverability.test_a_way_that_a_bound_cuts_is_unknown)
CASES = Killer(test_recoverability.test_a_claim_without_cases_is_vacuous)
CUT = Killer(test_recoverability.test_a_cut_search_never_holds_and_may_refute)
FOLLOWS = Killer(test_recoverability.test_replay_looks_at_what_follows)
SORTED = Killer(test_symmetry.test_every_order_is_tried_or_sorted)
RENAMED = Killer(test_symmetry.test_words_that_name_elements_are_renamed)
REPLAY = Killer(test_explorer.test_replay_refuses_what_is_not_a_witness)
WITNESS = Killer(test_explorer.test_altered_parents_are_a_disagreement)
KEYS = Killer(test_explorer.test_programs_that_differ_have_different_keys)
KEYS_FOLLOW = Killer(test_confirm_edges.test_keys_of_compiled_code_follow_all_that_it_depends_on)
DAMAGED = Killer(test_explorer.test_damaged_code_is_compiled_again_with_a_warning, (1,))

LONG_WAY = Killer(test_recoverability.test_listed_steps_are_followed_where_sweeps_are_many)

RECOVERY = (
    Mutant("sweep-too-few", "The backward search ends after its second sweep.",
           "solvers.search.backward:BackwardSearch.run", "jobs[::-1] if self.sweeps % 2 == 1 else jobs):",
           "jobs[::-1] if self.sweeps % 2 == 1 else jobs) or self.sweeps == 2:", WAY_BACK),
    Mutant("listed-steps-once", "Marks flow along each listed step once.",
           "solvers.search.backward:Arcs.close", "while len(rose) and not stopped():", "if len(rose):", LONG_WAY),
    Mutant("listed-steps-elsewhere", "Listed steps lead to the state of the next shard.",
           "solvers.machine_code.backward_sweep:_emit_find", "b.add(b.mul(index, word(shards)), number)",
           "b.add(b.mul(index, word(shards)), b.and_(b.add(number, word(1)), word(shards - 1)))", LONG_WAY),
    Mutant("sweep-part-lost", "A sweep leaves out the last states of a shard.",
           "solvers.search.backward:BackwardSearch._jobs", "min(last, part + PART))",
           "max(part, min(last, part + PART) - 1))", WAY_BACK),
    Mutant("rises-of-one-job", "Of the marks that a thread raised only those of its last job count.",
           "solvers.search.backward:BackwardSearch._sweep", "changed[thread] +=", "changed[thread] =", WAY_BACK),
    Mutant("way-out-ignored", "Any action heals.",
           "solvers.program.program:recovery_action_bits", "if claim.allowed[row])", ")", WAY_OUT),
    Mutant("way-out-mask", "An action counts as a way out only if all its instances are.",
           "solvers.machine_code.backward_sweep:recovers_mask", "int.__or__", "int.__and__", WAY_BACK),
    Mutant("when-ignored", "A claim is about every state.",
           "solvers.machine_code.backward_sweep:emit_survey", "b.zext(scope.value(recovers.when), WORD)", "word(1)",
           CASES),
    Mutant("leaves-lost-beyond", "That a way leads beyond what was explored is not noted.",
           "solvers.machine_code.backward_sweep:_mark_of", "word(((1 << n) - 1) << n)", "word(0)", CUT),
    Mutant("leaves-lost-at-a-bound", "That a bound cut a way is not noted.",
           "solvers.machine_code.backward_sweep:emit_follow",
           "b.select(is_cut, word(claims << n), word(0))", "word(0)", BOUND),
    Mutant("crossings-of-a-part", "What a domain cuts of an action is not noted where a part of it is a way out.",
           "solvers.machine_code.transition:KindFunction._take", "in plan.crossings_of(self._number):",
           "in plan.crossings_of(self._number) * any(kind is self._kind for kind in self._program.kinds):", CAPPED),
    Mutant("cut-of-any-instance", "What a domain cuts of an action is noted though the way out may not use it.",
           "solvers.machine_code.backward_sweep:_cut_counters", "if not kind.unchecked or uniform:", "if True:",
           Killer(test_recoverability.test_what_the_way_out_may_not_use_makes_nothing_uncertain)),
    Mutant("leaves-does-not-flow", "That a way leads beyond flows no further back than a step.",
           "solvers.program.program:recovery_action_bits", "(1 << number) | (1 << n + number)", "1 << number",
           Killer(test_confirm_edges.test_what_lies_beyond_a_bound_is_unknown_from_far_off)),
    Mutant("uncertain-holds", "A state that recovers, if at all, beyond a bound counts as recovered.",
           "solvers.search.backward:_unrefuted", "if finding.uncertain is not None:",
           "if finding.uncertain is not None and False:", BOUND),
    Mutant("cut-recovers", "In a search that was cut, what was not found lost recovers.",
           "solvers.search.backward:recoverability_verdicts",
           "elif cut is not None:", "elif cut is not None and False:", CUT),
    Mutant("without-cases-holds", "A claim about no state holds.",
           "solvers.search.backward:_unrefuted", "if not finding.concerned:", "if not finding.concerned and False:",
           CASES),
    Mutant("without-need-holds", "A claim that every state satisfies holds instead of being vacuous.",
           "solvers.search.backward:_unrefuted", "if not finding.failing:", "if not finding.failing and False:", CASES),
    Mutant("deepest-lost", "The trace leads to a lost state that is not the shallowest.",
           "solvers.search.backward:BackwardSearch._shallowest", "return min(runs", "return max(runs", WAY_BACK),
)  # fmt: skip

SYMMETRY = (
    Mutant("not-the-least",
           "Sorting stops a pass too early, so that like states stay apart (sound, but more states).",
           "model.language.symmetry:SymmetryFields.canonical", "range(len(swaps), 0, -1)", "range(len(swaps), 1, -1)",
           SORTED),
    Mutant("merged-leaf-by-leaf",
           "The lesser of two states has the lesser of each leaf, so that unlike states are one.",
           "model.language.symmetry:_less", "else choose(less, x, y) for x, y",
           "else choose(x < y, x, y) if not _truth(x) else choose(less, x, y) for x, y", SORTED),
    Mutant("tuples-stay", "Tuples are not renamed with their elements.",
           "model.language.symmetry:SymmetryFields.image",
           "[moved[source] for source in self._sources[order]]", "moved", RENAMED,
           (SymmetryError,)),
    Mutant("members-stay", "Words that name an element are not renamed.",
           "model.language.symmetry:SymmetryFields._renamed",
           "if old != new:", "if old != new and False:", RENAMED, (SymmetryError,)),
    Mutant("sets-stay", "Sets of elements are not renamed.",
           "model.language.symmetry:SymmetryFields._renamed", 'choose(apply("member", value, old), 1 << new, 0)',
           'choose(apply("member", value, old), 1 << old, 0)', RENAMED, (SymmetryError,)),
    Mutant("symmetry-believed", "A declared symmetry is not looked into before the search.",
           "solvers.search.symmetry:check_before", "inspection.check(state)", "pass",
           Killer(test_symmetry.test_a_false_symmetry_is_caught, (6,))),
    Mutant("starts-unequal", "Initial states may tell the elements apart.",
           "solvers.search.symmetry:check_before", "!= initial:", "!= initial and False:",
           Killer(test_symmetry.test_a_false_symmetry_is_caught, (0,))),
    Mutant("symmetry-believed-after", "A declared symmetry is not looked into after the search.",
           "solvers.search.symmetry:check_after", "inspection.check(tuple(shard.states[int(index)].tolist()))", "pass",
           Killer(test_symmetry.test_a_false_symmetry_deep_down_is_caught)),
    Mutant("ways-unlike", "Ways out that tell the elements apart are not noticed.",
           "solvers.search.symmetry:Inspection._compare", "if expected[state][0] != bits:", "if False:",
           Killer(test_symmetry.test_a_false_symmetry_is_caught, (8,))),
    Mutant("compiled-unreduced", "The kernel reduces one successor of each state.",
           "solvers.machine_code.search_kernel:emit_reduced_step", 'b.icmp_unsigned("!=", place.get(), end)',
           'b.icmp_unsigned("==", place.get(), out)', RENAMED, (SymmetryError, IndexError)),
)  # fmt: skip

WITNESSES = (
    Mutant("replay-skipped", "A witness is reported though its property holds on ints.",
           "solvers.reference.confirm:confirm",
           'if bool(failing) == (claim.kind in ("sometimes", "happens")):', "if False:",
           REPLAY),
    Mutant("end-unchecked", "Ints may end in another state than the engine says.",
           "solvers.reference.confirm:confirm", "if end is not None and", "if False and", WITNESS),
    Mutant("start-unchecked", "A trace may begin in any state.",
           "solvers.reference.confirm:run", "if tuple(initial) not in program.initial:", "if False:", REPLAY),
    Mutant("guard-unchecked", "A step of a trace need not be enabled.",
           "solvers.reference.confirm:successor", "if not action.enabled(before, arguments):", "if False:", REPLAY),
    Mutant("domain-unchecked", "A step of a trace may leave the domain of a field.",
           "solvers.reference.confirm:successor",
           "program.layout.values(outcome.state)", "()", FOLLOWS, (DomainError,)),
    Mutant("deadlock-unchecked", "A deadlock is reported though an action is enabled.",
           "solvers.reference.confirm:_confirm_deadlock", "if action.enabled(state, arguments):", "if False:", REPLAY),
    Mutant("closure-unchecked", "A lost state is reported though ints recover from it.",
           "solvers.reference.confirm:closure", "if claim.holds(state):", "if False:",
           Killer(test_recoverability.test_ints_refuse_a_state_that_can_recover)),
    Mutant("itf-field-lost", "A trace document lacks the first field of the states.",
           "solvers.traces.itf:_variables",
           "for name in names}", "for name in names[1:]}",
           Killer(test_confirm_edges.test_a_trace_document_holds_every_field)),
    Mutant("itf-member-lost", "A trace document lacks a member of each set.",
           "solvers.traces.itf:_ordered", "for text in sorted(texts)]", "for text in sorted(texts)[1:]]",
           Killer(test_itf.test_equal_values_have_one_text)),
)  # fmt: skip

WALKS = (
    Mutant("starts-without-seed", "Where a run begins does not depend on the seed.",
           "solvers.walks.walker:Walker.run", 'draw(self.seed, number, "start")', 'draw(0, number, "start")',
           Killer(test_walks.test_the_seed_draws_where_a_run_begins)),
    Mutant("swarm-without-seed", "Which actions a run prefers does not depend on the seed.",
           "solvers.walks.walker:Walker.run", 'draw(self.seed, number, "swarm")', 'draw(0, number, "swarm")',
           Killer(test_walks.test_the_seed_draws_which_actions_a_run_prefers)),
    Mutant("steps-without-seed", "The steps of a run do not depend on the seed.",
           "solvers.walks.walker:Walker.run", 'draw(self.seed, number, "steps")', 'draw(0, number, "steps")',
           Killer(test_walks.test_the_seed_draws_the_steps)),
    Mutant("orders-rotated", "The orders in which instances are tried on ints are rotations of one.",
           "solvers.reference.interpreter:permutation", "step = 1 + step % max(1, prime - 1)", "step = 1",
           Killer(test_machine.test_shuffled_orders_are_fair, (3,))),
    Mutant("last-state-unjudged", "A walk does not judge the state in which it ends.",
           "solvers.walks.walker:_emit_walk", "        b.call(judge, [state, frame, at])\n",
           "        with b.if_then(b.icmp_unsigned('!=', at, steps)):\n            b.call(judge, [state, frame, at])\n",
           Killer(test_confirm_edges.test_the_last_state_of_a_walk_is_judged)),
    Mutant("walk-not-stuck", "A walk into a deadlock just ends.",
           "solvers.walks.walker:_emit_walk", "b.call(deadlock, [state, frame, at])", "pass",
           Killer(test_walks.test_deadlock_is_met)),
    Mutant("walk-of-another", "A walk takes another step than it notes.",
           "solvers.walks.walker:_emit_walk", "store(b, load(b, chosen.get(), size), path, at)",
           "store(b, load(b, scratch, size), path, at)",
           Killer(test_confirm_edges.test_walks_go_where_they_say, (1, 0))),
    Mutant("walk-occasion-early", "An occasion is told a step too early.",
           "solvers.walks.walks:_Totals.add", "divmod(int(run.claims[number]) - 1, NO_ACTION + 1)",
           "divmod(max(0, int(run.claims[number]) - 1 - (1 << 16)), NO_ACTION + 1)",
           Killer(test_confirm_edges.test_the_last_state_of_a_walk_is_judged)),
    Mutant("walk-goal-untold", "A goal that no walk reached is not told.",
           "solvers.walks.walks:_result", "sorted(plan.goals - totals.first.keys())",
           "sorted(plan.goals & totals.first.keys())",
           Killer(test_confirm_edges.test_the_last_state_of_a_walk_is_judged)),
    Mutant("walk-cut-untold", "Walks that were stopped count as all.",
           "solvers.walks.walks:_Totals.chunk", "if len(finished) < number:", "if False:",
           Killer(test_confirm_edges.test_a_chunk_of_walks_that_was_stopped_does_not_count)),
)  # fmt: skip

CACHES = (
    Mutant("code-of-another", "Compiled code is looked up without regard to the program.",
           "solvers.machine_code.compile:cache_key",
           "hashlib.sha256(program.digest().encode())", "hashlib.sha256()", KEYS),
    Mutant("code-of-another-llvm", "Compiled code is looked up without regard to the version of llvmlite.",
           "solvers.machine_code.compile:_machine", "llvmlite.__version__, ", "", KEYS_FOLLOW),
    Mutant("code-of-another-processor", "Compiled code is looked up without regard to the processor.",
           "solvers.machine_code.compile:cache_key", "text.update(_machine())", "pass", KEYS_FOLLOW),
    Mutant("code-of-another-engine", "Compiled code is looked up without regard to the sources of the engine.",
           "solvers.machine_code.compile:cache_key",
           "for source in _SOURCES:", "for source in _SOURCES[:0]:", KEYS_FOLLOW),
    Mutant("damage-unnoticed", "Compiled code is loaded without its checksum.",
           "solvers.machine_code.objectcache:ObjectCache.get",
           "!= _head(key, code):", "== b'':", DAMAGED),
)  # fmt: skip

ROWS = (
    Mutant("row-half-lost", "A row counts as checked though its proof did not come back.",
           "ci.verdicts.command:_Rows._receive", "[False] * self._proofs(row) or", "kinds[1:] or",
           Killer(test_check_processes.test_a_row_that_is_not_whole_is_an_error, (1,))),
    Mutant("row-of-another", "What a process found of one row counts for the row that it was given.",
           "ci.verdicts.command:_Rows._receive", "if not whole or any(part.row != row for part in parts):",
           "if not whole:", Killer(test_check_processes.test_a_row_that_is_not_whole_is_an_error, (4,))),
    Mutant("search-of-a-row-unheard", "What the search of a row refutes is proven of it.",
           "ci.verdicts.row:_compare", "isinstance(verdict.verdict, Refuted)", "False",
           Killer(test_numbers.test_what_is_proven_and_refuted_of_a_row_is_a_fault)),
    Mutant("number-unheard", "What is refuted with two brokers is proven for any number.",
           "ci.verdicts.proofs:explored_with", "SearchEvidence(others=(found,))", "SearchEvidence()",
           Killer(test_numbers.test_a_number_that_refutes_what_is_proven_for_any_is_a_fault)),
    Mutant("finite-proof-unheard", "What is not inductive with five brokers is proven for any number.",
           "ci.verdicts.proofs:proven_with", "if refuted:", "if False:",
           Killer(test_numbers.test_a_number_for_which_a_claim_is_not_inductive_is_a_fault)),
    Mutant("number-undecided-passes", "A number of brokers that was not decided agrees.",
           "ci.verdicts.proofs:_unexpected", "sorted({*EXPLORED, FINITE} - {*proof.numbers})", "()",
           Killer(test_numbers.test_a_number_that_is_not_decided_is_no_pass)),
    Mutant("lost-process-passes", "A process that ended is taken for one that was stopped.",
           "ci.verdicts.command:_Rows._receive", "if stop.wait(STOP_SECONDS):", "if True:",
           Killer(test_check_processes.test_a_process_that_ends_is_no_pass)),
)  # fmt: skip
