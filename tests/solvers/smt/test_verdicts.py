"""Verdicts of proofs, each alone: what a search shows beside a proof, and where the state of a countermodel is."""

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest
from attrs import evolve

import kraftcheck as kc
from kraftcheck.model.language.system import Action, Outcome, Property, System
from kraftcheck.solvers.program.premises import NO_CONTENT, NO_STATE, NO_STEPS
from kraftcheck.solvers.program.program import Premise
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.program.verdict import (
    Holds,
    Incomplete,
    PropertyVerdict,
    Refuted,
    Trace,
    TraceStep,
    Unknown,
    Vacuous,
)
from kraftcheck.solvers.reference.confirm import EngineDisagreement
from kraftcheck.solvers.smt.queries import PROVEN, REFUTED, UNDECIDED, Countermodel, Obligation, ObligationAnswer
from kraftcheck.solvers.smt.spacer import leaves_text
from kraftcheck.solvers.smt.theory import INITIATION, theory
from kraftcheck.solvers.smt.verdicts import (
    NOT_DECIDED,
    REACHABLE,
    UNREACHABLE,
    Counterexample,
    ModelAction,
    SearchEvidence,
    _verdict,
    locate,
    reachable_counterexample,
    replay_countermodel,
    step_on_ints,
    trace_on_ints,
    unshown,
)
from tests import toys

EMPTY, HELD = Vacuous("premise", NO_STATE), Holds("7 states")
JUDGED: dict[str, Any] = {"empty": EMPTY, "held": HELD, "ours": HELD, "theirs": HELD, "seen": HELD,
                          "both": HELD, "goal": HELD}  # fmt: skip
LENIENT, SHOWN = frozenset({"ours", "theirs", "both"}), frozenset({"seen", "both"})
ABOUT_SOME = {name: Premise("", NO_STATE) for name in ("empty", "ours", "theirs", "seen", "both")}


def search(
    cut: str | None = None, text: str = "x 3", fired: Mapping[str, int] = {"go": 1}, **judged: Any
) -> Any:  # fmt: skip
    """A search that has judged claims: the above, or those given."""
    program = SimpleNamespace(premises=ABOUT_SOME, lenient=LENIENT, setting=SimpleNamespace(text=lambda: text))
    verdicts = [PropertyVerdict(name, "always", verdict) for name, verdict in (judged or JUDGED).items()]
    of = {"cut": cut, "distinct": 7000, "fired": fired}
    return SimpleNamespace(program=program, verdicts=verdicts, premises_shown=SHOWN, **of)


WHOLE, CUT, OTHER, NONE = (SearchEvidence(search()), SearchEvidence(search("cut at 3")),
                           SearchEvidence(others=(search(),)), SearchEvidence())  # fmt: skip


@pytest.mark.parametrize("claim", [*JUDGED, "unheard-of"])
def test_a_search_says_of_each_claim_what_it_has_shown(claim: str) -> None:
    """Vacuous, reached and shown are told claim by claim; less where the search is cut, of others, or none.

    A whole search makes vacuous too what is let hold of nothing.
    """
    shown, reaches = JUDGED.get(claim) == HELD, claim in ("held", "seen", "both", "goal")
    of_nothing = Vacuous("", NO_STATE) if claim in ("ours", "theirs") else None
    last = {name: verdict for name, verdict in JUDGED.items() if name != claim} | {
        name: verdict for name, verdict in JUDGED.items() if name == claim}  # fmt: skip
    for judged in (last, dict(reversed(last.items()))):
        whole, cut, other = search(**judged), search("cut at 3", **judged), search(**judged)
        said = EMPTY if JUDGED.get(claim) == EMPTY else None
        for evidence, vacuous in (
            (SearchEvidence(whole), said or of_nothing), (SearchEvidence(cut), said),
            (SearchEvidence(others=(other,)), None),
        ):  # fmt: skip
            assert (evidence.shows(claim), evidence.reaches(claim)) == (shown, reaches)
            assert evidence.vacuous(claim) == vacuous
    assert (NONE.shows(claim), NONE.reaches(claim), NONE.vacuous(claim)) == (False, False, None)


def test_what_was_searched_is_told() -> None:
    """The reason, or each search with its size and bounds, or why it was cut."""
    several = SearchEvidence(search(), others=(search("cut at 3"), search(text="")))
    assert several.extent() == "7,000 states with x 3 have none; cut at 3; 7,000 states have none"
    assert NONE.extent() == "nothing was explored"


def test_the_first_search_that_refutes_is_told() -> None:
    """Of each claim, with its trace and the search; None where none refutes."""
    refuted = [Refuted(Trace(None, (), str(number), "always")) for number in range(2)]
    first, second = search(held=HELD, one=refuted[0]), search(one=refuted[1], held=HELD, two=refuted[1])
    evidence = SearchEvidence(first, others=(second,))
    assert SearchEvidence(second).refutation("one") == (refuted[1], second)
    assert [evidence.refutation(name) for name in ("one", "two", "held")] == [
        (refuted[0], first), (refuted[1], second), None]  # fmt: skip


def system(*actions: Action, initial: int = 0) -> Any:
    """The program of a walk with other actions."""
    walk: System = evolve(toys.DIGRAPH, initial=lambda _: [toys.Place(initial)], actions=lambda _: list(actions))
    return trace(walk, walk.setting())


CLAIM = Property("seen", "always", "O.", lambda s: s.node != 5)


def of(claim: str, **fields: Any) -> Property:
    """A claim of that name."""
    return evolve(CLAIM, id=claim, **fields)


@pytest.mark.parametrize(("claim", "evidence", "is_lemma", "expected"), [
    (of("seen", case="goal"), WHOLE, False, None),
    (of("seen", case="empty"), WHOLE, True, "proven, but no run shows empty"),
    (of("empty"), WHOLE, True, None), (of("empty"), WHOLE, False, NO_STATE),
    (of("seen"), WHOLE, False, None), (of("both"), CUT, False, None),
    (of("ours"), WHOLE, False, NO_STATE), (of("held"), NONE, False, None),
    (of("ours"), CUT, False, "proven, but no run shows a state that satisfies its premise (cut at 3)"),
    (of("ours", kind="step"), NONE, False,
     "proven, but no run shows a step that satisfies its premise (nothing was explored)"),
    (of("nothing"), CUT, False, NO_CONTENT), (of("still", kind="step"), NONE, False, NO_STEPS),
    (of("begins", kind="step"), NONE, False, None), (of("still"), NONE, False, None),
], ids=lambda one: getattr(one, "id", ""))  # fmt: skip
def test_what_is_proven_of_nothing_is_told(
    claim: Property, evidence: SearchEvidence, is_lemma: bool, expected: str | None
) -> None:
    """What is proven holds where a run shows a case of it; else it is vacuous or unknown, for the reason."""
    start = 9 if claim.id in ("still", "begins") else 0
    step = Action("go", lambda s: toys.Place(s.node + 1), guard=lambda s: s.node == start)
    program = evolve(system(step), premises={**ABOUT_SOME, "nothing": Premise("", NO_CONTENT)}, starts={"begins": {}})
    found = unshown(program, claim, evidence, is_lemma)
    assert getattr(found, "reason", None) == expected


@pytest.mark.parametrize("change", [{"initially": {"any": None}}, {"setting": None}], ids=lambda one: next(iter(one)))
def test_where_starts_or_bounds_are_any_a_run_shows_a_step(change: dict[str, Any]) -> None:
    """That no step is taken is told by listed initial states, or a whole search; else a run has to show a step."""
    program = system(Action("stay", lambda s: s, guard=lambda s: s.node == 9))
    of_steps = of("still", kind="step")
    assert isinstance(unshown(program, of_steps, NONE), Vacuous)
    any_number = SimpleNamespace(values=lambda: {"nodes": None})
    changed = evolve(program, **({"setting": any_number} if "setting" in change else change))
    still = {"fired": {"stay": 0}}
    for evidence in (NONE, SearchEvidence(others=(search(**still),)), SearchEvidence(search("cut at 3", **still))):
        assert isinstance(unshown(changed, of_steps, evidence), Unknown)
    assert isinstance(unshown(changed, of_steps, SearchEvidence(search(**still))), Vacuous)
    assert unshown(changed, of_steps, OTHER) is None


def test_a_step_beyond_a_cap_is_none() -> None:
    """Where the only step leaves the domain by a cap, none is taken."""
    go, few = Action("go", lambda s: toys.Place(s.node + 1)), toys.Place(kc.ints(0, 3, cap="few"))
    walk = evolve(toys.DIGRAPH, layout=lambda _: few, actions=lambda _: [go], properties=lambda _: [])
    beyond = evolve(walk, initial=lambda _: [toys.Place(3)])
    for capped, expected in ((beyond, Vacuous), (evolve(beyond, initial=lambda _: [toys.Place(2)]), type(None))):
        assert isinstance(unshown(trace(capped, capped.setting()), of("still", kind="step"), NONE), expected)


def at(node: int, *steps: TraceStep) -> Trace:
    """A step from a node."""
    return Trace(toys.Place(node), steps, "seen", "always")


@pytest.mark.parametrize(("node", "known", "cut", "reach", "where"), [
    (4, None, None, UNREACHABLE, "not among all 7,000 states"), (4, None, "cut", NOT_DECIDED, "states; cut"),
    (12, None, None, NOT_DECIDED, "the scope has no such state: "),
    (4, 3, None, NOT_DECIDED, "states, outside within=, from where the search did not go on"),
])  # fmt: skip
def test_a_state_is_looked_up(node: int, known: int | None, cut: str | None, reach: str, where: str) -> None:
    """It is unreachable where a whole search has not got it; where that was cut, or did not go on, nobody knows."""
    scoped = evolve(toys.DIGRAPH, within=lambda s: s.node != 4)
    store = SimpleNamespace(identify=lambda packed: known)
    found = locate(at(node), CLAIM, SimpleNamespace(  # type: ignore[arg-type]
        program=trace(scoped, scoped.setting()), store=store, distinct=7000, cut=cut), numbers="two nodes")  # fmt: skip
    assert (found.reach, found.numbers) == (reach, "two nodes")
    assert where in found.where
    assert found.trace is None
    for without in (None, SimpleNamespace(store=None)):
        open_one = locate(at(node), CLAIM, without, "none was made", "two nodes")  # type: ignore[arg-type]
        assert (open_one.reach, open_one.where, open_one.numbers) == (NOT_DECIDED, "none was made", "two nodes")


def test_a_run_is_judged_at_its_end() -> None:
    """Its last state or step, or its initial state, of which a claim about steps may say something too."""
    subject = theory(TOLD, TOLD.setting())
    walk = [ModelAction("follow", (3, 4)), ModelAction("follow", (4, 9)), ModelAction("tell", (1,))]
    state = Property("no-8", "always", "O.", lambda s: {"right": True, "not 8": s.node != 8})
    found = trace_on_ints(subject, state, (3,), walk)
    assert (found.claim, found.kind, found.failing, [s.node for s in found.states]) == (
        "no-8", "always", ("not 8",), [3, 4, 9, 8])  # fmt: skip
    assert isinstance(found.steps, tuple)
    assert trace_on_ints(subject, state, (8,), []).failing == ("not 8",)
    step = Property("untold", "step", "O.", lambda t: {
        "node": t.before.node != 9, "after": t.after.node != 8, "on": t.arguments["on"] is not True,
        "action": t.action != "tell", "event": t.event != toys.Place(5)})  # fmt: skip
    found = trace_on_ints(subject, step, (3,), walk)
    assert (found.claim, found.kind, found.failing) == ("untold", "step", ("node", "after", "on", "action", "event"))
    with pytest.raises(EngineDisagreement, match="a claim about steps fails without a step"):
        trace_on_ints(subject, step, (3,), [])
    begins = evolve(step, initially=lambda s: {"begins elsewhere": s.node != 3})
    assert trace_on_ints(subject, begins, (3,), []).failing == ("begins elsewhere",)


NO_8 = Property("no-8", "always", "O.", lambda s: s.node != 8)


def test_the_last_step_of_a_run_is_the_counterexample() -> None:
    """From the state before it, or of a run without a step from the initial state; with the whole run."""
    subject = theory(toys.DIGRAPH, toys.DIGRAPH.setting())
    for walk, before in (([(3, 4), (4, 9), (9, 8)], 9), ([], 8)):
        start = walk[0][0] if walk else 8
        run = trace_on_ints(subject, NO_8, (start,), [ModelAction("follow", edge) for edge in walk])
        found = reachable_counterexample(run, search())
        assert (found.reach, found.trace, found.step.initial.node) == (REACHABLE, run, before)
        assert found.step.steps == run.steps[-1:]


def test_a_countermodel_satisfies_what_was_assumed_of_it() -> None:
    """It is a step on ints from a state that the invariants allow, or from an initial one; else it is a fault."""
    claims = [NO_8, Property("no-9", "always", "O.", lambda s: s.node != 9)]
    system = evolve(toys.DIGRAPH, properties=lambda _: claims)
    subject = theory(system, system.setting())
    broken = answered("follow", REFUTED)
    broken = evolve(broken, obligation=Obligation("no-8", "follow"), counterexample=Countermodel((9,), (9, 8)))
    assert [s.node for s in replay_countermodel(subject, broken, ["no-8"]).states] == [9, 8]
    with pytest.raises(EngineDisagreement, match="no-9 is false on ints"):
        replay_countermodel(subject, broken, ["no-8", "no-9"])
    for change, said in ((Countermodel((8,)), "is not an initial state"), (None, "refuted without a countermodel")):
        begins = evolve(broken, obligation=Obligation("no-8", INITIATION), counterexample=change)
        with pytest.raises(EngineDisagreement, match=said):
            replay_countermodel(subject, begins, [])


@pytest.mark.parametrize(("start", "edge", "said"), [(2, (3, 4), "is not enabled on ints"), (3, (3, 40), "leaves")])
def test_a_step_that_ints_do_not_take_is_a_fault(start: int, edge: tuple[int, int], said: str) -> None:
    """Its guard holds on ints, and the state after it is in the layout, or no verdict is made of it."""
    subject = theory(toys.DIGRAPH, toys.DIGRAPH.setting())
    assert step_on_ints(subject, toys.Place(3), ModelAction("follow", (3, 4))).state.node == 4
    with pytest.raises(EngineDisagreement, match=said):
        step_on_ints(subject, toys.Place(start), ModelAction("follow", edge))


TOLD: System = evolve(toys.DIGRAPH, actions=lambda _: [
    *toys.DIGRAPH.actions(_),
    Action("tell", lambda s, on: Outcome(toys.Place(8), toys.Place(5)), parameters={"on": [False, True]}),
])  # fmt: skip
"""With a step that reports something, of a truth."""


def answered(action: str, result: str) -> ObligationAnswer:
    """An answer about an action."""
    return ObligationAnswer(Obligation("seen", action), result, 0.0, reason="time" if result == UNDECIDED else "")


def test_what_is_not_proven_is_told_with_its_actions() -> None:
    """The actions that break a claim, or of any number all that are open; those without an answer; or why it ended."""
    proof: Any = SimpleNamespace(faults=lambda: ["node"], stopped=False, stop_reason="stopped")
    results = {"wait": UNDECIDED, "go": REFUTED, "end": REFUTED, "stay": UNDECIDED}
    answers = [answered(action, result) for action, result in results.items()]
    found = Counterexample(at(0), UNREACHABLE, "not among all 7 states")
    verdicts: list[Any] = [
        _verdict(proof, answers, found),
        _verdict(proof, answers, evolve(found, numbers="nodes 2")),
        _verdict(proof, answers, None),
        _verdict(proof, [], None),
        _verdict(SimpleNamespace(faults=lambda: ["node"], stopped=True, stop_reason="stopped"), [], None),  # type: ignore[arg-type]
        _verdict(SimpleNamespace(faults=list, stopped=False, stop_reason="all fell"), [], None),  # type: ignore[arg-type]
    ]
    assert PROVEN not in {one.result for one in answers}
    assert [getattr(one, "reason", "") for one in verdicts[:3]] == [
        "not inductive: go, end; counterexample unreachable (not among all 7 states)",
        "not proven for any number: wait, go, end, stay; counterexample with nodes 2 unreachable "
        "(not among all 7 states)",
        "no answer: wait (time), stay (time)",
    ]
    assert [type(one) for one in verdicts[3:]] == [Incomplete] * 3
    assert [one.cut for one in verdicts[3:]] == [leaves_text(["node"]), "stopped", "all fell"]
