"""`kraftcheck explore`: exhaustive search of one system."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

import click

from kraftcheck.ci.dataset.dataset_place import DatasetPlace, check_readable
from kraftcheck.ci.dataset.store.objects import AnyPath, ObjectPath
from kraftcheck.ci.explore.engines import explore_with_engine
from kraftcheck.ci.run.find import last_line as find_line
from kraftcheck.ci.run.find import print_located, searched
from kraftcheck.ci.run.judged import judged_search
from kraftcheck.ci.run.reports.files import ReportFiles, report_options
from kraftcheck.ci.run.search import NONE, OFF, SearchBudget, reduction_options, traced_for
from kraftcheck.ci.spark.options import ClusterOptions, cluster_options
from kraftcheck.ci.systems import report
from kraftcheck.ci.systems.expressions import expression_options, find_option
from kraftcheck.ci.systems.flags import parse_words
from kraftcheck.ci.systems.lookup import find_system
from kraftcheck.ci.systems.subject import DEFAULT_RULES, Subject, subject
from kraftcheck.ci.systems.switches import check_switches
from kraftcheck.ci.terminal import options
from kraftcheck.ci.terminal.console import Screen, console
from kraftcheck.ci.terminal.files import check_folder, check_writable, folder, write, write_json
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.ci.terminal.result_folders import check_results, results
from kraftcheck.ci.terminal.time_limit import time_limit
from kraftcheck.solvers.audit.sampling import Sampling
from kraftcheck.solvers.expressions.added import Expressions
from kraftcheck.solvers.program.verdict import Holds, Refuted, Trace, worst_exit_code
from kraftcheck.solvers.search.explore import Exploration
from kraftcheck.solvers.traces import itf
from kraftcheck.solvers.traces.render import lines

TRACE = ".itf.json"
"""How names of traces end."""

REPORT = "report.json"
"""Name of the document of a finished run beside its traces: that of `--json`."""

LONGEST_NAME = 150
"""Characters of a property's id in the name of a file; file systems take 255 bytes."""


def traces(result: Exploration) -> list[Trace]:
    """The counterexamples, shortest first."""
    return _shortest_first([v.verdict.trace for v in result.verdicts if isinstance(v.verdict, Refuted)])


def goal_traces(result: Exploration) -> list[Trace]:
    """The witnesses of goals, shortest first."""
    witnesses = [v.verdict.witness for v in result.verdicts if isinstance(v.verdict, Holds)]
    return _shortest_first([witness for witness in witnesses if witness is not None])


def _shortest_first(found: list[Trace]) -> list[Trace]:
    return sorted(found, key=lambda trace: (len(trace.steps), trace.claim))


def trace_name(claim: str) -> str:
    """The name of the file for the trace of a property; a long one is cut, and a digest keeps it apart."""
    name = quote(claim, safe=" +")
    if len(name) > LONGEST_NAME:
        name = f"{name[:LONGEST_NAME]}-{hashlib.sha256(claim.encode()).hexdigest()[:12]}"
    return f"{name}{TRACE}"


def print_traces(screen: Screen, chosen: Subject, result: Exploration, number: int) -> None:
    """Show the shortest counterexamples, each with the command that finds it again."""
    sentences = {claim.id: claim.sentence for claim in chosen.system.properties(chosen.setting)}
    refuting = traces(result)
    for trace in refuting[:number]:
        sentence = sentences.get(trace.claim, "a state that is not quiescent has no successor")
        screen.plain(f"\n{trace.claim} is refuted: {sentence}")
        screen.plain("\n".join(lines(trace)))
        screen.plain(f"     again: {chosen.again(trace.claim)}")
    if len(refuting) > number:
        others = ", ".join(trace.claim for trace in refuting[number:])
        screen.plain(f"\nalso refuted (--traces {len(refuting)} shows all): {others}")


def print_goals(screen: Screen, chosen: Subject, shown: Sequence[Trace]) -> None:
    """Show the witness of each goal."""
    sentences = {claim.id: claim.sentence for claim in chosen.system.properties(chosen.setting)}
    for trace in shown:
        screen.plain(f"\n{trace.claim} is shown: {sentences[trace.claim]}")
        screen.plain("\n".join(lines(trace)))


def write_traces(place: AnyPath, chosen: Subject, result: Exploration, goals: bool = False) -> list[str]:
    """Write every counterexample, and every goal's witness if asked, as ITF into a folder; returns the file names."""
    names = []
    for trace in [*traces(result), *(goal_traces(result) if goals else ())]:
        names.append(trace_name(trace.claim))
        text = itf.text(itf.document(trace, result.program, chosen.name, chosen.rules, result.shortest))
        if isinstance(place, ObjectPath):
            (place / names[-1]).put(text.encode())
        else:
            write(folder(place) / names[-1], text)
    return names


def check_out(out: AnyPath | None, engine: str, *others: str | Path | None) -> None:
    """Refuse a folder for results that cannot be used, before anything is explored.

    Raises:
        Refusal: see `check_results`; of Spark's datasets, which go on, for a folder of something else.
    """
    if engine == "native" or out is None:
        if isinstance(out, ObjectPath):
            raise Refusal(f"--out {out} is a URL, which --engine disk and spark write to; name a folder")
        check_results("--out", out, *others)
        return
    check_readable(out)
    foreign = sorted(path.name for path in out.iterdir() if path.name[0] != ".") if out.is_dir() else []
    if foreign and not (out / "run.json").exists() and "levels" not in foreign:
        raise Refusal(f"{out} holds {foreign[0]} and no exploration; choose another --out")
    if isinstance(out, Path):
        check_folder(out)


def keep_traces(
    out: AnyPath, engine: str, chosen: Subject, result: Exploration, goals: bool = False
) -> list[AnyPath]:
    """Write the traces of this run, and none of an earlier one, into its folder; returns the files."""
    if engine == "native" and isinstance(out, Path):
        with results("--out", out) as place:
            names = write_traces(place, chosen, result, goals)
            write_json(str(folder(place) / REPORT), report.document(chosen, result))
    else:
        names = write_traces(out, chosen, result, goals)
        for old in out.glob(f"*{TRACE}"):
            if old.name not in names:
                old.unlink()
    return [out / name for name in names]


@click.command(
    "explore", context_settings={"ignore_unknown_options": True}
)
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="SYSTEM [--BOUND N]...")
@click.option("--scope", help="Preset bounds; `kraftcheck list SYSTEM` shows them.")
@click.option("--rules", help=f"Rule set, PRESET[+VARIANT|-VARIANT...]; default {DEFAULT_RULES}.")
@click.option("--property", "only", multiple=True, help="Judge only this property (and deadlock); repeatable.")
@expression_options
@find_option
@click.option("--engine", type=click.Choice(["native", "disk", "spark"]), default="native", help="Which engine.")
@reduction_options
@cluster_options
@options.workers
@options.memory
@click.option("--max-depth", type=click.IntRange(0), help="Stop after this many steps (verdict incomplete).")
@click.option("--max-states", type=click.IntRange(1), help="Stop after this many states (verdict incomplete).")
@click.option("--stop-at-first", is_flag=True, help="Stop at the first violation.")
@options.strict
@options.audit
@click.option("--traces", "number", type=click.IntRange(0), default=3, help="Counterexamples to print (default 3).")
@click.option("--show-goals", is_flag=True, help="Print the shortest way to each goal; --out writes them too.")
@click.option("--out", type=DatasetPlace(), metavar="DIR",
              help="Write every counterexample there as ITF JSON, and the report; disk, spark: the dataset.")
@options.verbose
@options.document
@report_options
@time_limit
@click.option("--no-cache", is_flag=True, help="Compile anew, keep nothing.")
@options.quiet
@click.pass_context
def explore_command(
    context: click.Context, words: tuple[str, ...], scope: str | None, rules: str | None, only: tuple[str, ...],
    expressions: Expressions, find: str | None, engine: str, symmetry: str, reduce: str, cluster: ClusterOptions,
    workers: int, memory: int, max_depth: int | None, max_states: int | None, stop_at_first: bool, strict: bool,
    sampling: Sampling, number: int, show_goals: bool, out: AnyPath | None, verbose: bool, target: str | None,
    reports: ReportFiles, no_cache: bool, quiet: bool,
) -> None:  # fmt: skip
    """Search every reachable state of SYSTEM (a name from `kraftcheck list`, or module:attribute).

    Each bound of the system is a flag too, such as --brokers 2.

    \b
    Exit codes: 0 all hold, 11 deadlock, 12 a property is refuted, 13 only one that
    asks for recovery or is liveness, 20 incomplete, 21 vacuous, 22 unknown, 24 the
    engine disagrees with the rules, 2 bad input. --find: 0 found, 20, 21 not reachable.

    \b
    Examples:
      kraftcheck explore elections --scope tiny --rules kafka-4.0
      kraftcheck explore elections --rules fixed+fenced-leader-acceptable --property leader-active
      kraftcheck explore mymodule:SYSTEM --json - --quiet
      kraftcheck explore elections --engine disk --out run1
      kraftcheck explore elections --invariant 'size(isr) >= 1' --when recovering
      kraftcheck explore elections --find 'isr == {} and size(elr) == 2'
    """
    chosen = _subject(context, words, scope, rules, only, expressions, find)
    check_writable(target)
    reports.check(json=target)
    check_out(out, engine, target, *reports.paths)
    traced = traced_for(chosen, engine, symmetry, reduce, find)
    check_switches(chosen)
    limits = (max_depth, max_states, stop_at_first or bool(find))
    budget = SearchBudget(workers, memory, *limits, cache=not no_cache, strict=strict, sampling=sampling)
    with reports.of_unfinished(chosen, "explore"):
        result, dataset = explore_with_engine(chosen, traced, budget, engine, cluster, out, quiet)
    screen = console(to_stderr=target == "-")
    result = _print(screen, chosen, result, find, number, show_goals, verbose)
    for line in dataset.lines() if dataset is not None else ():
        screen.plain(line)
    if out is not None:
        for path in keep_traces(out, engine, chosen, result, show_goals or bool(find)):
            screen.plain(f"wrote {path}")
    if target is not None:
        write_json(target, report.document(chosen, result, None if dataset is None else dataset.document(), engine))
    code = worst_exit_code(verdict.verdict for verdict in result.verdicts)
    line = find_line(result, code) if find else last_line(result, code)
    again = [f"--symmetry={symmetry}"] * (symmetry != OFF) + [f"--reduce={reduce}"] * (reduce != NONE)
    reports.write(screen, [judged_search(chosen, result, (*["--strict"] * strict, *again))], code, line)
    screen.plain(line)
    sys.exit(code)


def _subject(
    context: click.Context, words: tuple[str, ...], scope: str | None, rules: str | None, only: tuple[str, ...],
    expressions: Expressions, find: str | None,
) -> Subject:  # fmt: skip
    flags = [flag for parameter in context.command.params for flag in parameter.opts if flag.startswith("--")]
    parsed = parse_words(words, flags)
    bounds = parsed.bounds([bound.name for bound in find_system(parsed.system).bounds], flags)
    chosen = subject(parsed.system, scope, bounds, rules, only, expressions=expressions)
    return searched(chosen, find) if find else chosen


def _print(
    screen: Screen, chosen: Subject, result: Exploration, find: str | None, number: int, show_goals: bool, verbose: bool
) -> Exploration:  # fmt: skip
    if find:
        return print_located(screen, chosen, result)
    screen.plain(chosen.title())
    for warning in result.warnings:
        screen.plain(f"warning: {warning}")
    report.print_verdicts(screen, result.verdicts, result.program.claims, verbose, result.shortest)
    print_traces(screen, chosen, result, number)
    print_goals(screen, chosen, goal_traces(result) if show_goals else ())
    screen.plain("")
    for line in report.summary(result):
        screen.plain(line)
    return result


def last_line(result: Exploration, code: int) -> str:
    """How many properties have which verdict, the worst first."""
    words = [report.WORDS[type(verdict.verdict)] for verdict in result.verdicts]
    counts = [f"{words.count(word)} {word}" for word in report.WORST_FIRST if word in words]
    return ", ".join(counts) + f" (exit {code})"
