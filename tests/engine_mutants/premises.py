"""Mutants of what tells whether a claim says something: its premises, and the hidden goals that show them."""

from __future__ import annotations

from tests.ci.prove import test_vacuous_proofs
from tests.engine_mutants.mutant import Killer, Mutant
from tests.solvers.program import test_premises
from tests.solvers.search import test_toys

NEVER = Killer(test_premises.test_a_claim_needs_a_state_that_it_speaks_of, (0,))
NESTED = Killer(test_premises.test_a_claim_needs_a_state_that_it_speaks_of, (4,))
PLAIN = Killer(test_premises.test_a_claim_needs_a_state_that_it_speaks_of, (8,))
STEPS = Killer(test_premises.test_a_claim_needs_a_step_that_it_speaks_of, (0,))
DISJUNCTION = Killer(test_premises.test_a_claim_needs_a_state_that_it_speaks_of, (13,))
SEVERAL = Killer(test_premises.test_a_claim_needs_a_state_that_it_speaks_of, (14,))
UNASKED = Killer(test_vacuous_proofs.test_a_proof_looks_for_what_the_claim_speaks_of, (5,))
CUT = Killer(test_vacuous_proofs.test_a_proof_looks_for_what_the_claim_speaks_of, (7,))
BY_RULE = Killer(test_premises.test_what_a_rule_makes_true_has_a_premise_too)

PREMISES = (
    Mutant("premise-unnoted", "What an implication is made of is not noted.",
           "model.language.words:implies", "if isinstance(premise, Term):", "if False:", NEVER),
    Mutant("plain-conjunct-unheard", "A conjunct without a premise says nothing.",
           "solvers.program.premises.implications:_of_conjunct", "return True", "return False", PLAIN),
    Mutant("conclusion-says-all", "An implication below another says something wherever the upper premise holds.",
           "solvers.program.premises.implications:_of_conjunct",
           "all_of(*premises, *_of_conclusion(graph, conclusion))", "all_of(*premises)", NESTED),
    Mutant("premises-of-others", "The implications of other claims are kept.",
           "solvers.program.verdict:Truths.content", "self.graph.implications.clear()", "pass",
           Killer(test_premises.test_another_claim_shows_nothing_of_this_one)),
    Mutant("steps-by-rule-unheard", "Premises of implications that the rules make true are dropped.",
           "model.language.terms:Implications.note", "self.trivial.append(premises)", "pass",
           BY_RULE),
    Mutant("disjunction-unnoted", "What a disjunction of negations is made of is not noted.",
           "model.language.terms:Implications.note_disjunction",
           "self.note(whole, tuple(negated.values()), others)", "pass", DISJUNCTION),
    Mutant("one-premise-enough", "Of several negations in a disjunction any one that is false shows it.",
           "solvers.program.premises.implications:_of_conjunct", "all_of(*premises, ", "any_of(*premises, ", SEVERAL),
    Mutant("unshown-holds", "A proven claim holds where no search reaches its premise.",
           "solvers.smt.verdicts:SearchEvidence.reaches", "claim in one.premises_shown or", "True or", CUT),
    Mutant("case-unasked", "Where nothing was explored a proven claim holds.",
           "solvers.smt.verdicts:unshown", "evidence.reaches(claim.id)", "not evidence.searches", UNASKED),
    Mutant("step-goal-turned", "A step shows a premise where it does not satisfy it.",
           "solvers.program.premises.cases:with_premises",
           "graph.negate(kind.says[number])", "kind.says[number]", STEPS),
    Mutant("premise-unasked", "A goal that was judged shows the premise, whatever its verdict.",
           "solvers.program.premises.cases:vacuous_without_case", "isinstance(goals.get(premise.goal), Holds)",
           "premise.goal in goals", NEVER),
    Mutant("all-lenient", "Any property holds where nothing shows a premise of it.",
           "solvers.program.premises.cases:vacuous_without_case", "one.claim in program.lenient", "True", NEVER),
    Mutant("goal-lost", "A goal is recorded where it is recorded already.",
           "solvers.machine_code.transition:record_goals", 'b.icmp_unsigned("==", recorded',
           'b.icmp_unsigned("!=", recorded', Killer(test_toys.test_a_clock_ticks_for_ever)),
)  # fmt: skip
