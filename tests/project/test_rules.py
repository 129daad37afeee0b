"""Rules, citations and the README: each leads somewhere, has what it needs, and says what data say."""

import functools
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import attrs
import pytest

from kraftcheck.ci.systems.lookup import RuleEntry, entries, every_property, find_system, names_in
from kraftcheck.model.rules.ruleset import parse, variants
from kraftcheck.properties.catalogue import SYSTEMS
from kraftcheck.properties.register.citations import (
    CATALOGUE,
    CLASSES,
    INVARIANTS,
    LINES,
    RELEASED,
    SEMANTICS,
    WITHOUT_CLASS,
    UnknownCitation,
    references,
)
from kraftcheck.properties.register.defects import BUGS
from kraftcheck.properties.register.rules import UNCOVERED
from kraftcheck.properties.register.verdicts import EVERY, EXPECTED_LIVENESS
from tests.documentation.console import files_of
from tests.documentation.findings import in_short
from tests.documentation.register.verdicts import worst
from tests.properties.register import rules_page
from tests.shared.places import DOCS, ROOT

RULES = entries()
BY_ID = {entry.rule.id: entry for entry in RULES}
CLAIMS = {(check.system, check.claim.id): check.claim for entry in RULES for check in entry.checks}


def uncovered_faults(checked: dict[str, bool], reasons: dict[str, str]) -> list[str]:
    """Rules that neither a property nor a reason covers, and reasons of no use."""
    bare = [name for name, some in checked.items() if not some and name not in reasons]
    faults = [f"{name}: no property and no reason" for name in bare]
    faults += [f"{name}: a reason, and a property" for name in reasons if checked.get(name)]
    return faults + [f"{name}: a reason for no rule" for name in reasons if name not in checked]


def test_ids_are_unique() -> None:
    """No two functions note a rule of one id."""
    ids = [entry.rule.id for entry in RULES]
    assert len(ids) == len(set(ids))
    assert len(ids) > 200


def test_every_rule_is_a_sentence() -> None:
    """A rule says something, in a sentence with its full stop."""
    assert [name for name, entry in BY_ID.items() if not re.fullmatch(r"[A-Z].{15,}\.", entry.rule.says)] == []


def test_every_rule_is_where_the_index_says() -> None:
    """The line that the index gives is the one that has the id."""
    for entry in RULES:
        assert f'"{entry.rule.id}"' in entry.file.read_text(encoding="utf-8").splitlines()[entry.line - 1]


def test_every_choice_changes_a_rule() -> None:
    """Each choice of the rule sets is a switch of some rule, and each switch is a choice."""
    switches = {name for entry in RULES for name in entry.rule.switches}
    assert switches == set(variants())


def test_a_switch_is_read_beside_its_rule() -> None:
    """The code that reads a choice is in the folder of each function that names it as a switch."""
    texts: dict[Path, str] = {}
    unread = []
    for entry in RULES:
        folder = entry.file.parent
        if folder not in texts:
            texts[folder] = "\n".join(path.read_text(encoding="utf-8") for path in folder.glob("*.py"))
        unread += [
            f"{entry.rule.id}: {name}"
            for name in entry.rule.switches
            if not re.search(rf"\.{name.replace('-', '_')}\b", texts[folder])
        ]
    assert unread == []


def test_every_rule_is_checked_or_has_a_reason() -> None:
    """A rule that no property names has a reason, and no reason outlives its cause."""
    assert uncovered_faults({name: bool(entry.checks) for name, entry in BY_ID.items()}, UNCOVERED) == []
    assert [name for name, reason in UNCOVERED.items() if len(reason) < 40] == []


def test_a_rule_without_property_and_reason_is_found() -> None:
    """The check can fail: a rule alone, a reason too many, and a reason for a rule that is gone."""
    assert uncovered_faults({"a.b": False}, {}) == ["a.b: no property and no reason"]
    assert uncovered_faults({"a.b": True}, {"a.b": "because"}) == ["a.b: a reason, and a property"]
    assert uncovered_faults({}, {"a.b": "because"}) == ["a.b: a reason for no rule"]
    assert uncovered_faults({"a.b": False, "c.d": True}, {"a.b": "because"}) == []


def switched_by(variant: str) -> set[str]:
    """The rules that a variant switches."""
    return {entry.rule.id for entry in RULES if names_in(variant) & set(entry.rule.switches)}


def test_a_property_names_the_rules_that_its_variants_break() -> None:
    """Each variant that refutes a property switches a rule that the property names, and each rule named exists."""
    for where, claim in CLAIMS.items():
        assert set(claim.rules) <= BY_ID.keys(), where
        assert len(claim.rules) == len(set(claim.rules)), where
        for variant in claim.refuted_by:
            assert switched_by(variant) & set(claim.rules), (where, variant)


def test_every_claim_that_can_be_refuted_names_a_rule() -> None:
    """No property of a shipped system is about nothing that the model states."""
    silent = [
        f"{name} {claim.id}"
        for name, system in SYSTEMS.items()
        for claim in every_property(name, system).values()
        if claim.refuted_by and not claim.rules
    ]
    assert silent == []


def test_the_page_of_rules_has_each() -> None:
    """Every rule can be linked to on its page."""
    written = rules_page.page()
    assert [name for name in BY_ID if f'id="{name}"' not in written] == []


def test_an_entry_shows_its_file_from_where_one_stands(tmp_path: Path) -> None:
    """Below the folder where one stands a file is shown relative to it, elsewhere in full."""
    entry = RULES[0]
    assert entry.shown_file(entry.file.parent) == entry.file.name
    moved: RuleEntry = attrs.evolve(entry, file=entry.file)
    assert moved.shown_file(tmp_path) == str(entry.file)


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
        (SEMANTICS, [*(f"semantics-{n}" for n in (*range(1, 10), 12, 13)), *(f"semantics-2-{n}" for n in range(1, 12)),
                     *(f"semantics-6-{n}" for n in range(1, 8))]),
        (INVARIANTS, [*(f"invariant-{n}" for n in range(1, 49)), *(f"b{n}" for n in range(1, 20))]),
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


TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_readme_is_short() -> None:
    """The README has at most 120 lines, a trace among them."""
    assert len(TEXT.splitlines()) <= 120
    assert "```console\n$ kraftcheck explore " in TEXT


def test_example_system_is_short() -> None:
    """The tutorial's example of a user's own system has at most 40 lines."""
    page = (DOCS / "tutorial" / "a-system-of-your-own.md").read_text(encoding="utf-8")
    assert len(files_of(page)["lease.py"].splitlines()) <= 40


def test_results_at_a_glance_are_the_expected_data() -> None:
    """Every cell of the README's table of promises is the worst expected verdict over all scopes, large ones too."""
    row = re.compile(r"^\| [^|]+ \| `(\S+)` `(\S+)` \| ([^|]+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)
    found = row.findall(TEXT)
    assert len(found) > 10
    assert {row[0] for row in EXPECTED_LIVENESS} & {system for system, *_ in found}
    for system, claim, *cells in found:
        claims = find_system(system).properties(find_system(system).setting(rules=parse("kafka-4.4.0")))
        assert claim in {known.id for known in claims}
        told = [worst(EVERY, system, claim, rules) for rules in ("kafka-4.4.0", "kafka-3.9", "kip", "fixed")]
        assert cells == told, f"{system} {claim}"


def test_the_findings_are_those_of_the_newest_release() -> None:
    """The README's table of findings has those that the newest release has, by what they cost."""
    assert f"| cost | findings | the first |\n|---|---|---|\n{in_short()}\n" in TEXT


def test_links_lead_to_files() -> None:
    """Every relative link of the README and of the docs leads to a file or folder."""
    for page in (ROOT / "README.md", *sorted(DOCS.rglob("*.md"))):
        for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
