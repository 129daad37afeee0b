"""`kraftcheck prove`: properties for any number of steps, by induction in Z3; without lemmas; with a second solver."""

from __future__ import annotations

import functools
import multiprocessing
import re
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from importlib import resources
from pathlib import Path
from typing import Any, NoReturn

import click
import z3
from attrs import evolve, frozen

from kraftcheck.ci.prove import question
from kraftcheck.ci.prove.check_certificate import NOT_DECIDED, DefinedSystem
from kraftcheck.ci.prove.comparison import differences, remarks, sentences_of
from kraftcheck.ci.prove.request import ProofRequest
from kraftcheck.ci.run.fanout import WHOLE, Shard, cluster_of, fan_out_options
from kraftcheck.ci.run.judged import judged
from kraftcheck.ci.run.questions import run, search_budget
from kraftcheck.ci.run.reports import finish, report_options
from kraftcheck.ci.run.result import Result
from kraftcheck.ci.systems import assurance, report
from kraftcheck.ci.systems.subject import (
    DEFAULT_RULES,
    Subject,
    faults_refused,
    invariant_option,
    refuse_liveness,
    system_and_bounds,
    traced,
)
from kraftcheck.ci.systems.switches import check_switches
from kraftcheck.ci.terminal import options
from kraftcheck.ci.terminal.commands import EXIT_DISAGREEMENT, check_idle
from kraftcheck.ci.terminal.console import console
from kraftcheck.ci.terminal.files import check_results, check_writable, results, write, write_json
from kraftcheck.ci.terminal.interrupts import overdue, time_limit, within
from kraftcheck.ci.terminal.progress import progress_tally, stop_flag
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.language.system import is_any, spelled
from kraftcheck.solvers.certificates.certificate import certificate, definition, unnamed
from kraftcheck.solvers.certificates.quantifiers import NotDefined
from kraftcheck.solvers.exploration.explore import Exploration
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.stop import StopFlag
from kraftcheck.solvers.program.verdict import (
    Holds,
    Incomplete,
    PropertyVerdict,
    Refuted,
    Unknown,
    Verdict,
    worst_exit_code,
)
from kraftcheck.solvers.reference.confirm import EngineDisagreement
from kraftcheck.solvers.smt.induction import Proof
from kraftcheck.solvers.smt.queries import PROVEN, REFUTED, SOLVERS, Effort
from kraftcheck.solvers.smt.runs.bounded import check_bounded, check_inductive
from kraftcheck.solvers.smt.smtlib import SECOND_SOLVERS, Script, installed, scripts, second_answer
from kraftcheck.solvers.smt.spacer import Inference, cap_text, capped, infer
from kraftcheck.solvers.smt.theory import DOMAINS, Theory, theory
from kraftcheck.solvers.smt.verdicts import ClaimJudgement, SearchEvidence, unshown
from kraftcheck.solvers.traces.itf import trace_document
from kraftcheck.solvers.traces.render import lines


@frozen
class BoundedResult:
    """Verdicts by claim, and lemmas that were inferred."""

    verdicts: Mapping[str, Verdict]
    lemmas: Mapping[str, str]


def run_bounded(request: ProofRequest, effort: Effort, flags: Mapping[str, Any]) -> NoReturn:
    """Check as the flags say, report, and end with the exit code."""
    start, chosen = time.monotonic(), request.subject()
    subject = traced(chosen, functools.partial(theory, use_lemmas=False, use_liveness=flags["bmc"] is not None))
    claims = [c.id for c in subject.claims if not flags["only"] or c.id in flags["only"]]
    with faults_refused(lambda: chosen):
        found = _search(subject, claims, effort, flags)
        found = evolve(found, verdicts=_with_cases(request, subject, found.verdicts, flags))
    verdicts = tuple(_property_verdict(subject, claim, overdue(found.verdicts[claim])) for claim in claims)
    code = worst_exit_code(verdict.verdict for verdict in verdicts)
    notes = (*question.not_judged_lines(chosen, subject, flags["only"]), *map(cap_text, capped(subject.program)),
             assurance.of_bounded([one.verdict for one in verdicts]))  # fmt: skip
    result = Result(
        chosen, "prove", verdicts, tuple(subject.claims), notes, code,
        _document(chosen, subject, verdicts, found, flags, code),
        program=subject.program, rows=judged(chosen, verdicts), last_line=report.last_line(verdicts, code),
        size="", seconds=time.monotonic() - start, options=_engine_flag(flags),
    )  # fmt: skip
    screen = console(to_stderr=flags["target"] == "-")
    screen.plain(chosen.title())
    report.print_verdicts(screen, verdicts, subject.claims, flags["verbose"])
    for claim, lemma in found.lemmas.items():
        screen.plain(f"\nSpacer's strengthening of {claim}, checked to be inductive:\n{lemma}")
    for trace in result.traces()[: flags["number"]]:
        screen.plain(f"\n{trace.claim} is refuted")
        screen.plain("\n".join(lines(trace)))
    for line in notes:
        screen.plain(line)
    finish(screen, result, flags["target"], flags["reports"])


def _with_cases(
    request: ProofRequest, subject: Theory, verdicts: Mapping[str, Verdict], flags: Mapping[str, Any]
) -> dict[str, Verdict]:
    """The verdicts: a proof holds only if a search shows what it speaks of; raises EngineDisagreement if it refutes."""
    proven = [claim for claim, verdict in verdicts.items() if isinstance(verdict, Holds)]

    def explore(traced: Program, most: int) -> Exploration:
        return run(traced, search_budget(1, flags["memory"], max_states=most, keep=True), flags["quiet"])

    most, evidence = flags["search"], SearchEvidence()
    if question.needs_case(subject, proven):
        evidence = question.of_scope(request, most, explore) if most else SearchEvidence(reason=question.NO_SEARCH)
    for claim in proven:
        if evidence.refutation(claim) is not None:
            raise EngineDisagreement(f"{claim} is proven, and a run refutes it")
    cases = {claim: unshown(subject.program, subject.claim(claim), evidence) for claim in proven}
    return {claim: cases.get(claim) or verdict for claim, verdict in verdicts.items()}


def _engine_flag(flags: Mapping[str, Any]) -> tuple[str, ...]:
    numbers = (f"--{name}={flags[name]}" for name in ("bmc", "k") if flags[name] is not None)
    return (*numbers, *["--pdr"] * flags["pdr"])


def _search(subject: Theory, claims: Sequence[str], effort: Effort, flags: Mapping[str, Any]) -> BoundedResult:
    with stop_flag() as stop, progress_tally(flags["quiet"], "steps deep") as tally:
        if flags["bmc"] is not None:
            report = tally if tally is not None else _no_progress
            return BoundedResult(check_bounded(subject, claims, flags["bmc"], effort, stop, report), {})
        if flags["k"] is not None:
            return BoundedResult(check_inductive(subject, claims, flags["k"], effort, stop), {})
        invariants = [claim for claim in claims if subject.claim(claim).kind == "always"]
        inferences = {claim: _inferred(subject, claim, effort, stop) for claim in invariants}
    steps: dict[str, Verdict] = {
        c: Unknown("Spacer is asked for invariants only") for c in claims if c not in inferences
    }
    verdicts = steps | {claim: inference.verdict for claim, inference in inferences.items()}
    return BoundedResult(verdicts, {claim: found.lemma for claim, found in inferences.items() if found.lemma})


def _inferred(subject: Theory, claim: str, effort: Effort, stop: StopFlag) -> Inference:
    """The inference of one claim, or none once the work is stopped."""
    if stop.is_set():
        return Inference(Incomplete(stop.reason))
    return infer(subject, claim, evolve(effort, timeout=within(effort.timeout)))


def _no_progress(done: int, total: int) -> None:
    """Report no progress."""


def _property_verdict(subject: Theory, claim: str, verdict: Verdict) -> PropertyVerdict:
    depth = len(verdict.trace.steps) if isinstance(verdict, Refuted) else None
    return PropertyVerdict(claim, subject.claim(claim).kind, verdict, depth)


def _document(
    chosen: Subject, subject: Theory, verdicts: Sequence[PropertyVerdict], result: BoundedResult,
    flags: Mapping[str, Any], code: int,
) -> dict[str, Any]:  # fmt: skip
    return {
        "version": report.DOCUMENT_VERSION,
        "command": "prove",
        "engine": "bmc" if flags["bmc"] is not None else "k-induction" if flags["k"] is not None else "spacer",
        **chosen.document(),
        "exit_code": code,
        "claims": [
            {"id": verdict.claim, "kind": verdict.kind, "verdict": report.WORDS[type(verdict.verdict)],
             "depth": verdict.depth, "trace": trace_document(verdict.verdict),
             "detail": report.detail(verdict), "lemma": result.lemmas.get(verdict.claim)}
            for verdict in verdicts
        ],
        "bounded_by": capped(subject.program),
        "not_judged": [claim.id for claim in question.not_judged(chosen, subject, flags["only"])],
        "versions": {**report.versions(), "z3": z3.get_version_string()},
    }  # fmt: skip


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


def check_endless(subject: Theory, solvers: Sequence[str | None], bounded_only: bool, certified: bool = False) -> None:
    """Refuse queries, and certificates, that logs without bound or names do not allow."""
    if certified and (name := unnamed(subject)) is not None:
        raise Refusal(f"no certificate can have the name {name!r}; name it without |, \\, ' at the end, and ', step: ' "
                      "or other words that name a part")  # fmt: skip
    if subject.endless and certified:
        try:
            definition(subject, [one.id for one in subject.invariants], [one.id for one in subject.steps])
        except NotDefined as error:
            raise Refusal(f"no certificate for any number of this system: {error}; give a number for every bound, and "
                          "leave out --unbounded") from error  # fmt: skip
    if bounded_only and not subject.program.kinds:
        raise Refusal("--bmc, --k and --pdr need an action, and the system has none; leave them out")
    if bounded_only and (subject.endless or any(map(is_any, subject.program.setting.bounds.values()))):
        raise Refusal("--bmc, --k and --pdr need a number for every bound; leave out any, and --unbounded")
    if subject.endless and "bitwuzla" in solvers:
        raise Refusal("bitwuzla knows bit-vectors only, and what has no bound is an int; use Z3, and cvc5 as second")


def second_opinion(answer: question.ProofAnswer, place: str | None, second: str | None) -> question.ProofAnswer:
    """The verdicts after a second solver too, unconfirmed proofs being none; raises EngineDisagreement."""
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
    """The judgement of a claim: it holds only if the second solver decided it, all that it rests on, and domains."""
    claim = judgement.verdict.claim
    needed = [one for name in (claim, *DOMAINS) for one in (name, *proof.support(name))]
    missing = [name for name in dict.fromkeys(needed) if name in undecided]
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


DEFINITION, INDEX, SCRIPT = "system.vmt", "index.json", "check.py"  # the files of a certificate


def write_certificate(chosen: Subject, proof: Proof, place: Path) -> str:
    """Write the certificate of what is proven, and say so in a line; of nothing, none; raises Refusal for the place."""
    shown = certificate(proof)
    if shown is None:
        return f"no certificate: nothing is proven, and {place} is as it was"
    sentences = sentences_of(proof.theory)
    claims = [*shown.invariants, *shown.steps]
    index = _words(chosen) | {
        **remarks(DefinedSystem(shown.text)),
        "sentences": {claim: sentences[claim] for claim in claims}, "versions": report.versions(),
    }  # fmt: skip
    with results("--certificate", place) as folder:
        write(folder / DEFINITION, shown.text)
        write_json(str(folder / INDEX), index)
        write(folder / SCRIPT, script())
    left_out = sorted(set(proof.targets) - set(claims))
    unproven = f"; not proven, and not in it: {', '.join(left_out)}" if left_out else ""
    return f"certificate: {len(claims)} claims in {place}{unproven}"


def script() -> str:
    """A certificate's own script, in one file: what it checks stands where it is imported here."""
    package = resources.files("kraftcheck.ci.prove")
    grammar, checks = (package.joinpath(name).read_text("utf-8") for name in ("vmt.py", "check_certificate.py"))
    return re.sub(r"from kraftcheck\.ci\.prove\.vmt import \([^)]*\)\n", lambda _: grammar, checks, count=1)


def check_certificate(folder: Path) -> subprocess.CompletedProcess[str]:
    """The run of a certificate's own script, which asks cvc5."""
    return subprocess.run([sys.executable, str(folder / SCRIPT)], capture_output=True, text=True, cwd=folder)


def _words(chosen: Subject) -> dict[str, Any]:
    bounds = {name: spelled(value) for name, value in chosen.setting.bounds.items()}
    return {"system": chosen.name, "scope": chosen.setting.scope, "bounds": bounds, "rules": chosen.rules}


FEWEST_AND_MORE = 2  # how many numbers of participants a definition of any number is compared with, the fewest first


def compare_certificate(request: ProofRequest, of: Theory, folder: Path, seed: int) -> NoReturn:
    """Compare a certificate with the rules, and end.

    The exit code is 0 where its definitions are those of the rules, and 24 where a definition is seen to differ; it is
    22 where one is written otherwise, and no sampled state or step shows a difference.

    Raises:
        Refusal: for a folder that holds no certificate.
    """
    if not installed("cvc5"):
        raise Refusal("--against asks cvc5, which is not installed; pip install 'kraftcheck[solvers]'")
    request.compare_alone()
    request.compare()
    try:
        few = [traced(request.of_more(more), theory) for more in range(FEWEST_AND_MORE)] if request.of_any() else []
        found, otherwise, compared = differences(of, _words(request.subject()), folder, seed, few)
    except (ValueError, RuntimeError) as error:
        raise Refusal(f"--against {folder}: no certificate: {str(error).partition(chr(10))[0]}") from error
    said = [compared, "the definitions are those that the rules give, written anew"]
    if otherwise:
        said[1] = "no sampled state or step shows a difference, which proves nothing of what is defined otherwise"
    for line in [*found, *otherwise, *([f"the certificate in {folder} is not of these rules"] if found else said)]:
        console().plain(line)
    sys.exit(EXIT_DISAGREEMENT if found else NOT_DECIDED if otherwise else 0)


def buildable(request: ProofRequest, only: Sequence[str], for_lassos: bool = False) -> Theory:
    """The theory of a request for proofs: about fair behaviours only where lassos are looked for."""
    if for_lassos:
        return traced(request.subject(), functools.partial(theory, use_liveness=True))
    if only:
        refuse_liveness(request.subject(), "prove judges", only, ", and --bmc K looks for lassos of at most K steps")
    return request.build()


@click.command("prove", context_settings={"ignore_unknown_options": True})
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="SYSTEM [--BOUND N]...")
@click.option("--scope", help="Preset bounds; `kraftcheck list SYSTEM` shows them.")
@click.option("--rules", help=f"Rule set, PRESET[+VARIANT|-VARIANT...]; default {DEFAULT_RULES}.")
@click.option("--property", "only", multiple=True, help="Judge only this; lemmas may be proven for it; repeatable.")
@invariant_option
@click.option("--solver", type=click.Choice(SOLVERS), default="z3", show_default=True, help="What answers the queries.")
@options.timeout
@options.seed
@options.processes
@fan_out_options
@click.option("--search", type=click.IntRange(0), default=question.MOST_STATES, show_default=True,
              help="States explored for runs to counterexamples, and to what a claim speaks of; 0: none.")  # fmt: skip
@click.option("--core", is_flag=True, help="Show which lemmas, invariants and guards each proof used.")
@click.option("--times", is_flag=True, help="Show every query with its time.")
@click.option("--traces", "number", type=click.IntRange(0), default=3, help="Counterexamples to print (default 3).")
@click.option("--certificate", metavar="DIR",
              help="Write what is proven there, and a script with which another solver checks it.")  # fmt: skip
@click.option("--against", metavar="DIR", help="Only compare the certificate there with the rules.")
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
      kraftcheck prove replication --rules fixed --scope tiny --shard 2/4
    """
    name, bounds = system_and_bounds(words)
    request = ProofRequest(name, flags["scope"], bounds, flags["rules"], flags["invariants"])
    check_writable(flags["target"])
    flags["reports"].check(json=flags["target"])
    check_ready(flags["second"], {"--smt2": flags["smt2"], "--certificate": flags["certificate"]}, flags["target"])
    theory_ = buildable(request, flags["only"], for_lassos=flags["bmc"] is not None)
    check_switches(request.subject(), theory)
    if flags["against"] is not None:
        check_idle("does nothing with --against", "core", "times", "certificate", "smt2", "second", "bmc", "k", "pdr",
                   "engine", "shard")  # fmt: skip
        check_endless(theory_, (), bounded_only=False, certified=True)
        compare_certificate(request, theory_, Path(flags["against"]), flags["seed"])
    only = question.check_only(name, theory_, flags["only"], flags["invariants"])
    flags["only"] = _shared(flags["shard"], theory_, only)
    effort, bounded_only = _effort(flags), _without_lemmas(flags)
    check_solver(flags["solver"], flags["second"], bounded_only)
    check_endless(theory_, (flags["solver"], flags["second"]), bounded_only, flags["certificate"] is not None)
    if bounded_only:
        run_bounded(request, effort, flags)
    request.compare_alone()
    chosen, budget = request.subject(), search_budget(1, flags["memory"], max_states=flags["search"], keep=True)
    asked = (effort, flags["only"], flags["workers"], budget, flags["quiet"], cluster_of(flags))
    answer = question.ProofQuestion(request, *asked).answer()
    if (flags["smt2"] is not None or flags["second"] is not None) and not answer.proof.stopped:
        answer = second_opinion(answer, flags["smt2"], flags["second"])
    question.print_proof(screen := console(to_stderr=flags["target"] == "-"), answer, flags)
    if flags["certificate"] is not None:
        screen.plain(write_certificate(chosen, answer.proof, Path(flags["certificate"])))
    finish(screen, _of_shard(answer.result(), flags["shard"]), flags["target"], flags["reports"])


def _of_shard(result: Result, shard: Shard) -> Result:
    return evolve(result, document={**result.document, **shard.told})


def _shared(shard: Shard, theory_: Theory, only: tuple[str, ...]) -> tuple[str, ...]:
    """The claims of a shard of those that are asked for; of all without a shard and a choice none is named."""
    return only if shard == WHOLE else tuple(shard.of_parts(only or [claim.id for claim in theory_.claims]))


def _effort(flags: Mapping[str, Any]) -> Effort:
    """How solvers are to work; without quantifiers where texts are to show what is proven."""
    texts = any(flags[name] is not None for name in ("second", "smt2"))
    return Effort(within(flags["timeout"]), flags["seed"], flags["core"], flags["solver"], quantifiers=not texts)


def _without_lemmas(flags: Mapping[str, Any]) -> bool:
    """Whether --bmc, --k or --pdr is given; refuses two of them together, and options without effect there."""
    engines = sum((flags["bmc"] is not None, flags["k"] is not None, flags["pdr"]))
    if engines > 1:
        raise Refusal("--bmc, --k and --pdr exclude each other; give one of them")
    if engines:
        check_idle("does nothing with --bmc, --k or --pdr", "core", "times", "certificate", "smt2", "second",
                   "engine", "shard")  # fmt: skip
        if flags["bmc"] is not None:
            check_idle("does nothing with --bmc", "search", "memory")
    return bool(engines)
