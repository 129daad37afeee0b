"""A variant that refutes a proven property breaks its proof: the Z3 column of the matrix."""

from __future__ import annotations

import time
from collections.abc import Sequence

import pytest
from attrs import evolve

from kraftcheck.ci.prove import broken_for_any
from kraftcheck.ci.prove import broken_proofs as bugs_z3
from kraftcheck.ci.prove.broken_for_any import attempt_any, places
from kraftcheck.ci.prove.broken_proofs import BrokenProofRow, attempt, rows
from kraftcheck.ci.prove.request import ProofRequest
from kraftcheck.model.language.bound import ANY
from kraftcheck.model.rules.ruleset import parse
from kraftcheck.properties.catalogue import SYSTEMS
from kraftcheck.properties.defects.matrix import BUGS
from kraftcheck.properties.expected.proofs import BEYOND, NOT_PROVEN, PROOF_SCOPES, unproven
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.program.verdict import Holds
from kraftcheck.solvers.search.explore import explore
from tests.shared.commands import kraftcheck
from tests.shared.samples import one_in

SAMPLE = (
    "completion-keeps-removing", "leader-epoch-rises-twice", "unclean-cancel-is-silent",
    "unfence-ignores-assignments", "leader-change-keeps-epoch", "registration-overwrites",
    "checkpoints-kept",
)  # fmt: skip


@pytest.mark.parametrize("row", one_in(6, (r for r in rows() if r.variant in SAMPLE)), ids=lambda r: r.variant)
def test_a_variant_breaks_the_proofs_of_what_it_refutes(row: BrokenProofRow) -> None:
    """Under each variant of a sample, no property that names it is proven; `bugs --engine z3` does all."""
    assert attempt(row, 1, quiet=True).proven == []


def test_every_proven_property_has_a_row() -> None:
    """The column has every variant of every proven property, and the matrix' defects of those systems among them."""
    column = {(row.system, row.variant) for row in rows()}
    known = {variant for _, variant in column}
    assert {bug.rules.removeprefix("fixed").lstrip("+") for bug in BUGS if bug.system == "elections"} <= known
    assert {row[0] for row in NOT_PROVEN} == set(PROOF_SCOPES)
    for name, scopes in PROOF_SCOPES.items():
        for scope in scopes:
            for claim in SYSTEMS[name].properties(SYSTEMS[name].setting(scope, rules=bugs_z3.PRESETS["fixed"])):
                safe = claim.kind in ("always", "step") and claim.id not in unproven(name)
                for variant in claim.refuted_by if safe else ():
                    assert ((name, variant) in column) != ((name, variant) in BEYOND)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("system", "variant", "scope"),
    [(*row, scope) for row in BEYOND for scope in PROOF_SCOPES[row[0]] if scope != "large"],
)
def test_what_refutes_elsewhere_refutes_nothing_here(system: str, variant: str, scope: str) -> None:
    """A variant that is left out breaks no proven property at a scope of the proofs that can be explored whole."""
    setting = SYSTEMS[system].setting(scope, rules=parse(f"fixed+{variant}"))
    found = explore(trace(SYSTEMS[system], setting), clock=time.perf_counter, threads=2)
    claims = {claim.id for claim in SYSTEMS[system].properties(setting) if claim.kind in ("always", "step")}
    judged = {one.claim: one.verdict for one in found.verdicts if one.claim in claims - unproven(system)}
    assert judged
    assert [name for name, verdict in judged.items() if not isinstance(verdict, Holds)] == []


def test_a_proof_that_does_not_break_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A property that is proven although the variant must refute it fails the command with exit 21."""
    row = next(one for one in rows() if one.system == "elections")
    wrong = evolve(row, claims=("adding-removing-disjoint",), variant="fenced-leader-acceptable")
    monkeypatch.setattr(bugs_z3, "rows", lambda: [wrong])
    monkeypatch.setattr(bugs_z3, "PROOF_SCOPES", {"elections": ("tiny",)})
    ran = kraftcheck("bugs", "--engine", "z3", "--quiet", "--workers", "1", "--json", "-")
    assert ran.code == 21
    assert ran.document()["bugs"][0]["unbroken"] == ["adding-removing-disjoint"]
    assert "UNEXPECTED adding-removing-disjoint is proven all the same" in ran.err


ANY_SAMPLE = ("completion-keeps-removing", "fenced-leader-acceptable", "unregister-keeps-elr",
              "reassignment-repeats-replicas")  # fmt: skip


def of_any(variants: Sequence[str]) -> list[BrokenProofRow]:
    """The rows of systems that are proven for any number."""
    return [row for row in rows() if bugs_z3.of_any_number(row.system) and row.variant in variants]


@pytest.mark.parametrize("row", one_in(8, of_any(ANY_SAMPLE)), ids=lambda r: r.variant)
def test_a_variant_breaks_the_proofs_for_any_number(row: BrokenProofRow) -> None:
    """What a variant refutes with few brokers is not proven for any number, by the very step that ends the run."""
    broken = attempt_any(row, 1, quiet=True)
    assert broken.proven == []
    assert all(" in tiny" in by for by in broken.actions.values())


def test_runs_are_looked_for_where_the_matrix_shows_a_variant() -> None:
    """A variant that refutes nothing at the scopes of the proofs is explored with the bounds of its defect as well."""
    (row,) = (one for one in of_any(["alter-partition-ignores-directories"]) if one.system == "directories")
    *proofs, (scope, bounds) = places(row)
    assert proofs == [(proven, {}) for proven in PROOF_SCOPES["directories"]]
    assert (scope, bounds["moves"]) == ("small", 1)


@pytest.mark.slow
@pytest.mark.parametrize("row", of_any([row.variant for row in rows()]), ids=lambda r: f"{r.system}-{r.variant}")
def test_every_variant_breaks_the_proofs_for_any_number(row: BrokenProofRow) -> None:
    """All variants of the matrix whose properties are proven for any number, as `bugs --brokers any` does."""
    assert attempt_any(row, 1, quiet=True).proven == []


def test_a_step_that_breaks_nothing_is_proven_for_any_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same step with the right rules is proven, so the check can fail; the command then ends with exit 21."""
    row = next(one for one in rows() if one.variant == "fenced-leader-acceptable" and one.system == "elections")
    right = ProofRequest("elections", "tiny", {"brokers": ANY}, "fixed").build()
    monkeypatch.setattr(ProofRequest, "build", lambda _: right)
    monkeypatch.setattr(bugs_z3, "PROOF_SCOPES", {"elections": ("tiny",)})
    monkeypatch.setattr(broken_for_any, "PROOF_SCOPES", {"elections": ("tiny",)})
    monkeypatch.setattr(bugs_z3, "rows", lambda: [row])
    ran = kraftcheck("bugs", "--engine", "z3", "--brokers", "any", "--quiet", "--workers", "1", "--json", "-")
    assert ran.code == 21
    assert (ran.document()["brokers"], ran.document()["bugs"][0]["unbroken"]) == ("any", ["leader-active"])
    assert "UNEXPECTED leader-active is proven all the same, or no run with few brokers refutes it" in ran.err


def test_any_is_refused_where_nothing_is_proven_for_any_number() -> None:
    """A variant of a system that needs a number is refused, and so is `--brokers` without the prover."""
    refusal = kraftcheck("bugs", "--engine", "z3", "--brokers", "any", "registration-overwrites").refusal()
    assert refusal == ("no property that registration-overwrites refutes is proven for any number; leave out --brokers")
    assert kraftcheck("bugs", "--brokers", "any").refusal() == "--brokers is of --engine z3; leave it out"


def test_an_unknown_variant_is_refused() -> None:
    """A name that no proven property has is refused with the nearest ones."""
    refusal = kraftcheck("bugs", "--engine", "z3", "fenced-leader-acceptabl").refusal()
    assert refusal.startswith("no proven property names 'fenced-leader-acceptabl'; did you mean fenced-leader-accept")
