"""`kraftcheck check`: every property on every engine that suits it, compared with its expected verdict."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import NoReturn

import click
from rich.text import Text

from kraftcheck.ci.conformance.command import NON_CONFORMANT, VectorReport, conform
from kraftcheck.ci.conformance.command import lines as conform_lines
from kraftcheck.ci.conformance.vectors.files import VectorError
from kraftcheck.ci.explore.command import write_traces
from kraftcheck.ci.explore.native import SearchBudget, run
from kraftcheck.ci.systems import assurance, report
from kraftcheck.ci.systems.lookup import find_system
from kraftcheck.ci.systems.subject import Subject, program, subject
from kraftcheck.ci.terminal import options, time_limit
from kraftcheck.ci.terminal.console import Screen, console
from kraftcheck.ci.terminal.files import check_writable, write_json
from kraftcheck.ci.terminal.interrupts import Interrupted, abandon, stop_requested
from kraftcheck.ci.terminal.parameter_types import check_idle
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.ci.terminal.result_folders import check_results, results
from kraftcheck.ci.terminal.table import Column, Table
from kraftcheck.ci.verdicts.configured.command import CheckOptions, check_table
from kraftcheck.ci.verdicts.configured.reading import RunTable, find_table
from kraftcheck.ci.verdicts.proofs import ProofRow, prove_row
from kraftcheck.ci.verdicts.reports.files import ReportFiles, report_options
from kraftcheck.ci.verdicts.reports.rows import judged_rows
from kraftcheck.ci.verdicts.unexpected import UnexpectedVerdict
from kraftcheck.model.nearest import nearest
from kraftcheck.properties.expected.proofs import proofs_named
from kraftcheck.properties.expected.verdicts import EVERY, Row, expected, rows_named
from kraftcheck.solvers.program.stop import is_stop
from kraftcheck.solvers.program.verdict import EXIT_INCOMPLETE, EXIT_VACUOUS, PropertyVerdict, exit_code, worst_first
from kraftcheck.solvers.search.explore import Exploration


def unexpected_verdicts(row: Row, result: Exploration) -> Iterator[UnexpectedVerdict]:
    """Every verdict of an exploration that is not the expected one, in either direction."""
    claims = set()
    for verdict in result.verdicts:
        claims.add(verdict.claim)
        expected_word, actual_word = expected(row, verdict.claim), report.word_of(verdict)
        if expected_word != actual_word:
            code = exit_code(verdict.verdict) or EXIT_VACUOUS
            yield UnexpectedVerdict(row, verdict.claim, expected_word, actual_word, code)
    for claim in sorted(set(EVERY[row]) - claims):
        yield UnexpectedVerdict(row, claim, EVERY[row][claim], "not judged", EXIT_VACUOUS)


def plan(systems: Sequence[str], scopes: Sequence[str], rules: Sequence[str]) -> list[Row]:
    """The rows to check: those with expected verdicts, filtered.

    Raises:
        Refusal: for a name no row has.
    """
    for position, (noun, names) in enumerate((("system", systems), ("scope", scopes), ("rule set", rules))):
        offered_names = sorted({row[position] for row in EVERY})
        for name in names:
            if name not in offered_names:
                raise Refusal(f"no expected verdicts for {noun} {name!r}; {nearest(name, offered_names)}")
    filters = (systems, scopes, rules)
    rows = [r for r in rows_named(systems, scopes) if all(not n or r[i] in n for i, n in enumerate(filters))]
    if not rows:
        raise Refusal("no row has expected verdicts for this system, scope and rule set together")
    return rows


def table(
    results: Sequence[tuple[Row, Exploration]], unexpected: Sequence[UnexpectedVerdict], verbose: bool
) -> tuple[Table, int]:
    """A row for each property, a column for each rule set; the shortest refutation over all scopes.

    Returns:
        The table, what is unexpected first, then the worst; and how many properties it leaves out, because they
        hold everywhere as expected and not everything is asked for.
    """
    presets = list(dict.fromkeys(row[2] for row, _ in results))
    table_ = Table((Column("property"), *map(Column, presets)))
    by_rank: dict[int, list[tuple[str | Text, ...]]] = {}
    claims = dict.fromkeys(verdict.claim for _, result in results for verdict in result.verdicts)
    for claim in claims:
        verdicts = [(row, result.verdict(claim)) for row, result in results if _judges(result, claim)]
        by_preset = [[pair for pair in verdicts if pair[0][2] == preset] for preset in presets]
        surprise = any(one.claim == claim and one.row in dict(verdicts) for one in unexpected)
        words = {report.WORDS[type(verdict.verdict)] for _, verdict in verdicts}
        rank = min(-1 if surprise else report.WORST_FIRST.index(word) for word in words)
        by_rank.setdefault(rank, []).append((claim, *(_cell(pairs, unexpected) for pairs in by_preset)))
    passing = report.WORST_FIRST.index("holds")
    for rank in sorted(by_rank):
        for cells in by_rank[rank] if verbose or rank != passing else ():
            table_.add(*cells)
    return table_, len(claims) - len(table_.rows)


def _judges(result: Exploration, claim: str) -> bool:
    return any(verdict.claim == claim for verdict in result.verdicts)


def _cell(verdicts: Sequence[tuple[Row, PropertyVerdict]], unexpected: Sequence[UnexpectedVerdict]) -> Text:
    if not verdicts:
        return Text("-")
    ordered = sorted(verdicts, key=lambda pair: (-(exit_code(pair[1].verdict) or 0), pair[1].depth or 0))
    words = report.word_of(ordered[0][1])
    if any(s.row == row and s.claim == verdict.claim for row, verdict in verdicts for s in unexpected):
        return Text(f"{words} UNEXPECTED", style="bold red")
    return Text(words, style=report.STYLES[words.split()[0]])


@click.command("check")
@click.argument("systems", nargs=-1)
@click.option("--scope", "scopes", multiple=True, help="Only this scope; repeatable.")
@click.option("--rules", multiple=True, help="Only this rule set; repeatable.")
@click.option("--config", type=click.Path(path_type=Path), metavar="FILE",
              help="The table of runs to execute; by default the nearest kraftcheck.toml or pyproject.toml with one.")
@click.option("--built-in", is_flag=True, help="The systems that come with kraftcheck, also where there is a table.")
@click.option("--vectors", multiple=True, type=click.Path(path_type=Path), help="Also run these vectors; repeatable.")
@options.workers
@options.memory
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR",
              help="Write every counterexample there, a folder for each row.")
@options.verbose
@options.document
@report_options
@time_limit.time_limit
@options.quiet
def check_command(
    systems: tuple[str, ...], scopes: tuple[str, ...], rules: tuple[str, ...], config: Path | None, built_in: bool,
    vectors: tuple[Path, ...], workers: int, memory: int, out: Path | None, verbose: bool, target: str | None,
    reports: ReportFiles, quiet: bool,
) -> None:  # fmt: skip
    """Explore every SYSTEM (default: all) at its scopes and rule sets and compare with the expected verdicts.

    Where there is a table of runs, kraftcheck.toml or [tool.kraftcheck] in pyproject.toml, in this folder or above it
    up to the repository's root, its runs are executed instead; SYSTEM, --scope and --rules choose among them.

    A known defect not found fails too. Some rows are also proven. Large scopes, long proofs, fair systems: by name.

    \b
    Exit codes: 0 all as expected; else the worst of 12 refuted, 20 incomplete,
    21 vacuous or a known defect not found, 22 a proof failed, 23 a vector failed,
    24 an engine disagrees with the rules; 2 bad input.

    \b
    Examples:
      kraftcheck check
      kraftcheck check elections --scope tiny --rules fixed
    """
    check_writable(target)
    reports.check(json=target)
    check_results("--out", out, target, *reports.paths)
    table_of_runs = _table(config, built_in)
    if table_of_runs is not None:
        check_idle("is of the systems that come with kraftcheck (--built-in)", "vectors", "verbose")
        wanted = CheckOptions(systems, scopes, rules, workers, memory, out, target, reports, quiet)
        leave(check_table(table_of_runs, wanted))
    for name in systems:
        find_system(name)
    rows, planned = plan(systems, scopes, rules), proofs_named(scopes)
    if vectors and any(reports.paths):
        raise Refusal("--junit and --sarif hold verdicts about systems; run `kraftcheck conform --vectors` apart")
    conformance = _conform(vectors)
    screen = console(to_stderr=target == "-")
    with nullcontext() if out is None else results("--out", out) as place:
        runs, unexpected, proofs = _run_rows(screen, rows, planned, SearchBudget(workers, memory), place, quiet)
    skipped = len(rows) - len(runs)
    _finish(screen, runs, unexpected, conformance, verbose)
    failed = conformance is not None and conformance.exit_code(allow_unsupported=False) != 0
    code = worst_first([*(s.code for s in unexpected), *[NON_CONFORMANT] * failed, *[EXIT_INCOMPLETE] * (skipped > 0)])
    if target is not None:
        write_json(target, document(runs, proofs, unexpected, code))
    verdict_count = sum(len(result.verdicts) for _, _, result in runs) + sum(proof.claims for proof in proofs)
    closing = last_line(verdict_count, len(unexpected), failed, skipped, code)
    reports.write(screen, judged_rows(rows, runs, proofs, planned), code, closing)
    screen.plain(closing)
    leave(code)


def _run_rows(
    screen: Screen, rows: Sequence[Row], planned: Collection[Row], budget: SearchBudget, place: Path | None, quiet: bool
) -> tuple[list[tuple[Row, Subject, Exploration]], list[UnexpectedVerdict], list[ProofRow]]:
    """Explore and prove row by row, up to the first one that is stopped; counterexamples go below `place`."""
    runs, unexpected, proofs = [], list[UnexpectedVerdict](), list[ProofRow]()
    for row in rows:
        if stop_requested() or time_limit.passed():  # when the search of the row before was complete
            break
        chosen = subject(row[0], row[1], {}, row[2])
        try:
            result = run(program(chosen), budget, quiet)
        except Interrupted:
            if not time_limit.passed():
                raise
            break
        runs.append((row, chosen, result))
        unexpected += list(unexpected_verdicts(row, result))
        screen.print(_row_line(row, result, unexpected), soft_wrap=True)
        if place is not None:
            write_traces(place / "-".join(row), chosen, result)
        if is_stop(result.cut):
            break
        proofs += prove_row(screen, row, budget.workers, quiet, planned)
        if any(proof.proof.stopped for proof in proofs):
            break
    return runs, unexpected + [verdict for proof in proofs for verdict in proof.unexpected], proofs


def _table(config: Path | None, built_in: bool) -> RunTable | None:
    if built_in and config is not None:
        raise Refusal("--built-in and --config exclude each other; give one of them")
    return None if built_in else find_table(config)


def leave(code: int) -> NoReturn:
    """End with an exit code; once the time is over a compiler may still be at work, which nothing but the end stops."""
    if time_limit.passed():
        sys.stdout.flush()
        abandon(code)
    sys.exit(code)


def last_line(verdicts: int, unexpected: int, failed: bool, skipped: int, code: int) -> str:
    """The closing line: failures first, then the counts.

    >>> last_line(185, 0, False, 0, 0)
    '185 verdicts, 0 unexpected (exit 0)'
    """
    parts = [f"{unexpected} UNEXPECTED of {verdicts} verdicts" if unexpected else f"{verdicts} verdicts, 0 unexpected"]
    parts = ["a vector FAILED"] * failed + [f"stopped: {skipped} rows NOT checked"] * (skipped > 0) + parts
    return ", ".join(parts) + f" (exit {code})"


def _row_line(row: Row, result: Exploration, unexpected: Sequence[UnexpectedVerdict]) -> str:
    count = sum(s.row == row for s in unexpected)
    text = "as expected" if not count else f"[bold red]{count} UNEXPECTED[/]"
    return (
        f"{' '.join(row):34} {result.distinct:>12,} distinct {result.generated:>14,} generated  depth {result.depth:>3}"
        f" {result.seconds:6.1f} s (+{result.compile_seconds:.1f} s compile)  {text}"
    )


def _conform(paths: Sequence[Path]) -> VectorReport | None:
    if not paths:
        return None
    try:
        return conform(tuple(paths))
    except VectorError as error:
        raise Refusal(str(error)) from error


def _finish(
    screen: Screen, results: Sequence[tuple[Row, Subject, Exploration]], unexpected: Sequence[UnexpectedVerdict],
    conformance: VectorReport | None, verbose: bool,
) -> None:  # fmt: skip
    for line in [] if conformance is None else conform_lines(conformance):
        screen.plain(line)
    screen.plain("")
    for system in dict.fromkeys(row[0] for row, _, _ in results):
        screen.plain(f"{system}: the worst verdict over all scopes, with the length of the shortest trace")
        rows = [(row, result) for row, _, result in results if row[0] == system]
        table_, held = table(rows, unexpected, verbose)
        if table_.rows:
            screen.table(table_)
        if held:
            screen.plain(report.held(held))
    for s in unexpected:
        screen.plain(f"UNEXPECTED {' '.join(s.row)} {s.claim}: expected {s.expected}, got {s.actual}")
    screen.plain(assurance.of_explorations([result for _, _, result in results]))


def document(
    results: Sequence[tuple[Row, Subject, Exploration]], proofs: Sequence[ProofRow],
    unexpected: Sequence[UnexpectedVerdict], code: int,
) -> dict[str, object]:
    """The whole run as plain values."""
    return {
        "version": report.DOCUMENT_VERSION,
        "command": "check",
        "exit_code": code,
        "runs": [report.document(chosen, result) for _, chosen, result in results],
        "proofs": [
            {"system": proof_row.row[0], "scope": proof_row.row[1], "rules": proof_row.row[2],
             "queries": len(proof_row.proof.answers),
             "proven": [claim.id for claim in proof_row.proof.theory.claims if proof_row.proof.proven(claim.id)]}
            for proof_row in proofs
        ],
        "unexpected": [
            {"system": s.row[0], "scope": s.row[1], "rules": s.row[2], "property": s.claim, "expected": s.expected,
             "actual": s.actual}
            for s in unexpected
        ],
        "versions": report.versions(),
    }  # fmt: skip
