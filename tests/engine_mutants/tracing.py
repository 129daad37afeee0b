"""Mutants of terms, tracing, premises and machine code."""

from tests.ci.prove import test_cli_prove
from tests.engine_mutants.mutant import Killer, Mutant
from tests.model.language import test_terms
from tests.model.language.collections import test_failures
from tests.solvers.machine_code import test_lower
from tests.solvers.program import test_program
from tests.solvers.search import test_engine_edges

LLVM_DIVISION = Killer(test_lower.test_llvm_divides_as_ints_do)
ENDS = Killer(test_lower.test_llvm_agrees_with_ints_on_every_operator_at_the_ends)
LIFT = Killer(test_engine_edges.test_the_native_engine_finds_what_ints_find, (2,))
HOTEL = Killer(test_engine_edges.test_the_native_engine_finds_what_ints_find, (3,))
DIGEST = Killer(test_program.test_the_digest_follows_every_part)


def mixed(position: int) -> Killer:
    """The test of members of two classes that meet."""
    return Killer(test_failures.test_members_of_two_classes_never_meet, (position,))


def interval(position: int) -> Killer:
    """The test of the interval of an operator."""
    return Killer(test_terms.test_intervals_hold_every_value, (position,))


CUT = Killer(test_cli_prove.test_a_proof_looks_for_what_the_claim_speaks_of, (7,))

MUTANTS = (
    Mutant("interval-of-sub", "The interval of a difference takes the lower end of what is subtracted.",
           "model.language.terms:interval", "return a_lo - b_hi, a_hi - b_lo", "return a_lo - b_lo, a_hi - b_lo",
           interval(1)),
    Mutant("quotient-towards-0", "Machine code rounds a quotient towards 0.",
           "solvers.machine_code.lower:_divided", "return b.select(apart, b.sub(quotient, 1), quotient)",
           "return quotient", LLVM_DIVISION),
    Mutant("claim-loses-a-part", "Of a claim's conjuncts only the last counts.",
           "solvers.program.verdict:Truths._conjunction", 'self.graph.apply("and", result,',
           'self.graph.apply("and", self.graph.constant(True),', LIFT),
    Mutant("digest-without-tables", "Programs that differ by argument values share compiled code.",
           "solvers.program.program:Program.digest", "{kind.unchecked} {kind.table}", "{kind.unchecked}", DIGEST),
    Mutant("compared-unsigned", "Machine code compares words as if none were negative.",
           "solvers.machine_code.lower:lower_operator", 'return b.icmp_signed("<", *values)',
           'return b.icmp_unsigned("<", *values)', LIFT),
    Mutant("member-wraps", "Machine code takes an index beyond 63 modulo 64.",
           "solvers.machine_code.lower:_member", "at.lo >= MASK_BITS - 64 and at.hi < 64", "True", ENDS),
    Mutant("mask-block-lost", "Instances of an action beyond a multiple of 64 never happen.",
           "solvers.machine_code.transition:KindFunction._emit", "-(-self._rows // ROWS_PER_MASK)",
           "max(1, self._rows // ROWS_PER_MASK)", HOTEL),
    Mutant("domain-check-signed", "A step below the bottom of a domain is taken.",
           "solvers.machine_code.transition:KindFunction._leaves_domain",
           'b.icmp_unsigned(">"', 'b.icmp_signed(">"', LIFT),
    Mutant("foreign-member", "Members of two Enums are equal where their numbers are.",
           "model.language.symbolic:clash", "one is None or", "True or", mixed(6)),
    Mutant("doubt-in-a-branch", "A doubt in a branch that may be taken counts for nothing.",
           "solvers.program.premises:_right",
           "whole = _both(parts[0], graph.lift(graph.ite(one.args[0], *parts[1:])))",
           "whole = parts[0]", Killer(test_failures.test_what_may_be_lost_is_not_read, (0, 10))),
    Mutant("unshown-holds", "A proven claim holds where no search reaches its premise.",
           "solvers.smt.verdicts:SearchEvidence.reaches", "claim in one.premises_shown or", "True or", CUT),
)  # fmt: skip
