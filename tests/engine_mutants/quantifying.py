"""Mutants of what any number means, of what Z3 is told with quantifiers, and of what counts as a broken proof."""

from __future__ import annotations

from kraftcheck.solvers.program.parts import SystemFault
from tests.engine_mutants.mutant import Killer, Mutant
from tests.properties import test_broken_for_any, test_broken_proofs
from tests.random_collections import test_any_places
from tests.solvers.smt import test_any_number, test_any_systems, test_worker
from tests.solvers.smt.reading import (
    test_far_brokers,
    test_narrowings,
    test_quantified,
    test_sizes,
    test_steps_of_few,
)
from tests.solvers.smt.reading.goals import test_consequences, test_goals, test_outcomes, test_premise_parts

FOLDER = "solvers.smt.reading.quantified"

OWNERS = Killer(test_quantified.test_sets_of_two_owners_are_not_those_of_one)
EVERY_PLACE = Killer(test_quantified.test_a_set_that_speaks_of_every_place_has_an_unknown_size)


def sizes(position: int) -> Killer:
    """The test of the sizes of two concrete sets."""
    return Killer(test_quantified.test_sizes_are_those_of_concrete_sets, (position,))


def places(limit: int, held: int) -> Killer:
    """The test of first and last places of concrete words."""
    return Killer(test_quantified.test_first_and_last_places_are_those_of_concrete_words, (limit, held))


def of_domains(position: int) -> Killer:
    """The test of what the domains alone make true."""
    return Killer(test_any_places.test_domains_of_any_number_end_at_it, (position,))


def outside(position: int) -> Killer:
    """The test of a place that may be none of a map of any number."""
    return Killer(test_any_places.test_a_place_that_may_be_no_number_is_refused, (position,))


ANY_NUMBER = (
    Mutant("outside-of-any", "A map of any number has a value at every place.",
           "model.language.places:_get_of_any_number",
           "choose(all_of(place >= 0, is_one_of(place, items.number)), found, otherwise)", "found",
           Killer(test_any_places.test_the_value_for_places_outside_counts_for_any_number, (7,))),
    Mutant("beyond-any", "A number that was added to is a number that something has.",
           "model.language.places:_is_a_number", "return False", "return True", outside(1)),
    Mutant("every-number-has-a-value", "A map of any number has a value for every number.",
           "model.language.anynumber:keys", "is_one_of(at, values.number)", "True",
           Killer(test_any_systems.test_any_number_has_a_last_one)),
    Mutant("all-of-no-number", "All brokers may be gone through whose ids have no end.",
           "model.language.anynumber:keys", "values.number is None", "False",
           Killer(test_far_brokers.test_all_brokers_without_end_are_refused, (0,))),
    Mutant("members-of-no-number", "A member of a set of any number may be none of them.",
           "model.language.anynumber:_Members.has", "is_one_of(broker, self.members.number)", "True",
           of_domains(1)),
    Mutant("words-of-no-number", "A word below any number may be none of them.",
           "solvers.program.symbols:symbol", "graph.notes.below[symbol_of(found).index] = number", "pass",
           of_domains(0)),
    Mutant("words-reach-the-number", "That a word stays below any number is not shown.",
           "solvers.program.symbols:may_reach_number", "number is not None and", "False and",
           Killer(test_any_places.test_a_word_below_any_number_stays_there)),
    Mutant("below-any", "A place below all numbers needs no value.",
           "model.language.places:_get_of_any_number", "lo >= 0 and _is_a_number", "_is_a_number",
           outside(0), dies=(SystemFault,)),
)  # fmt: skip

STEPS_OF_FEW = Killer(test_narrowings.test_steps_of_few_are_steps_of_any_number, (0,))
ELECTIONS = "model.systems.elections"


def initial(brokers: int, system: int) -> Killer:
    """The test of initial states of few, with two brokers or three."""
    return Killer(test_steps_of_few.test_initial_states_of_few_are_initial_for_any_number, (brokers, system))


NARROWER = (
    Mutant("any-leaves-an-action-out", "Of any number nobody unregisters.",
           f"{ELECTIONS}.system:actions", "return listed",
           'return [one for one in listed if brokers != ANY or one.name != "unregister"]',
           Killer(test_steps_of_few.test_the_actions_of_any_number_are_those_of_few, (0,))),
    Mutant("any-proposes-few", "Of any number a leader proposes no ISR but itself.",
           f"{ELECTIONS}.any_number:sets", "negate(members.is_empty())", "members.size() == 1", STEPS_OF_FEW),
    Mutant("any-assigns-few", "Of any number replicas are on the first two brokers.",
           f"{ELECTIONS}.any_number:lists", "negate(some.is_empty())", "negate(some.has(2))", STEPS_OF_FEW),
    Mutant("any-places-few", "Of any number only the first two replicas have directories.",
           f"{ELECTIONS}.any_number:AnyDirectories.for_replicas", "replicas.has(at)",
           "all_of(replicas.has(at), at < 2)", STEPS_OF_FEW),
    Mutant("any-is-led", "Of any number there is a leader in every state.",
           f"{ELECTIONS}.state:_layout_of_any", "counter(NO_LEADER)", "counter(0)", STEPS_OF_FEW),
    Mutant("any-begins-with-all", "Of any number all who have registered are replicas at first.",
           f"{ELECTIONS}.any_number:new_topic", "replicas.within(state.registered)",
           "none.plus(replicas).same(state.registered)", initial(1, 0)),
    Mutant("any-begins-with-one", "Of any number a topic has one replica at first.",
           f"{ELECTIONS}.any_number:new_topic", "replicas.ranked())", "replicas.ranked(), replicas.size() == 1)",
           initial(1, 1)),
    Mutant("any-has-no-budget", "Of any number no disk fails.",
           "model.systems.directories.state:layout", 'ints(0, setting[name.replace("_", "-")])',
           'ints(0, 0 if setting["brokers"] == ANY else setting[name.replace("_", "-")])', initial(1, 1)),
)  # fmt: skip


def axioms(position: int) -> Killer:
    """The test of the axioms of sizes of one kind."""
    return Killer(test_sizes.test_axioms_of_each_kind_are_true_of_three_sets, (position,))


SIZES = "solvers.smt.reading.z3_endless"

INSTANCES = (
    Mutant("apart-is-smaller", "Two sets that fill a third are together smaller than that.",
           f"{SIZES}:_apart", "one.term + other.term <= whole.term", "one.term + other.term < whole.term", axioms(4)),
    Mutant("shared-members-are-two", "Two sets with a common member are together no larger than a third.",
           f"{SIZES}:_apart", "all_of(*inside), beyond)", "beyond)", axioms(4)),
    Mutant("apart-from-a-third", "Two sets without a common member are together no larger than any third.",
           f"{SIZES}:_apart", "all_of(*inside), beyond)", "all_of(*inside))", axioms(4)),
    Mutant("sums-unasked", "No sum of sizes is compared, whatever truth asks for it.",
           f"{SIZES}:_apart", "if instances.sums", "if False",
           Killer(test_any_systems.test_a_protocol_is_proven_for_any_number, (3,))),
    Mutant("owners-share-a-name", "What one broker keeps without another is as large as the other way round.",
           "solvers.smt.reading.set_shapes:kept_by", 'f"owner {len(owners)}"', '"owner"',
           Killer(test_sizes.test_what_one_broker_keeps_without_another_is_not_the_other_way_round, (1, 0))),
    Mutant("time-is-an-answer", "A query that is out of time is proven.",
           "solvers.smt.reading.z3_endless:EndlessEngine.refute", "if result == z3.unsat:", "if result != z3.sat:",
           Killer(test_any_number.test_the_time_of_a_query_is_that_of_all_its_rounds)),
)  # fmt: skip

QUANTIFIERS = (
    Mutant("second-owner-left-out", "Of the brokers that keep parts of a set, only the first gives its size.",
           f"{FOLDER}.engine:SetShapes.of", "tuple(blanks.values())", "tuple(blanks.values())[:1]", OWNERS),
    Mutant("binders-in-sets", "A set whose claim binds places itself is taken for one that does not.",
           f"{FOLDER}.engine:SetShapes._binds", "return any(", "return False and any(", EVERY_PLACE),
    Mutant("one-member-counts-twice", "A set with a member is of size two.",
           f"{FOLDER}.engine:_of_members", "z3.Implies(has(place), size >= 1)",
           "z3.Implies(has(place), size >= 2)", sizes(1)),
    Mutant("two-members-are-any", "The two members of a set of two may be one.",
           f"{FOLDER}.engine:_of_members", "place != other", "place == place", sizes(1)),
    Mutant("larger-by-one-is-by-two", "A set that is larger by one has two members more.",
           f"{FOLDER}.engine:_of_pair", "one.size <= other.size + 1", "one.size <= other.size", sizes(2)),
    Mutant("within-is-smaller", "A set within another is smaller, equal or not.",
           f"{FOLDER}.engine:_of_pair", "z3.Not(lacked), beyond(first)", "beyond(first)", sizes(0)),
    Mutant("either-set-is-the-other", "Where a condition makes a set one of two, it has the size of the other one.",
           f"{FOLDER}.engine:QuantifiedReader._size", "for holds in (True, False)", "for holds in (False, True)",
           Killer(test_quantified.test_a_set_that_is_one_of_two_has_its_size)),
    Mutant("domains-assumed", "That a step stays within the domains is assumed where it is to be shown.",
           "solvers.smt.reading.goals.prover:GoalProver._answer", "if obligation.claim not in DOMAINS", "if True",
           Killer(test_worker.test_only_a_field_that_stays_in_its_domain_is_proven_to, (1,))),
    Mutant("last-case-unasked", "Where a guard is one of several truths, a claim is proven without the last one.",
           f"{FOLDER}.engine:cases_of", "for case in term.args]", "for case in term.args[:-1]]",
           Killer(test_quantified.test_a_claim_is_proven_in_each_case_of_a_guard)),
    Mutant("covered-by-one-of-three", "A set is no larger than two others together, whatever members these lack.",
           f"{FOLDER}.engine:of_covers", "(z3.Or(whole.size <= one.size + other.size, outside),)",
           "(whole.size <= one.size + other.size,)",
           Killer(test_quantified.test_two_sets_that_cover_a_third_are_no_smaller)),
    Mutant("pairs-unsaid", "No two sets are compared, whatever model contradicts their members.",
           f"{FOLDER}.engine:QuantifiedEngine._wrong", "return [*islice(", "return [] and [*islice(",
           Killer(test_quantified.test_a_set_within_another_is_smaller)),
    Mutant("first-place-fails", "Nothing holds at the first place where it holds.",
           f"{FOLDER}.engine:QuantifiedReader._named_word", "z3.And(member, place < word)",
           "z3.And(member, place <= word)", places(3, 1)),
    Mutant("last-place-is-later", "The last place is later than all where it holds.",
           f"{FOLDER}.engine:QuantifiedReader._named_word",
           "z3.And(member, place <= limit), place <= word)", "z3.And(member, place <= limit), place < word)",
           places(3, 1)),
    Mutant("denial-left-out", "What is to be shown is not denied, and what is assumed shows nothing.",
           f"{FOLDER}.engine:QuantifiedEngine._check", "*of_members([*read.sets.values()]), denial)",
           "*of_members([*read.sets.values()]))", sizes(0)),
)  # fmt: skip

CUT = Killer(test_goals.test_drawn_claims_hold_just_where_all_their_parts_do)
GOALS_FOLDER = "solvers.smt.reading.goals"

CUTTING = (
    Mutant("conjunct-left-out", "Of a conjunction only what the first of two is made of is asked.",
           f"{GOALS_FOLDER}.conjuncts:Conjuncts._of_connective", "for some in parts for part",
           "for some in parts[:1] for part", CUT),
    Mutant("others-unasked", "A claim about every place is asked only of the places that words of the step name.",
           f"{GOALS_FOLDER}.proof:Cases.by_place", "case in self.by_place(part, asked)), *further]",
           "case in self.by_place(part, asked))]", CUT),
    Mutant("nobody-is-asked", "A claim about every place is asked of a word that names none.",
           f"{GOALS_FOLDER}.proof:Cases._at", "[graph.lift(word < 0), there]", "[there]", CUT),
    Mutant("only-where-it-holds", "A goal is asked only where a condition holds by which a step is chosen.",
           f"{GOALS_FOLDER}.proof:Cases.by_condition", ", (False, condition)):", ",):", CUT),
    Mutant("bound-again-is-the-same", "What is known of a place is said of places of the same number within.",
           f"{GOALS_FOLDER}.decisions:replaced", " if node.args[0].value not in bound[index])", ")",
           Killer(test_goals.test_a_place_that_is_bound_again_is_another_place)),
    Mutant("others-hold", "A disjunct takes it that the others hold.",
           f"{GOALS_FOLDER}.proof:_disjunction", "consequences(other, False)", "consequences(other, True)",
           Killer(test_goals.test_a_disjunct_takes_it_that_the_others_fail)),
    Mutant("unproven-part-passes", "A goal is proven though one of its parts is not.",
           f"{GOALS_FOLDER}.proof:GoalProof._of_all", "hard.append(part)", "hard.clear()",
           Killer(test_goals.test_a_goal_is_proven_only_if_all_its_parts_are, (1,))),
    Mutant("part-of-a-part-left-out", "What is in parts again once it is simpler is asked without the last one.",
           f"{GOALS_FOLDER}.proof:Parts.of", "once(part for one in parts for part in self._conjuncts_of(one))",
           "[part for one in parts for part in self._conjuncts_of(one)][:-1]",
           Killer(test_premise_parts.test_a_claim_holds_just_where_all_its_parts_do)),
    Mutant("frame-unproven", "Every word is said to stay, proven or not.",
           f"{GOALS_FOLDER}.frame:frame_of", "if answer.result == PROVEN:", "if True:",
           Killer(test_goals.test_the_frame_of_a_step_is_what_no_such_step_changes, (1,))),
    Mutant("frame-unnamed", "The premises by which words stay are not among those of a proof.",
           f"{GOALS_FOLDER}.proof:GoalProof.answer", "{*self.frame.core, *guards", "{*guards",
           Killer(test_goals.test_a_proof_rests_on_what_its_frame_rests_on)),
)  # fmt: skip

ALL_DECISIONS = Killer(test_outcomes.test_a_claim_of_every_decision_holds_of_the_one_there_is)

OUTCOMES = (
    Mutant("lemma-about-a-step-unproven", "A lemma is assumed of a step, proven or not.",
           f"{GOALS_FOLDER}.prover:GoalProver._by_lemmas", "if answer.result == PROVEN}", "if True}",
           Killer(test_outcomes.test_a_lemma_that_is_not_proven_proves_nothing)),
    Mutant("lemma-about-a-step-rests-on-nothing", "A proof does not rest on what proves the lemmas about the step.",
           f"{GOALS_FOLDER}.prover:GoalProver._by_lemmas",
           "union(*(cores[name] for name in answer.core if name in cores))", "union(())",
           Killer(test_outcomes.test_an_invariant_that_stays_is_a_lemma_about_the_step)),
    Mutant("part-for-the-whole", "A proof names the parts of what it assumes, which nobody else knows.",
           f"{GOALS_FOLDER}.proof:GoalProof.answer", "map(self.premises.whole, answer.core)", "answer.core",
           Killer(test_outcomes.test_a_claim_is_proven_from_a_lemma_about_the_step, (0,))),
    Mutant("decisions-share-a-name", "Two decisions have one name, and so are the same.",
           f"{GOALS_FOLDER}.decisions:Decisions._name_of", 'f"decision {term.index}"',
           'f"decision {int(term.is_truth)}"', ALL_DECISIONS),
    Mutant("nobody-is-a-member", "Who is nobody is asked for as a member of a set that is decided.",
           f"{GOALS_FOLDER}.decisions:Decisions.__attrs_post_init__", " and argument.lo >= 0", "", ALL_DECISIONS),
    Mutant("member-by-another-place", "A set has a name though its members depend on every place.",
           f"{GOALS_FOLDER}.decisions:decided_sets", "node.op in BINDERS and", "False and",
           Killer(test_outcomes.test_a_set_whose_members_depend_on_other_places_has_no_name)),
)  # fmt: skip

FOLLOWING = (
    Mutant("follows-from-fallen", "What follows from an invariant is proven where that may not be assumed.",
           f"{GOALS_FOLDER}.prover:GoalProver.from_others", "not others or not {*others} <= {*assumed}", "not others",
           Killer(test_consequences.test_what_follows_falls_with_the_others, (1,))),
    Mutant("follows-unproven", "What is said to follow from others is proven, whether it does or not.",
           f"{GOALS_FOLDER}.prover:GoalProver.from_others", "if answer.result != PROVEN:", "if False:",
           Killer(test_consequences.test_what_does_not_follow_is_not_said_to)),
    Mutant("after-rests-on-nothing", "A proof does not rest on what it assumes after the step.",
           "solvers.smt.worker:rests_on", "for group in (PREMISE, AFTER)", "for group in (PREMISE,)",
           Killer(test_consequences.test_what_follows_falls_with_the_others, (1,))),
    Mutant("frame-of-what-fell", "What a step leaves as it is rests on invariants that have fallen since.",
           f"{GOALS_FOLDER}.prover:GoalProver._frame", "for name in assumed if name in self._plain",
           "for name in self._plain",
           Killer(test_consequences.test_a_proof_rests_on_nothing_that_has_fallen_since)),
    Mutant("follows-from-itself", "Claims that follow from each other are taken for proven.",
           "solvers.smt.theory:check_consequences", "TopologicalSorter(premises).prepare()", "dict(premises)",
           Killer(test_consequences.test_claims_that_follow_from_each_other_are_refused, (0,))),
)  # fmt: skip

BREAKING = (
    Mutant("matrix-unasked", "Only what a property names must break a proof, and not what the matrix shows.",
           "ci.prove.broken:refuting", "[*shown, *named]", "[*named]",
           Killer(test_broken_proofs.test_every_row_of_the_matrix_is_asked_or_has_a_reason)),
    Mutant("variants-unasked", "Only what the matrix shows must break a proof, and not what a property names.",
           "ci.prove.broken:refuting", "[*shown, *named]", "[*shown]",
           Killer(test_broken_proofs.test_every_row_of_the_matrix_is_asked_or_has_a_reason)),
    Mutant("broken-where-nothing-stands", "A proof breaks where the right rules have none.",
           "ci.prove.broken:attempt", "if standing.proven(one.claim)]", "]",
           Killer(test_broken_proofs.test_only_a_proof_that_stands_can_break, (1,))),
    Mutant("last-step-unasked", "What a run with few brokers refutes is not proven for any number, unasked.",
           "ci.prove.broken:_broken", "None if answer.result == PROVEN else", "",
           Killer(test_broken_for_any.test_a_step_that_breaks_nothing_is_proven_for_any_number)),
    Mutant("refused-passes", "A claim that cannot be asked for any number needs no reason.",
           "ci.prove.broken:BrokenProof.faults", "list(self.refused)", "[]",
           Killer(test_broken_for_any.test_a_claim_that_cannot_be_asked_needs_a_reason)),
    Mutant("time-up-is-an-answer", "A solver whose time is up has answered.",
           "ci.prove.broken:is_answered", "answer.result != UNDECIDED", "True",
           Killer(test_broken_for_any.test_a_solver_whose_time_is_up_is_told)),
)  # fmt: skip
