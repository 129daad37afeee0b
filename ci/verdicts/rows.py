"""The rows of `kraftcheck check` as what was judged: searches, proofs, and rows that a stop left out."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from kraftcheck.ci.run.judged import HOLDS, JudgedProperty, JudgedRun, claims_of, every_id, judged, not_judged
from kraftcheck.ci.systems.subject import subject
from kraftcheck.ci.verdicts.proofs import ProofRow
from kraftcheck.ci.verdicts.row import CheckedRows, ExploredRow
from kraftcheck.properties.register.proofs import ANY_NUMBER, NOT_PROVEN
from kraftcheck.properties.register.verdicts import EVERY, Row
from kraftcheck.solvers.program.verdict import DEADLOCK


def judged_rows(rows: Sequence[Row], checked: CheckedRows, planned: Collection[Row]) -> list[JudgedRun]:
    """Every row that was planned, in order: its search and its proof; what was not judged is no pass.

    Args:
        rows: what was to be checked.
        checked: the searches and proofs that began.
        planned: the rows that were to be proven at their scope's bounds.
    """
    by_row = {one.row: one for one in checked.explored}
    proven = {row: [proof for proof in checked.proofs if proof.row == row] for row in rows}
    return [run for row in rows for run in _runs(row, by_row.get(row), proven[row], row in planned)]


def _runs(row: Row, explored: ExploredRow | None, proofs: Sequence[ProofRow], planned: bool) -> Iterator[JudgedRun]:
    chosen = subject(row[0], row[1], {}, row[2])
    if explored is None:
        missing = not_judged(chosen, every_id(chosen), "the check ended before this row")
        yield JudgedRun(chosen, "explore", missing)
        return
    properties = judged(chosen, explored.verdicts, EVERY[row])
    unseen = sorted(set(EVERY[row]) - {one.id for one in properties})
    missing = not_judged(chosen, unseen, "expected, and the system has no such property")
    yield JudgedRun(chosen, "explore", (*properties, *missing), explored.seconds)
    yield from (_proof_run(row, proof) for proof in proofs)
    if not proofs and (planned or row in ANY_NUMBER):
        every = [claim.id for claim in chosen.system.properties(chosen.setting) if claim.kind in ("always", "step")]
        claims = every if planned else ANY_NUMBER[row]
        yield JudgedRun(chosen, "prove", not_judged(chosen, claims, "the check ended before this proof"))


def _proof_run(row: Row, proof_row: ProofRow) -> JudgedRun:
    chosen = proof_row.subject()
    claims, open_claims = claims_of(chosen), NOT_PROVEN.get(row, ())
    failed = "incomplete" if proof_row.stopped else "unknown"
    properties = []
    for claim in proof_row.proofs:
        verdict = HOLDS if claim.proven else failed
        expected = "unknown" if claim.id in open_claims else HOLDS
        detail = "for any number of steps" if verdict == HOLDS else "not proven"
        properties.append(
            JudgedProperty(claim.id, claim.kind, verdict, detail, verdict == expected, expected, claims.get(claim.id))
        )
    unseen = sorted(set(open_claims) - {one.id for one in properties} - {DEADLOCK})
    missing = not_judged(chosen, unseen, "expected, and nothing to prove has this name")
    return JudgedRun(chosen, "prove", (*properties, *missing), proof_row.seconds)
