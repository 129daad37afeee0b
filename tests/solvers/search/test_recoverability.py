"""`recovers` (AG EF): the backward search agrees with one on ints, tells what it cannot know, and is confirmed."""

import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve, frozen

from kraftcheck.model.language.layout import Range, ints
from kraftcheck.model.language.system import Action, Property, System
from kraftcheck.model.language.terms import Word
from kraftcheck.model.language.words import all_of, any_of
from kraftcheck.model.rules.ruleset import parse
from kraftcheck.properties.catalogue import SYSTEMS
from kraftcheck.properties.kinds import recovers
from kraftcheck.solvers.audit.audit import Audit
from kraftcheck.solvers.exploration.explore import Exploration, SearchProgress, conclude, explore
from kraftcheck.solvers.liveness import backward, fair, graph
from kraftcheck.solvers.machine_code.compile import load_kernel
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.trace import SystemFault, trace
from kraftcheck.solvers.program.verdict import Closure, Holds, Incomplete, Refuted, Unknown, Vacuous, exit_code
from kraftcheck.solvers.reference import confirm as replay
from kraftcheck.solvers.reference.confirm import EngineDisagreement, confirm
from kraftcheck.solvers.search.levels import Limits, Search
from kraftcheck.solvers.traces.render import BrokenTrace, lines, minimise, replay_trace
from tests import toys
from tests.shared.explored import explored, traced

ELECTIONS = SYSTEMS["elections"]

Graph = Mapping[tuple[int, ...], list[tuple[int, tuple[int, ...]]]]


def graph_of(program: Program) -> Graph:
    """All reachable states with their successors, by action instance."""
    kernel = load_kernel(program)
    graph: dict[tuple[int, ...], list[tuple[int, tuple[int, ...]]]] = {}
    todo = list(program.initial)
    while todo:
        state = todo.pop()
        if state not in graph:
            graph[state] = list(kernel.successors(state))
            todo += [after for _, after in graph[state]]
    return graph


def lost_states(program: Program, graph: Graph, claim: Property) -> set[tuple[int, ...]]:
    """The states that a claim is about and that never satisfy it again, by the definition, on ints."""
    unpacked = {packed: program.layout.unpack(packed) for packed in graph}
    can = {packed for packed, state in unpacked.items() if claim.holds(state)}
    instances = [program.instance(number) for number in range(program.instances)]
    allowed = [claim.allows(action.name, arguments) for action, arguments in instances]
    grown = True
    while grown:
        more = {
            packed
            for packed, steps in graph.items()
            if packed not in can and any(after in can and allowed[number] for number, after in steps)
        }
        grown = bool(more)
        can |= more
    return {packed for packed in graph.keys() - can if all_of(claim.concerns(unpacked[packed]))}


def check_against_the_definition(program: Program, threads: int = 1) -> None:
    """Verdicts, counterexamples and counts are those of the definition."""
    found, graph = explored(program, threads=threads), graph_of(program)
    depths = depths_of(program, graph)
    for one in program.recovers:
        lost = lost_states(program, graph, one.claim)
        judged = found.verdict(one.claim.id)
        assert isinstance(judged.verdict, Refuted) == bool(lost)
        if isinstance(judged.verdict, Refuted):
            assert program.layout.pack(judged.verdict.trace.states[-1]) in lost
            assert judged.depth == min(depths[state] for state in lost)
        elif isinstance(judged.verdict, Holds):
            states = [program.layout.unpack(packed) for packed in graph]
            failing = [s for s in states if one.claim.concerns(s) and not one.claim.holds(s)]
            assert judged.verdict.cases == len(failing)


def depths_of(program: Program, graph: Graph) -> dict[tuple[int, ...], int]:
    """The depth of every state."""
    depths = dict.fromkeys(program.initial, 0)
    level = list(program.initial)
    while level:
        fresh = dict.fromkeys(after for state in level for _, after in graph[state] if after not in depths)
        depths |= dict.fromkeys(fresh, depths[level[0]] + 1)
        level = list(fresh)
    return depths


COMMIT_CLAIMS = (
    recovers("decided", "Every manager can decide.", lambda s: s.committed.plus(s.aborted).size() >= 3),
    recovers("undecided", "The decision can be taken back.", lambda s: s.manager == toys.INIT),
    recovers("heard", "The transaction manager can hear of every promise.", lambda s: s.promised.within(s.heard),
             when=lambda s: s.manager == toys.INIT, by={"TMRcvPrepared": {}}),
    recovers("heard-of-0", "It can hear of them by hearing manager 0.", lambda s: s.promised.within(s.heard),
             by={"TMRcvPrepared": {"rm": 0}}),
    recovers("someone-commits", "Someone can commit.", lambda s: negate_empty(s.committed),
             when=lambda s: s.aborted.is_empty()),
)  # fmt: skip


def negate_empty(members: Any) -> Any:
    """Whether a set has a member."""
    return members.size() > 0


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("system", [toys.TWO_PHASE, toys.HASTY])
def test_the_backward_search_is_the_definition(system: System, threads: int) -> None:
    """On two-phase commit with 3 managers every verdict, depth and count is what the definition gives on ints."""
    check_against_the_definition(traced(system, "3", *COMMIT_CLAIMS), threads)


@frozen
class Step:
    """Where someone is on a long way."""

    place: Word


LONG_WAY = System(
    name="long-way", summary="A way of single steps with a gap, which may begin anywhere.",
    initial=[Step(place) for place in range(200)], layout=Step(Range(0, 199)),
    actions=[Action("go", lambda s: Step(s.place + 1), lambda s: all_of(s.place != 120, s.place < 199)),
             Action("stop", lambda s: s, lambda s: s.place == 199)],
    properties=[recovers("arrives", "The end can be reached.", lambda s: s.place == 199),
                recovers("half", "So can the place before the gap.", lambda s: s.place >= 120),
                recovers("walks", "Beyond the gap the end can be reached by going.", lambda s: s.place == 199,
                         when=lambda s: s.place > 120, by={"go": {}})],
)  # fmt: skip
"""Its states all have depth 0, in no order of their place: a sweep takes marks a few steps back."""


def test_listed_steps_are_followed_where_sweeps_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a long way some sweeps are enough, with the findings of the definition; without room there are many."""
    program = traced(LONG_WAY)
    check_against_the_definition(program)
    assert explored(program).recoverability.sweeps == fair.MANY_SWEEPS
    monkeypatch.setattr(fair, "ARC_BYTES", 1 << 50)
    check_against_the_definition(program)
    assert explored(program).recoverability.sweeps > 2 * fair.MANY_SWEEPS


@pytest.mark.parametrize(
    ("words", "depth"),
    [((LONG_WAY,), None), ((toys.TWO_PHASE, "5", *COMMIT_CLAIMS), None), ((toys.TWO_PHASE, "5", *COMMIT_CLAIMS), 5)],
    ids=["long way", "two-phase commit", "cut"],
)
def test_findings_do_not_depend_on_room(
    words: Any, depth: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without room for any step, with room for some, with all in a file, or with a list findings are alike."""
    monkeypatch.setattr(graph, "MOST_STATES", 50)
    program = traced(*words)
    search = Search(load_kernel(program), Limits(1 << 30, max_depth=depth), 1, threading.Event(), lambda _: None)
    search.run()
    first = backward.BackwardSearch(search.kernel, search.store, fair.SweepControl()).run()
    assert first is not None
    assert any(one.failing for one in first)
    for budget, many, scratch in (
        (0, 2, None), (0, 1000, None), (1 << 18, 2, None), (1 << 18, 1000, None), (1 << 30, 2, None),
        (0, 1000, tmp_path), (1 << 18, 2, tmp_path),
    ):  # fmt: skip
        control = fair.SweepControl(2, budget=budget, scratch=scratch, many=many)
        assert backward.BackwardSearch(search.kernel, search.store, control).run() == first


@pytest.mark.parametrize("node", range(10))
def test_every_node_of_a_digraph_recovers_as_the_definition_says(node: int) -> None:
    """For each node of the digraph: can it always be reached again?"""
    claims = [recovers(f"at-{n}", "The walk can come here.", lambda s, n=n: s.node == n) for n in (node, 9 - node)]
    check_against_the_definition(traced(toys.DIGRAPH, None, *claims))


@pytest.mark.parametrize("rules", ["fixed", "kafka-4.0"])
def test_elections_recover_as_the_definition_says(rules: str) -> None:
    """On a cut-down `elections`, two claims with restricted ways have the definition's verdicts."""
    claims = (
        recovers("led", "A leader can return by itself.", lambda s: s.leader >= 0,
                 when=lambda s: s.registered.size() > 1,
                 by={"unfence": {}, "new_incarnation": {"clean": True}, "balance_timer": {}}),
        recovers("in-sync", "A second replica can return.", lambda s: any_of(s.isr.size() > 1, s.elr_enabled)),
    )  # fmt: skip
    system = evolve(ELECTIONS, properties=lambda _: claims)
    setting = system.setting("tiny", {"reassignment": 0}, parse(rules))
    check_against_the_definition(trace(system, setting))


def verdicts(scope: str) -> Exploration:
    """The exploration of the valve."""
    return explored(traced(toys.VALVE, scope))


def test_a_budget_traps_and_the_trace_says_so() -> None:
    """A valve that sticks shut after the last knock never opens: 8 steps, confirmed on ints."""
    found = verdicts("budget").verdict("opens")
    assert isinstance(found.verdict, Refuted)
    assert (found.kind, found.depth, exit_code(found.verdict)) == ("recovers", 8, 13)
    told = found.verdict.trace
    assert (told.failing, told.closure) == (("opens",), Closure(1, complete=True))
    assert lines(told)[-2:] == [
        "     fails: opens",
        "      never again: nothing that can follow satisfies it (all 1 state checked on ints)",
    ]


def test_the_way_out_is_restricted() -> None:
    """Without knocks a stuck valve is lost after two steps; a free one is not, and each is told apart."""
    found = verdicts("budget")
    lost = found.verdict("opens-by-itself")
    assert isinstance(lost.verdict, Refuted)
    assert (lost.depth, lost.verdict.trace.closure) == (2, Closure(1, complete=True, actions="open"))
    held = found.verdict("opens-unless-stuck").verdict
    assert isinstance(held, Holds)
    assert held.cases == 4


def test_a_claim_without_cases_is_vacuous() -> None:
    """About no state, or true in all of them, a claim is vacuous, exit code 21; never true, it warns."""
    found = verdicts("budget")
    assert found.verdict("never-asked").verdict == Vacuous("never-asked", "it is about no reachable state")
    assert found.verdict("never-needed").verdict == Vacuous("never-needed", "no reachable state has to recover")
    assert exit_code(found.verdict("never-needed").verdict) == 21
    assert found.verdict("never-true").depth == 0
    assert found.warnings == ("never-true: no reachable state satisfies it",)


def test_a_way_that_a_bound_cuts_is_unknown() -> None:
    """Where only the bound on a field takes the last knock away, nothing is claimed in either direction."""
    found = verdicts("bound").verdict("opens").verdict
    assert found == Unknown("a state at depth 8 recovers, if at all, only beyond a bound that pruned transitions")
    assert exit_code(found) == 22


def test_a_cut_search_never_holds_and_may_refute() -> None:
    """Cut at depth 2 the valve may or may not open; that it never opens by itself is known by then."""
    found = explored(traced(toys.VALVE), max_depth=2)
    assert isinstance(found.verdict("opens-unless-stuck").verdict, Incomplete)
    assert isinstance(found.verdict("opens").verdict, Incomplete)
    assert isinstance(found.verdict("never-needed").verdict, Incomplete)
    assert found.verdict("opens-by-itself").depth == 2
    whole = traced(toys.TWO_PHASE, "5", COMMIT_CLAIMS[0])
    for options in ({"max_states": 5000}, {"memory": 1 << 17}, {"max_depth": 9}):
        assert isinstance(explored(whole, **options).verdict("decided").verdict, Incomplete)


def test_marks_count_for_the_memory() -> None:
    """A search with a backward search takes more bytes a state, by a mark each."""
    sizes = [explored(traced(toys.TWO_PHASE, "7", *claims)).bytes_per_state for claims in ((), COMMIT_CLAIMS[:1])]
    assert sizes[1] - sizes[0] == pytest.approx(1, abs=0.1)


def test_a_stop_during_the_backward_search_is_incomplete() -> None:
    """A flag set in the first sweep leaves safety decided and recovery incomplete."""
    stop, seen = threading.Event(), list[SearchProgress]()

    def progress(now: SearchProgress) -> None:
        if now.sweep:
            seen.append(now)
            stop.set()

    program = traced(toys.TWO_PHASE, "5", toys.TWO_PHASE.properties(toys.TWO_PHASE.setting("5"))[1], *COMMIT_CLAIMS)
    found = explore(program, clock=time.perf_counter, progress=progress, stop=stop)
    assert (seen[0].sweep, found.cut) == (1, "stopped on request")
    assert isinstance(found.verdict("decided").verdict, Incomplete)
    assert isinstance(found.verdict("committed").verdict, Holds)


def test_stopping_at_the_first_violation_skips_the_backward_search() -> None:
    """Who wants the first violation does not wait for all recoveries."""
    claims = (*toys.HASTY.properties(toys.HASTY.setting("3")), *COMMIT_CLAIMS)
    found = explored(traced(toys.HASTY, "3", *claims), stop_at_first=True)
    assert found.recoverability.sweeps == 0
    assert isinstance(found.verdict("undecided").verdict, Incomplete)


def test_without_a_backward_search_nothing_is_known() -> None:
    """What is concluded of a complete search without one is unknown, never a pass."""
    program = traced(toys.VALVE)
    kernel = load_kernel(program)
    search = Search(kernel, Limits(1 << 30), 1, threading.Event(), lambda _: None)
    search.run()
    found = conclude(search, kernel, 1.0, 1.0, Audit(0, 0, 0, 0, False, ""))
    assert found.cut is None
    judged = {v.claim: v.verdict for v in found.verdicts if v.kind == "recovers"}
    assert set(judged.values()) == {Unknown("not searched backward")}
    assert len(judged) == 7


def test_ints_refuse_a_state_that_can_recover(monkeypatch: pytest.MonkeyPatch) -> None:
    """A backward search that forgets what flows back is caught by the states that follow on ints."""
    program = traced(toys.VALVE)
    monkeypatch.setattr(backward.WaysBack, "_rise", lambda *_: None)
    with pytest.raises(EngineDisagreement, match="on ints it recovers"):
        explored(program)


def test_replay_looks_at_what_follows() -> None:
    """A trace to where nothing is wrong, to where it can be mended, and past a bound, are each refused."""
    program, bounded = traced(toys.VALVE), traced(toys.VALVE, "bound")
    opens = program.recovers[0].claim
    first = program.initial[0]
    with pytest.raises(EngineDisagreement, match="nothing to recover from"):
        confirm(program, opens, first, [], None)
    with pytest.raises(EngineDisagreement, match="on ints it recovers"):
        confirm(program, opens, first, [2, 0], None)
    with pytest.raises(EngineDisagreement, match="leaves its domain"):
        confirm(bounded, opens, first, [*[2, 3] * 3, 0, 2], None)
    with pytest.raises(BrokenTrace, match="opens holds there, or can hold again"):
        replay_trace(program, opens, first, [0])


def test_more_than_ints_can_look_at_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Past its limit the check on ints stops, says so, and refuses to shorten the trace."""
    monkeypatch.setattr(replay, "CLOSURE_LIMIT", 3)
    program = traced(toys.TWO_PHASE, "3", COMMIT_CLAIMS[1])
    found = explored(program).verdict("undecided").verdict
    assert isinstance(found, Refuted)
    assert found.trace.closure == Closure(3, complete=False)
    assert "the nearest 3 states, of more, checked on ints" in lines(found.trace)[-1]
    with pytest.raises(BrokenTrace, match="more than 3 states can follow"):
        minimise(program, program.recovers[0].claim, program.initial[0], [4])


def test_a_detour_is_dropped() -> None:
    """Minimising keeps a trace that ends where nothing recovers."""
    program = traced(toys.VALVE)
    claim = next(one.claim for one in program.recovers if one.claim.id == "opens-by-itself")
    short = minimise(program, claim, program.initial[0], [0, 1, 0, 1, 2, 0])
    assert [step.action for step in short.steps] == ["stick", "shut"]


@pytest.mark.parametrize(
    ("by", "message"),
    [
        ({"opne": {}}, r"names the action 'opne'; did you mean open\?"),
        ({"open": {"n": 1}}, "action open has no argument 'n'"),
    ],
)
def test_a_way_that_does_not_exist_is_refused(by: Mapping[str, Mapping[str, Any]], message: str) -> None:
    """A misspelt action or argument is an error by name: the way out would be shorter than meant."""
    claim = recovers("opens", "The valve can open.", lambda s: s.open, by=by)
    with pytest.raises(SystemFault, match=message):
        traced(toys.VALVE, None, claim)


def test_an_argument_that_never_comes_is_refused() -> None:
    """So is a value that the argument never has."""
    claim = recovers("heard", "It can hear.", lambda s: s.heard.size() == 3, by={"TMRcvPrepared": {"rm": 7}})
    with pytest.raises(SystemFault, match="action TMRcvPrepared never has rm = 7"):
        traced(toys.TWO_PHASE, "3", claim)


def test_results_do_not_depend_on_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of any size, swept by any number of threads, give the same verdicts and traces."""
    program = traced(toys.HASTY, "5", *COMMIT_CLAIMS)
    usual = explored(program).verdicts
    monkeypatch.setattr(graph, "MOST_STATES", 7)
    assert usual == explored(program, threads=3).verdicts


def test_what_the_way_out_may_not_use_makes_nothing_uncertain() -> None:
    """Where a domain cuts only instances that the way out may not use, a lost state is lost, at its own depth."""
    claim = recovers("back", "Nothing leads back.", lambda s: s.node == 9, when=lambda s: s.node > 0,
                     by={"go": {"by": (1,)}})  # fmt: skip
    go = Action(
        "go", lambda s, by: toys.Place(s.node + by), lambda s, by: all_of(s.node < 3, any_of(s.node > 0, by == 1)),
        {"by": [1, 3]},
    )  # fmt: skip
    system = evolve(toys.STUCK, actions=lambda setting: [go], properties=lambda setting: [claim])
    found = explored(traced(system))
    assert found.pruned == {"node": 2}
    assert found.verdict("back").depth == 1
    allowed = evolve(system, properties=lambda setting: [evolve(claim, by={})])
    assert explored(traced(allowed)).verdict("back").depth == 3


def test_a_way_out_that_a_cap_cuts_makes_its_state_uncertain() -> None:
    """Where a cap cuts an instance that the way out may use, beside others that it may not, no state is called lost."""
    claim = recovers("far", "A place beyond the cap is reached.", lambda s: s.node == 9, by={"go": {"by": (3,)}})
    go = Action("go", lambda s, by: toys.Place(s.node + by), lambda s, by: s.node < 3, {"by": [1, 3]})
    system = evolve(
        toys.STUCK,
        layout=lambda setting: toys.Place(ints(0, 3, cap="places end at 3")),
        actions=lambda setting: [go, Action("stay", lambda s: s)],
        properties=lambda setting: [claim],
    )
    found = explored(traced(system))
    assert found.pruned == {"node": 2}
    assert isinstance(found.verdict("far").verdict, Refuted)
    start = evolve(claim, when=lambda s: s.node == 1)
    nearer = evolve(system, properties=lambda setting: [start])
    assert isinstance(explored(traced(nearer)).verdict("far").verdict, Unknown)
