"""Claims of the documentation that carry a name, a number or a code are those of the sources."""

from __future__ import annotations

import re

from kraftcheck.ci.bench.native.cases import CASES
from kraftcheck.properties.catalogue import find
from kraftcheck.properties.long_runs import BEYOND
from kraftcheck.solvers.logs.explain.judge import UNLOGGED
from kraftcheck.solvers.program import verdict
from tests.shared.places import DOCS, ROOT

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS.rglob("*.md")]


def test_every_benchmark_that_a_page_names_is_one() -> None:
    """Behind the benchmark's command stands the name of a case, or an option."""
    command = re.compile(r"kraftcheck\.ci\.bench ([a-z][a-z0-9-]+)")
    named = {name for page in PAGES for name in command.findall(page.read_text(encoding="utf-8"))}
    assert named
    assert named - {case.name for case in CASES} == set()


def test_every_exit_code_of_a_verdict_is_listed() -> None:
    """The table of verdicts has the exit code of each, that of a refuted `recovers` property among them."""
    text = (DOCS / "reference" / "reports.md").read_text(encoding="utf-8")
    table = text.partition("## Verdicts")[2].partition("## Exit codes")[0]
    told = {int(code) for row in re.findall(r"\| ([^|]*) \|$", table, re.MULTILINE) for code in re.findall(r"\d+", row)}
    codes = {value for name, value in vars(verdict).items() if name.startswith("EXIT_")}
    assert told == codes
    assert verdict.EXIT_LIVENESS == 13


def largest(system: str, bound: str) -> str:
    """The largest value of a bound in the long runs of a system; nothing where it has no such bound."""
    values = [one.setting(find(system), 10).bounds.get(bound, 0) for one in BEYOND[system]]
    return str(max(values) or "")


def test_sizes_of_long_runs_are_those_of_their_settings() -> None:
    """The page tells the brokers and directories of the largest setting of each system of brokers."""
    text = (DOCS / "how-to" / "testing.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([a-z-]+)` \| (\d+) \| (\d*) ?\|$", text, re.MULTILINE)
    assert {name for name, _, _ in rows} == {name for name in BEYOND if largest(name, "brokers")}
    assert [(name, largest(name, "brokers"), largest(name, "directories")) for name, _, _ in rows] == rows


def test_the_page_on_replay_names_what_is_not_judged() -> None:
    """Every property that a log cannot show is named on the page, as one that is left out."""
    page = " ".join((DOCS / "how-to" / "replay.md").read_text(encoding="utf-8").split())
    left_out = page.partition("Left out are ")[2].partition("which a log cannot show")[0]
    assert set(re.findall(r"`([a-z-]+)`", left_out)) == set(UNLOGGED)
