"""`kraftcheck check`: every property on every engine that suits it, compared with its expected verdict."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NoReturn

import click
from attrs import evolve
from rich.text import Text

from kraftcheck.ci.run.fanout import Cluster, LostPart, cluster_of, fan_out, fan_out_options, processes
from kraftcheck.ci.run.judged import JudgedProperty, JudgedRun, every_id, not_judged
from kraftcheck.ci.run.questions import search_budget
from kraftcheck.ci.run.reports import report_options, unwritten
from kraftcheck.ci.systems import assurance, report
from kraftcheck.ci.systems.lookup import find_system
from kraftcheck.ci.systems.subject import subject
from kraftcheck.ci.terminal import interrupts, options
from kraftcheck.ci.terminal.commands import check_idle
from kraftcheck.ci.terminal.console import Column, Screen, Table, console
from kraftcheck.ci.terminal.files import check_results, check_writable, results, write_json
from kraftcheck.ci.terminal.interrupts import Interrupted, abandon, stop_requested
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.ci.verdicts.row import CheckedRows, ExploredRow, ProofRow, RowOptions, RowPart, row_parts
from kraftcheck.ci.verdicts.run_table import RunTable, find_table, no_table
from kraftcheck.ci.verdicts.runs import CheckOptions, FinishedCheck, check_table
from kraftcheck.model.nearest import nearest
from kraftcheck.properties.register.verdicts import (
    ANY_NUMBER,
    EVERY,
    EXPECTED,
    LONG,
    Row,
    proofs_named,
    rows_named,
    word,
)
from kraftcheck.solvers.program.verdict import (
    EXIT_INCOMPLETE,
    EXIT_UNKNOWN,
    EXIT_VACUOUS,
    PropertyVerdict,
    Refuted,
    exit_code,
    worst_first,
)


def table(explored: Sequence[ExploredRow], unexpected: Collection[tuple[Row, str]], verbose: bool) -> tuple[Table, int]:
    """A row for each property, a column for each rule set, worst first; and how many are left out, as expected."""
    presets = list(dict.fromkeys(one.row[2] for one in explored))
    table_ = Table((Column("property"), *map(Column, presets)))
    by_rank: dict[int, list[tuple[str | Text, ...]]] = {}
    claims = dict.fromkeys(verdict.claim for one in explored for verdict in one.verdicts)
    for claim in claims:
        verdicts = [(of.row, one) for of in explored for one in of.verdicts if one.claim == claim]
        by_preset = [[pair for pair in verdicts if pair[0][2] == preset] for preset in presets]
        surprise = any((row, claim) in unexpected for row, _ in verdicts)
        words = {report.WORDS[type(verdict.verdict)] for _, verdict in verdicts}
        rank = min(-1 if surprise else report.WORST_FIRST.index(word) for word in words)
        by_rank.setdefault(rank, []).append((claim, *(_cell(pairs, unexpected) for pairs in by_preset)))
    passing = report.WORST_FIRST.index("holds")
    for rank in sorted(by_rank):
        for cells in by_rank[rank] if verbose or rank != passing else ():
            table_.add(*cells)
    return table_, len(claims) - len(table_.rows)


def _cell(verdicts: Sequence[tuple[Row, PropertyVerdict]], unexpected: Collection[tuple[Row, str]]) -> Text:
    if not verdicts:
        return Text("-")
    ordered = sorted(verdicts, key=lambda pair: (-(exit_code(pair[1].verdict) or 0), pair[1].depth or 0))
    (system, _, rules), verdict = ordered[0]
    words = word(system, rules, verdict.claim, report.word_of(verdict))
    if any((row, verdict.claim) in unexpected for row, verdict in verdicts):
        return Text(f"{words} UNEXPECTED", style="bold red")
    return Text(words, style=report.STYLES[words.split()[0]])


def print_summary(screen: Screen, checked: CheckedRows, verbose: bool) -> None:
    """Print a table for each system, what is unexpected, and what the verdicts rest on."""
    screen.plain("")
    unexpected = {(part.row, one.id) for part, one in checked.unexpected}
    for system in dict.fromkeys(one.row[0] for one in checked.explored):
        screen.plain(f"{system}: the worst verdict over all scopes, with the length of the shortest trace")
        table_, held = table([one for one in checked.explored if one.row[0] == system], unexpected, verbose)
        if table_.rows:
            screen.table(table_)
        if held:
            screen.plain(report.held(held))
    for part, one in checked.unexpected:
        proof = " by proof" * isinstance(part, ProofRow)
        screen.plain(f"UNEXPECTED {' '.join(part.row)} {one.id}: expected {one.expected}, got {one.verdict}{proof}")
    screen.plain("".join(f"NO VERDICT of {reason}\n" for reason in checked.lost.values())
                 + assurance.of_explorations(checked.explored))  # fmt: skip


def document(checked: CheckedRows, code: int) -> dict[str, object]:
    """The whole run as plain values."""
    proofs = [
        {"system": one.row[0], "scope": one.row[1], "rules": one.row[2], "queries": one.queries, "proven": one.proven}
        for one in checked.parts if isinstance(one, ProofRow)
    ]  # fmt: skip
    unexpected = [
        {"system": part.row[0], "scope": part.row[1], "rules": part.row[2], "property": one.id,
         "expected": one.expected, "actual": one.verdict}
        for part, one in checked.unexpected
    ]  # fmt: skip
    runs = [one.document for one in checked.explored]
    return report.told("check", code, runs=runs, proofs=proofs, unexpected=unexpected)


def last_line(verdicts: int, unexpected: int, skipped: int, code: int) -> str:
    """The closing line: failures first, then the counts.

    >>> last_line(185, 0, 0, 0)
    '185 verdicts, 0 unexpected (exit 0)'
    """
    parts = [f"{unexpected} UNEXPECTED of {verdicts} verdicts" if unexpected else f"{verdicts} verdicts, 0 unexpected"]
    parts = [f"stopped: {skipped} row{'s' * (skipped != 1)} NOT checked"] * (skipped > 0) + parts
    return ", ".join(parts) + f" (exit {code})"


def _runs(row: Row, checked: CheckedRows, planned: bool) -> Iterator[JudgedRun]:
    runs = [run for part, run in zip(checked.parts, checked.runs, strict=True) if part.row == row]
    yield from runs
    chosen = subject(row[0], row[1], {}, row[2])
    reason = checked.lost.get(row, "the check ended before this row")
    if not runs:
        yield JudgedRun(chosen, "explore", not_judged(chosen, every_id(chosen), reason))
    elif len(runs) == 1 and (planned or row in ANY_NUMBER):
        every = [claim.id for claim in chosen.system.properties(chosen.setting) if claim.kind in ("always", "step")]
        claims = every if planned else ANY_NUMBER[row]
        yield JudgedRun(chosen, "prove", not_judged(chosen, claims, "the check ended before this proof"))


def unexpected_code(one: JudgedProperty) -> int:
    """The exit code of a verdict that is not the expected one; a defect that is not found any more is vacuous."""
    if one.verdict.startswith("refuted") and one.trace is not None:
        return exit_code(Refuted(one.trace))
    return {"incomplete": EXIT_INCOMPLETE, "unknown": EXIT_UNKNOWN}.get(one.verdict, EXIT_VACUOUS)


def check_rows(
    rows: Sequence[Row], planned: Collection[Row], options: RowOptions, cluster: Cluster | None = None,
    lost: Callable[[Row, str], None] | None = None,
) -> Iterator[RowPart]:  # fmt: skip
    """Check rows, by workers or a cluster, told in their order; `lost` is told of rows whose process ended.

    Raises:
        LostPart: when a process has not told all.
        Interrupted: when a signal stopped the work before there was anything to report.
    """
    workers = options.budget.threads
    small = all(row in EXPECTED and not (row in LONG and row in planned) for row in rows)
    count = min(workers, len(rows)) if small else 1
    if cluster is None and count == 1:
        yield from _one_by_one(rows, planned, options)
    elif not stop_requested() and not interrupts.passed():
        threads = 1 if cluster is not None else workers // count
        apart = evolve(options, budget=evolve(options.budget, threads=threads), quiet=True)
        executor = processes(count) if cluster is None else cluster.executor(options.quiet)
        ask = functools.partial(_parts, planned=frozenset(planned), options=apart)
        whole = functools.partial(_check_whole, planned=planned)
        proofs_first = functools.partial(_first, planned=planned)
        for _, parts in fan_out(executor, ask, rows, "rows", options.quiet, whole, proofs_first, lost):
            yield from parts


def _one_by_one(rows: Sequence[Row], planned: Collection[Row], options: RowOptions) -> Iterator[RowPart]:
    """Check rows in this process; a large one takes all its threads, and memory."""
    for row in rows:
        if stop_requested() or interrupts.passed():  # when the search of the row before was complete
            return
        try:
            for part in row_parts(row, row in planned, options):
                yield part
                if part.stopped:
                    return
        except Interrupted:
            if not interrupts.passed():
                raise
            return


def _parts(row: Row, planned: Collection[Row], options: RowOptions) -> Sequence[RowPart]:
    return tuple(row_parts(row, row in planned, options))


def _proofs(row: Row, planned: Collection[Row]) -> int:
    return (row in planned) + (row in ANY_NUMBER)


def _first(row: Row, planned: Collection[Row]) -> bool:
    """Rows with proofs come first, since they take longest."""
    return not _proofs(row, planned)


def _check_whole(row: Row, parts: Sequence[RowPart], planned: Collection[Row]) -> None:
    """Raises LostPart where a part of a row is missing, or of another row."""
    kinds = [isinstance(part, ExploredRow) for part in parts]
    whole = kinds == [True] + [False] * _proofs(row, planned) or any(part.stopped for part in parts)
    if not whole or any(part.row != row for part in parts):
        raise LostPart(f"the process that checked {' '.join(row)} has not told every part of it")


def plan(systems: Sequence[str], scopes: Sequence[str], rules: Sequence[str]) -> list[Row]:
    """The rows to check: those with expected verdicts, filtered; raises Refusal for a name no row has."""
    for position, (noun, names) in enumerate((("system", systems), ("scope", scopes), ("rule set", rules))):
        offered_names = sorted({row[position] for row in EVERY})
        for name in names:
            if name not in offered_names:
                raise Refusal(f"no expected verdicts for {noun} {name!r}; {nearest(name, offered_names)}")
    filters = (systems, scopes, rules)
    rows = [r for r in rows_named(systems, scopes) if all(not n or r[i] in n for i, n in enumerate(filters))]
    if not rows:
        raise Refusal("no row has expected verdicts for this system, scope and rule set together; leave one out")
    return rows


@click.command("check")
@click.argument("systems", nargs=-1)
@click.option("--scope", "scopes", multiple=True, help="Only this scope; repeatable.")
@click.option("--rules", multiple=True, help="Only this rule set; repeatable.")
@options.path(
    "--config",
    "FILE",
    "The table of runs to execute; by default the nearest kraftcheck.toml or pyproject.toml with one.",
)
@click.option("--built-in", is_flag=True, help="The systems that come with kraftcheck, also where there is a table.")
@options.rows
@options.memory
@fan_out_options
@options.path("--out", "DIR", "Write every counterexample there, a folder for each row.")
@options.verbose
@options.document
@report_options
@interrupts.time_limit
@options.quiet
def check_command(systems: tuple[str, ...], **flags: Any) -> None:
    """Explore every SYSTEM (default: all) at its scopes and rule sets and compare with the expected verdicts.

    Where there is a table of runs, kraftcheck.toml or [tool.kraftcheck] in pyproject.toml, here or above up to the
    repository's root, it is executed instead; SYSTEM, --scope, --rules choose among its runs. It is code: modules that
    it names are imported; so one of another user counts only by --config.

    A known defect not found fails too. Some rows are also proven. Large scopes and long proofs are
    checked only where --scope names them, systems with fairness only where SYSTEM does.

    \b
    Exit codes: 0 all as expected; else the worst of 12 refuted, 20 incomplete,
    21 vacuous or a known defect not found, 22 a proof failed, 24 an engine
    disagrees with the rules; 2 bad input.

    \b
    Examples:
      kraftcheck check
      kraftcheck check elections --scope tiny --rules fixed
      kraftcheck check --shard 2/8
      kraftcheck check --engine spark --master spark://host:7077
    """
    out, target, reports = flags["out"], flags["target"], flags["reports"]
    cluster = cluster_of(flags)
    if cluster is not None:
        check_idle("is on this machine, and workers are elsewhere; --json has every counterexample", "out")
    check_writable(target)
    reports.check(json=target)
    check_results("--out", out, target, *reports.paths)
    chosen = (systems, flags["scopes"], flags["rules"])
    wanted = CheckOptions(
        *chosen, flags["workers"], flags["memory"], out, flags["quiet"], target is not None, flags["shard"], cluster
    )
    screen = console(to_stderr=target == "-")
    if (table_of_runs := named_table(flags["config"], flags["built_in"])) is not None:
        check_idle("is of the systems that come with kraftcheck (--built-in)", "verbose")
        checked = check_table(table_of_runs, wanted, screen)
    else:
        checked = check_built_in(wanted, screen, flags["verbose"], asked=flags["built_in"])
    with unwritten(lambda: checked.code):
        if target is not None:
            write_json(target, {**checked.document, **wanted.shard.told})
    reports.write(screen, checked.runs, checked.code, checked.last_line)
    screen.plain(checked.last_line)
    leave(checked.code)


def check_built_in(wanted: CheckOptions, screen: Screen, verbose: bool = False, asked: bool = False) -> FinishedCheck:
    """Check the built-in rows, and report; said first unless `asked`; raises Refusal for a name that no row has."""
    for name in wanted.systems:
        find_system(name)
    rows = wanted.shard.of_parts(plan(wanted.systems, wanted.scopes, wanted.rules))
    planned = proofs_named(wanted.scopes)
    if not asked:
        screen.plain(no_table())
    if not wanted.quiet and not (wanted.systems or wanted.scopes or wanted.rules):
        said = f"{wanted.shard.words}{len(rows)} rows of what comes with kraftcheck, minutes in all"
        screen.plain(f"{said}: SYSTEM, --scope and --rules choose among them, --config names a table of your own")
    with nullcontext() if wanted.out is None else results("--out", wanted.out) as place:
        budget = search_budget(wanted.workers, wanted.memory)
        options_ = RowOptions(budget, wanted.quiet, place, wanted.documented)
        checked = _check(screen, rows, planned, options_, wanted.cluster)
    unexpected, skipped = checked.unexpected, len(rows) - len(checked.explored)
    print_summary(screen, checked, verbose)
    codes = [unexpected_code(one) for _, one in unexpected]
    code = worst_first([*codes, *[EXIT_INCOMPLETE] * (skipped > 0)])
    closing = wanted.shard.words + last_line(checked.claims, len(unexpected), skipped, code)
    content = document(checked, code) if wanted.documented else {}
    return FinishedCheck([run for row in rows for run in _runs(row, checked, row in planned)], code, closing, content)


def _check(
    screen: Screen, rows: Sequence[Row], planned: Collection[Row], wanted: RowOptions, cluster: Cluster | None
) -> CheckedRows:
    """Check the rows, and print each part of them: what was explored and proven before a stop."""
    checked = CheckedRows()
    for part in check_rows(rows, planned, wanted, cluster, checked.lost.__setitem__):
        screen.print(checked.add(part), soft_wrap=True)
    checked.close()
    return checked


def named_table(config: Path | None, built_in: bool) -> RunTable | None:
    """The table of runs, unless the systems that come with kraftcheck are asked for; refuses both together."""
    if built_in and config is not None:
        raise Refusal("--built-in and --config exclude each other; give one of them")
    return None if built_in else find_table(config)


def leave(code: int) -> NoReturn:
    """End with an exit code; once the time is over a compiler may still be at work, which nothing but the end stops."""
    if interrupts.passed():
        sys.stdout.flush()
        abandon(code)
    sys.exit(code)
