"""Every citation leads somewhere: a URL by its form, or an anchor that a page of the docs has."""

from __future__ import annotations

import functools
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from kraftcheck.ci.systems.lookup import entries, every_property
from kraftcheck.model.rules.ruleset import variants
from kraftcheck.properties.catalogue import SYSTEMS
from kraftcheck.properties.register.citations import (
    CATALOGUE,
    CLASSES,
    LINES,
    RELEASED,
    SEMANTICS,
    WITHOUT_CLASS,
    UnknownCitation,
    references,
)
from kraftcheck.properties.register.defects import BUGS
from tests.shared.places import ROOT

ANCHOR = re.compile(r'<a id="([^"]+)"></a>')
NUMBERED = re.compile(
    r"\b(KIP-\d+|KAFKA-\d+|PR \d+|semantics \d+(?:\.\d+)?|invariant \d+|catalogue \d+|[BXS]\d{1,2})\b"
)
METHOD = re.compile(r"`([A-Z]\w+\.[a-z]\w+)`")


@functools.cache
def anchors_of(path: Path) -> frozenset[str]:
    """The anchors of a page; its own start is the empty one."""
    return frozenset({"", *ANCHOR.findall(path.read_text(encoding="utf-8"))})


def fault(source: str) -> str | None:
    """Why a source leads nowhere; None where each of its citations leads somewhere."""
    try:
        found = references(source)
    except UnknownCitation as error:
        return str(error)
    for one in found:
        if one.target.startswith("https://"):
            continue
        page, _, anchor = one.target.partition("#")
        if not (ROOT / page).is_file():
            return f"{one.text}: {page} does not exist"
        if anchor not in anchors_of(ROOT / page):
            return f"{one.text}: {page} has no anchor {anchor}"
    return None


def sources() -> Iterator[tuple[str, str]]:
    """Every source with who cites it: rules, choices, properties, defects."""
    yield from ((f"rule {entry.rule.id}", entry.rule.source) for entry in entries())
    yield from ((f"choice {name}", choice.metadata["source"]) for name, choice in variants().items())
    for name, system in SYSTEMS.items():
        claims = every_property(name, system).values()
        yield from ((f"property {name} {claim.id}", claim.source) for claim in claims if claim.source)
    yield from ((f"defect {bug.variant}", bug.entry) for bug in BUGS)


def test_every_source_resolves() -> None:
    """Each citation of a rule, a choice, a property and a defect leads to a page that there is."""
    listed = list(sources())
    assert len(listed) > 500
    assert {who: told for who, source in listed if (told := fault(source)) is not None} == {}


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("B20", "has no anchor b20"),
        ("X9", "has no anchor x9"),
        ("invariant 49", "has no anchor invariant-49"),
        ("semantics 2.12", "has no anchor semantics-2-12"),
        ("catalogue 73", "has no anchor catalogue-73"),
        ("KIP-966; KIP-99999", "title of KIP-99999"),
        ("PartitionChangeBuilder.guess", "the line of the method is not in kafka.toml"),
        ("the usual mailing list", "is no citation"),
        ("", "is no citation"),
        ("KIP-966, B20", "has no anchor b20"),
    ],
)
def test_a_citation_that_leads_nowhere_is_found(source: str, why: str) -> None:
    """The check can fail: an unknown number, proposal, method, form, and one behind a comma."""
    assert why in str(fault(source))


def test_forms_lead_where_they_say() -> None:
    """An issue, a pull request, a proposal and a method lead to their pages; a detail stays with its citation."""
    found = {one.text: one.target for one in references("KAFKA-1; PR 2; KIP-497, draft; PartitionRegistration.merge")}
    assert found["KAFKA-1"] == "https://issues.apache.org/jira/browse/KAFKA-1"
    assert found["PR 2"] == "https://github.com/apache/kafka/pull/2"
    assert found["KIP-497, draft"].endswith("/KAFKA/KIP-497%3A+Add+inter-broker+API+to+alter+ISR")
    merged = found["PartitionRegistration.merge"]
    assert re.search(r"/blob/1eb7644\w+/metadata/.*PartitionRegistration\.java#L\d+$", merged)


def test_every_number_of_the_reference_pages_has_an_anchor() -> None:
    """Sections, steps, invariants, behaviours, entries and findings each have one anchor, no two the same."""
    for page, wanted in (
        (SEMANTICS, [*(f"semantics-{n}" for n in range(1, 14)), *(f"semantics-2-{n}" for n in range(1, 12)),
                     *(f"semantics-6-{n}" for n in range(1, 8)), *(f"invariant-{n}" for n in range(1, 49)),
                     *(f"b{n}" for n in range(1, 20))]),
        (CATALOGUE, [*(f"catalogue-{n}" for n in range(1, 73)), *(f"x{n}" for n in range(1, 9)), "s1", "s2", "seeded"]),
    ):  # fmt: skip
        found = ANCHOR.findall((ROOT / page).read_text(encoding="utf-8"))
        assert set(wanted) <= set(found)
        assert len(found) == len(set(found))


def prose() -> Iterator[tuple[str, str]]:
    """The docstrings and comments of rules and properties, with their places."""
    for layer in ("model", "properties"):
        for path in sorted((ROOT / layer).rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            for token in tokenize.generate_tokens(io.StringIO(text).readline):
                if token.type == tokenize.COMMENT or token.string.startswith('"""'):
                    yield f"{path.relative_to(ROOT)}:{token.start[0]}", token.string


def test_numbers_in_docstrings_resolve() -> None:
    """What a docstring or a comment cites by number is on the pages, too."""
    cited = [(place, number) for place, text in prose() for number in NUMBERED.findall(text)]
    assert len(cited) > 80
    assert {f"{place} {number}": told for place, number in cited if (told := fault(number)) is not None} == {}


def test_methods_of_kafka_in_docstrings_are_in_its_source() -> None:
    """A method of one of Kafka's classes that a docstring names is in the table of lines, or of releases."""
    named = [(place, name) for place, text in prose() for name in METHOD.findall(text) if name.split(".")[0] in CLASSES]
    assert len(named) > 20
    assert [(place, name) for place, name in named if name not in LINES and name not in RELEASED] == []


def test_no_class_of_kafka_is_listed_for_nothing() -> None:
    """Methods belong to listed classes, and short names to listed methods."""
    assert {name.split(".")[0] for name in [*LINES, *RELEASED]} <= CLASSES.keys()
    assert {name for name in WITHOUT_CLASS.values() if name not in LINES} == set()
