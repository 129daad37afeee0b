"""Proofs for any number compared with numbers, and findings that the explorer finds in each release."""

import json
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from kraftcheck.ci.conformance.findings.search import ReleaseSearch, recorded, search
from kraftcheck.ci.prove.question import run_proof
from kraftcheck.ci.prove.request import ProofRequest
from kraftcheck.ci.verdicts import defects, row
from kraftcheck.ci.verdicts.command import unexpected_code
from kraftcheck.ci.verdicts.row import EXPLORED, FINITE, numbers_that_agree, of_number, proven_with
from kraftcheck.model.language.system import ANY, System
from kraftcheck.properties.register.findings import FINDINGS, Finding
from kraftcheck.properties.register.verdicts import ANY_NUMBER, EVERY, NOT_PROVEN, expected
from kraftcheck.solvers.exploration.explore import SearchBudget
from kraftcheck.solvers.reference.confirm import EngineDisagreement
from kraftcheck.solvers.smt.induction import Proof
from kraftcheck.solvers.smt.queries import Effort, Premises, Questions
from kraftcheck.solvers.smt.theory import INITIATION
from tests.ci.verdicts.test_cli_check import BUDGET, checked, faults
from tests.shared.any_number import FORGETS, LEASE
from tests.shared.commands import kraftcheck

WRONG = ("elections", "tiny", "kip")
CLAIM = "leader-is-replica"  # what the rules of `WRONG` refute, with two brokers
EFFORT = Effort(timeout=60)


def assume_what_is_false(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a premise of every proof for any number be false, as of a wrong axiom."""
    right = Questions.premises

    def wrong(self: Questions, action: str, assumed: Any, within: bool = True) -> Premises:
        premises = right(self, action, assumed, within)
        if action == INITIATION or not premises.endless():
            return premises
        graph = self.subject.program.graph
        false = {"a wrong axiom": self.read.expression(graph.constant(False))}
        return evolve(premises, truths={**premises.truths, **false})

    monkeypatch.setattr(Questions, "premises", wrong)


def of_any(system: System) -> ProofRequest:
    """The request to prove a lease for any number of brokers."""
    return ProofRequest(system, None, {"brokers": ANY}, None)


def lease_proof() -> Proof:
    """The proof that a lease's leader is unfenced."""
    proof = run_proof(of_any(LEASE), EFFORT, (), 1, quiet=True)
    assert proof.proven("leader-unfenced")
    return proof


def test_a_contradiction_makes_the_check_red(monkeypatch: pytest.MonkeyPatch) -> None:
    """A claim that a wrong axiom proves for any number, and that two brokers refute, ends the check with exit 24."""
    assert EVERY[WRONG][CLAIM].startswith("refuted")
    monkeypatch.setattr(row, "ANY_NUMBER", {WRONG: (CLAIM,)})
    monkeypatch.setattr("kraftcheck.ci.verdicts.command.proofs_named", lambda _: frozenset())
    assume_what_is_false(monkeypatch)
    ran = checked(WRONG)
    assert ran.code == 24
    assert f"{CLAIM} is proven, and a run of " in ran.err


def test_a_number_that_refutes_what_is_proven_for_any_is_a_fault() -> None:
    """A search with two brokers is compared with the proof, here of other rules."""
    with pytest.raises(EngineDisagreement, match="leader-unfenced is proven, and a run of 2 steps refutes it"):
        numbers_that_agree(of_any(FORGETS), lease_proof(), EFFORT, BUDGET, quiet=True)


def test_what_is_proven_and_refuted_of_a_row_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proof at the bounds of a scope is compared with the search there, also where both are expected."""
    monkeypatch.setattr(row, "row_proofs", lambda *_: [row.ProofRow(WRONG, {CLAIM: True}, 1, 0.0, False)])
    parts = row.row_parts(WRONG, True, row.RowOptions(BUDGET, True, None, False))
    assert faults(next(parts)) == []
    with pytest.raises(EngineDisagreement, match=f"elections tiny kip: {CLAIM} is proven, and refuted"):
        next(parts)


def test_a_number_for_which_a_claim_is_not_inductive_is_a_fault() -> None:
    """The proof with five brokers and replicas is made with another encoding, and must succeed too."""
    elections = ProofRequest(WRONG[0], WRONG[1], {"brokers": ANY}, WRONG[2])
    assert dict(of_number(elections, FINITE).bounds) == {"brokers": FINITE, "replication": FINITE}
    assert proven_with(of_any(LEASE), ["leader-unfenced"], FINITE, EFFORT, 1, quiet=True)
    with pytest.raises(EngineDisagreement, match=r"leader-unfenced is proven for any .* and with 5 fence breaks it"):
        proven_with(of_any(FORGETS), ["leader-unfenced"], FINITE, EFFORT, 1, quiet=True)


def test_a_number_that_is_not_decided_is_no_pass() -> None:
    """A search that was cut agrees with nothing, and the check is incomplete then."""
    proof = lease_proof()
    assert numbers_that_agree(of_any(LEASE), proof, EFFORT, BUDGET, quiet=True) == (*EXPLORED, FINITE)
    cut = evolve(BUDGET, max_states=2)
    assert numbers_that_agree(of_any(LEASE), proof, EFFORT, cut, quiet=True) == (FINITE,)
    any_row = row._proof_row(("elections", "small", "fixed"), proof, {"brokers": ANY})
    assert [(one.id, unexpected_code(one)) for one in faults(evolve(any_row, numbers=(2, FINITE)))] == [
        ("with 3 brokers", 20)
    ]
    assert faults(evolve(any_row, numbers=(*EXPLORED, FINITE))) == []


def test_every_row_that_is_proven_for_any_number_is_explored_and_proven_as_well() -> None:
    """What the check proves for any number it expects to hold where it explores, and finds no proof to be open."""
    for any_row, claims in ANY_NUMBER.items():
        assert {expected(any_row, claim) for claim in claims} == {"holds"}
        assert not {*claims} & {*NOT_PROVEN.get(any_row, ())}


OPEN, MENDED = "reassignment-never-completes", "assignment-clears-elr"
"""Two findings that are decided in a second: one that 4.4.0 has, and one that it does not have."""


def test_findings_show_or_hold_as_recorded(tmp_path: Path) -> None:
    """A row for people and one in the document for each finding, with the release's preset and the recorded steps."""
    ran = kraftcheck("bugs", OPEN, MENDED, "--kafka", "4.4.0", "--quiet", "--json", tmp_path / "rows.json")
    assert (ran.code, ran.err) == (0, "")
    assert ran.last == "2 findings with the rules of 4.4.0, 0 not as expected (exit 0)"
    rows = json.loads((tmp_path / "rows.json").read_text(encoding="utf-8"))["findings"]
    evidence = recorded()
    assert [(row["finding"], row["steps"]) for row in rows] == [
        (name, evidence[name, "4.4.0"].steps) for name in (OPEN, MENDED)
    ]
    assert [(row["mend_suffices"], row["faults"]) for row in rows] == [(True, []), (None, [])]
    assert [row["rules"].startswith("kafka-4.4.0") for row in rows] == [True, True]


def test_another_length_is_not_as_expected(monkeypatch: pytest.MonkeyPatch) -> None:
    """A finding that shows sooner or later than recorded, or not at all, fails the command."""
    evidence = recorded()
    changed = {OPEN: evolve(evidence[OPEN, "4.4.0"], steps=3), MENDED: evolve(evidence[MENDED, "4.4.0"], steps=1)}
    monkeypatch.setattr(defects, "recorded", lambda: {(name, "4.4.0"): row for name, row in changed.items()})
    ran = kraftcheck("bugs", OPEN, MENDED, "--kafka", "4.4.0", "--quiet")
    assert ran.code == 12
    assert "UNEXPECTED reassignment-completes: expected 3, got 2" in ran.out
    assert "UNEXPECTED elr-leavers-have-a-reason: expected 1, got holds" in ran.out


def test_a_mend_that_mends_nothing_is_not_as_expected(monkeypatch: pytest.MonkeyPatch) -> None:
    """A finding whose property breaks without its choices too fails the command."""

    def search_without_mend(finding: Finding, release: str, budget: SearchBudget, quiet: bool) -> ReleaseSearch:
        return search(evolve(finding, switches=("unregister-keeps-elr",)), release, budget, quiet)

    monkeypatch.setattr(defects, "search", search_without_mend)
    ran = kraftcheck("bugs", OPEN, "--kafka", "4.4.0", "--quiet")
    assert ran.code == 12
    assert "UNEXPECTED reassignment-completes is refuted without the defect too" in ran.out
    assert "without the defect it holds" not in ran.out


@pytest.mark.parametrize(
    ("words", "place"),
    [
        (("no-such-finding", "--kafka", "4.4.0"), "no finding 'no-such-finding'"),
        (("padded-config", "--kafka", "4.4.0"), "no finding 'padded-config' that an explored system shows"),
        ((OPEN, "--kafka", "2.8"), "--kafka: no evidence of Kafka 2.8; known: 3.9.2"),
        ((OPEN, "--kafka", "4.4.0", "--engine", "z3"), "--kafka is of --engine native"),
    ],
)
def test_what_cannot_be_searched_is_refused(words: tuple[str, ...], place: str) -> None:
    """A finding or release that is not known, one without a search, and another engine are refused in a line."""
    ran = kraftcheck("bugs", *words)
    assert ran.code == 2
    assert place in ran.err


@pytest.mark.slow
@pytest.mark.parametrize("release", ["3.9.2", "4.0.0", "4.1.0", "4.2.0", "4.3.0", "4.4.0"])
def test_every_finding_of_every_line(release: str) -> None:
    """Each finding that has a search shows or holds as recorded in the first release of each line, and the newest."""
    ran = kraftcheck("bugs", "--kafka", release, "--quiet")
    assert ran.code == 0
    number = sum(finding.search is not None for finding in FINDINGS)
    assert ran.last == f"{number} findings with the rules of {release}, 0 not as expected (exit 0)"
