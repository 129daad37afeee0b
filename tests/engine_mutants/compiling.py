"""Mutants of what stands before the engines: terms, intervals, tracing, argument tables, lowering, compiled kinds."""

from __future__ import annotations

from tests.engine_mutants.mutant import Killer, Mutant
from tests.model.language import test_terms, test_terms_small
from tests.model.language.collections import test_failures
from tests.solvers.machine_code import test_lower
from tests.solvers.program import test_program
from tests.solvers.search import test_engine_edges, test_toys
from tests.solvers.smt import test_proof_edges

ROLES = Killer(test_terms_small.test_the_digest_follows_the_role_of_each_term)
ONE_TERM = Killer(test_terms.test_equal_expressions_are_one_term)
CONSTANTS = Killer(test_terms.test_constants_fold_to_python_values)
TRUTHS = Killer(test_terms.test_truths_fold)
ARMS = Killer(test_terms.test_a_comparison_of_a_choice_compares_its_arms)
OWN_CHOICE = Killer(test_terms.test_a_choice_inside_its_own_choice_is_decided)
LLVM_DIVISION = Killer(test_lower.test_llvm_divides_as_ints_do)
ENDS = Killer(test_lower.test_llvm_agrees_with_ints_on_every_operator_at_the_ends)
LIFT = Killer(test_engine_edges.test_the_native_engine_finds_what_ints_find, (2,))
HOTEL = Killer(test_engine_edges.test_the_native_engine_finds_what_ints_find, (3,))
COUNTER = Killer(test_engine_edges.test_the_native_engine_finds_what_ints_find, (6,))
COMMIT = Killer(test_toys.test_two_phase_commit_has_its_known_number_of_states, (0,))
DIGEST = Killer(test_program.test_the_digest_follows_every_part)


def losing(position: int) -> Killer:
    """The test of a step that loses something, and then does what would undo it."""
    return Killer(test_failures.test_what_is_lost_is_not_undone_in_the_same_step, (position,))


def mixed(position: int) -> Killer:
    """The test of members of two classes that meet."""
    return Killer(test_failures.test_members_of_two_classes_never_meet, (position,))


def interval(position: int) -> Killer:
    """The test of the interval of an operator."""
    return Killer(test_terms_small.test_intervals_hold_every_value, (position,))


def folding(position: int) -> Killer:
    """The test of what an operator folds to."""
    return Killer(test_terms_small.test_folding_changes_no_value, (position,))


TERMS = (
    Mutant("interval-of-add", "The interval of a sum lacks its largest value.",
           "model.language.terms:interval", "return a_lo + b_lo, a_hi + b_hi", "return a_lo + b_lo, a_hi + b_hi - 1",
           interval(0)),
    Mutant("interval-of-sub", "The interval of a difference takes the lower end of what is subtracted.",
           "model.language.terms:interval", "return a_lo - b_hi, a_hi - b_lo", "return a_lo - b_lo, a_hi - b_lo",
           interval(1)),
    Mutant("interval-of-band", "The interval of an intersection ends at half of the smaller mask.",
           "model.language.terms:interval",
           "return 0, min(a_hi, b_hi)", "return 0, min(a_hi, b_hi) // 2", interval(2)),
    Mutant("interval-of-bor", "The interval of a union ends at the larger mask.",
           "model.language.terms:interval", "(1 << max(a_hi.bit_length(), b_hi.bit_length())) - 1", "max(a_hi, b_hi)",
           interval(3)),
    Mutant("interval-of-bclear", "The interval of a difference of sets ends below the first set.",
           "model.language.terms:interval", "return 0, a_hi\n", "return 0, max(0, a_hi - 1)\n", interval(4)),
    Mutant("interval-of-single", "The interval of a set of one begins at one, though the index may be outside.",
           "model.language.terms:interval", "(1 << a_lo if inside else 0)", "(1 << max(a_lo, 0))", interval(5),
           (ValueError,)),
    Mutant("interval-of-count", "The interval of a size is one too short.",
           "model.language.terms:interval", "return (1 if a_lo > 0 else 0), a_hi.bit_length()\n",
           "return (1 if a_lo > 0 else 0), max(1, a_hi.bit_length() - 1)\n", interval(6)),
    Mutant("interval-of-lowest", "The interval of a lowest member forgets that there may be none.",
           "model.language.terms:interval", "return (0 if a_lo > 0 else -1)", "return 0", interval(7)),
    Mutant("key-without-value", "Terms that differ by their constant only are one term.",
           "model.language.terms:Graph.intern", "(op, value, truth, kind, *", "(op, truth, kind, *", CONSTANTS),
    Mutant("key-without-sort", "A truth and a word of the same constant are one term.",
           "model.language.terms:Graph.intern", "(op, value, truth, kind, *", "(op, value, kind, *",
           Killer(test_terms_small.test_a_truth_is_not_the_word_of_its_value, (0,))),
    Mutant("key-without-order", "The arguments of every operator may change places.",
           "model.language.terms:Graph.apply", "if op in COMMUTATIVE and", "if len(args) == 2 and", ONE_TERM),
    Mutant("neutral-truth", "A conjunction with true is true, a disjunction with false is false.",
           "model.language.terms:_folded_truth", 'return a if bool(b.value) == (op == "and") else bool(b.value)',
           "return bool(b.value)", TRUTHS),
    Mutant("contradiction", "`p and not p` folds to true.",
           "model.language.terms:_folded_truth", 'return op == "or"', "return True", TRUTHS),
    Mutant("mask-folded", "An intersection with a mask that is too small is folded to the other operand.",
           "model.language.terms:_folded_word", "(1 << b.value.bit_length()) - 1 >= a.hi >= a.lo >= 0",
           "(1 << b.value.bit_length()) - 1", folding(2)),
    Mutant("zero-added", "A sum with a constant is folded as with 0.",
           "model.language.terms:_folded_word", 'case "bclear" | "add" | "sub" if zero:',
           'case "bclear" | "add" | "sub" if zero or one:', folding(0)),
    Mutant("product-with-1", "A product with 0 is folded to the other factor.",
           "model.language.terms:_folded_word", 'case "mul" if zero:\n            return 0',
           'case "mul" if zero:\n            return a', folding(8)),
    Mutant("quotient-by-2", "A quotient by 0 or 1 alone is folded; one by 2 is folded too.",
           "model.language.terms:_folded_word", "for number in (0, 1))", "for number in (0, 2))", folding(9)),
    Mutant("interval-of-product", "The interval of a product forgets the ends of different signs.",
           "model.language.terms:interval", "for b in (b_lo, b_hi)]", "for b in (b_hi,)]", interval(8)),
    Mutant("interval-of-rest", "A remainder by a negative divisor may be positive.",
           "model.language.terms:_remainders", "else divisor[0] + 1, 0)", "else 0, -divisor[0] - 1)", interval(10)),
    Mutant("quotient-towards-0", "Machine code rounds a quotient towards 0.",
           "solvers.machine_code.lower:_divided", "return b.select(apart, b.sub(quotient, word(1)), quotient)",
           "return quotient", LLVM_DIVISION),
    Mutant("rest-of-the-dividend", "Machine code gives a remainder the sign of the dividend.",
           "solvers.machine_code.lower:_divided", "return b.select(apart, b.add(rest, divisor), rest)", "return rest",
           LLVM_DIVISION),
    Mutant("self-cleared", "A set without itself is folded to itself.",
           "model.language.terms:_folded_word", 'case "bclear" | "sub" if a is b:\n            return 0',
           'case "bclear" | "sub" if a is b:\n            return a',
           Killer(test_terms_small.test_folding_of_a_word_with_itself_changes_no_value, (4,))),
    Mutant("member-of-some", "An index that may be negative is folded to no member.",
           "model.language.terms:fold", "False if b.hi < 0 or", "False if b.lo < 0 or", folding(7)),
    Mutant("less-folded", "A comparison of intervals that touch is folded to true.",
           "model.language.terms:_compared", "return True if a.hi < b.lo", "return True if a.hi <= b.lo", folding(6)),
    Mutant("not-less-folded", "A comparison of intervals that overlap in their ends is folded to false.",
           "model.language.terms:_compared", "False if a.lo >= b.hi", "False if a.lo + 1 >= b.hi", folding(6)),
    Mutant("equal-folded", "Words whose intervals touch are folded to different.",
           "model.language.terms:_compared",
           "if a.hi < b.lo or b.hi < a.lo:", "if a.hi <= b.lo or b.hi <= a.lo:", folding(5)),
    Mutant("truth-compared", "A truth that equals false is folded to itself.",
           "model.language.terms:_compared", "return a if b.value else graph.negate(a)", "return a",
           Killer(test_terms_small.test_truths_that_are_compared_keep_their_values)),
    Mutant("arm-compared", "A comparison of a choice compares one arm twice.",
           "model.language.terms:_compared", 'graph.apply("eq", otherwise, b)', 'graph.apply("eq", then, b)', ARMS),
    Mutant("choice-in-choice", "A choice within its own choice gives the other arm.",
           "model.language.terms:Graph.ite", "return self.ite(condition, a.args[1], b)",
           "return self.ite(condition, a.args[2], b)", OWN_CHOICE),
    Mutant("choice-negated", "A choice by a negation keeps its arms.",
           "model.language.terms:Graph.ite", "return self.ite(condition.args[0], b, a)",
           "return self.ite(condition.args[0], a, b)", TRUTHS),
    Mutant("interval-of-choice", "The interval of a choice is that of its first arm.",
           "model.language.terms:Graph.ite", "min(a.lo, b.lo), max(a.hi, b.hi)", "a.lo, a.hi",
           Killer(test_proof_edges.test_z3_reads_every_truth_as_ints_do, (5,))),
)  # fmt: skip

TRACING = (
    Mutant("top-unchecked", "A field that may pass its top by one only is not checked.",
           "solvers.program.trace:_trace_action", "term.hi > slot.domain.hi", "term.hi > slot.domain.hi + 1", LIFT),
    Mutant("bottom-unchecked", "A field that may pass its bottom by one only is not checked.",
           "solvers.program.trace:_trace_action", "term.lo < slot.domain.lo", "term.lo < slot.domain.lo - 1", LIFT),
    Mutant("claim-loses-a-part", "Of a claim's conjuncts only the last counts.",
           "solvers.program.verdict:Truths._conjunction", 'self.graph.apply("and", result,',
           'self.graph.apply("and", self.graph.constant(True),', LIFT),
    Mutant("argument-interval", "The interval of an argument lacks its largest value.",
           "solvers.program.parts:_variable", "min(numbers), max(numbers)",
           "min(numbers), max(min(numbers), max(numbers) - 1)", LIFT),
    Mutant("digest-without-tables", "Programs that differ by argument values share compiled code.",
           "solvers.program.program:Program.digest", "{kind.unchecked} {kind.table}", "{kind.unchecked}", DIGEST),
    Mutant("digest-without-guards", "Programs that differ by the role of a guard share compiled code.",
           "solvers.program.program:Program.digest", "kind.guard.values(), kind.after", "kind.after", ROLES),
    Mutant("digest-without-claims", "Programs that differ by their claims share compiled code.",
           "solvers.program.program:Program.digest",
           "(self.state, self.always_terms, self.sometimes_terms, (self.quiescent,))", "(self.state,)", DIGEST),
)  # fmt: skip

LOWERING = (
    Mutant("compared-unsigned", "Machine code compares words as if none were negative.",
           "solvers.machine_code.lower:lower_operator", 'return b.icmp_signed("<", *values)',
           'return b.icmp_unsigned("<", *values)', LIFT),
    Mutant("member-wraps", "Machine code takes an index beyond 63 modulo 64.",
           "solvers.machine_code.lower:_member", "at.lo >= MASK_BITS - 64 and at.hi < 64", "True", ENDS),
    Mutant("single-wraps", "Machine code takes the index of a set of one modulo 64.",
           "solvers.machine_code.lower:_single", "if at.lo >= 0 and at.hi < MASK_BITS:", "if True:", ENDS),
    Mutant("lowest-of-none", "Machine code gives 64 as the lowest member of no set.",
           "solvers.machine_code.lower:lower_operator",
           'b.select(b.icmp_unsigned("==", values[0], word(0)), word(-1), position)',
           "position", ENDS),
    Mutant("bottom-not-added", "A field is read without the bottom of its domain.",
           "solvers.machine_code.lower:slot_reader",
           "if slot.domain.lo else raw", "if slot.domain.lo > 0 else raw", LIFT),
    Mutant("bottom-not-subtracted", "A field is written without the bottom of its domain.",
           "solvers.machine_code.lower:pack", "if slot.domain.lo else value", "if slot.domain.lo > 0 else value", LIFT),
    Mutant("field-not-cleared", "A new value is written over the bits of the old one.",
           "solvers.machine_code.lower:pack", "b.and_(result[slot.word], word(mask))", "result[slot.word]", COMMIT),
    Mutant("neighbour-cleared", "Writing a field clears the bit above it.",
           "solvers.machine_code.lower:pack",
           "mask = ~(((1 << slot.domain.bits) - 1)", "mask = ~(((2 << slot.domain.bits) - 1)",
           COMMIT),
    Mutant("conjunct-dropped", "A kernel forgets the last conjunct of each guard.",
           "solvers.machine_code.transition:KindFunction._guard",
           "for part in parts:", "for part in parts[:-1] or parts:", HOTEL),
    Mutant("first-conjunct-dropped", "A kernel forgets the first conjunct of each guard.",
           "solvers.machine_code.transition:KindFunction._guard",
           "for part in parts:", "for part in parts[1:] or parts:", HOTEL),
    Mutant("mask-block-lost", "Instances of an action beyond a multiple of 64 never happen.",
           "solvers.machine_code.transition:KindFunction._emit", "word(-(-self._rows // ROWS_PER_MASK))",
           "word(max(1, self._rows // ROWS_PER_MASK))", HOTEL),
    Mutant("mask-too-short", "The last of 64 instances never happens.",
           "solvers.machine_code.transition:KindFunction._guard_mask",
           'b.select(b.icmp_signed("<", rest, word(ROWS_PER_MASK)), rest, word(ROWS_PER_MASK))',
           'b.select(b.icmp_signed("<", rest, word(ROWS_PER_MASK)), rest, word(ROWS_PER_MASK - 1))', HOTEL),
    Mutant("table-row-off", "The arguments of an instance are those of the one before it.",
           "solvers.machine_code.transition:KindFunction._argument", "value = load(b, column, row)",
           'value = load(b, column, b.select(b.icmp_signed(">", row, word(0)), b.sub(row, word(1)), row))', HOTEL),
    Mutant("progression-off", "Arguments in even steps begin one step late.",
           "solvers.machine_code.transition:KindFunction._argument", "b.add(scaled, word(first)) if first else scaled",
           "b.add(scaled, word(first + stride)) if first else scaled", COUNTER),
    Mutant("table-as-progression", "A table is taken for even steps if its ends are.",
           "solvers.machine_code.transition:KindFunction._column", "for row, value in enumerate(column))",
           "for row, value in enumerate(column[:2]))", HOTEL),
    Mutant("domain-check-narrow", "A step to the top of a domain is pruned.",
           "solvers.machine_code.transition:KindFunction._leaves_domain",
           'b.icmp_unsigned(">"', 'b.icmp_unsigned(">="', LIFT),
    Mutant("domain-check-wide", "A step one beyond the top of a domain is taken.",
           "solvers.machine_code.transition:KindFunction._leaves_domain", "word(domain.hi - domain.lo)",
           "word(domain.hi - domain.lo + 1)", LIFT),
    Mutant("domain-check-signed", "A step below the bottom of a domain is taken.",
           "solvers.machine_code.transition:KindFunction._leaves_domain",
           'b.icmp_unsigned(">"', 'b.icmp_signed(">"', LIFT),
    Mutant("step-claim-lost", "Of the claims about steps the first is not judged.",
           "solvers.machine_code.transition:KindFunction._write",
           "for term in self._claims]", "for term in self._claims[1:]]",
           LIFT),
    Mutant("state-claim-lost", "Of the claims about states the first is not judged.",
           "solvers.machine_code.transition:emit_judge", "for term in program.always_terms]\n",
           "for term in program.always_terms[1:]]\n", HOTEL),
    Mutant("enabled-once-and-for-all", "Once a state had a successor, none is stuck.",
           "solvers.machine_code.search_kernel:_emit_expand", "store(b, word(0), frame, plan.enabled)", "pass",
           Killer(test_toys.test_a_stuck_system_deadlocks_and_a_resting_one_does_not)),
    Mutant("pruned-is-stuck", "A state all of whose successors are pruned counts as stuck.",
           "solvers.machine_code.transition:KindFunction._take_all",
           "store(b, word(1), self._frame, self._plan.enabled)", "pass",
           LIFT),
    Mutant("quiescence-unasked", "A state without successors is no deadlock.",
           "solvers.machine_code.transition:emit_deadlock", "b.not_(quiescent)", "ir.Constant(TRUTH, 0)",
           Killer(test_toys.test_a_stuck_system_deadlocks_and_a_resting_one_does_not)),
)  # fmt: skip

COLLECTIONS = (
    Mutant("queue-found-again", "An operation brings a queue that has lost an item back into its layout.",
           "model.language.places:Queue._sized", "choose(self._has_lost(old), old, old + by)", "old + by",
           losing(0)),
    Mutant("bag-found-again", "A count below 0 is counted on.",
           "model.language.collections:Bag._changed", "choose(old < 0, old, old + by * word(there))",
           "old + by * word(there)", losing(6)),
    Mutant("map-found-again", "A value for a key takes the mark of a map that has lost one.",
           "model.language.collections:Map.put", "any_of(self._has_lost(), outside(self.keys, key))",
           "outside(self.keys, key)", losing(13)),
    Mutant("mark-taken-away", "What a set is without may be the mark of what it has lost.",
           "model.language.collections:SetOf.minus", "self._of_members(other)", "other", losing(7)),
    Mutant("mark-not-kept", "A set that keeps some members forgets that it has lost one.",
           "model.language.collections:SetOf.keep",
           'common if members is self else common.plus(self._by_mask("bclear", members))', "common", losing(8)),
    Mutant("foreign-set", "Sets of two classes meet, member by member.",
           "model.language.collections:SetOf._same_class", "type(other) is not type(self)", "False", mixed(0)),
    Mutant("foreign-member", "Members of two Enums are equal where their numbers are.",
           "model.language.symbolic:clash", "one is None or", "True or", mixed(6)),
    Mutant("names-in-any-numbering", "Two Enums are one where they have the same names, whatever their numbers.",
           "model.language.symbolic:clash", "_names(one) == _names(other)",
           "[*_names(one)] == [*_names(other)]", mixed(22)),
    Mutant("member-counted", "A symbolic member of an Enum is a number.",
           "model.language.symbolic:check_numbers", "map(class_of, words)", "()", mixed(15)),
    Mutant("foreign-member-stored", "A field of an Enum takes a member of another one.",
           "solvers.program.trace:_after", "reason := clash(", 'reason := "" and clash(', mixed(12)),
    Mutant("foreign-member-first", "A first state has a member of another Enum.",
           "model.language.layout:Layout._check", "reason := clash(", 'reason := "" and clash(',
           Killer(test_failures.test_a_first_state_has_members_of_its_own_enum)),
    Mutant("no-room-for-a-mask", "A list of constants has room for every set.",
           "model.language.brokersets:Replicas._check_room", "(*words, mask)", "words",
           Killer(test_failures.test_a_literal_list_has_no_room_for_the_members_of_a_set, (0,))),
    Mutant("names-as-arguments", "The table of arguments has the members of an Enum.",
           "solvers.program.parts:_plain", "int(value)", "value",
           Killer(test_failures.test_an_exported_argument_is_a_number)),
    Mutant("doubts-unasked", "A rule may read what a collection has lost.",
           "solvers.program.premises.doubtful:check_settled", "if read and", "if False and",
           Killer(test_failures.test_what_may_be_lost_is_not_read, (0, 0))),
    Mutant("doubt-beside-anything", "A doubt beside another part of a disjunction counts for nothing.",
           "solvers.program.premises.doubtful:_right", "_both(part, alone)", "part",
           Killer(test_failures.test_what_may_be_lost_is_not_read, (0, 10))),
    Mutant("doubt-in-a-branch", "A doubt in a branch that may be taken counts for nothing.",
           "solvers.program.premises.doubtful:_right",
           "whole = _both(parts[0], graph.lift(graph.ite(one.args[0], *parts[1:])))",
           "whole = parts[0]", Killer(test_failures.test_what_may_be_lost_is_not_read, (0, 9))),
)  # fmt: skip

COMPILING = (*TERMS, *TRACING, *LOWERING)
