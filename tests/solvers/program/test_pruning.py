"""Steps that leave a domain: nothing holds of what is behind one, unless the system declares that it is meant."""

import time
from typing import Any

import pytest
from attrs import evolve
from llvmlite import ir

from kraftcheck.ci.systems.subject import program, subject
from kraftcheck.model.language.layout import Layout, LayoutError, Range, subset_of
from kraftcheck.model.language.system import Action, System
from kraftcheck.properties.catalogue import SYSTEMS
from kraftcheck.properties.register.verdicts import EXPECTED
from kraftcheck.solvers.exploration.explore import Exploration, SearchBudget, explore
from kraftcheck.solvers.hypothesis.machine import LeavesDomainError, machine, run
from kraftcheck.solvers.hypothesis.tally import Tally
from kraftcheck.solvers.machine_code.irtools import TRUTH
from kraftcheck.solvers.machine_code.transition import KindFunction
from kraftcheck.solvers.program.trace import Pruning, pruning_fault, trace
from kraftcheck.solvers.program.verdict import Holds, Incomplete, Refuted, Unknown, Vacuous, exit_code
from kraftcheck.solvers.reference.confirm import EngineDisagreement
from kraftcheck.solvers.reference.interpreter import Integers
from kraftcheck.solvers.walks.walker import WalkPlan
from kraftcheck.solvers.walks.walks import Walks, simulate
from tests.shared.capped import CAPPED, DRAINED, LOW, UNCAPPED, WHY, WIDER, WITHIN, Tank
from tests.shared.commands import kraftcheck
from tests.shared.explored import explored
from tests.shared.samples import one_in
from tests.toys import VALVE

CLAIMS = ("below-six", "no-leap", "half", "full", "fills", "deadlock")

LEFT = "level left its domain 0..5, above, in 1 transition by fill: widen it, or declare its cap"


def verdicts(found: Exploration) -> list[type]:
    """The kinds of the verdicts on `CLAIMS`."""
    return [type(found.verdict(claim).verdict) for claim in CLAIMS]


def walked(system: System, **options: Any) -> Walks:
    """A few walks."""
    return simulate(trace(system, system.setting()), WalkPlan(8, 12, 1, **options), clock=time.monotonic)


def test_behind_an_undeclared_bound_nothing_holds() -> None:
    """At a bound of 5 what 6 would break is incomplete, exit code 20, and says which field and action, and the mend."""
    found = explored(UNCAPPED)
    assert verdicts(found) == [Incomplete, Incomplete, Holds, Incomplete, Incomplete, Incomplete]
    assert found.verdict("below-six").verdict == Incomplete(LEFT)
    assert exit_code(found.verdict("below-six").verdict) == 20
    assert found.cut == LEFT


def test_the_counterexample_is_where_the_bound_was() -> None:
    """With room for 6 the same claims are refuted, though the wider bound is left as well."""
    found = explored(WIDER)
    assert [found.verdict(claim).depth for claim in CLAIMS[:3]] == [6, 6, 3]
    assert verdicts(found) == [Refuted, Refuted, Holds, Incomplete, Incomplete, Incomplete]


def test_a_declared_cap_is_part_of_what_holds() -> None:
    """Beyond a cap nothing is claimed: what it makes true is vacuous, as goals behind it are; the reason is told."""
    found = explored(CAPPED)
    assert verdicts(found) == [Vacuous, Vacuous, Holds, Vacuous, Holds, Holds]
    assert found.verdict("deadlock").verdict == Holds(
        f"all 6 states of capped; bound on level pruned 1 transition: {WHY}"
    )
    assert (found.cut, dict(found.pruned)) == (None, {"level": 1})


def test_a_state_that_only_a_cap_stops_is_no_deadlock() -> None:
    """At 5 the only step is left out: no deadlock under a cap, incomplete without one, a deadlock with a guard."""
    kinds = [type(explored(system).verdict("deadlock").verdict) for system in (CAPPED, UNCAPPED, WITHIN)]
    assert kinds == [Holds, Incomplete, Holds]
    assert explored(WITHIN).prunings == ()


@pytest.mark.parametrize(("system", "sides"), [(DRAINED, {"below": "", "above": WHY}), (LOW, {"below": ""})])
def test_a_cap_says_nothing_of_the_lower_bound(system: System, sides: dict[str, str]) -> None:
    """Sides are counted apart, and what falls below the domain is a fault whatever the cap says."""
    found = explored(system)
    assert {"above" if one.above else "below": one.cap for one in found.prunings} == sides
    assert {one.count for one in found.prunings} == {1}
    assert found.cut == "level left its domain 0..5, below, in 1 transition by drain: widen it, or mend the rules"


@pytest.mark.parametrize(("side", "told"), [(0, "1 transitions of shift on ints, and 0"), (1, "0 .* on ints, and 1")])
def test_the_audit_compares_the_sides(side: int, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Code that counts a step out of a domain on no side, or on both, differs from ints, and the audit says where."""
    shift = Action("shift", lambda s, by: Tank(s.level + by), parameters={"by": [-1, 1]})
    system = evolve(CAPPED, name="shifted", actions=lambda setting: [shift])
    assert [(one.above, one.count) for one in explored(system).prunings] == [(False, 1), (True, 1)]
    monkeypatch.setattr(KindFunction, "_is_side", lambda *_: ir.Constant(TRUTH, side))
    with pytest.raises(EngineDisagreement, match=f"the domain of level cuts {told} compiled"):
        explored(system)


def test_strict_takes_no_cap() -> None:
    """Strictly, a cap that left a step out makes it incomplete; one that left none out does not."""
    found = explored(CAPPED, strict=True)
    assert verdicts(found) == [Incomplete, Incomplete, Holds, Incomplete, Incomplete, Incomplete]
    assert found.cut == f"strict: bound on level pruned 1 transition: {WHY}"
    assert verdicts(explored(WITHIN, strict=True)) == verdicts(explored(WITHIN))


def test_a_limit_is_told_before_a_fault() -> None:
    """A search that was cut says so, and the field that left its domain is counted all the same."""
    found = explored(UNCAPPED, max_depth=3)
    assert found.cut == "depth limit 3"
    assert isinstance(found.verdict("below-six").verdict, Incomplete)


def test_threads_count_alike() -> None:
    """Several threads count the same transitions on the same sides."""
    assert explored(DRAINED).prunings == explored(DRAINED, threads=3).prunings


def test_a_cap_is_a_reason_and_changes_no_packing() -> None:
    """A cap is a sentence; domains with and without one are equal, and pack and compile alike."""
    assert Range(0, 5, cap=WHY) == Range(0, 5)
    assert subset_of(3, cap=WHY).cap == WHY
    assert Layout(Tank(Range(0, 5, cap=WHY))).slots == Layout(Tank(Range(0, 5))).slots  # type: ignore[arg-type]
    digests = {trace(system, system.setting()).digest() for system in (CAPPED, UNCAPPED)}
    assert len(digests) == 1
    for wrong in (" ", True, None):
        with pytest.raises(LayoutError, match="takes the reason"):
            Range(0, 5, cap=wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "strict", "code", "last"),
    [
        ("UNCAPPED", False, 20, "5 incomplete, 1 holds (exit 20)"),
        ("WIDER", False, 12, "2 refuted, 3 incomplete, 1 holds (exit 12)"),
        ("CAPPED", False, 21, "3 vacuous, 3 holds (exit 21)"),
        ("CAPPED", True, 20, "5 incomplete, 1 holds (exit 20)"),
    ],
)
def test_exit_codes_of_explore(name: str, strict: bool, code: int, last: str) -> None:
    """What is left out decides the exit code, and `--strict` takes no cap."""
    ran = kraftcheck("explore", f"tests.shared.capped:{name}", "--quiet", *["--strict"] * strict)
    assert (ran.code, ran.last) == (code, last)


def test_the_report_names_every_bound_that_pruned() -> None:
    """People read the reason of a cap, or the mend; documents have both, and are complete only without a fault."""
    ran = kraftcheck("explore", "tests.shared.capped:DRAINED", "--quiet", "--json", "-")
    told = ran.document()
    assert told["prunings"] == [
        {"field": "level", "domain": [0, 5], "side": "below", "count": 1, "actions": {"drain": 1}, "declared": False,
         "reason": None},
        {"field": "level", "domain": [0, 5], "side": "above", "count": 1, "actions": {"fill": 1}, "declared": True,
         "reason": WHY},
    ]  # fmt: skip
    assert (told["pruned"], told["complete"]) == ({"level": 2}, False)
    assert f"bound on level pruned 1 transition: {WHY}" in ran.err
    assert "incomplete: level left its domain 0..5, below, in 1 transition by drain" in ran.err
    capped = kraftcheck("explore", "tests.shared.capped:CAPPED", "--quiet", "--json", "-").document()
    assert (capped["complete"], capped["cut"]) == (True, None)


def test_walks_that_leave_a_domain_are_incomplete() -> None:
    """Nothing found behind an undeclared bound is exit code 20, not 0; a cap is told with its reason."""
    assert walked(UNCAPPED).fault is not None
    assert (walked(CAPPED).fault, walked(WITHIN).fault) == (None, None)
    assert walked(CAPPED, strict=True).fault is not None
    words = ("--runs", "5", "--steps", "9", "--quiet", "--property", "below-six")
    bare = kraftcheck("simulate", "tests.shared.capped:UNCAPPED", *words)
    assert (bare.code, "widen it, or declare its cap" in bare.out) == (20, True)
    capped = kraftcheck("simulate", "tests.shared.capped:CAPPED", *words[:-1], "half")
    assert (capped.code, WHY in capped.out) == (0, True)
    assert kraftcheck("simulate", "tests.shared.capped:CAPPED", *words, "--strict").code == 20


def test_a_machine_fails_where_a_domain_is_left() -> None:
    """Hypothesis shows the shortest run out of an undeclared domain; a step beyond a cap is not taken and counted."""
    with pytest.raises(LeavesDomainError, match=r"level = 6 is outside its domain 0\.\.5 after fill") as raised:
        run(machine(Integers(UNCAPPED, UNCAPPED.setting()), tally=Tally()))
    assert len(raised.value.transitions) == 6
    with pytest.raises(LeavesDomainError, match="level = -1 is outside"):
        run(machine(Integers(LOW, LOW.setting()), tally=Tally()))
    made = machine(Integers(CAPPED, CAPPED.setting()), tally=Tally())
    run(made)
    assert sum(made.tally.cut.values()) > 0


@pytest.mark.parametrize("name", one_in(6, reversed(list(SYSTEMS))))
def test_no_system_of_ours_leaves_a_domain_undeclared(name: str) -> None:
    """In its smallest scope that is checked, under every rule set, each system keeps its domains or its caps."""
    scope = next(row[1] for row in EXPECTED if row[0] == name)
    rows = [row for row in EXPECTED if row[:2] == (name, scope)]
    for row in rows:
        found = explore(program(subject(row[0], row[1], {}, row[2])), SearchBudget(keep=False), clock=time.monotonic)
        assert [one.text() for one in found.prunings if not one.cap] == []
    assert rows


@pytest.mark.parametrize(
    ("name", "scope", "bounds", "field"),
    [("replication", "tiny", {"epochs": 1}, "leader_epoch"), ("replication", "tiny", {"lag": 1}, "lag"),
     ("broker-ids", "tiny", {"ids": 2}, "drawn")],
)  # fmt: skip
def test_our_caps_are_declared(name: str, scope: str, bounds: dict[str, int], field: str) -> None:
    """At a small bound each of our caps leaves steps out; the verdicts hold of it, and the reason names the bound."""
    rules = "kip"
    found = explore(program(subject(name, scope, bounds, rules)), SearchBudget(keep=False), clock=time.monotonic)
    reasons = {one.field: one.cap for one in found.prunings}
    assert found.cut is None
    assert f"the bound {next(iter(bounds))} is" in reasons[field]
    assert "" not in reasons.values()


def test_a_way_out_beyond_a_cap_is_unknown_and_strictly_incomplete() -> None:
    """Where a cap took the only way out, `recovers` is unknown; strictly, or with a fault, it is incomplete."""
    valve = trace(VALVE, VALVE.setting("bound"))
    kinds = [
        type(explore(valve, SearchBudget(strict=s), clock=time.monotonic).verdict("opens").verdict)
        for s in (False, True)
    ]
    assert kinds == [Unknown, Incomplete]
    assert isinstance(explored(DRAINED).verdict("fills").verdict, Incomplete)


def test_what_leaves_alike_is_said_once() -> None:
    """Fields of one tuple that leave in as many transitions are named together, and others apart."""
    one = Pruning("mine[0]", 0, 4, True, {"take": 3}, "")
    alike = [one, evolve(one, field="mine[1]"), evolve(one, field="mine[2]", actions={"take": 4})]
    assert pruning_fault(alike, strict=False) == (
        "mine[0..1] left its domain 0..4, above, in 3 transitions by take: widen it, or declare its cap; "
        "mine[2] left its domain 0..4, above, in 4 transitions by take: widen it, or declare its cap"
    )
