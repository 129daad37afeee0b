"""The rows of `kraftcheck check` as what was judged: searches, proofs, and rows that a stop left out."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from kraftcheck.ci.systems.subject import Subject, subject
from kraftcheck.ci.verdicts.proofs import ProofRow
from kraftcheck.ci.verdicts.reports.judged import (
    HOLDS,
    JudgedProperty,
    JudgedRun,
    claims_of,
    every_id,
    judged,
    not_judged,
)
from kraftcheck.properties.expected.proofs import ANY_NUMBER, NOT_PROVEN
from kraftcheck.properties.expected.verdicts import EVERY, Row
from kraftcheck.solvers.program.verdict import DEADLOCK
from kraftcheck.solvers.search.explore import Exploration


def judged_rows(
    rows: Sequence[Row], explored: Sequence[tuple[Row, Subject, Exploration]], proofs: Sequence[ProofRow],
    planned: Collection[Row],
) -> list[JudgedRun]:
    """Every row that was planned, in order: its search and its proof; what was not judged is no pass.

    Args:
        rows: what was to be checked.
        explored: the rows whose search began.
        proofs: the proofs that began.
        planned: the rows that were to be proven at their scope's bounds.
    """
    by_row = {row: (chosen, result) for row, chosen, result in explored}
    proven = {row: [proof for proof in proofs if proof.row == row] for row in rows}
    return [run for row in rows for run in _runs(row, by_row.get(row), proven[row], row in planned)]


def _runs(
    row: Row, explored: tuple[Subject, Exploration] | None, proofs: Sequence[ProofRow], planned: bool
) -> Iterator[JudgedRun]:
    if explored is None:
        chosen = subject(row[0], row[1], {}, row[2])
        missing = not_judged(chosen, every_id(chosen), "the check ended before this row")
        yield JudgedRun(chosen, "explore", missing)
        return
    chosen, result = explored
    properties = judged(chosen, result.verdicts, EVERY[row])
    unseen = sorted(set(EVERY[row]) - {one.id for one in properties})
    missing = not_judged(chosen, unseen, "expected, and the system has no such property")
    yield JudgedRun(chosen, "explore", (*properties, *missing), result.seconds)
    yield from (_proof_run(row, proof) for proof in proofs)
    if not proofs and (planned or row in ANY_NUMBER):
        every = [claim.id for claim in chosen.system.properties(chosen.setting) if claim.kind in ("always", "step")]
        claims = every if planned else ANY_NUMBER[row]
        yield JudgedRun(chosen, "prove", not_judged(chosen, claims, "the check ended before this proof"))


def _proof_run(row: Row, proof_row: ProofRow) -> JudgedRun:
    chosen = proof_row.subject()
    proof, claims, open_claims = proof_row.proof, claims_of(chosen), NOT_PROVEN.get(row, ())
    failed = "incomplete" if proof.stopped else "unknown"
    properties = []
    for claim in proof.theory.claims:
        verdict = HOLDS if proof.proven(claim.id) else failed
        expected = "unknown" if claim.id in open_claims else HOLDS
        detail = "for any number of steps" if verdict == HOLDS else "not proven"
        properties.append(
            JudgedProperty(
                claim.id, claim.kind, verdict, detail, verdict == expected, expected, claims.get(claim.id)
            )
        )
    unseen = sorted(set(open_claims) - {one.id for one in properties} - {DEADLOCK})
    missing = not_judged(chosen, unseen, "expected, and nothing to prove has this name")
    seconds = sum(answer.seconds for answer in proof.answers.values())
    return JudgedRun(chosen, "prove", (*properties, *missing), seconds)
