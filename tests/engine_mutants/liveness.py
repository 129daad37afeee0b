"""Mutants of the liveness search: fairness, sweeps, cycles, bounds, confirmation."""

from __future__ import annotations

from kraftcheck.solvers.reference.confirm import EngineDisagreement
from tests.engine_mutants.mutant import Killer, Mutant
from tests.solvers.liveness import test_engine, test_sweeps

GRAPHS = Killer(test_sweeps.test_the_sweeps_say_what_components_say, (0,))
LIFT_IDLE = Killer(test_engine.test_the_lift_under_more_and_more_fairness, (0,))
SAYS = Killer(test_engine.test_holds_says_under_which_fairness)
EACH = Killer(test_engine.test_fairness_is_of_the_action_or_of_each_instance, (1,))
NO_STEP = Killer(test_engine.test_an_action_that_changes_nothing_is_no_step)
BEYOND = Killer(test_engine.test_beyond_a_bound_is_unknown)
CUT = Killer(test_engine.test_a_cut_search_never_holds_and_may_refute)
SYMMETRIC = Killer(test_engine.test_symmetry_leaves_liveness_unknown)
EDGES = Killer(test_engine.test_compiled_edges_are_those_of_ints)
NO_LASSO = Killer(test_engine.test_a_lasso_that_is_none_is_not_confirmed)

SWEEPS = (
    Mutant("one-round", "States are left out once, not until nothing changes.",
           "solvers.liveness.fair:Sweeps.fair", "while removed and kept.any():", "for _ in range(1):", GRAPHS,
           (AssertionError,)),
    Mutant("strong-is-weak", "Strong fairness is judged as weak.",
           "solvers.liveness.fair:Sweeps._satisfiable", "strong, weak = kind(used & group.strong), "
           "kind(used & ~group.strong)", "strong, weak = kind(0), kind(used)", GRAPHS),
    Mutant("disabled-is-no-excuse", "Weak fairness asks for a step also where none is enabled.",
           "solvers.liveness.fair:Sweeps._satisfiable", " | (weak & ~enabled)", "", GRAPHS),
    Mutant("disabled-is-no-excuse-for-strong", "Strong fairness asks for a step also where none is ever enabled.",
           "solvers.liveness.fair:Sweeps._satisfiable", "((marks | ~group.enabled) & strong)", "(marks & strong)",
           GRAPHS),
    Mutant("step-out-of-the-region", "A fair step counts although it leads where the goal is.",
           "solvers.liveness.fair:Sweeps._satisfiable", "taken[~kept[block.targets]] = 0", "pass", GRAPHS),
    Mutant("excuse-ignored", "An action counts as enabled where it is excused.",
           "solvers.liveness.fair:Sweeps.survey", "enabled & ~excused(number, block.states)", "enabled", GRAPHS),
    Mutant("nothing-visited", "Of <>[]p any fair behaviour is a counterexample.",
           "solvers.liveness.behaviours:Question.visit", '~self.goal if self.kind == "eventually_always" else None',
           "None", GRAPHS, (KeyError,)),
    Mutant("wait-begins-anywhere", "A wait begins without its premise.",
           "solvers.liveness.behaviours:Behaviours.answer", 'waiting if question.kind in ("eventually", "leads_to") '
           "else region", "region", GRAPHS),
    Mutant("stem-through-the-goal", "The way into a cycle may pass the goal.",
           "solvers.liveness.behaviours:Behaviours.answer", "self.sweeps.reaching(fair, region) & begins",
           "self.sweeps.reaching(fair, np.ones_like(region)) & begins", GRAPHS, (AssertionError,)),
    Mutant("component-taken-whole", "Strong fairness takes no state out of a component.",
           "solvers.liveness.cycle:Cycles._fair", "left &= ~demand.enabled", "pass", GRAPHS, (AssertionError,)),
    Mutant("first-cycle-will-do", "A cycle need not meet what it is asked for.",
           "solvers.liveness.cycle:Cycles._around", "if not missing:", "if around:", GRAPHS),
)

VERDICTS = (
    Mutant("instances-as-one", "Fairness of each instance is taken for fairness of all together.",
           "solvers.program.live_claims:_instances", "if steps.covers(kind.action.name, arguments)",
           "if kind.action.name in steps.fairness.actions", EACH, (EngineDisagreement,)),
    Mutant("stutter-is-a-step", "A step that changes nothing counts as a step of its action.",
           "solvers.machine_code.edge_kernel:_emit_connect",
           "b.not_(same_words(b, state_at(b, record, words), state_at(b, state, words)))", "ir.Constant(TRUTH, 1)",
           NO_STEP, (EngineDisagreement,)),
    Mutant("bounds-not-seen", "A step that a domain cuts leaves no mark.",
           "solvers.machine_code.edge_kernel:_emit_connect", "Local(b, _cut_bits(b, plan, frame))",
           "Local(b, word(0))", EDGES),
    Mutant("cut-is-disabled", "An action whose step a domain cuts counts as not enabled.",
           "solvers.liveness.fair:Sweeps.survey", "enabled |= hidden.astype(enabled.dtype) << enabled.dtype.type(bit)",
           "pass", BEYOND, (EngineDisagreement,)),
    Mutant("beyond-holds", "What may leave the bounds before its goal holds.",
           "solvers.liveness.behaviours:Behaviours.answer", "lasso is None and self.sweeps.cut.any()", "False", BEYOND),
    Mutant("cut-search-holds", "A property holds although the search was cut.",
           "solvers.liveness.judge:liveness_verdicts", "elif cut is not None:", "elif False:", CUT),
    Mutant("no-premise-not-told", "Of a premise that never holds it is said that nothing waits.",
           "solvers.liveness.judge:_unrefuted", "if not finding.answer.concerned:", "if False:", SAYS),
    Mutant("no-wait-holds", "A property holds for which nothing has to wait.",
           "solvers.liveness.judge:_unrefuted", "if not finding.answer.waiting:", "if False:", LIFT_IDLE),
    Mutant("symmetry-passed-over", "States that stand for others are judged as if they stood for themselves.",
           "solvers.liveness.judge:search_liveness", "program.reduction is not None", "False", SYMMETRIC,
           (EngineDisagreement,)),
    Mutant("unfair-lasso-confirmed", "Ints confirm a cycle that breaks fairness.",
           "solvers.reference.lasso:confirm_lasso",
           "not (one.taken or (one.always if steps_.fairness.strong else one.disabled))", "False", NO_LASSO),
    Mutant("open-lasso-confirmed", "Ints confirm a cycle that does not close.",
           "solvers.reference.lasso:confirm_lasso", "states[-1] != states[start]", "False", NO_LASSO),
    Mutant("goal-on-the-cycle-confirmed", "Ints confirm a cycle that satisfies the property.",
           "solvers.reference.lasso:_kept", "last >= start", "False", NO_LASSO),
)
