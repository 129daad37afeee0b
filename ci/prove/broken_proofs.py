"""`kraftcheck bugs --engine z3`: a variant that refutes a proven property must break its proof."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from attrs import frozen

from kraftcheck.ci.prove.command import run_proof
from kraftcheck.ci.prove.request import ProofRequest
from kraftcheck.ci.systems import report
from kraftcheck.ci.terminal.console import console
from kraftcheck.ci.terminal.files import check_writable, write_json
from kraftcheck.ci.terminal.interrupts import Interrupted
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.nearest import nearest
from kraftcheck.model.rules.ruleset import PRESETS
from kraftcheck.properties.catalogue import SYSTEMS
from kraftcheck.properties.expected.proofs import BEYOND, PROOF_SCOPES, unproven
from kraftcheck.solvers.program.verdict import EXIT_VACUOUS
from kraftcheck.solvers.smt.induction import Proof
from kraftcheck.solvers.smt.queries import Effort

EFFORT = Effort(timeout=120)


@frozen
class BrokenProofRow:
    """A variant of a system and the proven properties that it must refute."""

    system: str
    variant: str
    claims: tuple[str, ...]


@frozen
class BrokenProof:
    """The outcome of the proofs under a variant.

    Attributes:
        row: the variant.
        actions: for each property whose proof broke, the actions that break it and the scope.
    """

    row: BrokenProofRow
    actions: Mapping[str, str]

    @property
    def proven(self) -> list[str]:
        """Properties that are still proven everywhere: their proofs prove nothing."""
        return [claim for claim in self.row.claims if claim not in self.actions]


Attempt = Callable[[BrokenProofRow, int, bool], BrokenProof]
"""Tries to prove what a variant must refute, with so many workers, quietly or not."""


def rows() -> list[BrokenProofRow]:
    """Every variant that some proven property names, but those that refute nothing at the scopes of the proofs."""
    by_variant: dict[tuple[str, str], list[str]] = {}
    for name, scopes in PROOF_SCOPES.items():
        system = SYSTEMS[name]
        for scope in scopes:
            for claim in system.properties(system.setting(scope, rules=PRESETS["kip"])):
                safe = claim.kind in ("always", "step") and claim.id not in unproven(name)
                for variant in claim.refuted_by if safe else ():
                    claim_ids = by_variant.setdefault((name, variant), [])
                    claim_ids += [claim.id] if claim.id not in claim_ids else []
    refuting = sorted((key, claims) for key, claims in by_variant.items() if key not in BEYOND)
    return [BrokenProofRow(system, variant, tuple(claims)) for (system, variant), claims in refuting]


def chosen(names: Sequence[str]) -> list[BrokenProofRow]:
    """The rows of these variants, all of them for none.

    Raises:
        Refusal: for an unknown name, with the nearest ones.
    """
    every = rows()
    for name in names:
        if name not in {row.variant for row in every}:
            raise Refusal(f"no proven property names {name!r}; {nearest(name, [row.variant for row in every])}")
    return [row for row in every if not names or row.variant in names]


def attempt(row: BrokenProofRow, workers: int, quiet: bool) -> BrokenProof:
    """Try to prove, under a variant, what it must refute: in one scope after the other, until every proof broke.

    Raises:
        Interrupted: when a signal stopped it.
    """
    actions: dict[str, str] = {}
    for scope in PROOF_SCOPES[row.system]:
        request = ProofRequest(row.system, scope, {}, f"fixed+{row.variant}")
        claim_ids = {claim.id for claim in request.build().claims}
        remaining = [claim for claim in row.claims if claim not in actions and claim in claim_ids]
        if remaining:
            proof = run_proof(request, EFFORT, remaining, workers, quiet)
            if proof.stopped:  # what was not asked any more is not broken
                raise Interrupted(f"stopped in the proofs of {row.system} {row.variant}")
            actions |= dict(_failures(proof, remaining, scope))
    return BrokenProof(row, actions)


def _failures(proof: Proof, claims: Sequence[str], scope: str) -> Iterator[tuple[str, str]]:
    for claim in claims:
        if not proof.inductive(claim):
            by = sorted({answer.obligation.action for answer in proof.failures(claim)})
            yield claim, f"{', '.join(by) or 'what it rests on'} in {scope}"


def of_any_number(name: str) -> bool:
    """Whether a system has a bound that may be any."""
    return any(bound.takes_any for bound in SYSTEMS[name].bounds)


def broken_proofs(
    names: Sequence[str], workers: int, target: str | None, quiet: bool, method: Attempt | None = None
) -> int:
    """Go through the variants, report, and return the exit code: 0, or 21 where a proof does not break.

    Args:
        names: variants; none stands for all.
        workers, quiet: see `attempt`.
        target: where a document goes.
        method: how proofs for any number are broken, of the systems that have those; None: `attempt`.

    Raises:
        Refusal: for an unknown name, or one of systems without proofs for any number.
    """
    selected = [row for row in chosen(names) if method is None or of_any_number(row.system)]
    if not selected:
        raise Refusal(f"no property that {', '.join(names)} refutes is proven for any number; leave out --brokers")
    if target is not None:
        check_writable(target)
    screen, results = console(to_stderr=target == "-"), []
    for row in selected:
        results.append((method or attempt)(row, workers, quiet))
        screen.plain(f"{row.system} {row.variant}")
        for claim, by in results[-1].actions.items():
            screen.plain(f"    {claim}: proof broken by {by}")
        for claim in results[-1].proven:
            also = ", or no run with few brokers refutes it" if method is not None else ""
            screen.plain(f"    UNEXPECTED {claim} is proven all the same{also}")
    proven_count = sum(len(result.proven) for result in results)
    code = EXIT_VACUOUS if proven_count else 0
    if target is not None:
        write_json(target, document(results, code) | ({} if method is None else {"brokers": "any"}))
    screen.plain(f"{len(results)} variants, {proven_count} proofs that do not break (exit {code})")
    return code


def document(results: Sequence[BrokenProof], code: int) -> dict[str, object]:
    """The column as plain values."""
    return {
        "version": report.DOCUMENT_VERSION,
        "command": "bugs",
        "engine": "z3",
        "exit_code": code,
        "bugs": [
            {"system": result.row.system, "variant": result.row.variant, "broken": dict(result.actions),
             "unbroken": result.proven}
            for result in results
        ],
        "versions": report.versions(),
    }  # fmt: skip
