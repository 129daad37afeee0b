"""A variant that refutes a property is not proven to keep it for any number: `bugs --engine z3 --brokers any`."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from attrs import evolve

from kraftcheck.ci.prove import broken
from kraftcheck.ci.prove import broken as bugs_z3
from kraftcheck.ci.prove.broken import BrokenProofRow, Place, answer_there, attempt_any, every_row, places
from kraftcheck.ci.prove.request import ProofRequest
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.language.system import ANY
from kraftcheck.properties.register.proofs import ANY_PLACES, NOT_FOR_ANY, PROOF_SCOPES
from kraftcheck.solvers.smt.queries import PROVEN, Effort, ObligationAnswer
from kraftcheck.solvers.smt.theory import Theory
from tests.shared.commands import Ran, kraftcheck
from tests.shared.samples import one_in

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
    assert proofs == [Place(scope, bounds) for scope, bounds in ANY_PLACES["directories"]]
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
