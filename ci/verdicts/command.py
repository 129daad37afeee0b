"""`kraftcheck check`: every property on every engine that suits it, compared with its expected verdict."""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import NoReturn

import click

from kraftcheck.ci.conformance.command import NON_CONFORMANT, VectorReport, conform
from kraftcheck.ci.conformance.vectors.files import VectorError
from kraftcheck.ci.run.reports.files import ReportFiles, report_options
from kraftcheck.ci.run.search import SearchBudget
from kraftcheck.ci.systems.lookup import find_system
from kraftcheck.ci.terminal import options, time_limit
from kraftcheck.ci.terminal.console import Screen, console
from kraftcheck.ci.terminal.files import check_writable, write_json
from kraftcheck.ci.terminal.interrupts import abandon
from kraftcheck.ci.terminal.parameter_types import check_idle
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.ci.terminal.result_folders import check_results, results
from kraftcheck.ci.verdicts.configured.command import Check, CheckOptions, check_table
from kraftcheck.ci.verdicts.configured.reading import RunTable, find_table
from kraftcheck.ci.verdicts.processes import check_rows
from kraftcheck.ci.verdicts.report import document, last_line, print_summary
from kraftcheck.ci.verdicts.row import CheckedRows, RowOptions, RowPart
from kraftcheck.ci.verdicts.rows import judged_rows
from kraftcheck.model.nearest import nearest
from kraftcheck.properties.register.proofs import proofs_named
from kraftcheck.properties.register.verdicts import EVERY, Row, rows_named
from kraftcheck.solvers.program.verdict import EXIT_INCOMPLETE, worst_first


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


@click.command("check")
@click.argument("systems", nargs=-1)
@click.option("--scope", "scopes", multiple=True, help="Only this scope; repeatable.")
@click.option("--rules", multiple=True, help="Only this rule set; repeatable.")
@click.option("--config", type=click.Path(path_type=Path), metavar="FILE",
              help="The table of runs to execute; by default the nearest kraftcheck.toml or pyproject.toml with one.")
@click.option("--built-in", is_flag=True, help="The systems that come with kraftcheck, also where there is a table.")
@click.option("--vectors", multiple=True, type=click.Path(path_type=Path), help="Also run these vectors; repeatable.")
@options.rows
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

    Where there is a table of runs, kraftcheck.toml or [tool.kraftcheck] in pyproject.toml, here or above up to the
    repository's root, it is executed instead; SYSTEM, --scope, --rules choose among its runs. It is code: modules that
    it names are imported; so one of another user counts only by --config.

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
    wanted = CheckOptions(systems, scopes, rules, workers, memory, out, quiet, target is not None)
    screen = console(to_stderr=target == "-")
    if (table_of_runs := named_table(config, built_in)) is not None:
        check_idle("is of the systems that come with kraftcheck (--built-in)", "vectors", "verbose")
        checked = check_table(table_of_runs, wanted, screen)
    else:
        if vectors and any(reports.paths):
            raise Refusal("--junit and --sarif hold verdicts about systems; run `kraftcheck conform --vectors` apart")
        checked = check_built_in(wanted, screen, vectors, verbose)
    if target is not None:
        write_json(target, checked.document)
    reports.write(screen, checked.runs, checked.code, checked.last_line)
    screen.plain(checked.last_line)
    leave(checked.code)


def check_built_in(
    wanted: CheckOptions, screen: Screen, vectors: Sequence[Path] = (), verbose: bool = False
) -> Check:
    """Check the rows of the systems that come with kraftcheck, and report.

    Raises:
        Refusal: for a name that no row has, and for vectors that cannot be read.
    """
    for name in wanted.systems:
        find_system(name)
    rows, planned = plan(wanted.systems, wanted.scopes, wanted.rules), proofs_named(wanted.scopes)
    conformance = _conform(vectors)
    with nullcontext() if wanted.out is None else results("--out", wanted.out) as place:
        budget = SearchBudget(wanted.workers, wanted.memory)
        checked = _check(screen, rows, planned, RowOptions(budget, wanted.quiet, place, wanted.documented))
    unexpected, skipped = checked.unexpected, len(rows) - len(checked.explored)
    print_summary(screen, checked, conformance, verbose)
    failed = conformance is not None and conformance.exit_code(allow_unsupported=False) != 0
    code = worst_first([*(s.code for s in unexpected), *[NON_CONFORMANT] * failed, *[EXIT_INCOMPLETE] * (skipped > 0)])
    closing = last_line(checked.claims, len(unexpected), failed, skipped, code)
    content = document(checked, code) if wanted.documented else {}
    return Check(judged_rows(rows, checked, planned), code, closing, content)


def _check(screen: Screen, rows: Sequence[Row], planned: Collection[Row], wanted: RowOptions) -> CheckedRows:
    """Check the rows, and print each part of them: what was explored and proven before a stop."""
    checked = CheckedRows()

    def show(part: RowPart) -> None:
        checked.add(part)
        screen.print(part.line(), soft_wrap=True)

    check_rows(rows, planned, wanted, show)
    return checked


def named_table(config: Path | None, built_in: bool) -> RunTable | None:
    """The table of runs, unless the systems that come with kraftcheck are asked for; refuses both together."""
    if built_in and config is not None:
        raise Refusal("--built-in and --config exclude each other; give one of them")
    return None if built_in else find_table(config)


def leave(code: int) -> NoReturn:
    """End with an exit code; once the time is over a compiler may still be at work, which nothing but the end stops."""
    if time_limit.passed():
        sys.stdout.flush()
        abandon(code)
    sys.exit(code)


def _conform(paths: Sequence[Path]) -> VectorReport | None:
    if not paths:
        return None
    try:
        return conform(tuple(paths))
    except VectorError as error:
        raise Refusal(str(error)) from error
