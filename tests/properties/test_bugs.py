"""The matrix of defects: exactly the properties named refute each; large scopes; and which choices a system reads."""

import functools
import itertools
import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from kraftcheck.ci.run.questions import search_budget
from kraftcheck.ci.verdicts import defects as bugs
from kraftcheck.ci.verdicts.command import plan
from kraftcheck.model.language.system import Property
from kraftcheck.model.rules.ruleset import GROUP_OF, GROUPS, RIGHT, RuleSet, parse, variants
from kraftcheck.model.rules.vocabulary import Vocabulary, vocabulary
from kraftcheck.properties.catalogue import SYSTEMS, find
from kraftcheck.properties.register.coverage import DOCUMENTS
from kraftcheck.properties.register.defects import BUGS, SEEN, Bug
from kraftcheck.properties.register.verdicts import EVERY, EXPECTED, EXPECTED_LARGE
from kraftcheck.solvers.exploration.explore import Exploration
from kraftcheck.solvers.program import verdict
from kraftcheck.solvers.program.fingerprint import fingerprint
from kraftcheck.solvers.program.trace import trace
from tests.shared.commands import kraftcheck
from tests.shared.places import ROOT
from tests.shared.samples import one_in

(CATALOGUE,) = [document.statements for document in DOCUMENTS if document.name == "catalogue"]

SLOW = {
    "alter-partition-ignores-directories", "one-directory-means-all-online", "fenced-leader-acceptable",
    "offline-directory-leader-kept", "completion-needs-adding-only", "append-beyond-fetch-epoch",
    "earlier-reply-applied", "stale-truncation-applied",
}  # fmt: skip
"""Defects whose scopes have 0.4 to 4 million states: left to `kraftcheck bugs`."""

QUICK = [bug for bug in BUGS if bug.variant not in SLOW]
CHEAP = "hw-uses-proposed-isr"  # a defect that is found in 2 steps, in the smallest scope
UNSEEN = {"timeout-only-if-leading", "reports-wait-for-assignments"}
"""Where document and code differ, and both keep every property; `noticed.toml` has what asks each."""

NUMBER = re.compile(r"catalogue (\d+)(?:;|$)")
"""The catalogue's number of a defect that is an entry itself, not something found beside one."""

Scope = tuple[str, str, tuple[tuple[str, int], ...], str]


def scope_of(bug: Bug) -> Scope:
    """What a defect is explored in, and the rules that are right there."""
    return bug.system, bug.scope, tuple(sorted(bug.bounds.items())), bug.base


SCOPES = {scope_of(bug): bug for bug in QUICK}


@functools.cache
def explored(scope: Scope, rules: str) -> Exploration:
    """The whole exploration of a scope, made once."""
    system, name, bounds, base = scope
    return bugs.explore_defect(
        Bug("", "", system, name, {}, dict(bounds), base), rules, search_budget(1, 4 << 30), quiet=True
    )


def claims_of(bug: Bug) -> dict[str, Property]:
    """The properties that are judged with a defect, by id."""
    system = find(bug.system)
    return {claim.id: claim for claim in system.properties(system.setting(bug.scope, bug.bounds, parse(bug.rules)))}


@pytest.mark.each_change
@pytest.mark.parametrize("bug", one_in(16, QUICK), ids=lambda bug: bug.variant)
def test_a_defect_refutes_exactly_what_is_named_for_it(bug: Bug) -> None:
    """With the defect just these properties break, with shortest traces of just these lengths."""
    found = explored(scope_of(bug), bug.rules)
    assert bugs.refutations(found) == dict(bug.refutes)
    assert found.cut is None


@pytest.mark.parametrize("bug", one_in(18, SCOPES.values()), ids=lambda bug: f"{bug.variant} {bug.base}")
def test_the_right_rules_hold_in_the_same_scope(bug: Bug) -> None:
    """Without the defect the scope is explored to its end, no bound cuts it short, and everything holds."""
    found = explored(scope_of(bug), bug.base)
    assert bugs.failing_properties(found) == {}
    assert (found.cut, dict(found.pruned)) == (None, {})


def test_every_row_is_well_formed() -> None:
    """Its variant is known and changes the rules; it names safety properties of its system, with lengths."""
    for bug in BUGS:
        assert {name.removeprefix("-") for name in bug.variant.split("+")} <= set(variants()), bug.variant
        assert parse(bug.rules) != parse(bug.base), bug.variant
        claims = claims_of(bug)
        assert bug.refutes, bug.variant
        assert {claims[name].kind for name in bug.refutes} <= {"always", "step", "recovers"}, bug.variant
        assert all(length > 0 or claims[name].kind == "recovers" for name, length in bug.refutes.items()), bug.variant
        preset = find(bug.system).scopes[bug.scope]
        unchanged = {name for name, value in bug.bounds.items() if preset.get(name, 0) == value}
        assert unchanged == set(), f"bounds of {bug.variant} that change nothing"


def test_every_defect_is_listed_once() -> None:
    """A name on the command line stands for one row, and every choice of the data plane has one."""
    names = [bug.variant for bug in BUGS]
    assert len(names) == len(set(names))
    assert set(names) >= SLOW
    assert {name for name, field in variants().items() if field.metadata["group"] == "data-plane"} <= set(names)


def test_every_entry_of_the_catalogue_has_a_row_or_a_reason() -> None:
    """All 72 entries are in the coverage table, with each variant of the matrix that cites them, or with a reason."""
    covered = {int(one.id.split()[1]): one for one in CATALOGUE}
    assert covered.keys() == {*range(1, 73)}
    assert [number for number, one in covered.items() if not (one.variants or one.reason)] == []
    for bug in BUGS:
        if (cited := NUMBER.match(bug.entry)) is not None:
            assert bug.variant in covered[int(cited[1])].variants, f"entry {cited[1]} lacks {bug.variant}"


def test_the_catalogue_of_controller_and_directories_is_covered() -> None:
    """Entries 12-14, 25-32, 44 and 46-48, X1 to X7, B7, B8 and B12 to B16 each have a row, of at least 35."""
    entries = [bug.entry for bug in BUGS]
    numbers = {int(found[1]) for entry in entries if (found := NUMBER.match(entry))}
    assert numbers >= {12, 13, 14, *range(25, 33), 44, 46, 47, 48}
    named = set(re.findall(r"\b[BX]\d+\b", " ".join(entries)))
    assert named >= {*(f"X{n}" for n in range(1, 8)), "B7", "B8", "B12", "B13", "B14", "B15", "B16"}
    assert len(entries) >= 35


def in_order(variant: str) -> str:
    """A variant with its choices in order: `a+b` is `b+a`."""
    return "+".join(sorted(variant.split("+")))


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_property_is_seen_to_break_by_each_variant_that_it_names(name: str) -> None:
    """Each has a row of the matrix, or a sighting beside it, which other tests explore."""
    system, seen = SYSTEMS[name], {(of, claim, in_order(variant)) for of, claim, variant in SEEN}
    for scope, rules in itertools.product(system.scopes, ("fixed", "kip", "kafka-4.0")):
        for claim in system.properties(system.setting(scope, rules=parse(rules))):
            unseen = [v for v in claim.refuted_by if (name, claim.id, in_order(v)) not in seen]
            assert unseen == [], claim.id


def test_every_wrong_choice_is_seen_to_break_a_property() -> None:
    """Each choice but features, and what only the controller in full can show, breaks a property that names it."""
    shown = {choice.removeprefix("-") for _, _, variant in SEEN for choice in variant.split("+")}
    wrong = {name for name, field in variants().items() if field.metadata["group"] not in ("feature", "controller")}
    assert wrong - shown == UNSEEN


def test_the_command_tells_what_it_found(tmp_path: Path) -> None:
    """`bugs NAME` exits 0 where all is as expected, with a row for people and a document for programs."""
    ran = kraftcheck("bugs", CHEAP, "--quiet", "--json", tmp_path / "told.json")
    assert (ran.code, ran.err, ran.last) == (0, "", "1 defects, 0 not as expected (exit 0)")
    assert "refutes leader-complete 3, candidates-complete 2, acknowledged-survives 3" in ran.out
    told = json.loads((tmp_path / "told.json").read_text())
    (row,) = told["bugs"]
    assert (told["version"], told["command"], told["exit_code"]) == (1, "bugs", 0)
    assert (row["variant"], row["system"], row["scope"], row["rules"]) == (
        CHEAP,
        "replication",
        "tiny",
        f"fixed+{CHEAP}",
    )
    assert row["refutes"] == {
        "leader-complete": 3, "candidates-complete": 2, "acknowledged-survives": 3, "no-survivor-passed-over": 3,
    }  # fmt: skip
    assert (row["faults"], row["engine"], row["bounds"]) == ([], "native", {})
    assert row["distinct"] > 10_000
    assert row["seconds"] > 0


def test_the_document_may_go_to_standard_output() -> None:
    """`--json -` leaves standard output to the document."""
    ran = kraftcheck("bugs", CHEAP, "--quiet", "--json", "-")
    assert (ran.code, ran.document()["bugs"][0]["variant"]) == (0, CHEAP)
    assert "1 defects, 0 not as expected" in ran.err


def tampered(monkeypatch: pytest.MonkeyPatch, **changes: Any) -> Any:
    """What the command does where the row of the cheap defect says something else."""
    (row,) = [bug for bug in BUGS if bug.variant == CHEAP]
    changed = evolve(row, **changes)
    monkeypatch.setattr(bugs, "BUGS", (changed,))
    return kraftcheck("bugs", "--quiet")


@pytest.mark.parametrize(
    ("refutes", "fault"),
    [
        ({"leader-complete": 3, "candidates-complete": 2}, "acknowledged-survives: expected holds, got 3"),
        (
            {"leader-complete": 4, "candidates-complete": 2, "acknowledged-survives": 3},
            "leader-complete: expected 4, got 3",
        ),
        (
            {"leader-complete": 3, "candidates-complete": 2, "acknowledged-survives": 3, "isr-active": 1},
            "isr-active: expected 1, got holds",
        ),
        ({}, "candidates-complete: expected holds, got 2"),
    ],
)
def test_a_surprise_fails_in_either_direction(
    refutes: Mapping[str, int], fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One property more, one fewer, and another length each end with 12 and are named."""
    ran = tampered(monkeypatch, refutes=refutes)
    assert (ran.code, ran.last) == (12, "1 defects, 1 not as expected (exit 12)")
    assert f"    UNEXPECTED {fault}" in ran.out.splitlines()


@pytest.mark.parametrize("refutes", [{}, {"leader-complete": 3}])
def test_a_defect_that_nothing_refutes_is_vacuous(refutes: Mapping[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    """A variant that changes nothing here ends with 21, whatever its row expects."""
    ran = tampered(monkeypatch, variant="unregister-keeps-elr", refutes=refutes, bounds={"unclean-stops": 0})
    assert (ran.code, ran.last) == (21, "1 defects, 1 not as expected (exit 21)")
    assert "    UNEXPECTED no property refutes it" in ran.out.splitlines()


def test_wrong_right_rules_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the rules that ought to be right break a property, the command ends with 12 and names it."""
    found = {"leader-complete": 3, "candidates-complete": 2, "acknowledged-survives": 3, "isr-active": 2}
    ran = tampered(monkeypatch, base="kafka-3.9", refutes=found)
    assert ran.code == 12
    assert "    UNEXPECTED right rules: isr-active refuted 2" in ran.out.splitlines()
    assert "    UNEXPECTED right rules: leader-complete refuted 5" in ran.out.splitlines()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["hw-uses-proposed-ist"], f"no defect 'hw-uses-proposed-ist'; did you mean {CHEAP}"),
        (["--json", "/nowhere/told.json"], "there is no folder /nowhere"),
        (["--json", ROOT], "it is a folder"),
    ],
)
def test_bad_input_is_refused(words: list[object], message: str) -> None:
    """An unknown name and a place that cannot be written end with 2 and one line, before anything is explored."""
    assert message in kraftcheck("bugs", *words).refusal()


def test_a_cut_search_is_never_as_expected() -> None:
    """A defect whose search was cut has a fault and exit code 20, even where it found just what was expected."""
    row = BUGS[2]
    cut = bugs.DefectJudgement(row, row.refutes, {}, 1, 0.0, cut="memory limit")
    assert cut.faults() == ["incomplete: memory limit"]
    assert bugs._exit_code([cut]) == 20


def test_large_rows_are_compared_only_where_they_are_named() -> None:
    """No row is listed twice; the default plan has none of the large ones, a scope by name has them."""
    assert not set(EXPECTED) & set(EXPECTED_LARGE)
    assert set(plan((), (), ())) == set(EXPECTED)
    medium = {row for row in EVERY if row[:2] == ("directories", "medium")}
    assert set(plan(("directories",), ("medium",), ())) == medium


@pytest.mark.slow
@pytest.mark.parametrize("row", EXPECTED_LARGE, ids="-".join)
def test_a_large_row_is_as_expected(row: tuple[str, str, str]) -> None:
    """Every verdict of the row, strictly both ways."""
    system, scope, rules = row
    ran = kraftcheck("check", system, "--scope", scope, "--rules", rules, "--workers", "1", "--memory", "6G", "--quiet")
    assert ran.code == 0, ran.out


@pytest.fixture
def asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each rule is asked once, for half the time: that it answers alike twice, every trace of the check holds."""
    monkeypatch.setattr(verdict, "ask_twice", lambda what, question, *rules: verdict.ask(what, question, *rules[:1]))


ROWS = {(*row, ()) for row in EXPECTED} | {(b.system, b.scope, b.rules, tuple(b.bounds.items())) for b in BUGS}
"""Rows with a verdict: system, scope, rule set, bounds."""


@cache
def program(system: str, scope: str, rules: RuleSet, bounds: tuple[tuple[str, int], ...] = ()) -> str:
    """What a system is at a setting."""
    return fingerprint(trace(SYSTEMS[system], SYSTEMS[system].setting(scope, dict(bounds), rules)))


def words_of(system: str) -> Vocabulary:
    """What the rule sets of a system may name."""
    found = vocabulary(SYSTEMS[system])
    assert found is not None
    return found


@pytest.mark.usefixtures("asked_once")
@pytest.mark.parametrize("system", one_in(3, SYSTEMS))
def test_every_variant_of_a_row_changes_its_program(system: str) -> None:
    """A verdict expected under a variant, alone or beside others, is about a program that the variant changes."""
    unread, looked_at = [], 0
    for name, scope, rules, bounds in sorted(ROWS):
        if name != system:
            continue
        words = words_of(system)
        spelling = words.spelling(rules)
        for variant, on in spelling.switches:
            looked_at += 1
            without = words.rules(spelling).switched(**{words.choices[variant].name: not on})
            if program(system, scope, words.rules(spelling), bounds) == program(system, scope, without, bounds):
                unread.append((scope, bounds, rules, variant))
    assert unread == []
    assert looked_at >= 3


@pytest.mark.usefixtures("asked_once")
@pytest.mark.parametrize("system", SYSTEMS)
def test_a_variant_that_refutes_is_of_a_group_that_the_system_declares(system: str) -> None:
    """`refuted_by` names choices that the system reads."""
    words = words_of(system)
    claims = SYSTEMS[system].properties(SYSTEMS[system].setting(rules=words.parse("kip")))
    named = {name for claim in claims for variant in claim.refuted_by for name in variant.split("+")}
    assert named
    assert {name for name in named if words.group(name) not in words.declared} == set()


@pytest.mark.usefixtures("asked_once")
@pytest.mark.parametrize("system", SYSTEMS)
def test_each_group_that_a_system_declares_changes_it(system: str) -> None:
    """With all choices of a declared group switched, the program is another at some scope."""
    for group in words_of(system).declared:
        switched = RIGHT.switched(**{name: not RIGHT.value(name) for name in GROUP_OF if GROUP_OF[name] == group})
        scopes = SYSTEMS[system].scopes
        assert any(program(system, scope, RIGHT) != program(system, scope, switched) for scope in scopes), group


@pytest.mark.usefixtures("asked_once")
@pytest.mark.parametrize("system", SYSTEMS)
def test_no_group_that_a_system_leaves_out_changes_it(system: str) -> None:
    """With every choice of all other groups switched, each scope has the same program."""
    declared = words_of(system).declared
    left_out = {choice: not RIGHT.value(choice) for choice, group in GROUP_OF.items() if group not in declared}
    assert set(GROUPS) - set(declared)
    for scope in SYSTEMS[system].scopes:
        assert program(system, scope, RIGHT) == program(system, scope, RIGHT.switched(**left_out)), scope
