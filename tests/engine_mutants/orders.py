"""Mutants of the reduction of orders, and of the proof of symmetries."""

from __future__ import annotations

from tests.engine_mutants.mutant import Killer, Mutant
from tests.solvers.search.orders import test_bits, test_commuting, test_orders
from tests.solvers.search.symmetries import test_proof

FIRST, SECOND, THIRD, FOURTH, FIFTH = (
    Killer(test_orders.test_verdicts_are_those_of_all_orders, (place,)) for place in range(5)
)
CUT = Killer(test_orders.test_a_step_that_a_domain_cuts_depends_on_what_decides_that)
MASK = {"mask": lambda folder: test_bits.eight_processes()}
MASKS = Killer(test_bits.test_adding_and_removing_a_process_changes_one_bit_and_reads_none, fixtures=MASK)
MEMBERS = Killer(test_bits.test_a_member_reads_one_bit_of_a_mask, fixtures=MASK)
REFUSED = Killer(test_orders.test_what_is_about_all_orders_is_refused)
GUARDS = Killer(test_orders.test_guards_are_not_reported_of_a_reduced_search)
COMMUTE = Killer(test_commuting.test_what_does_not_commute_is_found, (0,))
DISTURB = Killer(test_commuting.test_what_does_not_commute_is_found, (1,))

START, GUARD, STATE, STEP, WAY = (
    Killer(test_proof.test_what_tells_elements_apart_is_refused, (place,)) for place in (0, 1, 4, 5, 8)
)
LATE = Killer(test_proof.test_what_tells_elements_apart_is_refused, (3,))
FORGETS = Killer(test_proof.test_a_renaming_that_forgets_is_refused)
STRANGER = Killer(test_proof.test_a_step_that_leaves_a_domain_at_one_element_only_is_refused)
CAPS = Killer(test_proof.test_bounds_with_different_reasons_are_refused)

INDEPENDENCE = (
    Mutant("reads-forgotten", "An instance does not depend on those that write what it reads (C1).",
           "solvers.search.orders.independence:_Tables.orders", "writers.touching(one.reads) | ", "", SECOND),
    Mutant("writes-forgotten", "An instance does not depend on those that read what it writes (C1).",
           "solvers.search.orders.independence:_Tables.orders", " | readers.touching(one.writes)", "", FIRST),
    Mutant("nothing-enables", "No instance is said to make a false conjunct true (C1).",
           "solvers.search.orders.independence:_Tables.orders",
           "writers.touching(self.reader.read([(part, ALL)])) for part", "0 for part", SECOND),
    Mutant("all-invisible", "Steps that change what an invariant reads are taken for invisible (C2).",
           "solvers.search.orders.independence:_Tables.orders", "for term in self._observed())", "for term in ())",
           FOURTH),
    Mutant("steps-unread", "What a property says of a step is not among what the step reads.",
           "solvers.search.orders.independence:_Tables.footprint", "(*one.guard, *one.steps)", "one.guard", FIFTH),
    Mutant("cut-unread", "What decides whether a domain cuts a step is not among what the step reads.",
           "solvers.search.orders.independence:_Tables.footprint", "ALL if place in one.unchecked else changed",
           "changed", CUT),
    Mutant("recovery-by-some-orders", "Properties that ask for recovery are judged in some orders.",
           "solvers.search.orders.independence:by_orders", "one in program.recovers)", "one in ())", REFUSED),
    Mutant("removal-changes-nothing", "A step that clears bits of a mask is said to change none.",
           "solvers.search.orders.independence:BitReader._kept_of", "return of[0] & self.zeros[term.args[1].index]",
           "return of[0]", MASKS),
    Mutant("member-reads-nothing", "The bit that a membership asks for is not read.",
           "solvers.search.orders.independence:BitReader._wanted_of",
           "return _places(term.args[1]), ALL", "return 0, ALL", MEMBERS),
)  # fmt: skip

SELECTION = (
    Mutant("visited-is-new", "A step to a state that is expanded already counts as one to a new state (C3).",
           "solvers.machine_code.search_kernel:_emit_is_new", 'b.icmp_unsigned("==", found, word(0))',
           'b.icmp_unsigned("!=", found, word(-1))', FIRST),
    Mutant("level-without-end", "The states of the level at work count as those of the next (C3).",
           "solvers.search.orders.blocks:OrderBlocks.begin_level", "self.ends[:] = ends", "pass", FIRST),
    Mutant("true-conjunct", "Of a disabled instance those are followed that make a true conjunct true.",
           "solvers.machine_code.search_kernel:_emit_rows",
           '"==", load(b, truths, part)', '"!=", load(b, truths, part)', THIRD),
    Mutant("guards-of-some-orders", "Guards that were never false in a reduced search are reported.",
           "solvers.exploration.explore:never_met", "kernel.program.orders is not None", "False", GUARDS),
    Mutant("orders-unaudited", "The audit does not compare where two orders lead.",
           "solvers.audit.comparison:find_dependence", "last.after != also.after", "False", COMMUTE),
    Mutant("enabling-unaudited", "The audit does not notice that a step enables or disables another.",
           "solvers.audit.comparison:find_dependence", "still != enabled or (after is None) != (its is None)",
           "False", DISTURB),
)  # fmt: skip

PROVEN_SYMMETRY = (
    Mutant("starts-unproven", "Initial states may tell elements apart.",
           "solvers.smt.symmetry_proof:prove_symmetries", "prover.start(entry, order)", "pass", START),
    Mutant("guards-unproven", "An instance and its image need not be enabled alike.",
           "solvers.smt.symmetry_proof:_Prover._is_image",
           "all_of(like, any_of(negate(enabled), all_of(*same)))",
           "all_of(any_of(negate(enabled), all_of(*same)))", GUARD),
    Mutant("properties-unproven", "Properties of a state may tell elements apart.",
           "solvers.smt.symmetry_proof:_Prover.swap", "if not self._holds(here == there):", "if False:", STATE),
    Mutant("step-properties-unproven", "Properties of a step may tell elements apart.",
           "solvers.smt.symmetry_proof:_Prover._is_image",
           "zip((*after, *here), (*other.after, *there)", "zip(after, other.after", STEP),
    Mutant("ways-unproven", "The way out of a property may tell elements apart.",
           "solvers.smt.symmetry_proof:_Prover._is_image",
           "claim.allowed[number] != claim.allowed[other.number]", "False", WAY),
    Mutant("renaming-forgets", "Renaming twice need not give the state back.",
           "solvers.smt.symmetry_proof:_Prover.swap", "all_of(*inside, *back)", "all_of(*inside)", FORGETS),
    Mutant("domains-unproven", "A step may leave a domain where its image does not.",
           "solvers.smt.symmetry_proof:_Prover._is_image",
           "same.append(graph.lift(self._stays(own)) == self._stays(other))", "pass", STRANGER),
    Mutant("caps-unlike", "Items of one tuple may have bounds that are declared, and not.",
           "solvers.smt.symmetry_proof:prove_symmetries", "_check_caps(program)", "pass", CAPS),
    Mutant("undecided-is-proven", "What Z3 refutes is proven.",
           "solvers.smt.symmetry_proof:_Prover._asked", "return bool(answer == z3.unsat)", "return True", LATE),
)  # fmt: skip
