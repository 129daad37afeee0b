"""`kraftcheck prove --certificate DIR`: what is proven as files that another solver checks by itself."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

from kraftcheck.ci.systems import report
from kraftcheck.ci.systems.subject import Subject
from kraftcheck.ci.terminal.files import write
from kraftcheck.ci.terminal.result_folders import results
from kraftcheck.model.language.bound import spelled
from kraftcheck.solvers.certificates.certificate import Certificate, certificate
from kraftcheck.solvers.smt.induction import Proof
from kraftcheck.solvers.smt.queries import Effort

INDEX, SCRIPT, INVARIANT = "index.json", "check.py", "invariant.smt2"
"""The files of a certificate besides the obligations."""


def write_certificate(chosen: Subject, proof: Proof, effort: Effort, place: Path) -> str:
    """Write the certificate of what is proven, and say so; where nothing is, nothing is written.

    Returns:
        A line for the report.

    Raises:
        Refusal: for a place that cannot be replaced.
    """
    shown = certificate(proof)
    if shown is None:
        return f"no certificate: nothing is proven, and {place} is as it was"
    with results("--certificate", place) as folder:
        rows = list(_obligations(shown, effort, folder))
        write(folder / INVARIANT, shown.invariant)
        status = "sat" if shown.satisfiable else ""
        index = _index(chosen, proof, shown) | {
            "invariant": {"file": INVARIANT, "status": status, "sha256": _digest(shown.invariant)},
            "obligations": rows,
        }
        write(folder / INDEX, json.dumps(index, indent=1) + "\n")
        source = resources.files("kraftcheck.ci.prove").joinpath("check_certificate.py")
        write(folder / SCRIPT, source.read_text("utf-8"))
    claims = [*shown.invariants, *shown.steps]
    left_out = sorted(set(proof.targets) - set(claims))
    unproven = f"; not proven, and not in it: {', '.join(left_out)}" if left_out else ""
    return f"certificate: {len(claims)} claims, {len(rows):,} obligations in {place}{unproven}"


def check_certificate(folder: Path) -> subprocess.CompletedProcess[str]:
    """The run of a certificate's own script, which asks cvc5."""
    return subprocess.run(
        [sys.executable, str(folder / SCRIPT)], capture_output=True, text=True, check=False, cwd=folder
    )  # fmt: skip


def _obligations(shown: Certificate, effort: Effort, folder: Path) -> Iterator[dict[str, str]]:
    """Write each obligation, and list it."""
    for number, one in enumerate(shown.obligations(effort, time.monotonic), start=1):
        claim, action = one.obligation.claim, one.obligation.action
        name = f"{number:04}-{action}-{re.sub(r'[^a-zA-Z0-9]+', '-', claim)[:60]}.smt2"
        write(folder / name, one.text)
        yield {
            "file": name, "shows": one.role, "claim": claim, "action": action, "status": "unsat",
            "sha256": _digest(one.text),
        }  # fmt: skip


def _index(chosen: Subject, proof: Proof, shown: Certificate) -> dict[str, Any]:
    """What the certificate is of: the theorem in words, and the ids from which its obligations follow."""
    sentences = {claim.id: claim.sentence for claim in proof.theory.claims}
    return {
        "version": report.DOCUMENT_VERSION,
        "system": chosen.name,
        "scope": chosen.setting.scope,
        "bounds": {name: spelled(value) for name, value in chosen.setting.bounds.items()},
        "rules": chosen.rules,
        "left_out": list(shown.bounded),
        "sentences": {claim: sentences[claim] for claim in (*shown.invariants, *shown.steps)},
        "invariants": list(shown.invariants),
        "steps": list(shown.steps),
        "actions": list(shown.actions),
        "versions": report.versions(),
    }


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()
