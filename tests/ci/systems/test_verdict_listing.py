"""Which verdicts a command lists, and in which order: nothing that failed hides behind what holds."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from types import SimpleNamespace

import pytest

import kraftcheck as kc
from kraftcheck.ci.systems.report import held, in_order, print_verdicts
from kraftcheck.ci.terminal.console import Screen
from kraftcheck.ci.verdicts.command import table
from kraftcheck.solvers.program.verdict import Holds, Incomplete, PropertyVerdict, Refuted, Trace, Unknown, Vacuous
from tests.shared.commands import kraftcheck

JUDGED = tuple(
    PropertyVerdict(name, "always", verdict, depth)
    for name, verdict, depth in (
        ("first-holds", Holds("all"), None),
        ("empty", Vacuous("all", "no such state"), None),
        ("cut", Incomplete("depth limit 1"), None),
        ("second-holds", Holds("all"), None),
        ("open", Unknown("timed out"), None),
        ("broken", Refuted(Trace(None, (), "broken", "always")), 3),
    )
)
CLAIMS = [kc.always(one.claim, f"Sentence of {one.claim}.", lambda s: s) for one in JUDGED]


def printed(judged: Sequence[PropertyVerdict], verbose: bool) -> list[str]:
    """The lines of verdicts in a pipe."""
    stream = io.StringIO()
    print_verdicts(Screen(file=stream, width=130), judged, CLAIMS, verbose)
    return stream.getvalue().splitlines()


def test_the_worst_is_listed_first_and_what_holds_is_counted() -> None:
    """Refuted, incomplete, unknown and vacuous verdicts are listed in this order, then how many hold."""
    lines = printed(JUDGED, verbose=False)
    assert [line.split()[:2] for line in lines] == [
        ["property", "verdict"], ["broken", "refuted"], ["cut", "incomplete"], ["open", "unknown"],
        ["empty", "vacuous"], ["2", "hold"],
    ]  # fmt: skip
    assert lines[-1] == "2 hold (-v lists them)"


def test_verbose_lists_what_holds_last() -> None:
    """With -v the same verdicts come first, then those that hold, and nothing is counted."""
    lines = printed(JUDGED, verbose=True)
    assert [line.split()[0] for line in lines[1:]] == ["broken", "cut", "open", "empty", "first-holds", "second-holds"]


def test_what_all_holds_is_one_line() -> None:
    """Where everything holds there is no table; where nothing does there is no count."""
    holding = [one for one in JUDGED if isinstance(one.verdict, Holds)]
    assert printed(holding, verbose=False) == ["2 hold (-v lists them)"]
    assert printed(holding[:1], verbose=False) == [held(1)] == ["1 holds (-v lists it)"]
    assert not any("hold" in line for line in printed([JUDGED[-1]], verbose=False))
    assert len(in_order(JUDGED, verbose=False)) == 4


@pytest.mark.parametrize(
    "words",
    [
        ("explore", "tests.toys:CLOCK"),
        ("prove", "tests.toys:CLOCK", "--workers", "1"),
        ("prove", "tests.toys:CLOCK", "--k", "1"),
        ("check", "broker-ids", "--scope", "tiny", "--rules", "fixed"),
    ],
    ids=["explore", "prove", "prove-k", "check"],
)
def test_each_command_counts_what_holds_unless_everything_is_asked_for(words: tuple[str, ...]) -> None:
    """The count is the number of rows that -v, or --verbose, adds; the exit code is the same."""
    short, long, longer = (kraftcheck(*words, "--quiet", *more) for more in ((), ("-v",), ("--verbose",)))
    assert short.code == long.code == longer.code
    [count] = re.findall(r"^(\d+) (?:holds?|(?:are|is) proven) \(-v lists (?:them|it)\)$", short.out, re.MULTILINE)
    rows = [line for line in long.out.splitlines() if re.match(r"\S+  +(proven|holds)\b", line)]
    assert len(rows) == int(count) > 0
    assert "-v lists" not in long.out
    assert not [line for line in short.out.splitlines() if re.match(r"\S+  +(proven|holds)\b", line)]
    assert [line.split()[0] for line in rows] == [
        line.split()[0] for line in longer.out.splitlines() if re.match(r"\S+  +(proven|holds)\b", line)
    ]


def test_the_check_lists_what_is_unexpected_before_all() -> None:
    """A verdict that is not the expected one is listed first even where it holds; what fails comes next."""
    rows = [("one", "tiny", "fixed"), ("one", "tiny", "kip")]
    verdicts = {one.claim: one for one in JUDGED}
    surprise = {(rows[0], "second-holds")}
    explored = [SimpleNamespace(row=row, verdicts=JUDGED, verdict=verdicts.__getitem__) for row in rows]
    listed, count = table(explored, surprise, verbose=False)  # type: ignore[arg-type]
    names = [row[0].plain for row in listed.rows]
    assert (names, count) == (["second-holds", "broken", "cut", "open", "empty"], 1)
    assert [row[1].plain for row in listed.rows][:2] == ["holds UNEXPECTED", "refuted 3"]
    listed, count = table(explored, surprise, verbose=True)  # type: ignore[arg-type]
    assert ([row[0].plain for row in listed.rows], count) == ([*names, "first-holds"], 0)
