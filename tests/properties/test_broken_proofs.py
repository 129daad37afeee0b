"""A variant that refutes a proven property breaks its proof: the Z3 column of the matrix."""

from __future__ import annotations

import functools
import time

import pytest
from attrs import evolve

from kraftcheck.ci.prove import broken
from kraftcheck.ci.prove import broken as bugs_z3
from kraftcheck.ci.prove.broken import BrokenProofRow, attempt, every_row, rows
from kraftcheck.ci.prove.question import run_proof
from kraftcheck.ci.prove.request import ProofRequest
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.rules.ruleset import PRESETS, RuleSet, parse
from kraftcheck.properties.catalogue import SYSTEMS
from kraftcheck.properties.register.defects import BUGS
from kraftcheck.properties.register.proofs import BEYOND, NOT_PROVEN, PROOF_SCOPES, unproven
from kraftcheck.solvers.exploration.explore import SearchBudget, explore
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.program.verdict import Holds
from kraftcheck.solvers.smt.queries import Effort
from tests.shared.commands import kraftcheck
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
        *broken.of_proofs("directories"), broken.Place("tiny", {"copies": 1}),
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
