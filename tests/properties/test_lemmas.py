"""Lemmas of proofs are true, of steps too: nothing reachable breaks one, but by the variant that refutes it."""

import time
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

import pytest
from attrs import evolve

from kraftcheck.model.language.anynumber import Family
from kraftcheck.model.language.layout import Layout, leaves, rebuild
from kraftcheck.model.language.system import ANY, Property, ScopeError, Setting, System
from kraftcheck.model.register import RegisterError
from kraftcheck.model.rules.ruleset import parse
from kraftcheck.model.systems.elections.system import replica_lists
from kraftcheck.properties.catalogue import SYSTEMS
from kraftcheck.properties.directories.lemmas import of_the_kip
from kraftcheck.properties.kinds import STAYS
from kraftcheck.properties.register.defects import with_variant
from kraftcheck.properties.replication.lemmas_logs import step_lemmas
from kraftcheck.solvers.exploration.explore import Exploration, SearchBudget, explore
from kraftcheck.solvers.program.fingerprint import Meaning
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.program.verdict import Holds, Refuted, Vacuous
from kraftcheck.solvers.smt.induction import prove
from kraftcheck.solvers.smt.queries import Effort
from kraftcheck.solvers.smt.theory import theory
from tests.documentation.lemmas import SHOWN, shown
from tests.documentation.proofs import ProofRun, read_runs
from tests.properties.register import lemmas as register
from tests.properties.register.lemmas import REFUTED, UNREFUTED, Refuter, reason, refuter
from tests.shared.places import DOCS
from tests.shared.samples import one_in

SCOPES = [("elections", "tiny"), ("elections", "small"), ("elections", "directories")]
FURTHER = [("directories", "tiny"), ("directories", "small"), ("directories", "cordons"),
           ("replication", "tiny"), ("replication", "small"),
           ("unclean-recovery", "requests"), ("unclean-recovery", "returning"),
           ("broker-ids", "static"), ("broker-ids", "sessions"), ("broker-ids", "small"),
           ("zk-controller", "pair"), ("zk-controller", "small"),
           ("zk-jbod", "jobs"), ("zk-jbod", "log"), ("zk-jbod", "writers"), ("zk-jbod", "repair"),
           ("features", "tiny"), ("features", "bootstrap"), ("images", "tiny"), ("images", "crashes"),
           ("heartbeats", "tiny"), ("heartbeats", "defaults"),
           ("future-logs", "tiny"), ("future-logs", "small")]  # fmt: skip
"""Scopes of the systems that are proven under the right rules only."""


UNBROKEN = (Holds, Vacuous)  # verdicts on lemmas that no state breaks: at a small scope one may speak of nothing


def with_lemmas(system: System) -> System:
    """The system whose properties are its lemmas."""
    return evolve(system, properties=system.lemmas)


def setting_of(name: str, scope: str, rules: str) -> Setting:
    """A setting of a shipped system."""
    return SYSTEMS[name].setting(scope, rules=parse(rules))


def _slow(*row: Any) -> Any:
    return pytest.param(row, marks=pytest.mark.slow)


OPERATED = [
    {"config-changes": 2}, {"config-changes": 1, "reassignments": 1},
    {"reassignments": 1, "config-changes": 1, "unclean-stops": 0},
]  # fmt: skip
"""Bounds of `replication` in which operators reassign and change min.insync.replicas."""

CASES = [
    *one_in(3, [*[(*at, rules, {}) for at in SCOPES for rules in ("fixed", "kip")],
                *[(*at, "fixed", {}) for at in FURTHER]]),
    *[("replication", "tiny", "fixed", bounds) for bounds in OPERATED],
    _slow("replication", "small", "fixed", {"config-changes": 1}),
    _slow("replication", "tiny", "fixed", {"brokers": 3, "replication": 2, "reassignments": 1, "unclean-stops": 0}),
    _slow("replication", "tiny", "fixed", {"reassignments": 2, "config-changes": 1}),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]} {case[1]} {case[2]} {case[3]}")
def test_no_reachable_state_breaks_a_lemma(case: tuple[str, str, str, dict[str, int]]) -> None:
    """Every lemma holds in every reachable state of the small scopes, whatever operators reassign and configure."""
    name, scope, rules, bounds = case
    system = SYSTEMS[name]
    at = system.setting(scope, bounds, parse(rules))
    result = explore(trace(with_lemmas(system), at), clock=time.perf_counter)
    judged = {found.claim: found.verdict for found in result.verdicts if found.claim != "deadlock"}
    assert len(judged) == len(system.lemmas(at)) >= 2
    assert [claim for claim, verdict in judged.items() if not isinstance(verdict, UNBROKEN)] == []
    assert not bounds.get("reassignments") or result.fired["reassign"] > 0


@pytest.mark.parametrize("brokers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_no_reachable_state_breaks_a_lemma_of_the_kip(brokers: int) -> None:
    """Why KIP-858 fences until settled while nothing is moved is true in every reachable state, and said only there."""
    system = SYSTEMS["directories"]
    still = system.setting("small", {"brokers": brokers, "replication": brokers}, parse("kip"))
    listed = of_the_kip(still)
    result = explore(trace(evolve(system, properties=lambda _: listed), still), clock=time.perf_counter)
    judged = {found.claim: found.verdict for found in result.verdicts if found.claim != "deadlock"}
    assert len(judged) == len(listed) == 4
    assert {type(verdict) for verdict in judged.values()} == {Holds}
    for scope, rules in (("tiny", "kip"), ("small", "fixed")):
        assert of_the_kip(setting_of("directories", scope, rules)) == ()


@pytest.mark.parametrize("scope", ["shared", "newcomer"])
def test_no_way_to_find_an_id_breaks_a_lemma_of_registration(scope: str) -> None:
    """Why ids are unique while no session is lost is true however brokers find them; the rest is not said there."""
    system, setting = SYSTEMS["broker-ids"], setting_of("broker-ids", scope, "kip")
    result = explore(trace(with_lemmas(system), setting), clock=time.perf_counter)
    judged = {found.claim: found.verdict for found in result.verdicts if found.claim != "deadlock"}
    assert set(judged) == {"lemma-chosen-has-id", "lemma-live-is-registered"}
    assert {type(verdict) for verdict in judged.values()} == {Holds}
    assert not SYSTEMS["broker-ids"].lemmas(setting_of("broker-ids", "sessions", "kip"))


def test_lemmas_have_names_and_sentences() -> None:
    """A lemma is an invariant whose id begins with `lemma-`, unlike every property's, and it says what it claims."""
    for name, scope in SCOPES + FURTHER:
        setting = setting_of(name, scope, "fixed")
        lemmas, promised = SYSTEMS[name].lemmas(setting), SYSTEMS[name].properties(setting)
        assert {lemma.kind for lemma in lemmas} == {"always"}
        assert all(lemma.id.startswith("lemma-") and len(lemma.sentence) > 15 for lemma in lemmas)
        assert not any(claim.id.startswith("lemma-") for claim in promised)


@pytest.mark.parametrize(("brokers", "largest"), [(2, 2), (3, 2), (3, 3), (4, 3)])
def test_the_condition_of_replica_lists_is_their_listing(brokers: int, largest: int) -> None:
    """Of all values in its shape, the family's condition admits exactly those that it lists."""
    family: Family = replica_lists(brokers, largest)
    layout = Layout(family.shape)
    every = [layout.unpack([number]) for number in range(1 << layout.bits)]
    inside = [v for v in every if all(-1 <= leaf < brokers for _, leaf in leaves(v))]
    admitted = {tuple(leaf for _, leaf in leaves(v)) for v in inside if family.member(v)}
    assert admitted == {value.slots for value in family}
    assert len(family) == len(admitted)
    feed = iter(next(iter(admitted)))
    assert family.member(rebuild(family.shape, lambda: next(feed)))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scope", "bounds", "solver"),
    [
        ("tiny", {"reassignments": 2}, "z3"),
        ("small", {"brokers": 4, "replication": 4}, "bitwuzla"),
        ("small", {"brokers": 5, "replication": 5}, "bitwuzla"),
    ],
)
def test_nothing_committed_is_lost_on_more_brokers(scope: str, bounds: dict[str, int], solver: str) -> None:
    """Everything that `replication` promises is proven with reassignments, and on 4 and 5 brokers; `check` proves 3."""
    pytest.importorskip(solver)
    system = SYSTEMS["replication"]
    subject = theory(system, system.setting(scope, bounds, parse("fixed"), proof=True))
    found = prove(lambda: subject, effort=Effort(timeout=600, solver=solver), clock=time.monotonic)
    assert [claim.id for claim in subject.claims if not found.proven(claim.id)] == []


@pytest.mark.slow
@pytest.mark.parametrize("brokers", [4, 5])
def test_fencing_until_settled_is_proven_on_more_brokers(brokers: int) -> None:
    """So is fencing until settled in `directories`, where the explorer has no such scope."""
    pytest.importorskip("bitwuzla")
    system = SYSTEMS["directories"]
    bounds = {"brokers": brokers, "replication": brokers}
    subject = theory(system, system.setting("small", bounds, parse("fixed"), proof=True))
    effort = Effort(timeout=600, solver="bitwuzla")
    found = prove(lambda: subject, effort=effort, clock=time.monotonic, only=["fenced-until-settled"])
    assert found.proven("fenced-until-settled")
    with pytest.raises(ScopeError, match="brokers = "):
        system.setting("small", bounds, parse("fixed"))


REPLICATION = SYSTEMS["replication"]

LEMMAS = {lemma.id for lemma in step_lemmas()}

THREE = {"brokers": 3, "replication": 3, "unclean-stops": 0, "fences": 2}
"""Enough brokers for an ELR while the ISR is at min ISR."""


def verdicts(rules: str, bounds: Mapping[str, int]) -> dict[str, type]:
    """The verdict on each lemma by exploration."""
    system = evolve(REPLICATION, properties=lambda setting: step_lemmas())
    result = explore(trace(system, system.setting("tiny", bounds, parse(rules))), clock=time.perf_counter)
    return {judged.claim: type(judged.verdict) for judged in result.verdicts if judged.claim in LEMMAS}


@pytest.mark.parametrize("bounds", [{}, {"min-isr": 1}, THREE], ids=str)
def test_no_step_breaks_a_lemma(bounds: Mapping[str, int]) -> None:
    """By the right rules every lemma holds of every reachable step."""
    assert verdicts("fixed", bounds) == dict.fromkeys(LEMMAS, Holds)


BROKEN = {
    "leader-change-keeps-epoch": "lemma-epoch-rises-with-leader",
    "alter-partition-ignores-broker-epoch": "lemma-candidates-join-by-request",
    "partition-epoch-follows-leader": "lemma-change-ends-the-request",
    "elr-keeps-unclean-replicas": "lemma-restart-ends-leadership",
}
"""A defect that breaks each lemma with two brokers; who is elected from outside is a loss by definition."""


@pytest.mark.parametrize("variant", BROKEN)
def test_a_defect_breaks_the_lemma(variant: str) -> None:
    """The lemma is no tautology: a wrong rule has a step that breaks it."""
    assert verdicts(f"fixed+{variant}", {})[BROKEN[variant]] is Refuted


def test_a_defect_leaves_an_elr_at_min_isr() -> None:
    """With three brokers the ELR outlives an ISR below min ISR where it is not emptied."""
    assert verdicts("fixed+elr-kept-at-min-isr", THREE)["lemma-min-isr-empties-elr"] is Refuted


def test_a_defect_drops_a_living_candidate() -> None:
    """Who stopped cleanly leaves ISR and ELR where every restart is taken for an unclean one."""
    assert verdicts("fixed+every-restart-is-unclean", {"clean-stops": 1})["lemma-living-candidates-stay"] is Refuted


def test_what_lemmas_rest_on_is_there_without_bounds() -> None:
    """Each name of a lemma about steps, or of an invariant that stays, is of a claim where epochs have no bound."""
    setting = REPLICATION.setting("tiny", {"brokers": ANY, "unbounded": 1}, parse("fixed"), proof=True)
    claims = [*REPLICATION.properties(setting), *REPLICATION.lemmas(setting)]
    invariants = {claim.id for claim in claims if claim.kind == "always"}
    assert {claim.id for claim in claims if claim.kind == "step"} >= LEMMAS
    named = {name.removesuffix(STAYS) for claim in claims for group in claim.rests_on for name in group}
    assert LEMMAS <= named <= LEMMAS | invariants


PLACES = {
    "elections": ("tiny", "small", "directories"), "directories": ("tiny", "small", "cordons"),
    "replication": ("tiny",),
    "features": ("tiny", "quorum", "bootstrap"), "images": ("tiny", "small", "crashes"),
    "heartbeats": ("tiny", "defaults"), "future-logs": ("tiny", "small"),
}  # fmt: skip
"""Scopes that have all the lemmas of each system, but for those of any number of brokers."""

DATA = shown(read_runs(DOCS / "reference" / "proofs.json"))

Case = tuple[str, str, str, tuple[tuple[str, int], ...]]  # system, variant, scope, bounds


def case(row: Refuter) -> Case:
    """Where one exploration shows a refutation."""
    return row.system, row.variant, row.scope, tuple(row.bounds.items())


REFUTERS = {
    where: {lemma: row.steps for (_, lemma), row in rows}
    for where, rows in groupby(sorted(REFUTED.items(), key=lambda one: case(one[1])), key=lambda one: case(one[1]))
}
"""For each exploration, the lemmas that it refutes, with steps."""

QUICK = {("elections", "fences-share-one-base"), ("directories", "assignment-unauthorized"),
         ("replication", "leader-change-keeps-epoch")}  # fmt: skip
"""A system and a variant whose explorations are small, run at each change."""


def lemmas_of(system: str) -> dict[str, Property]:
    """The lemmas of a system in its small scopes, under the right rules."""
    settings = (SYSTEMS[system].setting(scope, rules=parse("fixed")) for scope in PLACES[system])
    return {lemma.id: lemma for setting in settings for lemma in SYSTEMS[system].lemmas(setting)}


def explored(where: Case, rules: str, names: Sequence[str], depth: int | None = None) -> Exploration:
    """What an exploration says of lemmas as they are under the right rules."""
    name, _, scope, bounds = where
    system = SYSTEMS[name]

    def setting(of: str) -> Setting:
        return system.setting(scope, dict(bounds), parse(of))

    asked = [lemma for lemma in system.lemmas(setting("fixed")) if lemma.id in names]
    program = trace(evolve(system, properties=lambda _: asked), setting(rules))
    return explore(program, SearchBudget(max_depth=depth, keep=False), clock=time.perf_counter)


@pytest.mark.parametrize("system", SHOWN)
def test_each_lemma_is_refuted_or_a_frame(system: str) -> None:
    """Each lemma has a variant that refutes it, or a reason why there is none, and not both."""
    lemmas = lemmas_of(system)
    told = {lemma: (refuter(system, lemma) is not None, reason(system, lemma) is not None) for lemma in lemmas}
    assert len(lemmas) > 8
    assert {lemma: both for lemma, both in told.items() if sum(both) != 1} == {}


def test_each_row_names_a_lemma() -> None:
    """A row that says something of no lemma is none."""
    known = {(system, lemma) for system in PLACES for lemma in lemmas_of(system)}
    assert {*REFUTED, *UNREFUTED} - known == set()
    assert all(len(why) > 15 for why in UNREFUTED.values())


@pytest.mark.parametrize("words", ["tiny 3", "some-variant tiny three", "some-variant tiny 3 --moves"])
def test_an_odd_row_is_refused(words: str) -> None:
    """A row that lacks the variant, the steps or a number is refused with its place."""
    with pytest.raises(RegisterError, match=r"lemmas\.toml: .*lemma-odd|lemmas\.toml: lemma-odd"):
        register._refuter("elections", "lemma-odd", words)


@pytest.mark.parametrize("where", [
    pytest.param(where, marks=() if where[:2] in QUICK else pytest.mark.slow) for where in REFUTERS
], ids=lambda where: " ".join(map(str, where[:3])))  # fmt: skip
def test_a_variant_refutes_the_lemma(where: Case) -> None:
    """The shortest run to a state that breaks the lemma has the named number of steps."""
    expected = REFUTERS[where]
    found = explored(where, with_variant("fixed", where[1]), [*expected], depth=max(expected.values()))
    depths = {one.claim: one.depth for one in found.verdicts if isinstance(one.verdict, Refuted)}
    assert {lemma: depths.get(lemma) for lemma in expected} == expected


@pytest.mark.slow
@pytest.mark.parametrize("place", dict.fromkeys((one[0], *one[2:]) for one in REFUTERS), ids=lambda place: " ".join(
    map(str, place[:2])))  # fmt: skip
def test_the_lemma_holds_there_by_the_right_rules(place: tuple[str, str, tuple[tuple[str, int], ...]]) -> None:
    """What a variant refutes in a scope, no reachable state breaks there under `fixed`."""
    names = [lemma for where, lemmas in REFUTERS.items() if (where[0], *where[2:]) == place for lemma in lemmas]
    system, scope, bounds = place
    found = explored((system, "", scope, bounds), "fixed", names)
    verdicts = {one.claim: one.verdict for one in found.verdicts if one.claim in names}
    assert {*verdicts} == {*names}
    assert [claim for claim, verdict in verdicts.items() if not isinstance(verdict, (Holds, Vacuous))] == []


@pytest.mark.parametrize("row", DATA, ids=lambda row: row.system)
def test_the_graph_is_of_the_claims_that_there_are(row: ProofRun) -> None:
    """A run that is shown was of today's states and steps, and of today's lemmas and invariants."""
    asked = row.request().build()
    claims = {claim.id for claim in asked.claims}
    assert {*row.used} == claims
    assert {name for used in row.used.values() for name in used.split()} <= claims
    again = "run `kraftcheck prove` again, as docs/reference/proofs.md says"
    assert row.behaviour == Meaning.of(asked.program).behaviour, again
