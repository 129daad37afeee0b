"""Mutants of proofs: terms in Z3, induction, quantifiers, goals, bounded runs, certificates."""

from kraftcheck.ci.terminal.refusal import Refusal
from tests.ci.prove import test_certificates
from tests.engine_mutants.mutant import Killer, Mutant
from tests.model.language.words import test_words
from tests.random_collections import test_random_collections
from tests.solvers.audit import test_each_number, test_numbers
from tests.solvers.smt import test_any_systems, test_induction, test_rounds
from tests.solvers.smt.reading import test_quantified, test_steps_of_few, test_z3reader
from tests.solvers.smt.reading.goals import test_consequences, test_outcomes
from tests.solvers.smt.runs import test_bounded

HONEST = Killer(test_certificates.test_what_is_compared_is_said, fixtures={"written": test_certificates.of_the_lock})


Z3_ENDS = Killer(test_z3reader.test_z3_agrees_with_ints_on_every_operator_at_the_ends)
K_INDUCTION = Killer(test_bounded.test_longer_runs_prove_what_single_steps_do_not)
UNREACHABLE = Killer(test_induction.test_an_unreachable_counterexample_proves_nothing)
FOLDER = "solvers.smt.reading.quantified"


def outside(position: int) -> Killer:
    """The test of a place that may be none of a map of any number."""
    return Killer(test_random_collections.test_a_place_that_may_be_no_number_is_refused, (position,))


STEPS_OF_FEW = Killer(test_steps_of_few.test_steps_of_few_are_steps_of_any_number, (0,))
ELECTIONS = "model.systems.elections"


def initial(brokers: int, system: int) -> Killer:
    """The test of initial states of few, with two brokers or three."""
    return Killer(test_steps_of_few.test_initial_states_of_few_are_initial_for_any_number, (brokers, system))


GOALS_FOLDER = "solvers.smt.reading.goals"
ALL_DECISIONS = Killer(test_outcomes.test_a_claim_of_every_decision_holds_of_the_one_there_is)

EACH_NUMBER = "solvers.audit.each_number"


def of_part(name: str) -> Killer:
    """The test of a part that is of any number another than of each."""
    return Killer(
        test_each_number.test_a_part_that_knows_whether_a_bound_is_any_is_refused,
        ([*test_each_number.HONEST].index(name),),
    )


def abstract(name: str) -> Killer:
    """The test of what a refined system has of any number."""
    return Killer(
        test_each_number.test_a_refinement_of_any_number_is_one_of_each, ([*test_each_number.ABSTRACT].index(name),)
    )


MUTANTS = (
    Mutant("any-number-rules-uncompared", "A rule of a number may be another than that of any number.",
           f"{EACH_NUMBER}:_Number._check_rules", "if text != other:", "if False:", of_part("guard")),
    Mutant("any-number-domains-uncompared", "A field of a number may have values that it has not for any number.",
           f"{EACH_NUMBER}:_Number._check_fields", "if ends != (slot.domain.lo, slot.domain.hi)", "if False",
           of_part("domain")),
    Mutant("any-number-arguments-uncompared", "An argument of a number may have values that it has not for any number.",
           f"{EACH_NUMBER}:_Number._is_of", "lo <= one <= hi", "lo <= hi",
           Killer(test_each_number.test_values_of_an_argument_lie_within_those_of_any_number, (1,))),
    Mutant("any-number-freed-uncompared", "What a bound says that any frees is not asked of the numbers.",
           f"{EACH_NUMBER}:check_each", "if bound.freed_by in names", "if not bound.name",
           Killer(test_each_number.test_each_value_of_a_bound_that_any_frees_is_compared)),
    Mutant("scopes-of-any", "A scope may have a number that only proofs take, which no search is compared with.",
           "model.language.system:System.unlimited_setting", "lo), proof=False)", "lo), proof=True)",
           Killer(test_any_systems.test_a_scope_has_numbers_that_searches_take, (0,))),
    Mutant("numbers-asked-together", "What a system keeps of one number is not told from what it gives for another.",
           "ci.prove.request:ProofRequest.compare_alone", "if _meaning(self, each) != alone:", "if False:",
           Killer(test_each_number.test_what_a_system_keeps_of_another_number_is_told, (0,))),
    Mutant("globals-set", "A part may set what rules of any number read as it is with another number.",
           f"{EACH_NUMBER}:_globals_kept", "in _globals().items()", "in {}.items()",
           Killer(test_numbers.test_a_part_that_sets_a_global_is_refused)),
    Mutant("any-number-beginnings-uncompared", "A number may begin where no number begins.",
           f"{EACH_NUMBER}:_Number.check", "for state in self.states:", "for state in self.states[:0]:",
           Killer(test_each_number.test_a_number_that_no_search_takes_is_one_of_any)),
    Mutant("any-number-six-compared", "The rules of the first six numbers stand for those of each.",
           f"{EACH_NUMBER}:_searched", "range(bound.lo, bound.hi + 1)", "range(bound.lo, bound.lo + 6)",
           Killer(test_each_number.test_a_rule_of_one_number_is_refused)),
    Mutant("any-number-starts-uncompared", "What a step claims of initial states may be another of a number.",
           f"{EACH_NUMBER}:_texts", "if claim.id in program.starts:", "if False:", abstract("initial states")),
    Mutant("any-number-refined", "A refined system has fields below any number, of which none is asked.",
           "model.language.refinement:Refinement.__attrs_post_init__", "or below(domain) is not None", "",
           abstract("a field")),
    Mutant("bounds-told", "A rule may ask which bounds are any.", "model.language.symbolic:check_told",
           "if anyone is not None and not told", "if False",
           Killer(test_each_number.test_a_guard_that_knows_whether_a_bound_is_any_is_refused, (1,))),
    Mutant("tuples-are-places", "Where a map of any number has tuples, their parts are its places.",
           "solvers.audit.numbers:matched", "yield from below(part, parts[name], row)",
           "yield from below(part, parts[name], (*row, name) if isinstance(of, tuple) else row)",
           Killer(test_each_number.test_a_map_of_any_number_takes_every_value, (0,)), dies=(Refusal,)),
    Mutant("any-exceeded", "A bound may exceed the fewest participants that are searched.",
           "ci.prove.request:ProofRequest.free", "return max(", "return bound.lo or max(",
           Killer(test_each_number.test_a_bound_that_may_not_exceed_any_is_taken), dies=(Refusal,)),
    Mutant("classes-unasked", "A rule of any number may ask of what class a value is.",
           "solvers.audit.traced_sample:check_sample", "ways.check_classes(system)", "",
           Killer(test_each_number.test_a_rule_that_knows_it_by_the_state_is_refused, (0,))),
    Mutant("defaults-unasked", "A rule of any number may ask for a member, with a value for what has none.",
           "solvers.audit.ways:_names_members", "len(one.args) == 2", "one.args",
           Killer(test_each_number.test_a_rule_that_knows_it_by_the_state_is_refused, (3,))),
    Mutant("libraries-unasked", "A rule of any number may call any library.",
           "solvers.audit.ways:followed", "_is_of_library(frame.f_code.co_filename)", "False",
           Killer(test_each_number.test_a_rule_that_asks_a_library_is_refused)),
    Mutant("numbers-unsampled", "No sampled state holds the numbers that rules name.",
           "solvers.audit.traced_sample:_named", "[:MOST_NAMED]", "[:0]",
           Killer(test_each_number.test_a_rule_of_another_number_at_a_rare_value_is_refused)),
    Mutant("guards-share-names", "A part of a guard that is named as an argument is not compared.",
           f"{EACH_NUMBER}:_texts", 'f"{of} {name}"', "name",
           Killer(test_each_number.test_a_guard_that_is_named_as_an_argument_is_compared)),
    Mutant("places-unasked", "A map may have other places with a number than there are below its bound.",
           f"{EACH_NUMBER}:_Number._check_fields", "None not in names", "False",
           Killer(test_each_number.test_fields_that_are_others_with_a_number_are_refused, (0,))),
    Mutant("caps-unasked", "A field may be capped with any number alone.",
           f"{EACH_NUMBER}:_Number._check_fields", 'getattr(slot.domain, "cap", "")', 'getattr(of.domain, "cap", "")',
           Killer(test_each_number.test_fields_that_are_others_with_a_number_are_refused, (1,))),
    Mutant("z3-unsigned-extension", "A negative word grows as if it were not.",
           "solvers.smt.z3terms:Z3Reader.resize", "if term.lo < 0 else z3.ZeroExt", "if term.lo > 0 else z3.ZeroExt",
           Z3_ENDS),
    Mutant("premises-contradict", "A premise is false, so that everything follows.",
           "solvers.smt.queries:Questions.premises", "terms |= self.bounds(kind, there=True) if within else {}",
           "terms |= {'guard: ': self.subject.program.graph.constant(False)}", UNREACHABLE),
    Mutant("few-suffice", "What few participants prove is proven for any number.",
           "solvers.smt.worker:ProofWorker._from_choices", "effort).ask(obligation)",
           "effort).ask(obligation); answer = evolve(answer, result=PROVEN)",
           Killer(test_rounds.test_a_defect_is_not_proven_from_what_few_use, (0,))),
    Mutant("k-off-by-one", "k-induction assumes one step more than the base looked at.",
           "solvers.smt.runs.bounded:_unroll_assuming", "for depth in range(k):", "for depth in range(k + 1):",
           K_INDUCTION),
    Mutant("places-confused", "What a word says of every place is said of the place that it is read at.",
           "model.language.sequences:Sequence.anywhere", "word = self.at(place)",
           "self.graph.binders -= 1; word = self.at(place); self.graph.binders += 1",
           Killer(test_words.test_a_word_that_speaks_of_every_place_is_of_the_place_it_is_read_at)),
    Mutant("any-proposes-few", "Of any number a leader proposes no ISR but itself.",
           f"{ELECTIONS}.state:sets", "negate(members.is_empty())", "members.size() == 1", STEPS_OF_FEW),
    Mutant("any-begins-with-one", "Of any number a topic has one replica at first.",
           f"{ELECTIONS}.state:new_topic", "replicas.ranked())", "replicas.ranked(), replicas.size() == 1)",
           initial(1, 1)),
    Mutant("owners-share-a-name", "What one broker keeps without another is as large as the other way round.",
           "solvers.smt.reading.set_shapes:kept_by", 'f"owner {len(owners)}"', '"owner"',
           Killer(test_quantified.test_what_one_broker_keeps_without_another_is_not_the_other_way_round, (1, 0))),
    Mutant("covered-by-one-of-three", "A set is no larger than two others together, whatever members these lack.",
           f"{FOLDER}.engine:of_covers", "(z3.Or(whole.size <= one.size + other.size, outside),)",
           "(whole.size <= one.size + other.size,)",
           Killer(test_quantified.test_two_sets_that_cover_a_third_are_no_smaller)),
    Mutant("decisions-share-a-name", "Two decisions have one name, and so are the same.",
           f"{GOALS_FOLDER}.truths:Decisions._name_of", 'f"decision {term.index}"',
           'f"decision {int(term.is_truth)}"', ALL_DECISIONS),
    Mutant("follows-from-itself", "Claims that follow from each other are taken for proven.",
           "solvers.smt.theory:check_consequences", "TopologicalSorter(premises).prepare()", "dict(premises)",
           Killer(test_consequences.test_claims_that_follow_from_each_other_are_refused, (0,))),
)  # fmt: skip
