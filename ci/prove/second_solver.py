"""Queries for other solvers: written as files, and asked of a second one."""

from __future__ import annotations

import functools
import multiprocessing
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from attrs import evolve

from kraftcheck.ci.terminal.files import write
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.ci.terminal.result_folders import check_results, results
from kraftcheck.solvers.program.verdict import Holds, Unknown
from kraftcheck.solvers.reference.confirm import EngineDisagreement
from kraftcheck.solvers.smt.induction import Proof
from kraftcheck.solvers.smt.queries import PROVEN, REFUTED, Effort
from kraftcheck.solvers.smt.smtlib import SECOND_SOLVERS, Script, installed, scripts, second_answer
from kraftcheck.solvers.smt.theory import Theory
from kraftcheck.solvers.smt.verdicts import Judged

WANTED = {PROVEN: "unsat", REFUTED: "sat"}
"""What a second solver must say where the first decided."""


def ready(second: str | None, place: str | None, target: str | None) -> None:
    """Refuse, before anything is proven, a solver that is missing or a folder that cannot be used."""
    if second is not None and not installed(second):
        raise Refusal(f"--second-solver {second} is not installed; pip install 'kraftcheck[solvers]'")
    check_results("--smt2", None if place is None else Path(place), target)


def check_solver(solver: str, second: str | None, bounded_only: bool) -> None:
    """Refuse a solver that is missing, cannot do what was asked, or would confirm itself."""
    if second == solver:
        others = ", ".join(other for other in SECOND_SOLVERS if other != solver)
        raise Refusal(f"--second-solver {second} is the first one too; name another of {others}")
    if not installed(solver):
        raise Refusal(f"--solver {solver} is not installed; pip install 'kraftcheck[solvers]'")
    if bounded_only and solver != "z3":
        raise Refusal(f"--bmc, --k and --pdr are Z3's; leave out --solver {solver}")


def check_endless(subject: Theory, solvers: Sequence[str | None], bounded_only: bool) -> None:
    """Refuse what cannot be asked about logs without bound."""
    if subject.endless and bounded_only:
        raise Refusal("--bmc, --k and --pdr look at bounded logs; leave out --unbounded")
    if subject.endless and "bitwuzla" in solvers:
        raise Refusal("bitwuzla knows bit-vectors only, and offsets without bound are ints; use Z3, and cvc5 as second")


def second_opinion(
    proof: Proof, judged: Sequence[Judged], place: str | None, second: str | None, effort: Effort, workers: int
) -> list[Judged]:
    """The verdicts after every query was written, and asked of a second solver.

    A proof that the second solver cannot confirm in time is none.

    Raises:
        EngineDisagreement: when one solver says sat and the other unsat.
    """
    texts = list(scripts(proof))
    if place is not None:
        with results("--smt2", Path(place)) as made:
            for script in texts:
                write(made / script.name, script.text)
    if second is None:
        return list(judged)
    open_ = _undecided(proof, texts, second, effort, workers)
    return [_confirmed(proof, one, second, open_) for one in judged]


def _confirmed(proof: Proof, one: Judged, second: str, open_: Mapping[str, str]) -> Judged:
    """What holds only where the second solver has decided it, and all that it rests on."""
    claim = one.verdict.claim
    missing = [name for name in (claim, *proof.support(claim)) if name in open_]
    if not isinstance(one.verdict.verdict, Holds) or not missing:
        return one
    about = open_[claim] if missing[0] == claim else f"{missing[0]}, {open_[missing[0]]}"
    return evolve(one, verdict=evolve(one.verdict, verdict=Unknown(f"{second} has no answer: {about}")))


def _undecided(proof: Proof, texts: Sequence[Script], second: str, effort: Effort, workers: int) -> dict[str, str]:
    """For each claim with such a query, an action that the second solver did not decide."""
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"))
    told: dict[str, str] = {}
    with pool:
        ask = functools.partial(second_answer, second, effort=effort)
        for script, said in zip(texts, pool.map(ask, [one.text for one in texts], chunksize=4), strict=True):
            wanted = WANTED.get(proof.answers[script.asked].result)
            if wanted is not None and said not in (wanted, "unknown"):
                raise EngineDisagreement(
                    f"{script.asked.claim}, {script.asked.action}: {effort.solver} says {wanted}, {second} {said}"
                )
            if said == "unknown":
                told[script.asked.claim] = script.asked.action
    return told
