"""What `kraftcheck check` says in the end: tables for people, a document for machines, the closing line."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from kraftcheck.ci.conformance.command import VectorReport
from kraftcheck.ci.conformance.command import lines as conform_lines
from kraftcheck.ci.systems import assurance, report
from kraftcheck.ci.terminal.console import Screen
from kraftcheck.ci.terminal.table import Column, Table
from kraftcheck.ci.verdicts.row import CheckedRows, ExploredRow
from kraftcheck.ci.verdicts.unexpected import UnexpectedVerdict
from kraftcheck.properties.register.verdicts import Row, word
from kraftcheck.solvers.program.verdict import PropertyVerdict, exit_code


def table(
    explored: Sequence[ExploredRow], unexpected: Sequence[UnexpectedVerdict], verbose: bool
) -> tuple[Table, int]:
    """A row for each property, a column for each rule set; the shortest refutation over all scopes.

    Returns:
        The table, what is unexpected first, then the worst; and how many properties it leaves out, because they
        hold everywhere as expected and not everything is asked for.
    """
    presets = list(dict.fromkeys(one.row[2] for one in explored))
    table_ = Table((Column("property"), *map(Column, presets)))
    by_rank: dict[int, list[tuple[str | Text, ...]]] = {}
    claims = dict.fromkeys(verdict.claim for one in explored for verdict in one.verdicts)
    for claim in claims:
        verdicts = [(one.row, one.verdict(claim)) for one in explored if _judges(one, claim)]
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


def _judges(explored: ExploredRow, claim: str) -> bool:
    return any(verdict.claim == claim for verdict in explored.verdicts)


def _cell(verdicts: Sequence[tuple[Row, PropertyVerdict]], unexpected: Sequence[UnexpectedVerdict]) -> Text:
    if not verdicts:
        return Text("-")
    ordered = sorted(verdicts, key=lambda pair: (-(exit_code(pair[1].verdict) or 0), pair[1].depth or 0))
    (system, _, rules), verdict = ordered[0]
    words = word(system, rules, verdict.claim, report.word_of(verdict))
    if any(s.row == row and s.claim == verdict.claim for row, verdict in verdicts for s in unexpected):
        return Text(f"{words} UNEXPECTED", style="bold red")
    return Text(words, style=report.STYLES[words.split()[0]])


def print_summary(
    screen: Screen, checked: CheckedRows, conformance: VectorReport | None, verbose: bool
) -> None:
    """Print the vectors, a table for each system, what is unexpected, and what the verdicts rest on."""
    for line in [] if conformance is None else conform_lines(conformance):
        screen.plain(line)
    screen.plain("")
    unexpected = checked.unexpected
    for system in dict.fromkeys(one.row[0] for one in checked.explored):
        screen.plain(f"{system}: the worst verdict over all scopes, with the length of the shortest trace")
        table_, held = table([one for one in checked.explored if one.row[0] == system], unexpected, verbose)
        if table_.rows:
            screen.table(table_)
        if held:
            screen.plain(report.held(held))
    for s in unexpected:
        screen.plain(f"UNEXPECTED {' '.join(s.row)} {s.claim}: expected {s.expected}, got {s.actual}")
    screen.plain(assurance.of_explorations(checked.explored))


def document(checked: CheckedRows, code: int) -> dict[str, object]:
    """The whole run as plain values."""
    return {
        "version": report.DOCUMENT_VERSION,
        "command": "check",
        "exit_code": code,
        "runs": [one.document for one in checked.explored],
        "proofs": [
            {"system": one.row[0], "scope": one.row[1], "rules": one.row[2], "queries": one.queries,
             "proven": one.proven}
            for one in checked.proofs
        ],
        "unexpected": [
            {"system": s.row[0], "scope": s.row[1], "rules": s.row[2], "property": s.claim, "expected": s.expected,
             "actual": s.actual}
            for s in checked.unexpected
        ],
        "versions": report.versions(),
    }  # fmt: skip


def last_line(verdicts: int, unexpected: int, failed: bool, skipped: int, code: int) -> str:
    """The closing line: failures first, then the counts.

    >>> last_line(185, 0, False, 0, 0)
    '185 verdicts, 0 unexpected (exit 0)'
    """
    parts = [f"{unexpected} UNEXPECTED of {verdicts} verdicts" if unexpected else f"{verdicts} verdicts, 0 unexpected"]
    parts = ["a vector FAILED"] * failed + [f"stopped: {skipped} rows NOT checked"] * (skipped > 0) + parts
    return ", ".join(parts) + f" (exit {code})"
