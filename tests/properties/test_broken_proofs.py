"""A variant that refutes a proven property breaks its proof, for some number of participants and for any."""

import functools
import time
from collections.abc import Sequence

import pytest
from attrs import evolve

from kraftcheck.ci.prove import broken
from kraftcheck.ci.prove import broken as bugs_z3
from kraftcheck.ci.prove.broken import (
    BoundedScope,
    BrokenProofRow,
    answer_there,
    attempt,
    attempt_any,
    every_row,
    places,
    rows,
)
from kraftcheck.ci.prove.question import run_proof
from kraftcheck.ci.prove.request import ProofRequest
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.language.system import ANY
from kraftcheck.model.rules.ruleset import PRESETS, RuleSet, parse
from kraftcheck.properties.catalogue import SYSTEMS
from kraftcheck.properties.register.defects import BUGS
from kraftcheck.properties.register.verdicts import ANY_PLACES, BEYOND, NOT_FOR_ANY, NOT_PROVEN, PROOF_SCOPES, unproven
from kraftcheck.solvers.exploration.explore import SearchBudget, explore
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.program.verdict import Holds
from kraftcheck.solvers.smt.queries import PROVEN, Effort, ObligationAnswer
from kraftcheck.solvers.smt.theory import Theory
from tests.shared.commands import Ran, kraftcheck
from tests.shared.samples import one_in

SAMPLE = (
    "completion-keeps-removing", "leader-epoch-rises-twice", "unclean-cancel-is-silent",
    "unfence-ignores-assignments", "leader-change-keeps-epoch", "registration-overwrites",
    "checkpoints-kept", "designated-election-without-broker-epoch",
)  # fmt: skip


def row_of(variant: str, system: str) -> BrokenProofRow:
    """The row of a variant, whatever it refutes."""
    return rows_by_name()[variant, system]


@functools.cache
def rows_by_name() -> dict[tuple[str, str], BrokenProofRow]:
    """Every row by its variant and system, made once: it asks the properties of every system."""
    return {(row.variant, row.system): row for row in every_row()}


@pytest.mark.parametrize("row", one_in(6, (r for r in rows() if r.variant in SAMPLE)), ids=lambda r: r.variant)
def test_a_variant_breaks_the_proofs_of_what_it_refutes(row: BrokenProofRow) -> None:
    """Under each variant of a sample, no property that it refutes is proven; `bugs --engine z3` does all."""
    assert attempt(row, 1, quiet=True).proven == []


def asked() -> set[tuple[str, RuleSet, str]]:
    """What `bugs --engine z3` asks: systems, rule sets and claims."""
    return {(row.system, parse(row.rules), claim) for row in rows() for claim in row.claims}


def base_of(system: str, variant: str) -> str:
    """The rule set that is right where the matrix shows a variant."""
    return next((bug.base for bug in BUGS if (bug.system, bug.variant) == (system, variant)), "fixed")


def outside() -> set[tuple[str, RuleSet, str]]:
    """What it leaves out for a reason: systems, rule sets and claims."""
    return {
        (system, parse(f"{base_of(system, variant)}+{variant}"), claim)
        for (system, variant), why in BEYOND.items() for claim in why.claims
    }  # fmt: skip


def test_every_row_of_the_matrix_is_asked_or_has_a_reason() -> None:
    """Each proven property that the matrix refutes, or that names a variant, is asked or else in `BEYOND`."""
    assert {row[0] for row in NOT_PROVEN} == set(PROOF_SCOPES)
    assert asked() & outside() == set()
    matrix = {(bug.system, parse(bug.rules), claim) for bug in BUGS for claim in bug.refutes}
    refuting = set[tuple[str, RuleSet, str]]()
    for name, scope in ((name, scope) for name, scopes in PROOF_SCOPES.items() for scope in scopes):
        for claim in SYSTEMS[name].properties(SYSTEMS[name].setting(scope, rules=PRESETS["fixed"])):
            if claim.kind in ("always", "step") and claim.id not in unproven(name):
                named = {(name, parse(f"fixed+{variant}"), claim.id) for variant in claim.refuted_by}
                refuting |= named | {row for row in matrix if (row[0], row[2]) == (name, claim.id)}
    assert refuting == asked() | outside()


def test_a_row_asks_where_the_matrix_shows_it() -> None:
    """Beside the scopes of the proofs a row has the scope and the bounds of the matrix, and its right rules."""
    assert row_of("abandoned-assignments-accepted", "directories").places() == [
        *broken.of_proofs("directories"), broken.BoundedScope("tiny", {"copies": 1}),
    ]  # fmt: skip
    neglected = row_of("switched-off-elr-is-neglected", "elections")
    assert (neglected.base, neglected.rules) == (
        "fixed+elr-downgrade", "fixed+elr-downgrade+switched-off-elr-is-neglected",
    )  # fmt: skip


UNCHECKED = [
    pytest.param(system, scope, marks=pytest.mark.slow) if scope in ("large", "tiny") else (system, scope)
    for system, scopes in PROOF_SCOPES.items() for scope in scopes if (system, scope, "fixed") not in NOT_PROVEN
]  # fmt: skip
"""Scopes of the proofs that `kraftcheck check` does not prove."""


@pytest.mark.parametrize(("system", "scope"), UNCHECKED)
def test_the_right_rules_are_proven_where_proofs_must_break(system: str, scope: str) -> None:
    """Every claim is proven with the right rules at each scope of the proofs, so that what breaks there did stand."""
    proof = run_proof(ProofRequest(system, scope, {}, "fixed"), bugs_z3.EFFORT, (), 1, True)
    assert {claim for claim in proof.targets if not proof.proven(claim)} == set(unproven(system))
    assert len(proof.targets) > 10


@pytest.mark.parametrize(
    ("variant", "system", "scopes", "broken"),
    [
        ("designated-election-without-broker-epoch", "unclean-recovery", ("tiny",), ["loses-least"]),
        ("reassignment-ignores-isr", "zk-controller", ("tiny",), []),
    ],
)
def test_only_a_proof_that_stands_can_break(
    variant: str, system: str, scopes: tuple[str, ...], broken: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the matrix shows a variant, a claim counts as broken just if the right rules prove it there."""
    monkeypatch.setitem(PROOF_SCOPES, system, scopes)  # type: ignore[index]
    row = row_of(variant, system)
    assert list(attempt(row, 1, quiet=True).actions) == broken
    place = row.shown[0]
    wrong = run_proof(ProofRequest(system, place.scope, place.bounds, row.rules), bugs_z3.EFFORT, row.claims, 1, True)
    assert not any(map(wrong.proven, row.claims))


@pytest.mark.slow
@pytest.mark.parametrize(("system", "variant"), [key for key in BEYOND if row_of(key[1], key[0]).shown])
def test_what_has_a_reason_has_no_proof_to_break(system: str, variant: str) -> None:
    """Where the matrix shows a variant of `BEYOND`, the right rules are not proven in 10 s a query."""
    row = row_of(variant, system)
    assert {*BEYOND[system, variant].claims} <= {*row.claims}
    for place in row.shown:
        request = ProofRequest(system, place.scope, place.bounds, row.base)
        if "provers do not take" in BEYOND[system, variant].reason:
            with pytest.raises(Refusal):
                request.build()
        else:
            proof = run_proof(request, Effort(timeout=10), BEYOND[system, variant].claims, 1, True)
            assert not any(map(proof.proven, BEYOND[system, variant].claims))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("system", "variant", "scope"),
    [
        (*row, scope)
        for row in BEYOND
        for scope in PROOF_SCOPES[row[0]]
        if scope != "large" and base_of(*row) == "fixed"
    ],
)
def test_what_refutes_elsewhere_refutes_nothing_here(system: str, variant: str, scope: str) -> None:
    """What is left out of a variant is refuted at no scope of the proofs that can be explored whole."""
    setting = SYSTEMS[system].setting(scope, rules=parse(row_of(variant, system).rules))
    result = explore(trace(SYSTEMS[system], setting), SearchBudget(threads=2), clock=time.perf_counter)
    judged = {one.claim: one.verdict for one in result.verdicts if one.claim in BEYOND[system, variant].claims}
    assert judged
    assert [name for name, verdict in judged.items() if not isinstance(verdict, Holds)] == []


def test_a_proof_that_does_not_break_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A property that is proven although the variant must refute it fails the command with exit 21."""
    row = next(one for one in rows() if one.system == "elections")
    wrong = evolve(row, claims=("adding-removing-disjoint",), variant="fenced-leader-acceptable", shown=())
    monkeypatch.setattr(bugs_z3, "rows", lambda: [wrong])
    monkeypatch.setitem(PROOF_SCOPES, "elections", ("tiny",))  # type: ignore[index]
    ran = kraftcheck("bugs", "--engine", "z3", "--quiet", "--workers", "1", "--json", "-")
    assert ran.code == 21
    assert ran.document()["bugs"][0]["unbroken"] == ["adding-removing-disjoint"]
    assert "UNEXPECTED adding-removing-disjoint is proven all the same" in ran.err
    assert ran.err.splitlines()[-1].startswith("1 variants, 1 proofs: 1 do not break, 0 break without an answer")


def test_an_unknown_variant_is_refused() -> None:
    """A name that no proven property has is refused with the nearest ones."""
    refusal = kraftcheck("bugs", "--engine", "z3", "fenced-leader-acceptabl").refusal()
    assert refusal.startswith("no proven property names 'fenced-leader-acceptabl'; did you mean fenced-leader-accept")


ANY_SAMPLE = ("completion-keeps-removing", "fenced-leader-acceptable", "unregister-keeps-elr",
              "reassignment-repeats-replicas")  # fmt: skip


def of_any(variants: Sequence[str] = ()) -> list[BrokenProofRow]:
    """The rows of systems that are proven for any number: of some variants, or all."""
    every = [row for row in every_row() if bugs_z3.of_any_number(row.system)]
    return [row for row in every if not variants or row.variant in variants]


def of_elections() -> list[BrokenProofRow]:
    """The rows of the sample in `elections`."""
    return [row for row in of_any(ANY_SAMPLE) if row.system == "elections"]


@pytest.mark.parametrize("row", one_in(8, of_elections()), ids=lambda r: r.variant)
def test_a_variant_breaks_the_proofs_for_any_number(row: BrokenProofRow) -> None:
    """What a variant refutes with few brokers is not proven for any number, by the very step that ends the run."""
    result = attempt_any(row, 1, quiet=True)
    assert (result.proven, result.refused, result.unanswered) == ([], {}, [])
    assert all(" in tiny" in by for by in result.actions.values())


def test_runs_are_looked_for_where_the_matrix_shows_a_variant() -> None:
    """A variant that refutes nothing where proofs are made is explored with the bounds of its defect as well."""
    (row,) = (one for one in of_any(["alter-partition-ignores-directories"]) if one.system == "directories")
    *proofs, last = places(row)
    assert proofs == [BoundedScope(scope, bounds) for scope, bounds in ANY_PLACES["directories"]]
    assert (last.scope, last.bounds["moves"]) == ("small", 1)


def test_every_system_with_any_number_has_its_places() -> None:
    """Each system that takes any number of brokers, and is proven, has scopes where runs with few are looked for."""
    assert {name for name in PROOF_SCOPES if bugs_z3.of_any_number(name)} == ANY_PLACES.keys()


@pytest.mark.slow
@pytest.mark.parametrize("row", of_any(), ids=lambda r: f"{r.system}-{r.variant}")
def test_every_variant_breaks_the_proofs_for_any_number(row: BrokenProofRow) -> None:
    """All variants of the matrix whose properties are proven for any number, as `bugs --brokers any` does."""
    result = attempt_any(row, 1, quiet=True)
    assert result.faults == []
    assert {*result.refused} == ({*row.claims} if (row.system, row.variant) in NOT_FOR_ANY else set())


def command(row: BrokenProofRow, monkeypatch: pytest.MonkeyPatch) -> Ran:
    """The command's run with one row, looked for in one scope."""
    monkeypatch.setitem(ANY_PLACES, row.system, (("tiny", {}),))  # type: ignore[index]
    monkeypatch.setattr(bugs_z3, "every_row", lambda: [row])
    return kraftcheck("bugs", "--engine", "z3", "--brokers", "any", "--quiet", "--workers", "1", "--json", "-")


def one_row(variant: str, system: str) -> BrokenProofRow:
    """A row that asks only where the proofs are made."""
    return evolve(next(row for row in of_any([variant]) if row.system == system), shown=())


def test_a_step_that_breaks_nothing_is_proven_for_any_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same step with the right rules is proven, so the check can fail; the command then ends with exit 21."""
    right = ProofRequest("elections", "tiny", {"brokers": ANY}, "fixed").build()
    monkeypatch.setattr(ProofRequest, "build", lambda _: right)
    row = evolve(one_row("fenced-leader-acceptable", "elections"), claims=("leader-active",))
    ran = command(row, monkeypatch)
    assert ran.code == 21
    assert (ran.document()["brokers"], ran.document()["bugs"][0]["unbroken"]) == ("any", ["leader-active"])
    assert "UNEXPECTED leader-active is proven all the same, or no run with few brokers refutes it" in ran.err


def test_a_step_that_is_proven_somewhere_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    """A claim that a run refutes, and that is proven of its last step, counts as proven, whatever breaks elsewhere."""
    row = evolve(one_row("fenced-leader-acceptable", "elections"), claims=("leader-active",))
    monkeypatch.setitem(ANY_PLACES, "elections", (("tiny", {}), ("small", {})))  # type: ignore[index]
    whole = answer_there

    def proven_once(of: Theory, claim: str, action: str, assumed: Sequence[str]) -> ObligationAnswer:
        monkeypatch.setattr(broken, "answer_there", whole)
        return evolve(whole(of, claim, action, assumed), result=PROVEN)

    monkeypatch.setattr(broken, "answer_there", proven_once)
    assert attempt_any(row, 1, quiet=True).proven == ["leader-active"]
    assert attempt_any(row, 1, quiet=True).proven == []


def test_a_claim_that_cannot_be_asked_needs_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rules that provers do not take with any number of brokers fail the command, but for variants in the table."""

    def refuse(_: ProofRequest) -> Theory:
        raise Refusal("any number is refused")

    monkeypatch.setattr(ProofRequest, "build", refuse)
    row = evolve(one_row("fenced-leader-acceptable", "elections"), claims=("leader-active",))
    ran = command(row, monkeypatch)
    assert (ran.code, ran.document()["bugs"][0]["unbroken"]) == (21, [])
    assert ran.document()["bugs"][0]["refused"] == {"leader-active": "any number is refused (refuted in tiny)"}
    assert "UNEXPECTED leader-active cannot be asked" in ran.err
    monkeypatch.setitem(NOT_FOR_ANY, (row.system, row.variant), "a reason")  # type: ignore[index]
    assert command(row, monkeypatch).code == 0


def test_a_solver_whose_time_is_up_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proof that breaks only because the solver's time was up is counted apart."""
    monkeypatch.setattr(broken, "EFFORT_FOR_ANY", Effort(timeout=0.001))
    ran = command(evolve(one_row("fenced-leader-acceptable", "elections"), claims=("leader-active",)), monkeypatch)
    assert (ran.code, ran.document()["bugs"][0]["unanswered"]) == (0, ["leader-active"])
    assert "time was up" in ran.err


def test_any_is_refused_where_nothing_is_proven_for_any_number() -> None:
    """A variant of a system that needs a number is refused, and so is `--brokers` without the prover."""
    refusal = kraftcheck("bugs", "--engine", "z3", "--brokers", "any", "registration-overwrites").refusal()
    assert refusal == ("no property that registration-overwrites refutes is proven for any number; leave out --brokers")
    assert kraftcheck("bugs", "--brokers", "any").refusal() == "--brokers is of --engine z3; leave it out"
