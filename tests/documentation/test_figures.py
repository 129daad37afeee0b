"""Figures of the documentation: lengths, numbers of proofs and sizes are those of the data; others are measured."""

import functools
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from kraftcheck.properties.register.defects import BUGS
from kraftcheck.properties.register.verdicts import EVERY
from tests.documentation.pages import PAGES as MADE
from tests.shared.places import DOCS, ROOT

FENCED = re.compile(r"^```(\w+).*?^```$", re.MULTILINE | re.DOTALL)
TOLD = re.compile(r"`([a-z][a-z0-9-]+)`[^`.;]{0,40}?\b(\d+) steps?\b")
"""A property, and not far behind it a number of steps."""

WORDS = {"three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10}
"""Lengths in words; in one step, or in two, stands for how many a change is made of."""

LENGTH = re.compile(
    r"\b\d+(?:(?:,| and| or) \d+)*(?= steps?\b)|(?<=broken in )\d+(?: and \d+)*"
    rf"|(?<= in )(?:{'|'.join(WORDS)})(?= steps\b)"
)
NAMED = re.compile(r"`([a-z][a-z0-9+-]+)`")

SCOPES = DOCS / "reference" / "scopes.md"
LAYERS = ("model", "properties", "solvers", "ci", "tests")
PAGES = sorted((DOCS / "explanation").rglob("*.md"))
TELLING = [page for page in PAGES if page.parent.name != "adr"]
"""Pages whose lengths are today's; a decision keeps those of its day."""


@functools.cache
def lengths() -> Mapping[str, frozenset[int]]:
    """The lengths of the traces of each property, in any scope, under any rules, and of those that a variant makes."""
    known: dict[str, set[int]] = defaultdict(set)
    for row in EVERY.values():
        for claim, verdict in row.items():
            if verdict.startswith("refuted "):
                known[claim].add(int(verdict.removeprefix("refuted ")))
    for bug in BUGS:
        for claim, steps in bug.refutes.items():
            for name in (claim, bug.variant, *bug.variant.split("+")):
                known[name].add(steps)
    return {name: frozenset(steps) for name, steps in known.items()}


def told_by(page: Path) -> list[tuple[str, int]]:
    """Each property of a page with the number of steps beside it."""
    text = " ".join(page.read_text(encoding="utf-8").split())
    return [(claim, int(steps)) for claim, steps in TOLD.findall(text)]


def test_lengths_are_those_of_some_verdict() -> None:
    """A page gives a property no length that no expected verdict and no defect has."""
    known = lengths()
    told = [(page.name, claim, steps) for page in PAGES for claim, steps in told_by(page) if claim in known]
    assert [one for one in told if one[2] not in known[one[1]]] == []


def nobodys_lengths(text: str) -> Iterator[tuple[int, str]]:
    """Each number of steps that nothing named in its passage has, with the passage; a measurement says who has it."""
    for passage in re.split(r"\n\n|^(?=[*|#] ?)", FENCED.sub("", text), flags=re.MULTILINE):
        if not MEASURED.search(passage):
            known = frozenset().union(*(lengths().get(name, ()) for name in NAMED.findall(passage)))
            told = re.findall(r"\w+", " ".join(LENGTH.findall(" ".join(passage.split()))))
            numbers = (WORDS.get(one) or int(one) for one in told if one not in ("and", "or"))
            yield from ((steps, passage) for steps in numbers if steps not in known)


@pytest.mark.parametrize("page", TELLING, ids=lambda page: str(page.relative_to(DOCS)))
def test_a_number_of_steps_is_that_of_a_property_or_variant_beside_it(page: Path) -> None:
    """A paragraph, an item or a row of a table tells no length that no property and no variant named there has."""
    assert list(nobodys_lengths(page.read_text(encoding="utf-8"))) == []


def test_a_number_of_steps_of_nobody_is_found() -> None:
    """A length of another property is told, one of a passage that names nothing, and each of two."""
    claim, other = "leader-complete", "fenced-until-settled"
    steps, wrong = min(lengths()[claim] - lengths()[other]), max(lengths()[claim] | lengths()[other]) + 1
    text = f"`{claim}` in {steps} and {wrong} steps.\n\nIt takes {steps} steps.\n| `{other}` | broken in {steps} |\n"
    assert [found for found, _ in nobodys_lengths(text)] == [wrong, steps, steps]
    assert [found for found, _ in nobodys_lengths("It breaks in nine steps, as two do in two steps.")] == [9]
    assert list(nobodys_lengths(f"* `{claim}` ({steps} steps)\n```text\n{wrong} steps\n```\n")) == []


def test_many_lengths_are_compared() -> None:
    """The pattern sees lengths, of properties that have verdicts: more than fifteen."""
    known = lengths()
    assert sum(claim in known for page in PAGES for claim, _ in told_by(page)) > 15


GROUPED = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?!\d)")  # a number with separators of thousands, as prose has it

LITERAL = re.compile(r"\b1 << (\d+)\b|\b(\d[\d_,]*\d)\b")
MEASURED = re.compile(
    r"measured|printed|processor (?:time|seconds)|\bon an? (?:[\w-]+ )?machine|on (?:\d+|two) cores", re.IGNORECASE
)
"""How a passage says that its figures are those of a run, not of today's sources."""

PROSE = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted({*DOCS.rglob("*.md")} - {*MADE})]
SIZED = re.compile(r"^\| `(\S+)` \| `(\S+)` \| [^|]* \| ([\d,]+) \|", re.MULTILINE)
IN_SCOPE = re.compile(r"`([a-z-]+)`, `([a-z-]+)`, `fixed`(?P<rest>[^|]*(?:\| *[^|]*)?)")


@functools.cache
def compared() -> frozenset[str]:
    """Every number that a console block shows, or data, a source or a test has; without separators."""
    texts = [path.read_text(encoding="utf-8") for path in MADE]
    texts += [path.read_text(encoding="utf-8") for layer in LAYERS for path in (ROOT / layer).rglob("*.py")]
    texts += [block[0] for path in PROSE for block in FENCED.finditer(path.read_text("utf-8")) if block[1] == "console"]
    found = (match for text in texts for match in LITERAL.finditer(text))
    return frozenset(str(1 << int(one[1])) if one[1] else re.sub("[_,]", "", one[2]) for one in found)


def loose_figures(text: str) -> Iterator[str]:
    """The large numbers in the prose of a page that nothing compares, in passages that do not say who measured them."""
    for passage in re.split(r"^(?=#)", FENCED.sub("", text), flags=re.MULTILINE):
        if not MEASURED.search(passage):
            yield from (one for one in GROUPED.findall(passage) if one.replace(",", "") not in compared())


def test_a_large_number_in_prose_is_compared_or_measured() -> None:
    """It is in a console block, in data, a source or a test, or its passage says that it was measured."""
    assert [(page.name, one) for page in PROSE for one in loose_figures(page.read_text(encoding="utf-8"))] == []


def test_a_number_that_nothing_compares_is_found() -> None:
    """A figure of nobody is listed, in a table too; one of a console block, a constant or a measurement is not."""
    nobodys = f"{7**11:,}"
    assert list(loose_figures(f"# A\n\nThere are {nobodys} states.\n\n| a | {nobodys} |\n")) == [nobodys, nobodys]
    assert list(loose_figures(f"Measured on 2 cores: {nobodys} states.\n")) == []
    assert list(loose_figures(f"It allows 65,536, and finds 18,704.\n```text\n{nobodys}\n```\n")) == []


def stale_sizes(text: str) -> Iterator[tuple[str, str, str]]:
    """System, scope and states of a page where `fixed` rules have another number of states."""
    sizes = {(system, scope): states for system, scope, states in SIZED.findall(SCOPES.read_text(encoding="utf-8"))}
    for told in IN_SCOPE.finditer(text):
        states = GROUPED.search(told["rest"])
        if states and "first" not in told["rest"] and sizes.get((told[1], told[2]), states[0]) != states[0]:
            yield told[1], told[2], states[0]


def test_a_scope_has_the_same_size_on_every_page() -> None:
    """States beside a system, a scope and `fixed` are those of the page of scopes, in a measurement too."""
    assert [(page.name, one) for page in PROSE for one in stale_sizes(page.read_text(encoding="utf-8"))] == []


def test_another_size_of_a_scope_is_found() -> None:
    """A table and a sentence with another number of states are told; part of a space is not."""
    told = "`elections`, `tiny`, `fixed` | 17,800 | and `elections`, `tiny`, `fixed`, 17,801 states"
    assert [states for _, _, states in stale_sizes(told)] == ["17,800", "17,801"]
    assert list(stale_sizes("`elections`, `tiny`, `fixed`, the first 17,000 | 3 |")) == []


def measured(kind: str) -> list[dict[str, Any]]:
    """The rows that `python -m kraftcheck.ci.bench --KIND --json docs/reference/bench-KIND.json` wrote."""
    rows: list[dict[str, Any]] = json.loads((DOCS / "reference" / f"bench-{kind}.json").read_text(encoding="utf-8"))
    return rows


def test_rates_of_explored_classes_are_those_measured() -> None:
    """The table of the page on Kafka's classes is that of the benchmark, at the load that it says."""
    page = (DOCS / "how-to" / "explore-kafka.md").read_text(encoding="utf-8")
    table = [line for line in page.splitlines() if re.match(r"\| `[a-z]+` \| \d thread", line)]
    counts, times = ("distinct", "generated", "answers"), ("search s", "CPU s", "of Java", "load")
    assert table == [
        " | ".join((f"| `{row['case']}`", row["contender"], *(f"{row[name]:,.0f}" for name in counts),
                    *(f"{row[name]:.0f}" for name in times))) + " |"
        for row in measured("kafka")
    ]  # fmt: skip


def test_times_of_a_branch_are_those_measured() -> None:
    """The page for who works on Kafka tells when the first and the last answer came, and at which load."""
    page = " ".join((DOCS / "how-to" / "branch.md").read_text(encoding="utf-8").split())
    (row,) = measured("branch")
    assert row["first s"] < 60
    assert (f"the first answer came after {row['first s']:.0f} s, the last after {row['seconds']:.0f}, with "
            f"{row['CPU s']:.0f} s of a processor, at a load of {row['load']:.0f}") in page  # fmt: skip
