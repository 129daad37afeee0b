"""The load-bearing table as a document and as pages, and witnesses of links from rules to properties."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from kraftcheck.ci.mutants.page import html, page, summary, verdict
from kraftcheck.ci.mutants.table import place, read_parts
from kraftcheck.model.language.words import Rule
from kraftcheck.model.rules.ruleset import parse, variants
from kraftcheck.properties.catalogue import SYSTEMS
from kraftcheck.properties.register.defects import with_variant
from kraftcheck.properties.register.rules import UNCOVERED
from kraftcheck.solvers.mutants.explore import Survived
from kraftcheck.solvers.mutants.source import StaleMutantError, source_mutant
from tests.ci.fuzz.bounds import spoken
from tests.ci.mutants.witnesses import Link, Witness, document, links, read_witnesses, steps_again
from tests.shared.commands import kraftcheck
from tests.shared.places import DOCS
from tests.shared.samples import one_in

PLACE = DOCS / "reference" / "load-bearing.json"
PARTS = read_parts(PLACE)
TEXT = page(PARTS)


class Rows(HTMLParser):
    """Reads the rows of a page: attributes and cells."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows: list[tuple[dict[str, str | None], list[str]]] = []
        self.tags: Counter[str] = Counter()
        self.urls: list[str] = []
        self.in_cell = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.urls += [value or "" for name, value in attrs if name in ("src", "href")]
        if tag == "tr":
            self.rows.append((dict(attrs), []))
        if tag == "td":
            self.rows[-1][1].append("")
            self.in_cell = True

    def handle_endtag(self, tag: str) -> None:
        self.in_cell = self.in_cell and tag != "td"

    def handle_data(self, data: str) -> None:
        if self.in_cell:
            self.rows[-1][1][-1] += data


def test_the_page_to_filter_has_every_row_and_loads_nothing() -> None:
    """Each mutant has a row with what it is filtered by and what it breaks; no address is in the page."""
    text = html(PARTS)
    read = Rows(text)
    written = [(attributes, cells) for attributes, cells in read.rows if cells]
    rows = [row for part in PARTS for row in part.rows]
    wanted = Counter((row.system, place(row.mutant), verdict(row), " ".join(row.properties())) for row in rows)
    shown = [tuple(a[f"data-{name}"] for name in ("system", "rule", "verdict", "properties")) for a, _ in written]
    assert Counter(shown) == wanted
    assert Counter(cells[-1].partition(" (scope ")[0] for _, cells in written) == Counter(
        row.breaks_text().partition(" (scope ")[0] for row in rows
    )
    assert read.urls == []
    assert re.search(r"https?:|@import|url\(", re.sub(r"<tbody>.*</tbody>", "", text, flags=re.DOTALL)) is None
    assert read.tags["select"] == 4


def test_markup_in_rules_stays_text() -> None:
    """A condition that looks like markup is text in the page, and ends no element of it."""
    [part, *_] = PARTS
    odd = "</td><script>alert(1)</script>"
    row = part.rows[0]
    marked = evolve(part, rows=(evolve(row, mutant=evolve(row.mutant, part=odd, call=odd)),))
    read = Rows(html([marked]))
    assert read.tags["script"] == 2
    assert [cells[2] for _, cells in read.rows if cells] == [odd]


def numbers(text: str, name: str) -> list[int]:
    """The numbers of a row of the summary."""
    [line] = re.findall(rf"^\| {name}.*$", text, re.MULTILINE)
    return [int(cell.replace(",", "")) for cell in line.strip("| ").split(" | ")[1:]]


def test_the_summary_adds_up() -> None:
    """The totals of the page count the rows of each system, outcomes and judgements of survivors, and their sums."""
    parts = [numbers(TEXT, f"`{part.system}`") for part in PARTS]
    assert [row[0] for row in parts] == [len(part.rows) for part in PARTS]
    assert numbers(TEXT, "all") == [sum(column) for column in zip(*parts, strict=True)]
    [head] = re.findall(r"^\| system \|.*$", TEXT, re.MULTILINE)
    titles = head.strip("| ").split(" | ")[2:]
    survivors = titles.index("survives")
    for part, row in zip(PARTS, parts, strict=True):
        told = dict(zip(titles, row[1:], strict=True))
        alive = [one for one in part.rows if isinstance(one.outcome, Survived)]
        assert told["survives"] == len(alive) == sum(row[survivors + 3 :])
        assert told["killed"] == sum(one.word == "killed" for one in part.rows)
        assert told["redundant"] == sum(one.judged[0] == "redundant" for one in alive)
    assert list(summary([("x, scope y", ())]))[-1].startswith("| all | 0 |")


def section(title: str) -> str:
    """A section of the findings."""
    [body] = re.findall(rf"^### {title}\n\n(.*?)(?=^##|\Z)", TEXT, flags=re.MULTILINE | re.DOTALL)
    return str(body)


def test_the_findings_are_those_of_the_rows() -> None:
    """Each judgement by people is on the page with its rules; so are rules without a property or an effect."""
    alive = [row for part in PARTS for row in part.rows if isinstance(row.outcome, Survived)]
    titles = {"redundant": "Checks that others make up for",
              "scope": "Checks of what no scope has"}  # fmt: skip
    for kind, title in titles.items():
        reasons = Counter(row.judged[1] for row in alive if row.judged[0] == kind)
        lines = section(title).splitlines()
        told = {line[2:].rpartition(": `")[0].split(": `")[0]: line for line in lines if line.startswith("* ")}
        for reason, count in reasons.items():
            [line] = [line for line in lines if line.startswith(f"* {reason}: ")]
            names = re.findall(r"`([^`]+)`(?: \((\d+)\))?(?:,|$)", line[len(f"* {reason}: ") :])
            assert sum(int(number or 1) for _, number in names) == count, reason
        assert len(told) == len(reasons)
    assert set(re.findall(r"`([\w.-]+)`", section("Rules without a property"))) >= set(UNCOVERED)
    idle = set(re.findall(r"`([^`]+)`", section("Rules without effect in these scopes")))
    by_rule: dict[str, set[str]] = {}
    for row in (row for part in PARTS for row in part.rows):
        by_rule.setdefault(row.mutant.group.rpartition(":")[2], set()).add(verdict(row))
    assert idle == {name for name, verdicts in by_rule.items() if verdicts == {"survives: no effect"}}
    never = section("Properties that are never the first to break")
    for part in PARTS:
        first = {name for row in part.rows for name in row.properties()}
        lines = re.findall(rf"^\* `{part.system}`: (.*)$", never, re.MULTILINE)
        assert set(re.findall(r"`([^`]+)`", "".join(lines))) == set(part.sentences) - first


def test_pages_are_written_from_a_document_as_from_a_run(tmp_path: Path) -> None:
    """--from gives the pages, the document and the exit code of the run that wrote it, and explores nothing."""
    run, again = ({name: tmp_path / f"{folder}.{name}" for name in ("json", "html", "md")} for folder in "ab")
    outputs = lambda files: ("--json", files["json"], "--html", files["html"], "--markdown", files["md"])  # noqa: E731
    first = kraftcheck("explain", "tests.gates:GATE", "--quiet", "--workers", 1, *outputs(run))
    second = kraftcheck("explain", "--from", run["json"], *outputs(again))
    assert (first.code, first.last) == (second.code, second.last) == (0, "every mutant is decided (exit 0)")
    assert [path.read_text() for path in run.values()] == [path.read_text() for path in again.values()]
    assert "Rules without a property" not in run["md"].read_text()


def broken(change: Any) -> Iterator[str]:
    """The text of a document with a change."""
    content = json.loads(PLACE.read_text(encoding="utf-8"))
    content["systems"] = content["systems"][2:3]
    change(content)
    yield json.dumps(content)


def test_a_damaged_table_is_refused(tmp_path: Path) -> None:
    """A document without a field, or with an outcome that there is not, is refused, and nothing is written over it."""
    place = tmp_path / "table.json"
    for change in (
        lambda content: content["systems"][0].pop("properties"),
        lambda content: content["systems"][0]["mutants"][0].update(outcome="gone"),
        lambda content: content.update(systems=7),
    ):
        place.write_text(next(broken(change)), encoding="utf-8")
        assert "not a whole table of this version" in kraftcheck("explain", "--from", place).refusal()
    assert "cannot both write to" in kraftcheck("explain", "--from", place, "--json", place).refusal()
    place.write_text('{"version": 1, "command": "explore"}', encoding="utf-8")
    assert "not a table of `kraftcheck explain --json`" in kraftcheck("explain", "--from", place).refusal()


def test_a_lost_goal_that_is_none_is_refused(tmp_path: Path) -> None:
    """A row whose outcome is a lost goal names one."""
    content, place = json.loads(PLACE.read_text(encoding="utf-8")), tmp_path / "table.json"
    row = next(row for system in content["systems"] for row in system["mutants"] if row["outcome"] == "goal lost")
    row.update(goals=[], idle=[])
    place.write_text(json.dumps(content), encoding="utf-8")
    assert "it names no goal that is lost" in kraftcheck("explain", "--from", place).refusal()


def test_no_text_of_a_table_reaches_a_page_raw(tmp_path: Path) -> None:
    """Escapes, ends of lines and a job's commands in titles, conditions and sentences are shown on pages and screen."""
    content, hostile = json.loads(PLACE.read_text(encoding="utf-8")), "\n::error::a\x1b[2J\u202e"
    system = content["systems"][0]
    system["title"] = system["mutants"][0]["condition"] = hostile
    system["properties"] = dict.fromkeys(system["properties"], hostile)
    place, page_file, table_file = (tmp_path / name for name in ("table.json", "page.html", "page.md"))
    place.write_text(json.dumps({**content, "systems": [system]}), encoding="utf-8")
    ran = kraftcheck("explain", "--from", place, "--html", page_file, "--markdown", table_file)
    for shown in (ran.out, page_file.read_text(encoding="utf-8"), table_file.read_text(encoding="utf-8")):
        assert "\\x1b" in shown
        assert not spoken(shown)


def test_a_value_of_another_kind_in_a_table_is_refused(tmp_path: Path) -> None:
    """In any place of a system and of a row, and a property that the system does not have."""
    content = json.loads(PLACE.read_text(encoding="utf-8"))
    system = content["systems"][0]
    system["mutants"] = [next(row for row in system["mutants"] if row["outcome"] == "killed")]
    place, row = tmp_path / "table.json", system["mutants"][0]
    changes = [(system, key, one) for key in system if key != "counts" for one in (None, True, {"x": 1}, ["]]>", 1])]
    changes += [(row, key, one) for key in row for one in (True, {"x": 1}, -1) if (key, one) != ("shortest", True)]
    for holder, key, value in (*changes, (row, "by", []), (row, "by", ["]]>"]), (row, "outcome", None), (row, "x", 1)):
        before = dict(holder)
        holder[key] = value
        place.write_text(json.dumps({**content, "systems": [system]}), encoding="utf-8")
        told = kraftcheck("explain", "--from", place, "--html", tmp_path / "page.html").refusal()
        assert "not a whole table of this version" in told, (key, value)
        holder.clear()
        holder.update(before)


WITNESSES = read_witnesses(DOCS / "reference" / "witnesses.json")
LINKS = links()
AGAIN = "run `python -m tests.ci.mutants.witnesses`"


def of_each_link(declared: Mapping[Link, Rule], shown: list[Link]) -> list[str]:
    """What is wrong between the links and the witnesses: each link has one."""
    faults = [f"{one}: no witness; {AGAIN}" for one in declared if one not in shown]
    faults += [f"{one}: a witness of no link" for one in shown if one not in declared]
    return faults + [f"{one}: shown twice" for one in declared if shown.count(one) > 1]


def faults_of(one: Witness) -> list[str]:
    """What is wrong with a witness before it is explored: names that nothing has, or a variant of another rule."""
    rule = LINKS[one.link]
    if one.is_mutant:
        try:
            told = [] if one.rule in source_mutant(one.variant).rules else [f"{one.variant} is of another rule"]
        except StaleMutantError as error:
            told = [f"{error}; {AGAIN}"]
        rules = one.base
    else:
        name, rules = one.variant.removeprefix("-"), with_variant(one.base, one.variant)
        told = [] if name in variants() and name in rule.switches else [f"{name} is no switch of {one.rule}"]
        told += [f"{one.variant} changes nothing"] * (parse(rules) == parse(one.base))
    system = SYSTEMS[one.system]
    claims = {claim.id: claim for claim in system.properties(system.setting(one.scope, one.bounds, parse(rules)))}
    if one.claim not in claims:
        return [*told, f"{one.claim} is no property of {one.system} there"]
    return told + ["no step"] * (one.steps == 0 and claims[one.claim].kind == "step")


def test_every_link_has_a_witness() -> None:
    """No link is without a witness, and no witness is of what is no link."""
    assert of_each_link(LINKS, [one.link for one in WITNESSES]) == []
    assert len(WITNESSES) > 300


def test_a_link_without_a_witness_is_found() -> None:
    """The check can fail: for a link that nobody shows, for one that is gone, and for one that is shown twice."""
    one, other = list(LINKS)[:2]
    declared = {one: LINKS[one]}
    assert of_each_link(declared, []) == [f"{one}: no witness; {AGAIN}"]
    assert of_each_link(declared, [one, other]) == [f"{other}: a witness of no link"]
    assert of_each_link(declared, [one, one]) == [f"{one}: shown twice"]


def test_witnesses_agree_with_the_sources() -> None:
    """Each names a variant of its rule, a scope and a property that are there today."""
    assert {one.link: told for one in WITNESSES if (told := faults_of(one))} == {}


def test_a_stale_witness_is_found() -> None:
    """The check can fail: for a choice of another rule, a mutant that is gone, and a property that is not there."""
    one = next(one for one in WITNESSES if not one.is_mutant and one.system == "elections" and one.base == "fixed")
    other = next(name for name in variants() if name not in LINKS[one.link].switches)
    assert faults_of(evolve(one, variant=other))[0] == f"{other} is no switch of {one.rule}"
    assert "no mutant" in faults_of(evolve(one, variant="triggers.table:effective_min_isr:negate:99"))[0]
    placed = next(one for one in WITNESSES if (one.system, one.scope) == ("elections", "directories"))
    absent = evolve(placed, rule="isr.join.directory-online", claim="isr-directory-online", scope="tiny")
    assert faults_of(absent)[-1] == "isr-directory-online is no property of elections there"


def test_the_table_is_written_as_it_is_read() -> None:
    """Reading and writing the file loses nothing, and its order is that of the links."""
    assert [Witness(**row) for row in document(WITNESSES)["witnesses"]] == list(WITNESSES)
    assert [one.link for one in WITNESSES] == sorted(one.link for one in WITNESSES)


@pytest.mark.parametrize("one", one_in(72, WITNESSES), ids=lambda one: f"{one.rule} {one.system} {one.claim}")
def test_a_witness_shows_its_link_again(one: Witness) -> None:
    """With the variant the property is refuted in so many steps, and without it is not."""
    assert steps_again(one) == (one.steps, True)


def test_a_witness_that_shows_nothing_is_found() -> None:
    """The check can fail: leader-returns holds although an unfenced ELR member is not elected."""
    one = Witness("unfence.retries-leaderless", "elections", "leader-returns", "unfence-retries-isr-only", "tiny", {},
                  "fixed", 1)  # fmt: skip
    assert steps_again(one) == (None, True)
