"""Systems of users, and protocols from papers, for any number of participants: proofs, cutoffs, and defects."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve, frozen

import kraftcheck as kc
from kraftcheck.model.language.anynumber import AnySet
from kraftcheck.model.language.sequences import Sequence
from kraftcheck.model.language.terms import Graph
from kraftcheck.solvers.audit.numbers import Interpretation
from kraftcheck.solvers.smt.induction import prove
from kraftcheck.solvers.smt.queries import PROVEN, Effort, Questions
from kraftcheck.solvers.smt.worker import SolverSession
from tests.shared import any_number
from tests.shared.any_number import EWD_840, LEASE, MAJORITY, TURNS, TWO_PHASE, lease, two_phase
from tests.shared.commands import kraftcheck
from tests.solvers.smt.asking import any_theory

SYSTEMS = [LEASE, TWO_PHASE, EWD_840, MAJORITY]
NAMES = {LEASE.name: "LEASE", TWO_PHASE.name: "TWO_PHASE", EWD_840.name: "EWD_840", MAJORITY.name: "MAJORITY"}
DEFECTS = [("FORGETS", "leader-unfenced"), ("HASTY", "consistent"), ("WHITE", "detected"), ("HALF", "one-leader")]


def bound_of(system: kc.System) -> str:
    """The name of the bound that may be any."""
    return next(bound.name for bound in system.bounds if bound.takes_any)


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: system.name)
def test_a_protocol_is_proven_for_any_number(system: kc.System) -> None:
    """Every property and lemma holds however many take part, and false follows from no action's premises."""
    result = kc.prove(system, **{bound_of(system): "any"})
    result.assert_holds()
    lemmas = [] if system.lemmas is None else system.lemmas(system.setting())
    assert len(result.judged) == len(system.properties(system.setting())) + len(lemmas)
    of = any_theory(system)
    false = of.program.graph.constant(False)
    for kind in of.program.kinds:
        questions = Questions(of)
        premises = questions.premises(kind.action.name, [claim.id for claim in of.invariants])
        session = SolverSession(questions, premises, Effort(timeout=30), time.monotonic)
        assert session._check(questions.read.expression(false), [false]).result != PROVEN, kind.action.name


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: system.name)
def test_what_holds_for_any_number_holds_for_few(system: kc.System) -> None:
    """The cutoffs as a check: the same claims, explored with the two least, and proven with the largest number."""
    name = bound_of(system)
    (least,) = (max(bound.lo, 2) for bound in system.bounds if bound.name == name)
    both = evolve(system, properties=lambda s: [*system.properties(s), *system.lemmas(s)])
    for few in (least, least + 1):
        explored = kc.explore(both, cache=False, threads=1, **{name: few})
        explored.assert_holds()
    largest = next(bound.hi for bound in system.bounds if bound.name == name)
    kc.prove(system, **{name: largest}).assert_holds()


@pytest.mark.parametrize(("name", "claim"), DEFECTS)
def test_a_defect_is_refuted_and_not_proven(name: str, claim: str) -> None:
    """With a defect the claim is not proven for any number, and a run with few shows why."""
    result = kc.prove(getattr(any_number, name), **{bound_of(getattr(any_number, name)): "any"})
    assert claim in result.refuted
    assert result.trace(claim).steps


def test_any_number_has_a_last_one() -> None:
    """A claim that the last of many breaks is not proven, though two and three do not break it; a run shows four."""
    for number in (2, 3):
        kc.explore(TURNS, clients=number, cache=False, threads=1).assert_holds()
    assert kc.explore(TURNS, clients=4, cache=False, threads=1).refuted == ("somebody-waits",)
    of = any_theory(TURNS)
    proof = prove(lambda: of, effort=Effort(timeout=30), clock=time.monotonic)
    assert [proof.proven(claim) for claim in ("somebody-waits", "in-turn")] == [False, True]
    result = kc.prove(TURNS, clients="any")
    assert result.refuted == ("somebody-waits",)
    assert len(result.trace("somebody-waits").steps[-1].state.voted) == 4


def test_an_open_claim_is_looked_up_with_one_more() -> None:
    """A defect that two managers hide is refuted by three: claims that stay open are explored with one more."""
    result = kc.prove(two_phase(enough=2), managers="any", properties=["consistent"])
    assert result.refuted == ("consistent",)
    last = result.trace("consistent").steps[-1].state
    assert sorted(last.managers) == [0, 1, 2]
    kc.explore(two_phase(enough=2), managers=2, cache=False, threads=1).assert_holds()


def test_a_system_that_is_another_one_for_any_number_has_no_verdict(tmp_path: Path) -> None:
    """Actions that are others where the bound is any are refused with the line that asks."""
    (tmp_path / "two_faced.py").write_text(
        "from attrs import evolve\nimport kraftcheck as kc\nfrom tests.shared.any_number import FORGETS, LEASE\n"
        "TWO_FACED = evolve(LEASE, actions=lambda s: (LEASE if s['brokers'] == kc.ANY else FORGETS).actions(s))\n"
    )
    refusal = kraftcheck("prove", f"{tmp_path}/two_faced.py:TWO_FACED", "--brokers", "any", "--quiet").refusal()
    assert re.search(r"two_faced\.py:4: the bound brokers is any, and a rule counts with it, or asks", refusal)


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: system.name)
def test_another_solver_confirms_proofs_for_any_number(system: kc.System) -> None:
    """cvc5 refutes every query again."""
    pytest.importorskip("cvc5")
    named = f"tests.shared.any_number:{NAMES[system.name]}"
    ran = kraftcheck("prove", named, f"--{bound_of(system)}", "any", "--quiet", "--workers", "1", "--second-solver",
                     "cvc5")  # fmt: skip
    assert ran.code == 0
    assert "and cvc5, which agree" in ran.text


def test_solvers_that_disagree_about_any_number_are_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where cvc5 finds a model for what Z3 has proven of any number, there is no verdict but exit 24."""
    monkeypatch.setattr("kraftcheck.ci.prove.command.second_answer", _sat)
    monkeypatch.setattr("kraftcheck.ci.prove.command.ProcessPoolExecutor", _Here)
    ran = kraftcheck("prove", "tests.shared.any_number:LEASE", "--brokers", "any", "--quiet", "--workers", "1",
                     "--second-solver", "cvc5")  # fmt: skip
    assert ran.code == 24
    assert "z3 says unsat, cvc5 sat" in ran.err


def _sat(solver: str, text: str, effort: Effort) -> str:
    """A solver that finds a model of anything."""
    assert text.count("(check-sat)") == 1
    return "sat"


class _Here:
    """A pool that works in this process."""

    def __init__(self, *_: Any) -> None:
        pass

    def __enter__(self) -> _Here:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    map = staticmethod(lambda function, items, chunksize: map(function, items))


@pytest.mark.parametrize("members", [(), (0,), (1, 3)])
def test_claims_about_members_mean_the_same_of_any_number(members: tuple[int, ...]) -> None:
    """`each`, `some` and `count` of a mask, of a term of one, and of a sequence agree with Python's."""
    graph = Graph()
    mask = sum(1 << member for member in members)
    some = graph.variable("some", 0, 15)
    listed = Sequence.of_state(graph, "members", 0, 1, truths=True)
    world = Interpretation(5, {"some": [mask], "members": [mask >> at & 1 for at in range(5)]})
    for least in (0, 1, 4):

        def claim(at: Any, least: int = least) -> Any:
            return at >= least

        for function, expected in ((kc.each, all), (kc.some, any)):
            wanted = expected(member >= least for member in members)
            assert function(kc.IntSet(mask), claim) == wanted
            drawn = graph.lift(function(kc.IntSet(some), claim))
            assert bool(world.value(drawn)) == wanted
            assert bool(world.value(graph.lift(function(AnySet(listed), claim)))) == wanted
        counted = world.value(graph.lift(kc.count(AnySet(listed), claim)))
        assert counted == kc.count(kc.IntSet(mask), claim) == sum(member >= least for member in members)


def test_any_is_refused_where_it_means_nothing_in_python() -> None:
    """An explorer takes a number, and a word that is not `any` is none, also in Python."""
    with pytest.raises(kc.Refusal, match=r"brokers = any is out of range 2\.\.5"):
        kc.explore(LEASE, brokers="any")
    with pytest.raises(kc.Refusal, match="brokers takes an int, not 'many'"):
        kc.prove(lease(), brokers="many")


@pytest.mark.parametrize("value", [kc.ANY, 6])
def test_a_scope_has_numbers_that_searches_take(value: int) -> None:
    """A scope with a number that only proofs take is refused by every engine, for none would search it beside."""
    system = evolve(LEASE, scopes={"all": {"brokers": value}})
    for asked in (kc.prove, kc.explore):
        with pytest.raises(kc.Refusal, match=r"scope all has brokers = (any|6), but searches take 2\.\.5"):
            asked(system)


@frozen
class Tanks:
    """A level for each tank."""

    levels: Any


@pytest.mark.parametrize("cap", ["", "tanks are looked at up to their fifth mark"])
def test_a_cap_is_kept_where_each_of_any_number_has_it(cap: str) -> None:
    """Of one of any number a step beyond a cap is left out, and told; without the cap nothing is proven."""
    tanks = kc.System(
        name="tanks", summary="Tanks that are filled.",
        bounds=[kc.Bound("tanks", 1, 3, "number of tanks", takes_any=True)], scopes={"default": {"tanks": 2}},
        layout=lambda setting: Tanks(kc.map_below(setting["tanks"], kc.ints(0, 5, cap=cap))),
        initial=lambda setting: [kc.all_where(lambda s: {
            "all are empty": kc.each(kc.keys(s.levels), lambda tank: kc.get(s.levels, tank) == 0)})],
        actions=lambda setting: [kc.Action(
            "fill", lambda s, tank: Tanks(kc.put(s.levels, tank, kc.get(s.levels, tank) + 1)),
            parameters={"tank": kc.numbers_below(setting["tanks"])})],
        properties=[kc.always("below-six", "the levels stay below 6", lambda s: kc.each(
            kc.keys(s.levels), lambda tank: kc.get(s.levels, tank) < 6))],
    )  # fmt: skip
    of = any_theory(tanks)
    proof = prove(lambda: of, effort=Effort(timeout=30), clock=time.monotonic)
    assert proof.bounded() == ["levels"]
    assert (proof.proven("below-six"), proof.faults()) == ((True, []) if cap else (False, ["levels"]))


@frozen
class Shelves:
    """A level for each of some shelves, another that is higher, and whether one was copied."""

    low: Any
    high: Any
    copied: kc.Truth


def test_a_copy_of_nothing_goes_beyond_no_cap() -> None:
    """Where there is no shelf no level is too high, whatever provers read there: the step is taken."""
    shelves = kc.System(
        name="shelves", summary="Shelves of which one is copied.", scopes={"default": {"shelves": 1}},
        bounds=[kc.Bound("shelves", 0, 3, "number of shelves", takes_any=True)], quiescent=lambda s: True,
        layout=lambda setting: Shelves(
            *(kc.map_below(setting["shelves"], kc.ints(5 * row, 5 * row + 3, cap="low ones")) for row in range(2)),
            kc.truth()),
        initial=lambda setting: [kc.all_where(lambda s: {"nothing is copied": kc.negate(s.copied)})],
        actions=[kc.Action("copy", lambda s: evolve(s, low=s.high, copied=True))],
        properties=[kc.always("never", "nothing is copied", lambda s: kc.negate(s.copied))],
    )  # fmt: skip
    assert kc.explore(shelves, shelves=0, cache=False).refuted == ("never",)
    of = any_theory(shelves)
    assert not prove(lambda: of, effort=Effort(timeout=30), clock=time.monotonic).proven("never")
