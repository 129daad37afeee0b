"""The native engine on liveness: verdicts of toys, bounds, limits, lassos that ints confirm, threads."""

import threading
import time
from typing import Any

import numpy as np
import pytest
from attrs import evolve

from kraftcheck.model.language.system import LIVENESS, Fairness
from kraftcheck.properties.kinds import CatalogueError, eventually, strong_fairness, validate, weak_fairness
from kraftcheck.solvers.audit.audit import Audit
from kraftcheck.solvers.exploration.explore import Exploration, conclude, explore
from kraftcheck.solvers.liveness import graph, judge
from kraftcheck.solvers.machine_code.compile import load_kernel
from kraftcheck.solvers.program.fingerprint import fingerprint
from kraftcheck.solvers.program.parts import SystemFault
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.program.verdict import Holds, Incomplete, Refuted, Trace, Unknown, Vacuous, exit_code
from kraftcheck.solvers.reference.confirm import EngineDisagreement, NoCounterexample, confirm_lasso
from kraftcheck.solvers.search.levels import Limits, Search
from kraftcheck.solvers.search.symmetry import reduced
from tests.shared.explored import explored
from tests.solvers.liveness.toys import DOOR, LIFT, PAIR, lamps


def words(found: Exploration) -> dict[str, str]:
    """Each liveness verdict: its class, and of a lasso the lengths of run and cycle."""
    told = {}
    for one in found.verdicts:
        if one.kind in LIVENESS:
            shown = one.verdict.trace if isinstance(one.verdict, Refuted) else None
            loop = f" {shown.loop.start}+{len(shown.steps) - shown.loop.start}" if shown and shown.loop else ""
            told[one.claim] = type(one.verdict).__name__ + loop
    return told


def lasso(found: Exploration, claim: str) -> Trace:
    """The lasso of a refuted property."""
    verdict = found.verdict(claim).verdict
    assert isinstance(verdict, Refuted)
    return verdict.trace


VACUOUS = {"attic": "Vacuous", "inside": "Vacuous"}


@pytest.mark.parametrize(
    ("scope", "expected"),
    [
        ("idle", {"top": "Refuted 0+0", "bell": "Refuted 0+0", "up": "Refuted 1+0", "back": "Refuted 1+0",
                  "rung": "Refuted 0+0"}),
        ("moving", {"top": "Holds", "bell": "Refuted 0+4", "up": "Holds", "back": "Holds", "rung": "Refuted 0+4"}),
        ("weak", {"top": "Holds", "bell": "Refuted 0+4", "up": "Holds", "back": "Holds", "rung": "Refuted 0+4"}),
        ("fair", {"top": "Holds", "bell": "Holds", "up": "Holds", "back": "Holds", "rung": "Holds"}),
    ],
)  # fmt: skip
def test_the_lift_under_more_and_more_fairness(scope: str, expected: dict[str, str]) -> None:
    """Without fairness it stands still; weak fairness moves it; only strong fairness rings a bell that is passed."""
    assert words(explored(LIFT, scope)) == {**expected, **VACUOUS}


def test_a_property_has_fairness_of_its_own() -> None:
    """What one property declares is fair for it alone, besides what the system declares."""
    claims = [eventually("bell", "x", lambda s: s.rung), evolve(eventually("fair", "x", lambda s: s.rung),
                                                                 fairness=(strong_fairness("ring"),))]  # fmt: skip
    found = explored(evolve(LIFT, properties=lambda _: claims), "moving")
    assert words(found) == {"bell": "Refuted 0+4", "fair": "Holds"}
    assert "WF(up), WF(down), SF(ring)" in getattr(found.verdict("fair").verdict, "bound", "")


@pytest.mark.parametrize(
    ("fair", "verdicts"),
    [
        ((weak_fairness("light"),), ("Refuted 0+2", "Refuted 0+2", "Refuted 0+2")),
        ((weak_fairness("light", each=["lamp"]),), ("Holds", "Holds", "Refuted 0+4")),
        ((weak_fairness("light", having={"lamp": 1}),), ("Refuted", "Holds", "Refuted")),
        ((strong_fairness("light", each=["lamp"], unless=lambda s, lamp: s.held),), ("Refuted", "Refuted", "Refuted")),
    ],
)
def test_fairness_is_of_the_action_or_of_each_instance(
    fair: tuple[Fairness, ...], verdicts: tuple[str, str, str]
) -> None:
    """One lamp that is lit will do for the action as a whole; with `each`, both are lit; `unless` lets them be."""
    system = lamps(*fair, holdable=fair[0].unless is not None)
    found = tuple(words(explored(system)).values())
    assert all(word.startswith(expected) for word, expected in zip(found, verdicts, strict=True)), found


def test_an_action_that_changes_nothing_is_no_step() -> None:
    """`stay` is always enabled as a guard goes; as it changes nothing, its fairness asks for nothing."""
    found = explored(lamps(weak_fairness("stay"), strong_fairness("stay")))
    assert words(found)["first"] == "Refuted 0+0"
    (weak, _) = lasso(found, "first").loop.fairness  # type: ignore[union-attr]
    assert (weak.taken, weak.always) == ((), True)


def test_beyond_a_bound_is_unknown() -> None:
    """Where a bound cuts what could open the door, it is unknown; where the tries suffice, it opens."""
    enough, cut = explored(DOOR, "enough"), explored(DOOR, "cut")
    assert words(enough) == {"opens": "Holds"}
    assert isinstance(cut.verdict("opens").verdict, Unknown)
    assert exit_code(cut.verdict("opens").verdict) == 22


def test_a_cut_search_never_holds_and_may_refute() -> None:
    """At a depth limit what would hold is incomplete; a lasso among the visited states is one all the same."""
    assert isinstance(explored(LIFT, "fair", max_depth=1).verdict("top").verdict, Incomplete)
    found = explored(LIFT, "idle", max_depth=1).verdict("top").verdict
    assert (type(found), exit_code(found)) == (Refuted, 13)
    assert isinstance(explored(LIFT, "moving", max_depth=1).verdict("bell").verdict, Incomplete)


def test_symmetry_leaves_liveness_unknown() -> None:
    """Explored up to symmetry, nothing is said of fair behaviours."""
    found = explore(reduced(trace(PAIR, PAIR.setting())), clock=time.perf_counter)
    assert found.verdict("one").verdict == Unknown(judge.SYMMETRIC.reason)
    assert words(explored(PAIR)) == {"one": "Holds"}


def test_a_search_without_sweeps_is_unknown() -> None:
    """An engine that concludes without a search for fair behaviours leaves the verdicts unknown."""
    kernel = load_kernel(trace(LIFT, LIFT.setting("fair")))
    search = Search(kernel, Limits(1 << 30), 1, threading.Event(), lambda _: None)
    search.run()
    found = conclude(search, kernel, 1.0, 1.0, Audit(0, 0, 0, 0, False, ""))
    assert {type(one.verdict) for one in found.verdicts if one.kind in LIVENESS} == {Unknown}


def test_threads_and_stored_edges_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four threads, blocks of one state, and edges that are computed again give the same lassos."""
    one = explored(LIFT, "weak")
    monkeypatch.setattr(graph, "MOST_STATES", 1)
    monkeypatch.setattr(judge, "LEAST_EDGES", 0)
    monkeypatch.setattr(judge, "SHARE", 0)
    other = explored(LIFT, "weak", threads=4)
    assert words(one) == words(other)
    assert lasso(one, "bell") == lasso(other, "bell")


def test_compiled_edges_are_those_of_ints() -> None:
    """The edges of a region are the steps that change a state and stay there; what leaves it is known to leave."""
    program = trace(DOOR, DOOR.setting("cut"))
    kernel = load_kernel(program)
    search = Search(kernel, Limits(1 << 30), 1, threading.Event(), lambda _: None)
    search.run()
    first, second = (program.layout.pack(evolve(DOOR.initial(program.setting)[0], tries=n)) for n in (0, 1))  # type: ignore[index]
    space = graph.ExploredSpace(kernel, search.store)
    whole = space.region(np.ones(space.count, dtype=np.bool_), 1)
    whole.enter()
    states = [search.store.state(int(identity)) for identity in whole.identities(0, 2)]
    (block,) = [whole.block(0, number, np.ones(2, dtype=np.bool_)) for number in range(len(whole.blocks))]
    assert (states, list(whole.levels), block.starts.tolist()) == ([first, second], [0, 1, 2], [0, 1, 1])
    assert (block.targets.tolist(), block.owners().tolist(), (block.cuts != 0).tolist()) == ([1], [0], [False, True])
    narrow = whole.narrowed(np.array([True, False]))
    narrow.enter()
    for inner, targets in ((True, []), (False, [graph.OUTSIDE])):
        block = narrow.block(0, 0, np.ones(1, dtype=np.bool_), inner=inner)
        assert (block.targets.tolist(), list(narrow.levels)) == (targets, [0, 1, 1])
    assert narrow.block(0, 0, np.zeros(1, dtype=np.bool_), inner=False).starts.tolist() == [0, 0]


def test_a_lasso_that_is_none_is_not_confirmed() -> None:
    """Ints refuse another start of the cycle, an unfair cycle, and one that satisfies the property."""
    program = trace(LIFT, LIFT.setting("weak"))
    claim = {one.claim.id: one.claim for one in program.liveness.claims}
    shown = lasso(explored(LIFT, "weak"), "bell")
    names = [program.instance(n)[0].name for n in range(program.instances)]
    run = [names.index(step.action) for step in shown.steps]
    initial = program.initial[0]
    assert confirm_lasso(program, claim["bell"], initial, run, 0) == shown
    for name, steps, start, message in (
        ("bell", run, 1, "not state 1"), ("bell", [], 0, "not fair: WF\\(up\\)"), ("top", run, 0, "state 3 satisfies"),
        ("back", run, 0, "cycle satisfies it"), ("bell", run, 9, "no state 9"), ("up", run, 0, "cycle satisfies it"),
        ("attic", run, 0, "cycle satisfies it"),
    ):  # fmt: skip
        with pytest.raises(NoCounterexample, match=message):
            confirm_lasso(program, claim[name], initial, steps, start)
    with pytest.raises(EngineDisagreement, match="not enabled"):
        confirm_lasso(program, claim["bell"], initial, run[::-1], 0)


@pytest.mark.parametrize(
    ("fair", "message"),
    [
        (weak_fairness("fly"), "fairness names the action 'fly'"),
        (weak_fairness("light", each=["lamb"]), "names the argument 'lamb'; did you mean lamp"),
        (weak_fairness("light", having={"lamp": 5}), "gives lamp the value 5, which it never has"),
        ("light", "is no fairness"),
    ],
)
def test_fairness_of_what_is_not_there_is_refused(fair: Any, message: str) -> None:
    """A name that the system does not have is named, with the nearest."""
    with pytest.raises(SystemFault, match=message):
        trace(lamps(fair), lamps().setting())


def test_fairness_belongs_to_liveness() -> None:
    """A property of another kind takes no fairness; a liveness property names a variant that refutes it."""
    claim = evolve(LIFT.properties(LIFT.setting())[0], fairness=(weak_fairness("up"),))
    with pytest.raises(SystemFault, match="a property of kind always takes no fairness"):
        trace(evolve(LIFT, properties=lambda _: [claim]), LIFT.setting())
    with pytest.raises(CatalogueError, match="names no variant that refutes it"):
        validate([eventually("bell", "x", lambda s: s.rung)], ())


@pytest.mark.parametrize("name", ["initially", "when", "by"])
def test_a_property_takes_what_its_kind_is_asked_for(name: str) -> None:
    """What no engine asks of an invariant is refused, for who wrote it takes it for judged."""
    claim = evolve(LIFT.properties(LIFT.setting())[0], **{name: {"up": {}} if name == "by" else lambda s: s.rung})
    with pytest.raises(SystemFault, match=f"a property of kind always takes no {name}"):
        trace(evolve(LIFT, properties=lambda _: [claim]), LIFT.setting())


def test_fairness_changes_the_fingerprint() -> None:
    """Two systems that differ in fairness alone are two systems."""
    prints = {fingerprint(trace(LIFT, LIFT.setting(scope))) for scope in LIFT.scopes}
    assert len(prints) == len(LIFT.scopes)


def test_holds_says_under_which_fairness() -> None:
    """The bound of what holds names every constraint; a vacuous verdict says why."""
    found = explored(LIFT, "fair")
    verdict = found.verdict("top").verdict
    assert isinstance(verdict, Holds)
    assert verdict.bound.endswith("every behaviour that satisfies WF(up), WF(down), WF(ring), SF(ring)")
    reasons = [getattr(found.verdict(name).verdict, "reason", "") for name in ("attic", "inside")]
    assert reasons == ["its premise holds in no reachable state", "no reachable state has to wait for it"]
    assert isinstance(found.verdict("attic").verdict, Vacuous)
