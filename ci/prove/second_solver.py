"""A second solver: every query is written as a file, or answered by a second solver too."""

from __future__ import annotations

import functools
import multiprocessing
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from attrs import evolve

from kraftcheck.ci.prove.report import ProofAnswer
from kraftcheck.ci.terminal.files import write
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.ci.terminal.result_folders import check_results, results
from kraftcheck.solvers.program.verdict import Holds, Unknown
from kraftcheck.solvers.reference.confirm import EngineDisagreement
from kraftcheck.solvers.smt.induction import Proof
from kraftcheck.solvers.smt.queries import PROVEN, REFUTED, Effort
from kraftcheck.solvers.smt.smtlib import SECOND_SOLVERS, Script, installed, scripts, second_answer
from kraftcheck.solvers.smt.theory import Theory
from kraftcheck.solvers.smt.verdicts import ClaimJudgement

EXPECTED_ANSWERS = {PROVEN: "unsat", REFUTED: "sat"}
"""The answer that a second solver must give where the first decided."""


def check_ready(second: str | None, places: Mapping[str, str | None], target: str | None) -> None:
    """Refuse, before anything is proven, a solver that is missing or a folder, by option, that cannot be used."""
    if second is not None and not installed(second):
        raise Refusal(f"--second-solver {second} is not installed; pip install 'kraftcheck[solvers]'")
    for option, place in places.items():
        others = (other for name, other in places.items() if name != option)
        check_results(option, None if place is None else Path(place), target, *others)


def check_solver(solver: str, second: str | None, bounded_only: bool) -> None:
    """Refuse a solver that is missing, cannot do what was asked, or would confirm itself."""
    if second == solver:
        other_solvers = ", ".join(name for name in SECOND_SOLVERS if name != solver)
        raise Refusal(f"--second-solver {second} is the first one too; name another of {other_solvers}")
    if not installed(solver):
        raise Refusal(f"--solver {solver} is not installed; pip install 'kraftcheck[solvers]'")
    if bounded_only and solver != "z3":
        raise Refusal(f"--bmc, --k and --pdr are Z3's; leave out --solver {solver}")


def check_endless(subject: Theory, solvers: Sequence[str | None], bounded_only: bool) -> None:
    """Refuse queries that logs without bound do not allow."""
    if subject.endless and bounded_only:
        raise Refusal("--bmc, --k and --pdr need a number for every bound; leave out --unbounded")
    if subject.endless and "bitwuzla" in solvers:
        raise Refusal("bitwuzla knows bit-vectors only, and what has no bound is an int; use Z3, and cvc5 as second")


def second_opinion(answer: ProofAnswer, place: str | None, second: str | None) -> ProofAnswer:
    """The verdicts after every query was written to a file, or answered by a second solver too.

    A proof that the second solver cannot confirm in time is none.

    Raises:
        EngineDisagreement: when one solver says sat and the other unsat.
    """
    proof, effort = answer.proof, answer.effort
    texts = list(scripts(proof, effort, time.monotonic))
    if place is not None:
        with results("--smt2", Path(place)) as folder:
            for script in texts:
                write(folder / script.name, script.text)
    if second is None:
        return answer
    undecided = _undecided(proof, texts, second, effort, answer.workers)
    confirmed = tuple(_confirm(proof, judgement, second, undecided) for judgement in answer.judgements)
    return evolve(answer, judgements=confirmed, second=second)


def _confirm(proof: Proof, judgement: ClaimJudgement, second: str, undecided: Mapping[str, str]) -> ClaimJudgement:
    """The judgement of a claim: it holds only if the second solver decided it, and all that it rests on."""
    claim = judgement.verdict.claim
    missing = [name for name in (claim, *proof.support(claim)) if name in undecided]
    if not isinstance(judgement.verdict.verdict, Holds) or not missing:
        return judgement
    reason = undecided[claim] if missing[0] == claim else f"{missing[0]}, {undecided[missing[0]]}"
    return evolve(judgement, verdict=evolve(judgement.verdict, verdict=Unknown(f"{second} has no answer: {reason}")))


def _undecided(proof: Proof, texts: Sequence[Script], second: str, effort: Effort, workers: int) -> dict[str, str]:
    """For each claim with such a query, an action that the second solver did not decide."""
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"))
    actions: dict[str, str] = {}
    with pool:
        ask = functools.partial(second_answer, second, effort=effort)
        for script, answer in zip(texts, pool.map(ask, [script_.text for script_ in texts], chunksize=4), strict=True):
            expected = EXPECTED_ANSWERS.get(proof.answers[script.obligation].result)
            if expected is not None and answer not in (expected, "unknown"):
                raise EngineDisagreement(
                    f"{script.obligation.claim}, {script.obligation.action}: "
                    f"{effort.solver} says {expected}, {second} {answer}"
                )
            if answer == "unknown":
                actions[script.obligation.claim] = script.obligation.action
    return actions
