"""Mutants of the liveness search: fairness, sweeps, cycles, bounds, confirmation."""

from __future__ import annotations

from kraftcheck.solvers.reference.confirm import EngineDisagreement
from tests.engine_mutants.mutant import Killer, Mutant
from tests.solvers.liveness import (
    test_component_kernel,
    test_components,
    test_engine,
    test_guides,
    test_lasso_memory,
    test_marks,
    test_sweeps,
)
from tests.solvers.smt import test_lassos
from tests.solvers.walks import test_suspects

GRAPHS = Killer(test_sweeps.test_the_sweeps_say_what_components_say, (0,))
COMPONENTS = Killer(test_components.test_fair_components_are_those_of_the_naive_judge)
KERNEL = Killer(test_component_kernel.test_components_are_those_of_python)
FILE = Killer(test_sweeps.test_edges_in_a_file_change_nothing)
FULL = Killer(test_lasso_memory.test_what_a_full_disk_took_of_a_block_harms_no_other)
DECIDED = Killer(test_sweeps.test_components_decide_what_rounds_do)
CHAIN = Killer(test_sweeps.test_a_long_thin_graph_takes_few_sweeps)
STOPPED = Killer(test_sweeps.test_a_stop_ends_the_search_for_a_lasso)
THROUGH = Killer(test_components.test_a_cycle_is_found_through_the_states_of_fair_components_alone)
ROUND = Killer(test_components.test_a_cycle_goes_round_a_state_that_enables_what_it_cannot_take)
GUIDES = Killer(test_guides.test_guides_are_renumbered_with_their_states)
GUIDED = Killer(test_guides.test_what_guides_put_off_is_looked_at)
MEMORY = Killer(test_lasso_memory.test_a_lasso_is_found_without_a_list_of_edges, (1,))
LITTLE = Killer(test_sweeps.test_without_memory_the_naive_verdicts_stay)
THIN = Killer(test_sweeps.test_a_late_rise_concerns_the_level_before)
MARKS = Killer(test_marks.test_marks_are_raised_as_in_python, (0,))
LIFT_FAIR = Killer(test_engine.test_the_lift_under_more_and_more_fairness, (3,))
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
    Mutant("narrowed-too-far", "What is left after a region was narrowed is left out.",
           "solvers.liveness.fair:Sweeps.fair", "kept[kept] = narrow.fair()", "kept[:] = False", LITTLE),
    Mutant("strong-is-weak", "Strong fairness is judged as weak.",
           "solvers.liveness.fair:Sweeps._satisfiable", "strong, weak = kind(group.strong), "
           "kind(group.every & ~group.strong)", "strong, weak = kind(0), kind(group.every)", GRAPHS),
    Mutant("disabled-is-no-excuse", "Weak fairness asks for a step also where none is enabled.",
           "solvers.liveness.fair:Sweeps._satisfiable", "group.steps, int(weak)", "group.steps, 0", GRAPHS),
    Mutant("disabled-is-no-excuse-for-strong", "Strong fairness asks for a step also where none is ever enabled.",
           "solvers.liveness.fair:Sweeps._satisfiable", "((marks | ~group.enabled) & strong)", "(marks & strong)",
           GRAPHS),
    Mutant("step-out-of-the-region", "A fair step counts although it leads where the goal is.",
           "solvers.machine_code.mark_kernel:emit_raise", "b.sext(_is_kept(b, kept, target), WORD)",
           "word(-1)", MARKS),
    Mutant("step-where-excused", "A step counts also where its constraint is excused.",
           "solvers.machine_code.mark_kernel:emit_raise", "b.and_(taken.get(), own)", "taken.get()", MARKS),
    Mutant("late-rise-missed", "A mark that rises after it was looked at is not noted.",
           "solvers.machine_code.mark_kernel:emit_raise", "shared.note_beyond(state, new, shared.get(watch, state))",
           "pass", MARKS),
    Mutant("watched-by-the-last", "A mark is watched for the state alone that was looked at last.",
           "solvers.machine_code.mark_kernel:_SharedBits.watch",
           'b.atomic_rmw("and", element(b, array, state, self._bits), b.trunc(bits, self._bits), "seq_cst")',
           "store(b, b.trunc(bits, self._bits), array, state, self._bits)", MARKS),
    Mutant("late-rise-passed-over", "A late rise concerns only states of its own level and deeper ones.",
           "solvers.liveness.fair:LateRises.gain", "bisect_right(levels, last) + 1", "bisect_right(levels, last)",
           THIN),
    Mutant("guide-left-out-guides", "A state that was left out when a region was narrowed guides as another one.",
           "solvers.liveness.constraints:renumbered", "numbers[~kept] = UNGUIDED", "pass", GUIDES),
    Mutant("guide-is-any", "A state guides another one although its mark alone does not give all bits.",
           "solvers.machine_code.mark_kernel:emit_raise", "b.select(suffices, target, guide.get())", "target", MARKS),
    Mutant("put-off-for-good", "States whose guides come later in a sweep are not looked at in the next one.",
           "solvers.liveness.fair:Closing.goes_on", "or (self.sweep == 1 and self._put_off)", "", GUIDED),
    Mutant("edges-of-others", "Edges kept of some states of a block are taken for those of all.",
           "solvers.liveness.fair:Closing.work", "if not put_off.any():", "if True:", GUIDED),
    Mutant("excuse-ignored", "An action counts as enabled where it is excused.",
           "solvers.liveness.fair:Sweeps._survey", "group.enabled[states] &= found",
           "group.enabled[states] = found", GRAPHS),
    Mutant("nothing-visited", "Of <>[]p any fair behaviour is a counterexample.",
           "solvers.liveness.judge:constraints_of",
           '[*constraints, TO_VISIT] if claim.claim.kind == "eventually_always" else constraints',
           "constraints", LIFT_FAIR),
    Mutant("wait-begins-anywhere", "A wait begins without its premise.",
           "solvers.liveness.behaviours:Question.begins", 'self.kind in ("eventually", "leads_to")', "False", GRAPHS),
    Mutant("cycle-out-of-reach", "A fair cycle counts that no wait for the goal leads to.",
           "solvers.liveness.behaviours:Behaviours.answer", "(self.sweeps.reaching(fair) & begins).any()",
           "True", GRAPHS, (AssertionError,)),
    Mutant("component-taken-whole", "Strong fairness takes no state out of a component.",
           "solvers.liveness.behaviours:Components._judge", "whole = is_cycle & ((seen[label] & LOSES) == 0)",
           "whole = is_cycle.copy()", COMPONENTS),
    Mutant("unfair-component", "A component counts in which a weak constraint can be satisfied nowhere.",
           "solvers.liveness.behaviours:Components._judge", "(IS_CYCLE | FAILS)", "IS_CYCLE", COMPONENTS),
    Mutant("step-out-of-the-component", "A fair step counts although it leaves the component.",
           "solvers.liveness.behaviours:Components._seen", "self.labels[sources] == self.labels[targets]",
           "np.ones(len(sources), dtype=np.bool_)", COMPONENTS),
    Mutant("lower-label-leads-back", "What leads to another component is taken for a part of one.",
           "solvers.liveness.fair:Closing.work", "if self.marking.labels is not None:", "if False:", COMPONENTS),
    Mutant("component-but-one", "A state that leads to the first of its component alone is taken for another one.",
           "solvers.machine_code.component_kernel:_leave", '">=", graph.get(graph.index, last), own',
           '">", graph.get(graph.index, last), own', KERNEL),
    Mutant("components-as-one", "All that waits belongs to the first component that is known.",
           "solvers.machine_code.component_kernel:_leave",
           'b.zext(b.icmp_unsigned(">=", graph.get(graph.index, last), own), WORD)', "word(1)", KERNEL),
    Mutant("way-over-others", "A component may go through states that do not count.",
           "solvers.machine_code.component_kernel:_go_on", "counts, reached = graph.is_open(target), ",
           "counts, reached = ir.Constant(ir.IntType(1), 1), ", KERNEL),
    Mutant("file-forgets-classes", "Edges that are read from the file are steps of nothing.",
           "solvers.liveness.graph:EdgeFile.get", "np.frombuffer(whole, kind, length, first)",
           "np.frombuffer(whole, kind, length, first) * np.uint8(kind.itemsize > 1)", FILE),
    Mutant("edge-file-after-a-full-disk", "A block of edges follows what a full disk took of the one before.",
           "solvers.liveness.graph:EdgeFile.put", "os.pwrite(file.fileno(), written, self.size)",
           "os.pwrite(file.fileno(), written, os.lseek(file.fileno(), 0, os.SEEK_END))", FULL),
    Mutant("listed-edges-between-labels", "Marks follow listed edges to other components.",
           "solvers.liveness.fair:Closing.follow_arcs",
           "edges if marking.labels is None else alike(edges, marking.labels, states)", "edges", COMPONENTS),
    Mutant("components-are-all", "What only stays somewhere is no fair behaviour once components decide.",
           "solvers.liveness.behaviours:Behaviours.fair", "goal[states] |= self._still(states)", "pass", DECIDED),
    Mutant("rounds-cut-short", "After many rounds what is left counts as fair.",
           "solvers.liveness.behaviours:Behaviours.fair", "if not self.sweeps.unfinished:", "if True:", DECIDED,
           (AssertionError,)),
    Mutant("listed-edges-of-the-first-block", "Only the edges of some states are listed.",
           "solvers.liveness.fair:Closing.follow_arcs", "range(len(self.edges.blocks))", "range(1)", CHAIN),
    Mutant("stop-unseen", "The search for a lasso goes on although it was to end.",
           "solvers.liveness.runs:Runs.farthest", "self.check_stop()", "pass", STOPPED),
    Mutant("cycle-left-out", "What no edge leads to is left out, with all that it leads to.",
           "solvers.liveness.behaviours:Components._trim", "self.labels[states] == 0", "self.labels[states] <= 1",
           COMPONENTS),
    Mutant("edges-not-dropped", "Edges stay in memory although the search for a lasso needs it.",
           "solvers.liveness.behaviours:Behaviours._nearest", "self.sweeps.lend(", "int(", MEMORY),
    Mutant("all-left-out", "Where one place has no way back, every state is left out.",
           "solvers.liveness.runs:shortest", "within &= runs.marks == NEVER", "within[:] = False", THROUGH),
    Mutant("strong-gives-up", "A state is on no fair cycle where some strong constraint can be taken nowhere.",
           "solvers.liveness.behaviours:FairCycle.instances", "if missed & ~group.strong:", "if missed:", ROUND),
    Mutant("first-cycle-will-do", "A cycle need not meet what it is asked for.",
           "solvers.liveness.behaviours:FairCycle._around", "if not any(missing):", "if around.instances:", GRAPHS),
)

VERDICTS = (
    Mutant("instances-as-one", "Fairness of each instance is taken for fairness of all together.",
           "solvers.program.trace:_instances", "if steps.covers(kind.action.name, arguments)",
           "if kind.action.name in steps.fairness.actions", EACH, (EngineDisagreement,)),
    Mutant("stutter-is-a-step", "A step that changes nothing counts as a step of its action.",
           "solvers.machine_code.edge_kernel:_emit_sift_known",
           "same_words(b, target, own), ir.Constant(same.type, 0)", "same, same",
           NO_STEP, (EngineDisagreement,)),
    Mutant("bounds-not-seen", "A step that a domain cuts leaves no mark.",
           "solvers.machine_code.edge_kernel:_emit_connect", "store(b, cut_bits(b, plan, frame), cuts, own)",
           "store(b, word(0), cuts, own)", EDGES),
    Mutant("cut-is-disabled", "An action whose step a domain cuts counts as not enabled.",
           "solvers.liveness.fair:Sweeps._survey", "(hidden | one.visits)", "np.full(len(found), one.visits)",
           BEYOND, (EngineDisagreement,)),
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
           "solvers.reference.confirm:lasso_trace",
           "not (one.taken or (one.always if steps_.fairness.strong else one.disabled))", "False", NO_LASSO),
    Mutant("open-lasso-confirmed", "Ints confirm a cycle that does not close.",
           "solvers.reference.confirm:lasso_trace", "states[-1] != states[start]", "False", NO_LASSO),
    Mutant("goal-on-the-cycle-confirmed", "Ints confirm a cycle that satisfies the property.",
           "solvers.reference.confirm:_kept", "last >= start", "False", NO_LASSO),
)

SHORT_IDLE = Killer(test_lassos.test_the_lift_has_the_lassos_of_the_native_engine, (0,))
SHORT_WEAK = Killer(test_lassos.test_the_lift_has_the_lassos_of_the_native_engine, (2,))
SHORT_FAIR = Killer(test_lassos.test_the_lift_has_the_lassos_of_the_native_engine, (3,))
SHORT_EACH = Killer(test_lassos.test_fairness_is_of_the_action_or_of_each_instance, (1,))
SHORT_EXCUSED = Killer(test_lassos.test_fairness_is_of_the_action_or_of_each_instance, (3,))
SHORT_NO_STEP = Killer(test_lassos.test_fairness_is_of_the_action_or_of_each_instance, (4,))
SHORT_WAIT = Killer(test_lassos.test_a_wait_begins_at_its_premise_and_ends_at_any_later_goal, (0,))
SHORT_ROUND = Killer(test_lassos.test_a_wait_begins_at_its_premise_and_ends_at_any_later_goal, (1,))

LASSOS = (
    Mutant("cycle-left-open", "The last state need not be the one where the cycle begins.",
           "solvers.smt.runs.lassos:Lassos.broken", "[disjunction(begins), *closed, *fair,",
           "[disjunction(begins), *fair,", SHORT_WEAK),
    Mutant("halt-forgotten", "A behaviour that stays where it is is no lasso.",
           "solvers.smt.runs.lassos:Lassos.broken", "[disjunction(begins), *closed",
           "[disjunction(begins[:-1]), *closed", SHORT_IDLE),
    Mutant("fairness-forgotten", "A lasso need not be fair.",
           "solvers.smt.runs.lassos:Lassos.broken", "*closed, *fair,", "*closed,", SHORT_FAIR),
    Mutant("strong-as-weak", "Strong fairness is judged as weak.",
           "solvers.smt.runs.lassos:Lassos._fair", "if self._constraints[number].strong:", "if False:", SHORT_FAIR),
    Mutant("weak-as-strong", "Weak fairness is judged as strong.",
           "solvers.smt.runs.lassos:Lassos._fair", "if self._constraints[number].strong:", "if True:", SHORT_WEAK),
    Mutant("taken-before-the-cycle", "A step before the cycle satisfies fairness.",
           "solvers.smt.runs.lassos:Lassos._fair", "z3.And(inside, one) for inside, one in zip(within, taken",
           "one for inside, one in zip(within, taken", SHORT_EACH),
    Mutant("excuse-forgotten", "Fairness has no excuse.",
           "solvers.smt.runs.lassos:FairReader.truths", "z3.Not(self._read.expression(constraint.excused))",
           "z3.BoolVal(True)", SHORT_EXCUSED),
    Mutant("every-instance-is-fair", "Fairness of each instance is satisfied by any.",
           "solvers.smt.runs.lassos:FairReader._instances",
           "if constraint.steps.covers(kind.action.name, dict(zip(names, row, strict=True))):", "if True:", SHORT_EACH),
    Mutant("stuttering-is-a-step", "An action that changes nothing is enabled.",
           "solvers.smt.runs.lassos:FairReader._instances", "z3.And(guard, z3.Not(same))", "guard", SHORT_NO_STEP),
    Mutant("goal-before-the-wait", "A goal before the premise ends the wait.",
           "solvers.smt.runs.lassos:Lassos._breaks", "*bad[number:]]", "*bad]", SHORT_WAIT),
    Mutant("goal-on-the-cycle", "A wait may begin on the cycle and the goal be there.",
           "solvers.smt.runs.lassos:Lassos._breaks", "conjunction([*never_again, disjunction(waits)])",
           "disjunction(waits)", SHORT_ROUND),
)  # fmt: skip

WEAK_SUSPECTS = Killer(test_suspects.test_what_is_broken_is_suspected_and_nothing_else, (2,))
IDLE_SUSPECTS = Killer(test_suspects.test_what_is_broken_is_suspected_and_nothing_else, (0,))

SUSPECTS = (
    Mutant("suspect-unconfirmed", "Any cycle without the goal is suspected, fair or not.",
           "solvers.walks.walks:_Search._breaks", "return False", "return True", WEAK_SUSPECTS),
    Mutant("suspect-in-no-cycle", "Only places to stay are suspected.",
           "solvers.walks.walks:_Search._candidates", "if start < end:", "if False:", WEAK_SUSPECTS),
    Mutant("suspect-never-stays", "Only cycles are suspected.",
           "solvers.walks.walks:_Search._candidates",
           "if not goal[number] and states[number] not in self._halts:", "if False:", IDLE_SUSPECTS),
    Mutant("suspect-from-nowhere", "The way to the state that a walk began in is left out.",
           "solvers.walks.walks:_whole", "(*before.instances, *walked.instances)", "(*walked.instances,)",
           Killer(test_suspects.test_a_lasso_begins_in_an_initial_state)),
    Mutant("suspect-not-shortened", "A suspected lasso is shown as it was walked.",
           "solvers.walks.walks:_Search.look",
           "minimise(self.program, self.claim, whole.initial, whole.instances[:end], start)",
           "lasso_trace(self.program, self.claim, first, steps[:end], start)",
           Killer(test_suspects.test_a_suspected_lasso_is_short_and_does_not_depend_on_threads)),
)  # fmt: skip
