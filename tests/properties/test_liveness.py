"""Liveness of the shipped systems: every verdict is the expected one, and every claim can fail, by a lasso."""

import functools
import time

import pytest
from attrs import evolve

from kraftcheck.ci.systems.report import word_of
from kraftcheck.model.language.system import LIVENESS, Fairness, Property
from kraftcheck.model.language.words import negate
from kraftcheck.model.rules.ruleset import parse
from kraftcheck.properties.catalogue import FAIR_SYSTEMS
from kraftcheck.properties.elections.healing import replicas
from kraftcheck.properties.kinds import strong_fairness
from kraftcheck.properties.register.verdicts import EXPECTED_LIVENESS, SMALLEST
from kraftcheck.solvers.exploration.explore import Exploration, SearchBudget, explore
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.program.verdict import Holds, Refuted

QUICK = {
    ("healing-sessions", "tiny", "fixed"), ("fair-zk-jbod", "controller", "kip"), ("fair-elections", "tiny", "fixed"),
    ("fair-elections", "tiny", "kafka-4.0"),
}  # fmt: skip
"""Rows that are explored at each change; the others at night."""

ROWS = [pytest.param(row, marks=() if row in QUICK else pytest.mark.slow) for row in EXPECTED_LIVENESS]


@functools.lru_cache(maxsize=4)
def explored(name: str, scope: str, rules: str) -> Exploration:
    """The exploration of a system with fairness."""
    system = FAIR_SYSTEMS[name]
    return explore(
        trace(system, system.setting(scope, rules=parse(rules))), SearchBudget(threads=2), clock=time.perf_counter
    )


@pytest.mark.parametrize("row", ROWS, ids="-".join)
def test_each_verdict_is_the_expected_one(row: tuple[str, str, str]) -> None:
    """A row has the verdicts that are expected of it; what holds is not vacuous, and no step left the bounds."""
    words = {one.claim: word_of(one) for one in explored(*row).verdicts}
    assert {claim: word for claim, word in words.items() if word != "holds"} == EXPECTED_LIVENESS[row]


@pytest.mark.parametrize("name", FAIR_SYSTEMS)
def test_a_fair_system_has_liveness_alone(name: str) -> None:
    """Each property of a system with fairness is about whole behaviours, and `fixed` is explored for it."""
    scopes = {row[1] for row in EXPECTED_LIVENESS if (row[0], row[2]) == (name, "fixed")}
    assert scopes
    for scope in scopes:
        setting = FAIR_SYSTEMS[name].setting(scope, rules=parse("fixed"))
        assert {claim.kind for claim in FAIR_SYSTEMS[name].properties(setting)} <= set(LIVENESS)


def claims_of(row: tuple[str, str, str]) -> tuple[Property, ...]:
    """The liveness properties of a row."""
    system = FAIR_SYSTEMS[row[0]]
    return tuple(system.properties(system.setting(row[1], rules=parse(row[2]))))


def refutations() -> dict[tuple[str, str, str], list[tuple[str, str]]]:
    """By system, claim and variant: scope and rules of the rows in which the claim is expected to hold."""
    listed: dict[tuple[str, str, str], list[tuple[str, str]]] = {}
    for row, odd in SMALLEST.items():
        if row[2] in ("fixed", "kip"):
            for claim in claims_of(row):
                for variant in claim.refuted_by if claim.id not in odd else ():
                    listed.setdefault((row[0], claim.id, variant), []).append(row[1:])
    return listed


REFUTATIONS = refutations()


@pytest.mark.slow
@pytest.mark.parametrize(("name", "claim", "variant"), sorted(REFUTATIONS), ids="-".join)
def test_each_claim_can_fail(name: str, claim: str, variant: str) -> None:
    """In a scope where a claim holds, the variant that it names refutes it, by a lasso that ints confirm."""
    for scope, rules in sorted(REFUTATIONS[name, claim, variant], key=lambda row: row[1]):
        verdict = explored(name, scope, f"{rules}+{variant}").verdict(claim).verdict
        if isinstance(verdict, Refuted):
            assert verdict.trace.loop is not None
            return
    pytest.fail(f"{variant} refutes {claim} in no scope")


@pytest.mark.parametrize("name", FAIR_SYSTEMS)
def test_every_claim_holds_somewhere(name: str) -> None:
    """Each claim of a system with fairness has a row in which it holds, and so can be broken there."""
    claims = {claim.id for row in SMALLEST if row[0] == name for claim in claims_of(row)}
    assert {claim for system, claim, _ in REFUTATIONS if system == name} == claims


IDLE = {
    "fair-elections": {"WF(assign(each broker, directory=3))", "WF(balance_timer)"},
    "fair-broker-ids": {"WF(record(each machine))", "WF(read_used_ids(each machine))", "WF(list_ids(each machine))"},
    "fair-zk-controller": {"WF(doze(each broker))", "WF(retry(each partition))", "WF(abandon)"},
}
"""Fairness that no claim needs in the scopes that are explored: what it is about is soon over there, or comes first."""


@pytest.mark.slow
@pytest.mark.parametrize("name", FAIR_SYSTEMS)
def test_no_fairness_is_assumed_for_nothing(name: str) -> None:
    """Without any constraint of a system some claim fails that holds with it, but for those that are listed."""
    idle, needed = set[str](), set[str]()
    for row, odd in SMALLEST.items():
        if row[0] != name or row[2] not in ("fixed", "kip"):
            continue
        system = FAIR_SYSTEMS[name]
        setting = system.setting(row[1], rules=parse(row[2]))
        declared = system.fairness(setting)
        for one in (fair for fair in declared if fair.text not in needed):
            fewer = evolve(system, fairness=tuple(other for other in declared if other is not one))
            found = explore(trace(fewer, setting), SearchBudget(threads=2), clock=time.perf_counter)
            broken = {v.claim for v in found.verdicts if isinstance(v.verdict, Refuted)} - set(odd)
            (needed if broken else idle).add(one.text)
    assert idle - needed == IDLE.get(name, set())


FAULTS = ("lose", "crash", "fail_directory", "fail_while_reporting", "log_dir_timeout")


PROMOTES = strong_fairness("promote", each=["broker"])


@pytest.mark.parametrize(("promotion", "kind"), [((), Refuted), ((PROMOTES,), Holds)], ids=["weak", "strong"])
def test_a_move_may_go_on_for_ever_without_any_fault(promotion: tuple[Fairness, ...], kind: type) -> None:
    """By the rules of 4.4.0 controller and broker contradict each other for ever; a strongly fair promotion ends it."""
    system = FAIR_SYSTEMS["fair-directories"]
    setting = system.setting("tiny", rules=parse("kafka-4.4.0"))
    faultless = evolve(
        system, actions=tuple(action for action in system.actions(setting) if action.name not in FAULTS),
        fairness=(*system.fairness(setting), *promotion),
        properties=tuple(claim for claim in system.properties(setting) if claim.id == "move-ends"),
    )  # fmt: skip
    verdict = (
        explore(trace(faultless, setting), SearchBudget(threads=2), clock=time.perf_counter)
        .verdict("move-ends")
        .verdict
    )
    assert isinstance(verdict, kind)
    if isinstance(verdict, Refuted):
        loop = verdict.trace.loop
        assert loop is not None
        taken = [step.action for step in verdict.trace.steps[loop.start :]]
        assert (taken.count("assign"), "promote" in taken) == (2, False)


@pytest.mark.slow
def test_a_lone_replica_stays_recovering() -> None:
    """A leader whose ISR lacks nobody who is registered proposes nothing, and so its partition stays RECOVERING."""
    system = FAIR_SYSTEMS["healing-elections"]
    setting = system.setting("tiny", rules=parse("fixed"))
    claim = next(claim for claim in system.properties(setting) if claim.id == "recovery-ends")
    strict = evolve(claim, predicate=lambda s: negate(s.recovering))
    found = explore(
        trace(evolve(system, properties=(strict,)), setting), SearchBudget(threads=2), clock=time.perf_counter
    )
    verdict = found.verdict("recovery-ends").verdict
    assert isinstance(verdict, Refuted)
    last = verdict.trace.steps[-1].state
    assert (last.recovering, replicas(last).keep(last.registered).size()) == (True, 1)
