"""Mutants of what is left out and of the audit: bounds of domains, their caps, what is compared with ints."""

from __future__ import annotations

from tests.engine_mutants.mutant import Killer, Mutant
from tests.solvers.audit import test_audit
from tests.solvers.program import test_pruning

UNDECLARED = Killer(test_pruning.test_behind_an_undeclared_bound_nothing_holds)
BELOW = Killer(test_pruning.test_a_cap_says_nothing_of_the_lower_bound, (0,))
STRICT = Killer(test_pruning.test_strict_takes_no_cap)
LOST_STATE = Killer(test_audit.test_a_lost_state_is_found)
BOTH = Killer(test_audit.test_both_codes_of_a_long_search_are_audited)
ASKED_AGAIN = Killer(test_audit.test_a_system_that_changes_between_calls_is_found)


def compiled_as_another(position: int) -> Killer:
    """The test that an operator which is compiled as another is found."""
    return Killer(test_audit.test_a_wrong_kernel_is_found, (position,))


PRUNING = (
    Mutant("side-swapped", "A transition that leaves a domain is counted on the other side.",
           "solvers.machine_code.transition:KindFunction._is_side", "self._b.not_(below) if crossing.above else below",
           "below if crossing.above else self._b.not_(below)", BELOW),
    Mutant("undeclared-as-declared", "A bound without a cap is taken as meant.",
           "solvers.program.trace:pruning_fault", "if not pruning.cap]", "if not pruning.cap and strict]",
           UNDECLARED),
    Mutant("cap-below", "A cap declares the lower bound too.",
           "solvers.machine_code.transition:prunings",
           'cap_of(slot.domain) if above else ""', "cap_of(slot.domain)", BELOW),
    Mutant("strict-takes-caps", "Strictly, a cap that left a step out still counts as meant.",
           "solvers.program.trace:pruning_fault", "for pruning in pruned if strict]",
           "for pruning in pruned[:0] if strict]", STRICT),
)  # fmt: skip

AUDIT = (
    Mutant("audit-compares-nothing", "A state passes the audit unseen.",
           "solvers.audit.comparison:Comparison.state", "return self._compare(state, report, instances)",
           "return len(report.after)", compiled_as_another(0)),
    Mutant("audit-without-successors", "What a transition leads to is not compared.",
           "solvers.audit.comparison:Comparison._compare_instance",
           "if packed != compiled:", "if False:", compiled_as_another(1)),
    Mutant("audit-without-claims", "Truths of properties are not compared.",
           "solvers.audit.comparison:Comparison._same", "if bool(on_ints) != compiled:", "if False:",
           compiled_as_another(2)),
    Mutant("audit-without-steps", "Properties of transitions are not compared.",
           "solvers.audit.comparison:Comparison._compare_step", "if first < instance:", "if True:",
           compiled_as_another(4)),
    Mutant("audit-without-cuts", "What a domain cuts is not compared.",
           "solvers.audit.comparison:Comparison._compare_cuts",
           "if on_ints > compiled or (exhaustive and on_ints != compiled):", "if False:",
           Killer(test_pruning.test_the_audit_compares_the_sides, (0,))),
    Mutant("audit-without-all-cuts", "Cuts that ints do not have are not noticed.",
           "solvers.audit.comparison:Comparison._compare_cuts", "(exhaustive and on_ints != compiled)", "False",
           Killer(test_pruning.test_the_audit_compares_the_sides, (1,))),
    Mutant("audit-unvisited", "A successor that the search did not visit is not missed.",
           "solvers.audit.comparison:Comparison._compare_instance",
           "if self.visited is not None and self.program.orders is None and not self.visited(packed):",
           "if False:", LOST_STATE),
    Mutant("audit-of-better-code", "The code that a long search began with is not audited.",
           "solvers.audit.audit:VisitedSpace.audit",
           "else [first, search.kernel]", "else [search.kernel]", BOTH),
    Mutant("audit-without-start", "The initial states are not compared.",
           "solvers.audit.audit:audit_space", "auditor.comparison.initial(INITIAL)", "pass", ASKED_AGAIN),
)  # fmt: skip
