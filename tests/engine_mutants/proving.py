"""Mutants of the provers: the Z3 reader, queries, sessions, induction, unrolling, second solvers, judgement."""

from __future__ import annotations

from tests.ci.prove import test_certificates, test_smallest
from tests.engine_mutants.mutant import Killer, Mutant
from tests.model.language.words import test_sequences
from tests.solvers.smt import (
    test_bounded,
    test_bounds,
    test_induction,
    test_parts,
    test_proof_edges,
    test_session,
    test_smtlib,
    test_worker,
)
from tests.solvers.smt.reading import test_z3reader

HONEST = Killer(test_certificates.test_what_is_compared_is_said, fixtures={"written": test_certificates.of_the_lock})


def forged(name: str) -> Killer:
    """The test of a forgery."""
    case = [*test_certificates.FORGERIES].index(name)
    return Killer(test_certificates.test_a_forgery_is_seen, (case,), {"folder": test_certificates.of_the_lock})


Z3_ENDS = Killer(test_z3reader.test_z3_agrees_with_ints_on_every_operator_at_the_ends)
Z3_DIVISION = Killer(test_z3reader.test_z3_divides_as_ints_do)
BMC_DIGRAPH = Killer(test_bounded.test_bounded_checking_finds_the_shortest_traces_of_toys, (0,))
BMC_HASTY = Killer(test_bounded.test_bounded_checking_finds_the_shortest_traces_of_toys, (1,))
K_INDUCTION = Killer(test_bounded.test_longer_runs_prove_what_single_steps_do_not)
UNREACHABLE = Killer(test_induction.test_an_unreachable_counterexample_proves_nothing)
REACHABLE = Killer(test_induction.test_a_reachable_counterexample_has_a_run)
FALLEN = Killer(test_induction.test_invariants_that_fall_take_their_proofs_along)

PARTS = Killer(test_parts.test_a_claim_holds_when_every_part_does, (1, 0))
TWO_STARTS = Killer(test_proof_edges.test_a_claim_that_one_initial_state_breaks_is_not_proven)
BMC_STARTS = Killer(test_proof_edges.test_every_initial_state_is_where_a_run_may_begin)
AS_DEEP = Killer(test_proof_edges.test_bounded_checking_looks_as_deep_as_it_says)
MUTE = Killer(test_proof_edges.test_a_run_that_z3_gives_up_is_unknown)
TELLS_APART = Killer(test_proof_edges.test_k_induction_tells_what_is_inductive_from_what_is_not)


def given_up(position: int) -> Killer:
    """The test of what is said of domains where Z3 gives up so many questions."""
    return Killer(test_bounds.test_a_domain_that_z3_gives_up_may_be_left, (position,))


def truths(position: int) -> Killer:
    """The test of an operator on truths in Z3."""
    return Killer(test_proof_edges.test_z3_reads_every_truth_as_ints_do, (position,))


def values(position: int) -> Killer:
    """The test of the values that Z3 gives a variable of an interval."""
    return Killer(test_proof_edges.test_a_variable_may_have_each_value_of_its_interval, (position,))


READING = (
    Mutant("z3-conjunct-dropped", "Z3 reads a conjunction as its first part.",
           "solvers.smt.z3terms:Z3Reader._connective", "make(context, len(values), operands)",
           'make(context, 1 if op == "and" else len(values), operands)', truths(1)),
    Mutant("z3-disjunct-dropped", "Z3 reads a disjunction as its first part.",
           "solvers.smt.z3terms:Z3Reader._connective", "make(context, len(values), operands)",
           'make(context, 1 if op == "or" else len(values), operands)', truths(2)),
    Mutant("z3-conjunction-shortened", "Of several premises or goals the last is not said to Z3.",
           "solvers.smt.z3terms:conjunction", "z3.And(*truths)", "z3.And(*truths[:-1])", BMC_DIGRAPH),
    Mutant("z3-disjunction-shortened", "Of several cases the last is not said to Z3.",
           "solvers.smt.z3terms:disjunction", "z3.Or(*truths)", "z3.Or(*truths[:-1])", Z3_ENDS),
    Mutant("z3-conjuncts-shortened", "A goal is shown but for its last conjunct.",
           "solvers.smt.worker:conjuncts", "pending.extend(reversed(part.children()))",
           "pending.extend(reversed(part.children()[:-1]))", PARTS),
    Mutant("z3-compared-unsigned", "Z3 compares words as if none were negative.",
           "solvers.smt.z3terms:Z3Reader._truth_operator",
           "a < b if min(arg.lo for arg in node.args) < 0 else z3.ULT(a, b)", "z3.ULT(a, b)", Z3_ENDS),
    Mutant("z3-width", "A bit-vector is one bit too narrow for the largest value of an interval.",
           "solvers.smt.z3terms:width_of", "return max(1, hi.bit_length())",
           "return max(1, (hi - 1).bit_length())", values(1)),
    Mutant("z3-unsigned-extension", "A negative word grows as if it were not.",
           "solvers.smt.z3terms:Z3Reader.resize", "if term.lo < 0 else z3.ZeroExt", "if term.lo > 0 else z3.ZeroExt",
           Z3_ENDS),
    Mutant("z3-top-unbound", "A variable may pass the top of its interval.",
           "solvers.smt.z3terms:Z3Reader.within", "if hi < largest:", "if hi < largest and False:", values(1)),
    Mutant("z3-bottom-unbound", "A variable may pass the bottom of its interval.",
           "solvers.smt.z3terms:Z3Reader.within", "if lo > smallest:", "if lo > smallest and False:", values(4)),
    Mutant("z3-last-member", "The last place of a mask is not asked for members.",
           "solvers.smt.z3terms:Z3Reader._member", "min(mask.size(), MASK_BITS, at.hi + 1)",
           "min(mask.size(), MASK_BITS, at.hi + 1) - 1", Z3_ENDS),
    Mutant("z3-count", "The lowest bit of a mask is not counted.",
           "solvers.smt.z3terms:count_of", "for place in range(mask.size()):",
           "for place in range(1, mask.size()):", Z3_ENDS),
    Mutant("z3-quotient", "A quotient of negative words is rounded towards 0.",
           "solvers.smt.z3terms:divided", "(a - result) / b if signed", "a / b if signed", Z3_DIVISION),
    Mutant("z3-number-quotient", "A quotient of Ints by a negative one is rounded up.",
           "solvers.smt.z3terms:divided_number", "a, b = (-a, -b) if negative else (a, b)", "pass",
           Killer(test_z3reader.test_ints_without_bound_are_divided_as_ints_are)),
    Mutant("z3-lowest", "The lowest member of a mask is the highest.",
           "solvers.smt.z3terms:lowest_of", "for place in reversed(range(mask.size())):",
           "for place in range(mask.size()):", Z3_ENDS),
    Mutant("z3-model-unsigned", "A negative value of a model is read as a large one.",
           "solvers.smt.z3terms:value_of", "value.as_signed_long() if not is_number(term) and term.lo < 0 else", "",
           Z3_ENDS),
)  # fmt: skip

INDUCTION = (
    Mutant("initiation-lost", "Invariants are not asked of the initial states.",
           "solvers.smt.induction:obligations",
           "result = [Obligation(name, INITIATION) for name in starting if name in claims]",
           "result = list[Obligation]()", TWO_STARTS),
    Mutant("initial-state-lost", "Of several initial states the last is not asked about.",
           "solvers.smt.queries:Questions._initially", "disjunction(starts)", "disjunction(starts[:1])", TWO_STARTS),
    Mutant("action-lost", "Nothing is asked of the last action.",
           "solvers.smt.induction:obligations", "for action in actions for name", "for action in actions[:-1] for name",
           UNREACHABLE),
    Mutant("claim-of-before", "What is to hold after a step is asked of the state before it.",
           "solvers.smt.queries:Questions.goals", "[self.subject.step_truth(kind, obligation.claim)]",
           "[self.subject.state_truths().get(obligation.claim, self.subject.step_truth(kind, obligation.claim))]",
           UNREACHABLE),
    Mutant("premises-contradict", "A premise is false, so that everything follows.",
           "solvers.smt.queries:Questions.premises", "terms |= self.bounds(kind) if within else {}",
           "terms |= {'guard: ': self.subject.program.graph.constant(False)}", UNREACHABLE),
    Mutant("all-assumed", "Every invariant is assumed, also those that fell.",
           "solvers.smt.queries:Questions.premises", "for name in assumed}", "for name in state_truths}", FALLEN),
    Mutant("few-assume-what-fell", "What few participants use is assumed for any number, also what fell.",
           "solvers.smt.worker:ProofWorker._from_choices", "[name for name in assumed if name in choice]",
           "[name for name in self.questions.subject.state_truths() if name in choice]",
           Killer(test_worker.test_nothing_is_assumed_that_may_not_be)),
    Mutant("few-suffice", "What few participants prove is proven for any number.",
           "solvers.smt.worker:ProofWorker._from_choices", "effort).ask(obligation)",
           "effort).ask(obligation); answer = evolve(answer, result=PROVEN)",
           Killer(test_worker.test_a_defect_is_not_proven_from_what_few_use, (0,))),
    Mutant("fallen-proofs-kept", "Proofs that rest on an invariant that fell are kept.",
           "solvers.smt.induction:prove", "or {*failed} & {*rests_on(answers[obligation])}", "", FALLEN),
    Mutant("proven-in-part", "A claim is proven once one of its obligations is.",
           "solvers.smt.induction:Proof.inductive", "if answer.result == PROVEN} == required",
           "if answer.result == PROVEN} <= required", REACHABLE),
    Mutant("proven-unfinished", "What was proven before a stop holds.",
           "solvers.smt.induction:Proof.inductive", "if self.stopped or", "if",
           Killer(test_proof_edges.test_a_proof_that_was_stopped_between_rounds_proves_nothing)),
    Mutant("only-the-first-part", "Of a claim of many conjuncts only the first few are asked for.",
           "solvers.smt.worker:SolverSession._check", "range(0, len(parts), self._part)", "range(0, 1, self._part)",
           PARTS),
    Mutant("unknown-is-unsat", "A query that Z3 gives up counts as proven.",
           "solvers.smt.worker:Z3Engine._answer",
           "return SolverAnswer(UNDECIDED, reason=self._solver.reason_unknown())",
           "return SolverAnswer(PROVEN)", Killer(test_proof_edges.test_a_solver_that_gave_up_is_not_asked_again)),
    Mutant("cut-solver-kept", "A solver whose time was up goes on with what it had read.",
           "solvers.smt.worker:Z3Engine.check",
           "if answer.result == UNDECIDED:", "if answer.result == UNDECIDED and False:",
           Killer(test_proof_edges.test_a_solver_that_gave_up_is_not_asked_again)),
    Mutant("model-unchecked", "A model that does not satisfy the query is believed.",
           "solvers.smt.worker:Z3Engine._answer", "if not holds_of([*self._truths, denial], model):", "if False:",
           Killer(test_session.test_a_model_that_does_not_satisfy_the_query_is_no_answer)),
    Mutant("goal-asked-for", "Z3 is asked for a state that has the goal.",
           "solvers.smt.worker:Z3Engine.check",
           "z3.Not(goal.translate(self._context))", "goal.translate(self._context)",
           UNREACHABLE),
    Mutant("goal-stays", "The negation of one goal stays a premise of the next.",
           "solvers.smt.worker:Z3Engine.check", "self._solver.pop()", "pass",
           Killer(test_proof_edges.test_one_goal_is_no_premise_of_the_next)),
    Mutant("refutation-unheard", "What is proven and refuted is proven.",
           "solvers.smt.verdicts:confirm_proven", "filter(proof.proven, proof.claims)", "()",
           Killer(test_induction.test_what_the_search_refutes_cannot_be_proven)),
    Mutant("countermodel-unreplayed", "A countermodel is reported though ints do not have it.",
           "solvers.smt.verdicts:trace_on_ints", "if not failing:", "if not failing and False:",
           Killer(test_proof_edges.test_a_run_that_breaks_nothing_on_ints_is_a_fault)),
    Mutant("unsearched-is-unreachable", "A state that a cut search did not meet counts as unreachable.",
           "solvers.smt.verdicts:locate", "if explored.cut is not None:", "if explored.cut is not None and False:",
           Killer(test_induction.test_a_search_that_was_cut_decides_nothing)),
    Mutant("domain-unshown-by-spacer", "Spacer's lemma holds although a step may leave a domain.",
           "solvers.smt.spacer:Horn.__init__", "for kind in program.kinds if domain_obligations(program, kind)]",
           "for kind in ()]", Killer(test_bounds.test_spacer_shows_the_domains_as_well)),
    Mutant("strengthening-believed", "Spacer's lemma is not checked.",
           "solvers.smt.spacer:Horn.confirms", "return False", "pass",
           Killer(test_bounded.test_a_wrong_strengthening_is_not_believed)),
    Mutant("second-unknown-holds", "What the second solver does not decide holds.",
           "ci.prove.command:_confirm", "or not missing:", "or True:",
           Killer(test_proof_edges.test_what_the_second_solver_does_not_decide_is_unknown)),
    Mutant("second-unknown-below-holds", "What rests on an invariant that the second solver does not decide holds.",
           "ci.prove.command:_confirm", "(claim, *proof.support(claim))", "(claim,)",
           Killer(test_proof_edges.test_what_rests_on_what_the_second_solver_does_not_decide_is_unknown)),
    Mutant("domain-unshown", "What is inductive is proven although a step may leave a domain.",
           "solvers.smt.induction:Proof.proven", "and not self.faults()", "",
           Killer(test_bounds.test_induction_shows_the_domains_as_well)),
    Mutant("second-unheard", "What the second solver denies holds.",
           "ci.prove.command:_undecided",
           'if expected is not None and answer not in (expected, "unknown"):', "if False:",
           Killer(test_proof_edges.test_solvers_that_differ_are_a_fault)),
    Mutant("certificate-without-effect", "In a certificate a step may change any field.",
           "solvers.certificates.certificate:_Definition._action", "[*parts, *effect]", "[*parts]", HONEST),
    Mutant("certificate-of-nought", "In a certificate every word after a step is 0.",
           "solvers.smt.z3terms:Z3Reader.fitted", "return self.resize(value, term, width_of(target.lo, target.hi))",
           "return self.constant(target, 0)", HONEST),
    Mutant("comparison-blind", "A definition that is worth something else than on ints is no difference.",
           "ci.prove.comparison:Comparison._note", "if worth != expected:", "if False:",
           forged("an argument has one value")),
    Mutant("checker-takes-more", "An invariant of a certificate may speak of the next state.",
           "ci.prove.check_certificate:System._without", "if self.needed([name]) & unwanted:", "if False:",
           forged("an invariant speaks of the next state")),
    Mutant("second-asked-otherwise", "The second solver is asked for a state that has the goal.",
           "solvers.smt.smtlib:ActionQueries._denials", "[z3.Not(conjunction(", "[(conjunction(",
           Killer(test_smtlib.test_a_second_solver_confirms_every_answer, (0,)), slow=True),
)  # fmt: skip

UNROLLING = (
    Mutant("frame-lost", "The last field of a state may change as it likes.",
           "solvers.smt.runs.unrolling:Unrolling.extend", "zip(self.after, kind.after, strict=True)]",
           "zip(self.after[:-1], kind.after[:-1], strict=True)]", BMC_DIGRAPH),
    Mutant("guards-lost", "The guard of an action is not asked for.",
           "solvers.smt.runs.unrolling:Unrolling._instance", "(*kind.allowed.values(), *kind.guard.values())",
           "(*kind.allowed.values(),)", BMC_DIGRAPH),
    Mutant("arguments-lost", "An argument may have any value of its interval.",
           "solvers.smt.runs.unrolling:Unrolling._instance", "(*kind.allowed.values(), *kind.guard.values())",
           "(*kind.guard.values(),)", BMC_DIGRAPH),
    Mutant("initial-states-lost", "A run may begin anywhere.",
           "solvers.smt.runs.unrolling:Unrolling.__init__", "if initial:", "if initial and False:", BMC_STARTS),
    Mutant("initial-states-but-one", "A run begins in the first of the initial states.",
           "solvers.smt.runs.unrolling:Unrolling.__init__",
           "for state in program.initial]", "for state in program.initial[:1]]",
           BMC_STARTS),
    Mutant("property-not-negated", "Bounded checking looks for a state that has the property.",
           "solvers.smt.runs.unrolling:Unrolling.broken", "z3.Not(self.truth(claim, self.length))",
           "self.truth(claim, self.length)", BMC_DIGRAPH),
    Mutant("property-stays-negated", "The denial of one property stays for the next.",
           "solvers.smt.runs.unrolling:Unrolling.satisfying", "self._pop(answer)", "pass", BMC_DIGRAPH),
    Mutant("judged-a-step-early", "A claim is asked of the state before the last.",
           "solvers.smt.runs.unrolling:Unrolling.broken", "self.truth(claim, self.length)",
           "self.truth(claim, max(0, self.length - (self.subject.claim(claim).kind == 'always')))", BMC_DIGRAPH),
    Mutant("depth-short", "Bounded checking stops one step before the depth that it names.",
           "solvers.smt.runs.bounded:_search", "range(depth + 1)", "range(depth)", AS_DEEP),
    Mutant("depth-overstated", "Bounded checking names one step more than it looked at.",
           "solvers.smt.runs.bounded:_search", "search.depth = length", "search.depth = length + 1", AS_DEEP),
    Mutant("unknown-in-a-run", "Where Z3 gives up, bounded checking goes on as if there were no run.",
           "solvers.smt.runs.unrolling:Unrolling.satisfying", "result = str(self.solver.reason_unknown())",
           "result = None", MUTE),
    Mutant("k-off-by-one", "k-induction assumes one step more than the base looked at.",
           "solvers.smt.runs.bounded:_unroll_assuming", "for depth in range(k):", "for depth in range(k + 1):",
           K_INDUCTION),
    Mutant("domain-unshown-in-a-run", "Bounded checking goes on behind a step that may leave a domain.",
           "solvers.smt.runs.bounded:_search", "if faults:", "if faults and False:",
           Killer(test_bounds.test_bounded_runs_end_where_a_domain_is_left)),
    Mutant("domain-unshown-in-k-steps", "A claim is k-inductive although its last step may leave a domain.",
           "solvers.smt.runs.bounded:check_inductive", "if not failed and faults:", "if False:",
           Killer(test_bounds.test_k_induction_shows_the_domains_as_well)),
    Mutant("domain-undecided-is-kept", "Where Z3 gives up, no step leaves a domain.",
           "solvers.smt.runs.unrolling:Unrolling._possible", "result != z3.unsat", "result == z3.sat", given_up(2)),
    Mutant("cut-unrolling-kept", "A solver of runs whose time was up goes on with what it had read.",
           "solvers.smt.runs.unrolling:Unrolling._pop", "if result == z3.unknown:", "if False:", given_up(1)),
    Mutant("base-too-short", "The base of k-induction is two steps short.",
           "solvers.smt.runs.bounded:check_inductive", "_search(subject, claims, k,", "_search(subject, claims, k - 2,",
           K_INDUCTION),
    Mutant("assumed-before-proven", "k-induction assumes of the last state what it is to show.",
           "solvers.smt.runs.bounded:_unroll_assuming", "    return unrolling",
           "    unrolling.assume(claims)\n    return unrolling",
           K_INDUCTION),
    Mutant("first-claim-only", "Of several claims k-induction asks the step for the first only.",
           "solvers.smt.runs.bounded:check_inductive", "for claim in open_claims if (broken",
           "for claim in open_claims[:1] if (broken",
           TELLS_APART),
)  # fmt: skip

FEW_PARTICIPANTS = (
    Mutant("places-confused", "What a word says of every place is said of the place that it is read at.",
           "model.language.sequences:Sequence.anywhere", "word = self.at(place)",
           "self.graph.binders -= 1; word = self.at(place); self.graph.binders += 1",
           Killer(test_sequences.test_a_word_that_speaks_of_every_place_is_of_the_place_it_is_read_at)),
    Mutant("few-assume-nothing", "A counterexample with few begins where what is proven for any number does not hold.",
           "ci.prove.question:_known", "if claim.id in assumed]", "if claim.id in assumed[:0]]",
           Killer(test_smallest.test_few_assume_what_is_proven)),
    Mutant("few-are-two", "Only with the fewest is a counterexample looked for.",
           "ci.prove.question:smallest_steps", "range(MOST_MORE + 1)", "range(1)",
           Killer(test_smallest.test_what_is_not_inductive_is_shown_with_the_fewest, (2,))),
    Mutant("few-are-not-explored", "With a number that has a counterexample nothing is explored.",
           "ci.prove.question:with_smallest", "if explore is not None and not passed():", "if False:",
           Killer(test_smallest.test_what_four_refute_is_refuted)),
)  # fmt: skip
