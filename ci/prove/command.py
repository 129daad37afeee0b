"""`kraftcheck prove`: properties for any number of steps, by induction in Z3."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from kraftcheck.ci.prove.bounded import run_bounded
from kraftcheck.ci.prove.certificates import write_certificate
from kraftcheck.ci.prove.question import MOST_STATES, ProofQuestion, check_only
from kraftcheck.ci.prove.report import print_proof
from kraftcheck.ci.prove.request import ProofRequest
from kraftcheck.ci.prove.second_solver import check_endless, check_ready, check_solver, second_opinion
from kraftcheck.ci.run.reports.files import finish, report_options
from kraftcheck.ci.run.search import SearchBudget
from kraftcheck.ci.systems.expressions import invariant_option
from kraftcheck.ci.systems.flags import system_and_bounds
from kraftcheck.ci.systems.liveness import refuse_liveness
from kraftcheck.ci.systems.subject import DEFAULT_RULES, traced
from kraftcheck.ci.systems.switches import check_switches
from kraftcheck.ci.terminal import options
from kraftcheck.ci.terminal.console import console
from kraftcheck.ci.terminal.files import check_writable
from kraftcheck.ci.terminal.parameter_types import check_idle
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.ci.terminal.time_limit import time_limit, within
from kraftcheck.solvers.smt.queries import SOLVERS, Effort
from kraftcheck.solvers.smt.smtlib import SECOND_SOLVERS
from kraftcheck.solvers.smt.theory import Theory, theory

OTHERS = ", --bmc K looks for lassos of at most K steps, and --property NAME proves another one here"
"""What to do about liveness in proofs."""


def buildable(request: ProofRequest, only: Sequence[str], for_lassos: bool = False) -> Theory:
    """The theory of a request for proofs: only where lassos are looked for may properties be about fair behaviours."""
    if for_lassos:
        return traced(request.subject(), functools.partial(theory, use_liveness=True))
    refuse_liveness(request.subject(), "prove judges", only, OTHERS)
    return request.build()


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
@click.option("--search", type=click.IntRange(0), default=MOST_STATES, show_default=True,
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
def prove_command(words: tuple[str, ...], **flags: Any) -> None:
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
    name, bounds = system_and_bounds(words)
    request = ProofRequest(name, flags["scope"], bounds, flags["rules"], flags["invariants"])
    check_writable(flags["target"])
    flags["reports"].check(json=flags["target"])
    check_ready(flags["second"], {"--smt2": flags["smt2"], "--certificate": flags["certificate"]}, flags["target"])
    theory_ = buildable(request, flags["only"], for_lassos=flags["bmc"] is not None)
    check_switches(request.subject(), theory)
    flags["only"] = check_only(name, theory_, flags["only"], flags["invariants"])
    effort = _effort(flags)
    bounded_only = _without_lemmas(flags)
    check_solver(flags["solver"], flags["second"], bounded_only)
    check_endless(theory_, (flags["solver"], flags["second"]), bounded_only)
    if bounded_only:
        run_bounded(request, effort, flags)
    chosen = request.subject()
    budget = SearchBudget(1, flags["memory"], max_states=flags["search"], keep=True)
    with flags["reports"].of_unfinished(chosen, "prove"):
        answer = ProofQuestion(request, effort, flags["only"], flags["workers"], budget, flags["quiet"]).answer()
    if (flags["smt2"] is not None or flags["second"] is not None) and not answer.proof.stopped:
        answer = second_opinion(answer, flags["smt2"], flags["second"])
    screen = console(to_stderr=flags["target"] == "-")
    print_proof(screen, answer, flags)
    if flags["certificate"] is not None:
        screen.plain(write_certificate(chosen, answer.proof, effort, Path(flags["certificate"])))
    finish(screen, answer.result(), flags["target"], flags["reports"])


def _effort(flags: Mapping[str, Any]) -> Effort:
    """How solvers are to work; without quantifiers where texts are to show what is proven."""
    texts = any(flags[name] is not None for name in ("second", "smt2", "certificate"))
    return Effort(within(flags["timeout"]), flags["seed"], flags["core"], flags["solver"], quantifiers=not texts)


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
