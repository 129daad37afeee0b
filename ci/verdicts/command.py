"""`kraftcheck check`: every property on every engine that suits it, against expected verdicts."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path

import click
from rich.table import Table

from kraftcheck.ci.conformance.command import NON_CONFORMANT, Report, conform
from kraftcheck.ci.conformance.command import lines as conform_lines
from kraftcheck.ci.conformance.vectors.files import VectorError
from kraftcheck.ci.explore.command import Budget, run, write_traces
from kraftcheck.ci.systems import assurance, report
from kraftcheck.ci.systems.lookup import find_system
from kraftcheck.ci.systems.subject import Subject, program, subject
from kraftcheck.ci.terminal import options
from kraftcheck.ci.terminal.console import Screen, console
from kraftcheck.ci.terminal.files import check_writable, write_json
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.ci.terminal.result_folders import check_results, results
from kraftcheck.ci.verdicts.proofs import ProofRow, prove_row
from kraftcheck.ci.verdicts.unexpected import Surprise
from kraftcheck.model.language.nearest import nearest
from kraftcheck.properties.expected.verdicts import EVERY, EXPECTED, Row, expected
from kraftcheck.solvers.program.verdict import EXIT_INCOMPLETE, EXIT_VACUOUS, PropertyVerdict, exit_code, worst_first
from kraftcheck.solvers.search.explore import Exploration
from kraftcheck.solvers.search.levels import STOPPED


def surprises(row: Row, result: Exploration) -> Iterator[Surprise]:
    """Every verdict of an exploration that is not the expected one, in either direction."""
    judged = set()
    for found in result.verdicts:
        judged.add(found.claim)
        wanted, got = expected(row, found.claim), report.word_of(found)
        if wanted != got:
            yield Surprise(row, found.claim, wanted, got, exit_code(found.verdict) or EXIT_VACUOUS)
    for claim in sorted(set(EVERY[row]) - judged):
        yield Surprise(row, claim, EVERY[row][claim], "not judged", EXIT_VACUOUS)


def plan(systems: Sequence[str], scopes: Sequence[str], rules: Sequence[str]) -> list[Row]:
    """The rows to check: those with expected verdicts, filtered; large scopes only where they are named.

    Raises:
        Refusal: for a name no row has.
    """
    for position, (what, names) in enumerate((("system", systems), ("scope", scopes), ("rule set", rules))):
        known = sorted({row[position] for row in EVERY})
        for name in names:
            if name not in known:
                raise Refusal(f"no expected verdicts for {what} {name!r}; {nearest(name, known)}")
    wanted = (systems, scopes, rules)
    offered = EVERY if scopes else EXPECTED
    rows = [r for r in offered if all(not names or r[i] in names for i, names in enumerate(wanted))]
    if not rows:
        raise Refusal("no row has expected verdicts for this system, scope and rule set together")
    return rows


def table(results: Sequence[tuple[Row, Exploration]], odd: Sequence[Surprise]) -> Table:
    """A row for each property, a column for each rule set; the shortest refutation over all scopes."""
    presets = list(dict.fromkeys(row[2] for row, _ in results))
    shown = Table(box=None, pad_edge=False)
    shown.add_column("property")
    for preset in presets:
        shown.add_column(preset)
    claims = dict.fromkeys(found.claim for _, result in results for found in result.verdicts)
    for claim in claims:
        judged = [(row, result.verdict(claim)) for row, result in results if _judges(result, claim)]
        shown.add_row(claim, *(_cell([pair for pair in judged if pair[0][2] == preset], odd) for preset in presets))
    return shown


def _judges(result: Exploration, claim: str) -> bool:
    return any(found.claim == claim for found in result.verdicts)


def _cell(found: Sequence[tuple[Row, PropertyVerdict]], odd: Sequence[Surprise]) -> str:
    if not found:
        return "-"
    ranked = sorted(found, key=lambda pair: (-(exit_code(pair[1].verdict) or 0), pair[1].depth or 0))
    words = report.word_of(ranked[0][1])
    if any(s.row == row and s.claim == verdict.claim for row, verdict in found for s in odd):
        return f"[bold red]{words} UNEXPECTED[/]"
    return f"[{report.STYLES[words.split()[0]]}]{words}[/]"


@click.command("check")
@click.argument("systems", nargs=-1)
@click.option("--scope", "scopes", multiple=True, help="Only this scope; repeatable.")
@click.option("--rules", multiple=True, help="Only this rule set; repeatable.")
@click.option("--vectors", multiple=True, type=click.Path(path_type=Path), help="Also run these vectors; repeatable.")
@options.workers
@options.memory
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR",
              help="Write every counterexample there, a folder for each row.")
@options.document
@options.quiet
def check_command(
    systems: tuple[str, ...], scopes: tuple[str, ...], rules: tuple[str, ...], vectors: tuple[Path, ...],
    workers: int, memory: int, out: Path | None, target: str | None, quiet: bool,
) -> None:  # fmt: skip
    """Explore every SYSTEM (default: all) at its scopes and rule sets and compare with the expected verdicts.

    A known defect not found fails too. Some rows are also proven; some are large and need --scope.

    \b
    Exit codes: 0 all as expected; else the worst of 12 refuted, 20 incomplete,
    21 vacuous or a known defect not found, 22 a proof failed, 23 a vector failed,
    24 an engine disagrees with the rules; 2 bad input.

    \b
    Examples:
      kraftcheck check
      kraftcheck check elections --scope tiny --rules fixed
    """
    for name in systems:
        find_system(name)
    rows = plan(systems, scopes, rules)
    check_writable(target)
    conformed = _conform(vectors)
    check_results("--out", out, target)
    screen = console(to_stderr=target == "-")
    with nullcontext() if out is None else results("--out", out) as place:
        runs, odd, proofs = _run_rows(screen, rows, Budget(workers, memory), place, quiet)
    skipped = len(rows) - len(runs)
    _finish(screen, runs, odd, conformed)
    failed = conformed is not None and conformed.exit_code(allow_unsupported=False) != 0
    code = worst_first([*(s.code for s in odd), *[NON_CONFORMANT] * failed, *[EXIT_INCOMPLETE] * (skipped > 0)])
    if target is not None:
        write_json(target, document(runs, proofs, odd, code))
    judged = sum(len(result.verdicts) for _, _, result in runs) + sum(proof.claims for proof in proofs)
    screen.plain(last_line(judged, len(odd), failed, skipped, code))
    sys.exit(code)


def _run_rows(
    screen: Screen, rows: Sequence[Row], budget: Budget, place: Path | None, quiet: bool
) -> tuple[list[tuple[Row, Subject, Exploration]], list[Surprise], list[ProofRow]]:
    """Explore and prove row by row, up to the first one that is stopped; counterexamples go below `place`."""
    runs, odd, proofs = [], list[Surprise](), list[ProofRow]()
    for row in rows:
        chosen = subject(row[0], row[1], {}, row[2])
        result = run(program(chosen), budget, quiet)
        runs.append((row, chosen, result))
        odd += list(surprises(row, result))
        screen.print(_row_line(row, result, odd), soft_wrap=True)
        if place is not None:
            write_traces(place / "-".join(row), chosen, result)
        if result.cut == STOPPED:
            break
        proofs += prove_row(screen, row, budget.workers, quiet)
        if any(one.proof.stopped for one in proofs):
            break
    return runs, odd + [surprise for one in proofs for surprise in one.odd], proofs


def last_line(judged: int, odd: int, failed: bool, skipped: int, code: int) -> str:
    """What went wrong, if anything did, before what did not.

    >>> last_line(185, 0, False, 0, 0)
    '185 verdicts, 0 unexpected (exit 0)'
    """
    told = [f"{odd} UNEXPECTED of {judged} verdicts" if odd else f"{judged} verdicts, 0 unexpected"]
    told = ["a vector FAILED"] * failed + [f"stopped: {skipped} rows NOT checked"] * (skipped > 0) + told
    return ", ".join(told) + f" (exit {code})"


def _row_line(row: Row, result: Exploration, odd: Sequence[Surprise]) -> str:
    mine = sum(s.row == row for s in odd)
    told = "as expected" if not mine else f"[bold red]{mine} UNEXPECTED[/]"
    return (
        f"{' '.join(row):34} {result.distinct:>12,} distinct {result.generated:>14,} generated  depth {result.depth:>3}"
        f" {result.seconds:6.1f} s (+{result.compile_seconds:.1f} s compile)  {told}"
    )


def _conform(paths: Sequence[Path]) -> Report | None:
    if not paths:
        return None
    try:
        return conform(tuple(paths))
    except VectorError as error:
        raise Refusal(str(error)) from error


def _finish(
    screen: Screen, results: Sequence[tuple[Row, Subject, Exploration]], odd: Sequence[Surprise], told: Report | None
) -> None:
    for line in [] if told is None else conform_lines(told):
        screen.plain(line)
    screen.print()
    for system in dict.fromkeys(row[0] for row, _, _ in results):
        screen.print(f"{system}: the worst verdict over all scopes, with the length of the shortest trace")
        screen.print(table([(row, result) for row, _, result in results if row[0] == system], odd))
    for s in odd:
        screen.plain(f"UNEXPECTED {' '.join(s.row)} {s.claim}: expected {s.wanted}, got {s.got}")
    screen.plain(assurance.of_explorations([result for _, _, result in results]))


def document(
    results: Sequence[tuple[Row, Subject, Exploration]], proofs: Sequence[ProofRow], odd: Sequence[Surprise], code: int
) -> dict[str, object]:
    """The whole run as plain values."""
    return {
        "version": report.DOCUMENT_VERSION,
        "command": "check",
        "exit_code": code,
        "runs": [report.document(chosen, result) for _, chosen, result in results],
        "proofs": [
            {"system": one.row[0], "scope": one.row[1], "rules": one.row[2], "queries": len(one.proof.answers),
             "proven": [claim.id for claim in one.proof.theory.claims if one.proof.proven(claim.id)]}
            for one in proofs
        ],
        "unexpected": [
            {"system": s.row[0], "scope": s.row[1], "rules": s.row[2], "property": s.claim, "expected": s.wanted,
             "actual": s.got}
            for s in odd
        ],
        "versions": report.versions(),
    }  # fmt: skip
