"""Claims of the documentation that carry a name, a number or a code are those of the sources."""

import re
import tomllib

import pytest

from kraftcheck.ci.bench.cases import BENCHMARKS, NATIVE
from kraftcheck.ci.conformance.kafka.build import DECIDING
from kraftcheck.ci.conformance.kafka.fuzz.run import LENGTH
from kraftcheck.ci.dataset.liveness import MOST as MOST_CONSTRAINTS
from kraftcheck.ci.dataset.store.manifests import MOST_BYTES as MOST_SEALED
from kraftcheck.ci.logs.condition import EXITS as STATUS_EXITS
from kraftcheck.ci.logs.format.read import MAX_LOG_BYTES
from kraftcheck.ci.logs.format.segments import MAX_EXPANDED
from kraftcheck.ci.logs.report import NON_CONFORMANT
from kraftcheck.ci.run.formats import MOST_BYTES as MOST_SARIF
from kraftcheck.ci.run.formats import ReportLimits
from kraftcheck.ci.run.reports import MOST_ANNOTATIONS
from kraftcheck.ci.spark.jobs import SMALL, VISITED_BYTES
from kraftcheck.ci.systems import report
from kraftcheck.ci.terminal.commands import EXIT_DISAGREEMENT, EXIT_FAULT, EXIT_OUTPUT_CLOSED, EXIT_USAGE
from kraftcheck.ci.terminal.console import PLAIN_WIDTH
from kraftcheck.ci.terminal.files import MAX_JSON_BYTES, MAX_NESTING
from kraftcheck.ci.terminal.interrupts import EXIT_INTERRUPTED
from kraftcheck.ci.verdicts.run_table import MOST_BYTES as MOST_TOML
from kraftcheck.model.language.layout import MAX_WORDS, WORD_BITS
from kraftcheck.model.language.symmetry import MOST_MEMBERS
from kraftcheck.model.language.system import LIVENESS
from kraftcheck.model.language.terms import MASK_BITS
from kraftcheck.solvers.audit.audit import DISABLED_COMPARED, DISABLED_WHERE_CUT, ENABLED_COMPARED
from kraftcheck.solvers.expressions.checking import MAX_COST, MAX_DEPTH, MAX_LENGTH
from kraftcheck.solvers.liveness.behaviours import MANY_ROUNDS
from kraftcheck.solvers.liveness.fair import MANY_SWEEPS
from kraftcheck.solvers.logs.explain.judge import UNLOGGED
from kraftcheck.solvers.program import verdict
from kraftcheck.solvers.program.program import MAX_INSTANCES
from kraftcheck.solvers.program.starts import MOST_STATES as MOST_INITIAL
from kraftcheck.solvers.reference.confirm import CLOSURE_LIMIT
from kraftcheck.solvers.smt.worker import PARTS
from kraftcheck.solvers.walks.walks import SAMPLED_RUNS
from tests.documentation.test_figures import FENCED
from tests.properties.register import rules_page
from tests.shared.places import DOCS, ROOT
from tests.solvers.hypothesis.profiles import PROFILES

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS.rglob("*.md")]


def test_every_benchmark_that_a_page_names_is_one() -> None:
    """Behind the benchmark's command stands the name of a case, or an option."""
    command = re.compile(r"kraftcheck\.ci\.bench(?: --([a-z]+))?((?: [a-z][a-z0-9.-]+)*)[`\n]")
    named = {pair for page in PAGES for pair in command.findall(page.read_text(encoding="utf-8"))}
    assert len(named) > 9
    for kind, cases in named:
        assert set(cases.split()) <= (BENCHMARKS[kind] if kind else NATIVE).cases.keys(), kind


def test_no_page_installs_a_name_that_has_no_release() -> None:
    """Behind `pip install` stands a checkout, a wheel or a library, never a name that a stranger could take."""
    taken = re.compile(r"pip install[^\n`]*[ '\"]kraftcheck\b(?!/)")
    assert [page.name for page in PAGES if taken.search(page.read_text(encoding="utf-8"))] == []
    assert taken.search("pip install 'kraftcheck[disk]'")


def test_every_exit_code_of_a_verdict_is_listed() -> None:
    """The table of verdicts has the exit code of each, that of a refuted `recovers` property among them."""
    text = (DOCS / "reference" / "reports.md").read_text(encoding="utf-8")
    table = text.partition("## Verdicts")[2].partition("## Exit codes")[0]
    told = {int(code) for row in re.findall(r"\| ([^|]*) \|$", table, re.MULTILINE) for code in re.findall(r"\d+", row)}
    codes = {value for name, value in vars(verdict).items() if name.startswith("EXIT_")}
    assert told == codes
    assert verdict.EXIT_LIVENESS == 13


def test_the_glossary_has_every_word_of_a_verdict() -> None:
    """Each verdict, each kind of property, and what a state without a successor is called."""
    known = set(re.findall(r"[a-z_]+", (DOCS / "reference" / "glossary.md").read_text(encoding="utf-8").lower()))
    kinds = {"always", "step", "sometimes", "happens", "recovers", *LIVENESS}
    said = {"deadlock", "quiescent", *report.WORDS.values(), *kinds}
    assert said - known == set()
    assert "quiescent" in report.DEADLOCK_SAYS


EXITS = re.compile(r"\bexit(?:s|ed)?(?: with)?(?: the)?(?: exit)?(?: codes?| status)?(?: is)? (\d+)\b", re.IGNORECASE)
CODED = re.compile(r"\b(holds|incomplete|vacuous|unknown)`? \((?:exit(?: code)? )?(\d+)\)")
ROW = re.compile(r"^\| `?(holds|incomplete|vacuous|unknown)\b.*\| (\d+) \|$", re.MULTILINE)
OF_WORDS = {"holds": verdict.EXIT_HOLDS, "incomplete": verdict.EXIT_INCOMPLETE, "vacuous": verdict.EXIT_VACUOUS,
            "unknown": verdict.EXIT_UNKNOWN}  # fmt: skip


def exit_codes() -> set[int]:
    """The codes of the table of exit codes."""
    table = (DOCS / "reference" / "reports.md").read_text(encoding="utf-8").partition("## Exit codes")[2]
    rows = re.findall(r"^\| ([\d, ]+) \|", table.partition("\n## ")[0], re.MULTILINE)
    return {int(code) for row in rows for code in row.split(", ")}


def test_the_exit_codes_of_commands_are_listed() -> None:
    """The table has those of verdicts, bad input, what does not conform, clusters in trouble, faults, who stops."""
    of_verdicts = {value for name, value in vars(verdict).items() if name.startswith("EXIT_")}
    others = {EXIT_USAGE, EXIT_DISAGREEMENT, EXIT_OUTPUT_CLOSED, EXIT_FAULT, EXIT_INTERRUPTED, NON_CONFORMANT}
    assert exit_codes() - {1} == of_verdicts | others | {*STATUS_EXITS.values()}


def coded_rows(text: str) -> list[str]:
    """The codes of the tables of a page that begin with an exit code."""
    tables = re.findall(r"^\| exit code \|.*\n\|.*\n((?:\|.*\n)*)", text, re.MULTILINE)
    return [code for table in tables for code in re.findall(r"^\| (\d+) \|", table, re.MULTILINE)]


def miscoded(text: str) -> list[tuple[str, int]]:
    """Each verdict with a code that it has not, and each code that no command ends with."""
    prose = FENCED.sub("", text)
    flat = " ".join(prose.split())
    told = [(word, int(code)) for word, code in [*CODED.findall(flat), *ROW.findall(prose)]]
    ends = [("exit", int(code)) for code in [*EXITS.findall(flat), *coded_rows(prose)]]
    return [one for one in told if OF_WORDS[one[0]] != one[1]] + [one for one in ends if one[1] not in exit_codes()]


def test_an_exit_code_in_prose_is_that_of_its_verdict() -> None:
    """Beside a verdict stands its code, in a sentence or a table, and behind `exit` a code that is listed."""
    assert {page.name: found for page in PAGES if (found := miscoded(page.read_text(encoding="utf-8")))} == {}


def test_a_wrong_exit_code_is_found() -> None:
    """A code of another verdict, in a sentence, over two lines and in a table, and a code of nobody."""
    assert miscoded("| exit code | meaning |\n|---|---|\n| 0 | whole |\n| 7 | none |\n") == [("exit", 7)]
    text = "`unknown` (20), vacuous (exit\n22).\n\n| holds | whole | 12 |\n\nIt exits 5.\n\nunknown (exit code 22)\n"
    assert miscoded(text) == [("unknown", 20), ("vacuous", 22), ("holds", 12), ("exit", 5)]


def test_every_invariant_that_a_page_names_is_listed() -> None:
    """Behind `invariant` stands a number that the page of invariants has as a place."""
    places = set(re.findall(r'id="invariant-(\d+)"', (DOCS / "reference" / "invariants.md").read_text("utf-8")))
    named = re.compile(r"\binvariants? (\d+)(?:(?:-| and )(\d+))?", re.IGNORECASE)
    texts = [*(page.read_text("utf-8") for page in PAGES), rules_page.page()]
    told = {number for text in texts for found in named.findall(text) for number in found if number}
    assert len(told) > 20
    assert told - places == set()


LIMITS = (
    ("explanation/engines.md", f"looked at on ints, up to {CLOSURE_LIMIT:,}, and the trace"),
    ("explanation/engines.md", f"up to {ENABLED_COMPARED} of the instances that the engine takes"),
    ("explanation/engines.md", f"up to {DISABLED_COMPARED} of those that it does not take ({DISABLED_WHERE_CUT} where"),
    ("explanation/liveness.md", f"the beginnings of the first {SAMPLED_RUNS} runs"),
    ("explanation/liveness.md", f"under more than {MOST_CONSTRAINTS} constraints"),
    ("explanation/adr/0016-fairness-is-on-the-cycle.md", f"still rise after {MANY_SWEEPS} sweeps"),
    ("explanation/adr/0016-fairness-is-on-the-cycle.md", f"Where {MANY_ROUNDS} rounds have not sufficed"),
    ("explanation/security.md", f"| `run.json` | At most {MOST_SEALED >> 20} MB: each key"),
    ("explanation/security.md", f"| Manifests | At most {MOST_SEALED >> 20} MB each: as"),
    ("explanation/security.md", f"At most {MOST_TOML >> 10} KB of TOML, nested at most {MAX_NESTING} levels deep"),
    ("explanation/security.md", f"One member, of at most {MAX_EXPANDED >> 20} MB"),
    ("explanation/proofs.md", f"(of {PARTS['z3']}, of {PARTS['bitwuzla']} where Bitwuzla answers"),
    ("how-to/spark.md", f"Later levels of fewer than {SMALL:,} states"),
    ("how-to/spark.md", f"a quarter of `--memory` and {VISITED_BYTES >> 30} GB at most"),
    *(("../CONTRIBUTING.md", f"| {one.max_examples} | {one.stateful_step_count} |") for one in PROFILES.values()),
    ("reference/conformance.md", f"Sequences of about {LENGTH} requests are drawn"),
    ("how-to/branch.md", f"modules `{'`, `'.join(DECIDING[:-1])}` or `{DECIDING[-1]}` the exit code is"),
    ("reference/expressions.md", f"{MAX_LENGTH:,} characters, {MAX_DEPTH} levels of nesting, or {MAX_COST:,} op"),
    (
        "reference/file-formats.md",
        f"{ReportLimits().results:,} results, {ReportLimits().steps:,} steps in a thread flow",
    ),
    ("reference/file-formats.md", f"steps in a thread flow, {MOST_SARIF // 10**6} MB compressed"),
    ("reference/file-formats.md", f"GitHub shows {MOST_ANNOTATIONS} of a step"),
    ("reference/language.md", f"A whole state has at most {WORD_BITS * MAX_WORDS} bits;"),
    ("reference/language.md", f"| the numbers 0..{MASK_BITS - 1}; `just`"),
    ("reference/language.md", f"| {MAX_INSTANCES:,} action instances |"),
    ("reference/language.md", f"stands first. More than {MOST_INITIAL:,} are refused."),
    ("reference/language.md", f"| at most {MOST_MEMBERS} where a field names one by its number;"),
    ("reference/reports.md", f"as wide as the terminal, and {PLAIN_WIDTH} characters in a file"),
    ("reference/reports.md", f"at most {MAX_JSON_BYTES >> 20} MB, a log's of at most {MAX_LOG_BYTES >> 30} GB"),
)


@pytest.mark.parametrize(("page", "sentence"), LIMITS)
def test_a_limit_that_a_page_tells_is_that_of_the_sources(page: str, sentence: str) -> None:
    """The page says it with the number that the sources have."""
    assert sentence in " ".join((DOCS / page).read_text(encoding="utf-8").split())


def test_the_page_on_replay_names_what_is_not_judged() -> None:
    """Every property that a log cannot show is named on the page, as one that is left out."""
    page = " ".join((DOCS / "how-to" / "replay.md").read_text(encoding="utf-8").split())
    left_out = page.partition("Left out are ")[2].partition("which a log cannot show")[0]
    assert set(re.findall(r"`([a-z-]+)`", left_out)) == set(UNLOGGED)


def test_every_place_tells_the_same_version() -> None:
    """The package, its citation, the newest changes and the name of the wheel in a page are of one version."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    for page, words in (
        ("CITATION.cff", f"\nversion: {version}\n"),
        ("docs/how-to/ci.md", f"/kraftcheck-{version}-py3"),
    ):
        assert words in (ROOT / page).read_text(), page
    assert re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[1] == version  # type: ignore[index]
