"""Mutants of searches on one machine: visited set, levels, audit, recovery, liveness, symmetry, orders, walks."""

from kraftcheck.solvers.reference.confirm import EngineDisagreement
from tests.ci.verdicts import test_cli_check
from tests.engine_mutants.mutant import Killer, Mutant
from tests.solvers.audit import test_audit
from tests.solvers.liveness import test_engine, test_lasso_memory, test_sweeps
from tests.solvers.program import test_pruning
from tests.solvers.reference import test_confirm
from tests.solvers.search import test_engine_edges, test_explorer, test_recoverability, test_symmetry, test_toys
from tests.solvers.search.orders import test_orders
from tests.solvers.smt.runs import test_bounded
from tests.solvers.walks import test_suspects, test_walks

LIFT = Killer(test_engine_edges.test_the_native_engine_finds_what_ints_find, (2,))
ONE_TAG = Killer(test_engine_edges.test_states_of_one_tag_are_told_apart, (0,))
COMMIT_3 = Killer(test_toys.test_two_phase_commit_has_its_known_number_of_states, (0,))
MEMORY = Killer(test_explorer.test_a_memory_limit_gives_incomplete_with_what_was_done)
UNDECLARED = Killer(test_pruning.test_behind_an_undeclared_bound_nothing_holds)
BOTH = Killer(test_audit.test_both_codes_of_a_long_search_are_audited)


def compiled_as_another(position: int) -> Killer:
    """The test that an operator which is compiled as another is found."""
    return Killer(test_audit.test_a_wrong_kernel_is_found, (position,))


SORTED = Killer(test_symmetry.test_every_order_is_tried_or_sorted)
REPLAY = Killer(test_explorer.test_replay_refuses_what_is_not_a_witness)
KEYS = Killer(test_explorer.test_programs_that_differ_have_different_keys)
DAMAGED = Killer(test_explorer.test_damaged_code_is_compiled_again_with_a_warning, (1,))
LONG_WAY = Killer(test_recoverability.test_findings_do_not_depend_on_room, (0,))
GRAPHS = Killer(test_sweeps.test_the_sweeps_say_what_components_say, (0,))
FULL = Killer(test_lasso_memory.test_what_a_full_disk_took_of_a_block_harms_no_other)
EACH = Killer(test_engine.test_fairness_is_of_the_action_or_of_each_instance, (1,))
NO_LASSO = Killer(test_engine.test_a_lasso_that_is_none_is_not_confirmed)
SHORT_IDLE = Killer(test_bounded.test_the_lift_has_the_lassos_of_the_native_engine, (0,))
WEAK_SUSPECTS = Killer(test_suspects.test_what_is_broken_is_suspected_and_nothing_else, (2,))
FIRST, SECOND, THIRD, FOURTH, FIFTH = (
    Killer(test_orders.test_verdicts_are_those_of_all_orders, (place,)) for place in range(5)
)

MUTANTS = (
    Mutant("key-truncated", "States are compared by their first word only.",
           "solvers.machine_code.visited_table:_insert_record",
           "b.same(state, b.state(candidate, len(state)))",
           "b.same(state[:1], b.state(candidate, 1))", ONE_TAG),
    Mutant("shards-share-rows", "All shards write their states to the rows of the first.",
           "solvers.search.visited:VisitedSet.__init__", "states[n]", "states[0]", COMMIT_3),
    Mutant("wrong-shard-backward", "The backward search looks for successors in another shard.",
           "solvers.machine_code.graph_kernels:_emit_locate", "number = shard_of_hash(b, hashed, shards)",
           "number = b.xor(shard_of_hash(b, hashed, shards), 1)",
           Killer(test_recoverability.test_the_way_out_is_restricted)),
    Mutant("filter-begins-with-zero", "The filter begins with the state of zeros, which nobody has visited.",
           "solvers.search.visited:ThreadBuffers.__init__", "np.tile(initial, geometry.filter_slots)",
           "np.tile(initial * np.uint64(0), geometry.filter_slots)", LIFT),
    Mutant("claims-overwritten", "The last occasion of a claim is told instead of the first.",
           "solvers.search.levels:Search._note_claims", "self.claims.setdefault(claim, int(piece.claims[claim]) - 1)",
           "self.claims[claim] = int(piece.claims[claim]) - 1",
           Killer(test_toys.test_hasty_commit_is_refuted_by_a_shortest_trace)),
    Mutant("full-shard-takes-a-batch", "A shard that is full keeps what the last batch brought.",
           "solvers.search.visited:VisitedShard.insert", "self.control[COUNT] = self.room", "pass",
           Killer(test_explorer.test_a_full_shard_holds_what_it_has_room_for)),
    Mutant("cut-holds", "What a cut search did not refute holds.",
           "solvers.exploration.explore:_verdict", "elif reason is not None:", "elif reason is not None and False:",
           MEMORY),
    Mutant("undeclared-as-declared", "A bound without a cap is taken as meant.",
           "solvers.program.trace:pruning_fault", "if not pruning.cap]", "if not pruning.cap and strict]",
           UNDECLARED),
    Mutant("audit-compares-nothing", "A state passes the audit unseen.",
           "solvers.audit.comparison:StateComparison.state", "return self._compare(state, report, instances)",
           "return len(report.after)", compiled_as_another(0)),
    Mutant("audit-of-better-code", "The code that a long search began with is not audited.",
           "solvers.exploration.explore:explore", "compiler.kernels", "compiler.kernels[-1:]", BOTH),
    Mutant("listed-steps-of-one-class", "Along a listed step what flows along the first class of steps rises.",
           "solvers.liveness.fair:Sweeps._follow", "else (marking.flows, kinds)",
           "else (marking.flows, np.zeros_like(kinds))", LONG_WAY),
    Mutant("merged-leaf-by-leaf",
           "The lesser of two states has the lesser of each leaf, so that unlike states are one.",
           "model.language.symmetry:_less", "else choose(less, x, y) for x, y",
           "else choose(x < y, x, y) if not _truth(x) else choose(less, x, y) for x, y", SORTED),
    Mutant("symmetry-believed", "A declared symmetry is not looked into before the search.",
           "solvers.search.symmetry:check_before", "inspection.check(state)", "pass",
           Killer(test_symmetry.test_a_false_symmetry_is_caught, (6,))),
    Mutant("replay-skipped", "A witness is reported though its property holds on ints.",
           "solvers.reference.confirm:confirm",
           'if bool(failing) == (claim.kind in ("sometimes", "happens")):', "if False:",
           REPLAY),
    Mutant("guard-unchecked", "A step of a trace need not be enabled.",
           "solvers.reference.confirm:successor", "if not action.enabled(before, arguments):", "if False:", REPLAY),
    Mutant("steps-without-seed", "The steps of a run do not depend on the seed.",
           "solvers.walks.walker:Walker.run", 'draw(self.seed, number, "steps")', 'draw(0, number, "steps")',
           Killer(test_walks.test_the_seed_draws_the_steps)),
    Mutant("walk-of-another", "A walk takes another step than it notes.",
           "solvers.walks.walker:_emit_walk", "b.put(b.get(chosen.get(), size), path, at)",
           "b.put(b.get(scratch, size), path, at)",
           Killer(test_confirm.test_walks_go_where_they_say, (1, 0))),
    Mutant("code-of-another", "Compiled code is looked up without regard to the program.",
           "solvers.machine_code.compile:cache_key",
           "hashlib.sha256(program.digest().encode())", "hashlib.sha256()", KEYS),
    Mutant("damage-unnoticed", "Compiled code is loaded without its checksum.",
           "solvers.machine_code.objectcode:ObjectCache.get",
           "!= _head(key, code):", "== b'':", DAMAGED),
    Mutant("row-half-lost", "A row counts as checked though its proof did not come back.",
           "ci.verdicts.command:_check_whole", "[False] * _proofs(row, planned) or", "kinds[1:] or",
           Killer(test_cli_check.test_a_row_that_is_not_whole_is_an_error, (1,))),
    Mutant("lost-process-passes", "A process that ended is taken for one that was stopped.",
           "ci.run.fanout:_received", "if stop.wait(STOP_SECONDS if isinstance(error, LostProcess) else 0):",
           "if True:",
           Killer(test_cli_check.test_a_process_that_ends_is_no_pass)),
    Mutant("strong-is-weak", "Strong fairness is judged as weak.",
           "solvers.liveness.fair:Sweeps._satisfiable", "strong, weak = kind(group.strong), "
           "kind(group.every & ~group.strong)", "strong, weak = kind(0), kind(group.every)", GRAPHS),
    Mutant("edge-file-after-a-full-disk", "A block of edges follows what a full disk took of the one before.",
           "solvers.liveness.graph:EdgeFile.put", "os.pwrite(file.fileno(), written, self.size)",
           "os.pwrite(file.fileno(), written, os.lseek(file.fileno(), 0, os.SEEK_END))", FULL),
    Mutant("instances-as-one", "Fairness of each instance is taken for fairness of all together.",
           "solvers.program.trace:_instances", "if steps.covers(kind.action.name, arguments)",
           "if kind.action.name in steps.fairness.actions", EACH, (EngineDisagreement,)),
    Mutant("unfair-lasso-confirmed", "Ints confirm a cycle that breaks fairness.",
           "solvers.reference.confirm:lasso_trace",
           "not (one.taken or (one.always if steps_.fairness.strong else one.disabled))", "False", NO_LASSO),
    Mutant("halt-forgotten", "A behaviour that stays where it is is no lasso.",
           "solvers.smt.runs.bounded:Lassos.broken", "[disjunction(begins), *closed",
           "[disjunction(begins[:-1]), *closed", SHORT_IDLE),
    Mutant("suspect-unconfirmed", "Any cycle without the goal is suspected, fair or not.",
           "solvers.walks.walks:_Search._breaks", "return False", "return True", WEAK_SUSPECTS),
    Mutant("steps-unread", "What a property says of a step is not among what the step reads.",
           "solvers.search.orders:_Tables.footprint", "(*one.guard, *one.steps)", "one.guard", FIFTH),
    Mutant("visited-is-new", "A step to a state that is expanded already counts as one to a new state (C3).",
           "solvers.machine_code.search_kernel:_emit_is_new", 'b.icmp_unsigned("==", found, 0)',
           'b.icmp_unsigned("!=", found, -1)', FIRST),
)  # fmt: skip
