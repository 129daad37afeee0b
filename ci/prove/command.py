"""`kraftcheck prove`: properties for any number of steps, by induction in Z3."""

from __future__ import annotations

import functools
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from attrs import evolve

from kraftcheck.ci.prove.bounded import run_bounded
from kraftcheck.ci.prove.certificates import write_certificate
from kraftcheck.ci.prove.evidence import explorer, search_evidence
from kraftcheck.ci.prove.report import document, print_proof
from kraftcheck.ci.prove.request import ProofRequest
from kraftcheck.ci.prove.second_solver import check_endless, check_ready, check_solver, second_opinion
from kraftcheck.ci.run.judged import judged_proof
from kraftcheck.ci.run.reports.files import report_options
from kraftcheck.ci.systems import report
from kraftcheck.ci.systems.expressions import invariant_option, with_added
from kraftcheck.ci.systems.flags import parse_words
from kraftcheck.ci.systems.liveness import refuse_liveness
from kraftcheck.ci.systems.lookup import find_system
from kraftcheck.ci.systems.subject import DEFAULT_RULES, faults_refused, traced
from kraftcheck.ci.systems.switches import check_switches
from kraftcheck.ci.terminal import options
from kraftcheck.ci.terminal.console import Screen, console
from kraftcheck.ci.terminal.files import check_writable, write_json
from kraftcheck.ci.terminal.parameter_types import check_idle
from kraftcheck.ci.terminal.progress import progress_tally, run_interruptibly, stop_flag
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.ci.terminal.time_limit import overdue, time_limit, within
from kraftcheck.model.nearest import nearest
from kraftcheck.solvers.program.verdict import worst_exit_code
from kraftcheck.solvers.smt.induction import Proof, prove
from kraftcheck.solvers.smt.queries import SOLVERS, Effort
from kraftcheck.solvers.smt.smtlib import SECOND_SOLVERS
from kraftcheck.solvers.smt.theory import Theory, theory
from kraftcheck.solvers.smt.verdicts import ClaimJudgement, judge
from kraftcheck.solvers.smt.worker import TheoryBuilder

OTHERS = ", --bmc K looks for lassos of at most K steps, and --property NAME proves another one here"
"""What to do about liveness in proofs."""


def run_proof(request: ProofRequest, effort: Effort, only: Sequence[str], workers: int, quiet: bool) -> Proof:
    """Prove with progress on standard error; Ctrl-C and SIGTERM cut it."""
    build: TheoryBuilder = functools.partial(ProofRequest.build, request)
    with faults_refused(request.name), stop_flag() as stop, progress_tally(quiet, "queries") as tally:
        begin_event = threading.Event()
        begin_event.set()

        def prove_request() -> Proof:
            return prove(
                build, effort=effort, clock=time.monotonic, only=only, workers=workers, stop=stop,
                progress=tally if tally is not None else _no_progress, few=request.builders(),
            )  # fmt: skip

        return run_interruptibly(prove_request, stop, begin_event)


def _no_progress(count: int, total: int) -> None:
    """Report no progress."""


def buildable(request: ProofRequest, only: Sequence[str], for_lassos: bool = False) -> Theory:
    """The theory of a request for proofs: only where lassos are looked for may properties be about fair behaviours."""
    if for_lassos:
        return traced(request.subject(), functools.partial(theory, use_liveness=True))
    refuse_liveness(request.subject(), "prove judges", only, OTHERS)
    return request.build()


def check_only(name: str, subject_: Theory, only: Sequence[str], invariants: Sequence[str] = ()) -> tuple[str, ...]:
    """The ids to judge, those of expressions too; refuses ids that are no claim, and a theory without claims."""
    claims = [claim.id for claim in subject_.claims]
    if not claims:
        raise Refusal(f"{name} has no claim to prove: prove judges neither goals nor `recovers`; "
                      "give it one of `always` or `step`, or ask `kraftcheck explore`")  # fmt: skip
    for id_ in only:
        if id_ not in claims:
            raise Refusal(f"{name} has nothing to prove named {id_!r} at this setting; {nearest(id_, claims)}")
    return with_added(only, [text.strip() for text in invariants])


@click.command(
    "prove", context_settings={"ignore_unknown_options": True}
)
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="SYSTEM [--BOUND N]...")
@click.option("--scope", help="Preset bounds; `kraftcheck list SYSTEM` shows them.")
@click.option("--rules", help=f"Rule set, PRESET[+VARIANT|-VARIANT...]; default {DEFAULT_RULES}.")
@click.option("--property", "only", multiple=True, help="Judge only this; lemmas may be proven for it; repeatable.")
@invariant_option
@click.option("--solver", type=click.Choice(SOLVERS), default="z3", show_default=True, help="What answers the queries.")
@options.timeout
@options.seed
@options.processes
@click.option("--search", type=click.IntRange(0), default=5_000_000, show_default=True,
              help="States explored for runs to counterexamples, and to what a claim speaks of; 0: none.")  # fmt: skip
@click.option("--core", is_flag=True, help="Show which lemmas, invariants and guards each proof used.")
@click.option("--times", is_flag=True, help="Show every query with its time.")
@click.option("--traces", "number", type=click.IntRange(0), default=3, help="Counterexamples to print (default 3).")
@click.option("--certificate", metavar="DIR",
              help="Write what is proven there, and a script with which another solver checks it.")  # fmt: skip
@click.option("--smt2", metavar="DIR", help="Write every query there as SMT-LIB 2.")
@click.option("--second-solver", "second", type=click.Choice(SECOND_SOLVERS), help="Ask this solver every query too.")
@click.option("--bmc", type=click.IntRange(0), metavar="K", help="Only look for counterexamples of at most K steps.")
@click.option("--k", "k", type=click.IntRange(1), metavar="K", help="Only try K-induction, without lemmas.")
@click.option("--pdr", is_flag=True, help="Only let Spacer infer a strengthening, within --timeout for each invariant.")
@options.memory
@options.verbose
@options.document
@report_options
@time_limit
@options.quiet
@click.pass_context
def prove_command(context: click.Context, /, words: tuple[str, ...], **flags: Any) -> None:
    """Prove every invariant and step property of SYSTEM, for any number of steps.

    Each bound of the system is a flag too, such as --brokers 5. An invariant is
    proven when it holds initially and every action keeps it. A counterexample
    to induction is replayed on ints and looked up among the reachable states.
    --bmc looks for lassos too, which break liveness under its fairness.

    \b
    Exit codes: 0 all proven, 12 a property is refuted, 13 liveness is, 20 stopped
    (and --bmc without a counterexample), 22 a proof failed or ran out of time, 2 bad input.

    \b
    Examples:
      kraftcheck prove elections --rules fixed
      kraftcheck prove elections --rules fixed --brokers 5 --replication 5
      kraftcheck prove elections --rules fixed --property leader-active --core
      kraftcheck prove elections --rules kafka-4.0 --bmc 3
      kraftcheck prove replication --rules fixed --scope tiny --unbounded 1
    """
    flag_names = [flag for parameter in context.command.params for flag in parameter.opts if flag.startswith("--")]
    parsed = parse_words(words, flag_names)
    bounds = parsed.bounds([bound.name for bound in find_system(parsed.system).bounds], flag_names)
    request = ProofRequest(parsed.system, flags["scope"], bounds, flags["rules"], flags["invariants"])
    check_writable(flags["target"])
    flags["reports"].check(json=flags["target"])
    check_ready(flags["second"], {"--smt2": flags["smt2"], "--certificate": flags["certificate"]}, flags["target"])
    theory_ = buildable(request, flags["only"], for_lassos=flags["bmc"] is not None)
    check_switches(request.subject(), theory)
    flags["only"] = check_only(parsed.system, theory_, flags["only"], flags["invariants"])
    effort = _effort(flags)
    bounded_only = _without_lemmas(flags)
    check_solver(flags["solver"], flags["second"], bounded_only)
    check_endless(theory_, (flags["solver"], flags["second"]), bounded_only)
    if bounded_only:
        sys.exit(run_bounded(request, effort, flags))
    chosen = request.subject()
    with flags["reports"].of_unfinished(chosen, "prove"):
        proof, judgements, seconds = proof_judgements(request, effort, flags)
    if (flags["smt2"] is not None or flags["second"] is not None) and not proof.stopped:
        judgements = second_opinion(proof, judgements, flags["smt2"], flags["second"], effort, flags["workers"])
    code, screen = worst_exit_code(one.verdict.verdict for one in judgements), console(to_stderr=flags["target"] == "-")
    print_proof(screen, chosen, proof, judgements, seconds, flags)
    _certify(screen, request, proof, effort, flags["certificate"])
    if flags["target"] is not None:
        write_json(flags["target"], document(chosen, proof, judgements, seconds, effort, code, flags["only"]))
    run_, closing = judged_proof(chosen, [one.verdict for one in judgements], seconds), last_line(judgements, code)
    flags["reports"].write(screen, [run_], code, closing)
    screen.plain(closing)
    sys.exit(code)


def _effort(flags: Mapping[str, Any]) -> Effort:
    """How solvers are to work; without quantifiers where texts are to show what is proven."""
    texts = any(flags[name] is not None for name in ("second", "smt2", "certificate"))
    return Effort(within(flags["timeout"]), flags["seed"], flags["core"], flags["solver"], quantifiers=not texts)


def _certify(screen: Screen, request: ProofRequest, proof: Proof, effort: Effort, place: str | None) -> None:
    """Write the certificate, if it is wanted, and say so."""
    if place is not None:
        screen.plain(write_certificate(request.subject(), proof, effort, Path(place)))


def proof_judgements(
    request: ProofRequest, effort: Effort, flags: Mapping[str, Any]
) -> tuple[Proof, list[ClaimJudgement], float]:
    """The proof with its judgements, and the seconds that it took, the search for counterexamples aside."""
    start = time.monotonic()
    proof = run_proof(request, effort, flags["only"], flags["workers"], flags["quiet"])
    seconds = time.monotonic() - start
    judgements = judge(proof, search_evidence(request, proof, flags["search"], explorer(flags)))
    timely = [evolve(one, verdict=evolve(one.verdict, verdict=overdue(one.verdict.verdict))) for one in judgements]
    return proof, timely, seconds


def _without_lemmas(flags: Mapping[str, Any]) -> bool:
    """Whether --bmc, --k or --pdr is given; refuses two of them together, and options without effect there."""
    engines = sum((flags["bmc"] is not None, flags["k"] is not None, flags["pdr"]))
    if engines > 1:
        raise Refusal("--bmc, --k and --pdr exclude each other; give one of them")
    if engines:
        check_idle("does nothing with --bmc, --k or --pdr", "core", "times", "certificate", "smt2", "second")
        if flags["bmc"] is not None:
            check_idle("does nothing with --bmc", "search", "memory")
    return bool(engines)


def last_line(judgements: Sequence[ClaimJudgement], code: int) -> str:
    """How many claims have which verdict, the worst first."""
    words = [report.WORDS[type(judgement.verdict.verdict)] for judgement in judgements]
    counts = [f"{words.count(word)} {word}" for word in report.WORST_FIRST if word in words]
    return ", ".join(counts) + f" (exit {code})"
