"""Variants that change nothing are refused; which verdicts are listed; `kraftcheck where`; commands shown again."""

import io
import json
import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest
from attrs import frozen

import kraftcheck as kc
from kraftcheck.ci.explore.trace import found_in
from kraftcheck.ci.systems.report import held, in_order, print_verdicts
from kraftcheck.ci.systems.subject import parse_words, subject
from kraftcheck.ci.systems.switches import check_switches
from kraftcheck.ci.terminal.console import Screen
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.ci.testing.judging import JudgementRequest
from kraftcheck.ci.verdicts.command import table
from kraftcheck.model.language.layout import ints
from kraftcheck.model.language.system import ANY, Action, Bound, System
from kraftcheck.properties.kinds import sometimes
from kraftcheck.properties.register.findings import FINDINGS
from kraftcheck.solvers.program.verdict import Holds, Incomplete, PropertyVerdict, Refuted, Trace, Unknown, Vacuous
from tests.shared.commands import kraftcheck

UNREAD = "fixed+hw-uses-proposed-isr"  # a rule of leaders and followers, which `elections` has none of


@pytest.mark.parametrize("command", ["explore", "simulate", "prove", "explain"])
def test_an_unread_variant_is_refused_with_its_readers(command: str) -> None:
    """A variant that no rule of the system reads gets no verdict; the line names the systems and scopes that do."""
    told = kraftcheck(command, "elections", "--scope", "tiny", "--rules", UNREAD).refusal()
    assert told.startswith(f"--rules {UNREAD}: hw-uses-proposed-isr changes nothing in elections --scope tiny; ")
    assert told.endswith("it does in replication --scope tiny, kraft --scope tiny")


@pytest.mark.parametrize(
    "rules",
    [
        UNREAD, "fixed+configured-id-wins", "fixed+ambiguous-takes-first", "fixed+search-reads-every-topic",
        "fixed+duplicate-ids-start", "fixed+abandoned-assignments-accepted", "fixed+restart-drops-replica",
    ],
)  # fmt: skip
def test_a_suggestion_is_true(rules: str) -> None:
    """At each place that a refusal names the variant is not refused: it changes the program there."""
    with pytest.raises(Refusal) as refused:
        check_switches(subject("elections", "tiny", {}, rules))
    places = refused.value.message.partition("; it does in ")[2].split(", ")
    assert places
    for place in places:
        name, *words = shlex.split(place)
        given = {flag.removeprefix("--"): value for flag, value in zip(words[::2], words[1::2], strict=True)}
        scope, there = given.pop("scope"), given.pop("rules", rules)
        check_switches(subject(name, scope, {bound: int(value) for bound, value in given.items()}, there))


def test_a_property_alone_hides_nothing() -> None:
    """Asked for one property, what is read counts as before: a read variant is judged, an unread one refused."""
    one = ("--scope", "tiny", "--property", "isr-within-replicas", "--quiet")
    ran = kraftcheck("explore", "elections", *one, "--rules", "fixed+fenced-may-join-isr")
    assert (ran.code, ran.last) == (0, "2 holds (exit 0)")
    assert "changes nothing" in kraftcheck("explore", "elections", *one, "--rules", UNREAD).refusal()


def test_a_variant_that_is_looked_at_and_changes_nothing_is_refused() -> None:
    """`elections` has no broker epochs: its rules look at the choice, and are the same with it and without."""
    told = kraftcheck("explore", "elections", "--rules", "fixed+alter-partition-ignores-broker-epoch").refusal()
    assert "alter-partition-ignores-broker-epoch changes nothing in elections --scope default" in told


def test_each_of_several_variants_has_to_change_something() -> None:
    """Beside a variant that is read, the one that is not is named."""
    told = kraftcheck("explore", "elections", "--rules", "kafka-4.0+fetch-unfenced-assignment-clears-elr").refusal()
    assert told.startswith("--rules kafka-4.0+fetch-unfenced-assignment-clears-elr: fetch-unfenced changes nothing")


def test_what_only_the_controller_reads_is_said() -> None:
    """No system is large enough for some defects of the controller; the refusal says who reads them."""
    told = kraftcheck("explore", "kraft", "--rules", "fixed+padded-configs-stored").refusal()
    assert told.endswith("nor in any other system; only the controller on ints reads it (kraftcheck replay, conform)")


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ("fixed-fetch-unfenced", "fetch-unfenced is off in fixed already; leave out -fetch-unfenced"),
        ("kafka-4.0+assignment-clears-elr", "assignment-clears-elr is on in kafka-4.0 already; leave out +assign"),
        ("fixed+fetch-unfenced-fetch-unfenced", "fetch-unfenced is named twice; name it once"),
    ],
)
def test_a_switch_of_what_is_so_already_is_refused(rules: str, message: str) -> None:
    """A variant that the preset has, lacks already, or that is named twice is a slip."""
    told = kraftcheck("explore", "replication", "--rules", rules).refusal()
    assert told.startswith(f"--rules {rules}: {message}")


def test_a_marker_of_pytest_is_refused_alike() -> None:
    """The settings of the plugin are held to the same."""
    with pytest.raises(Refusal, match="hw-uses-proposed-isr changes nothing in elections --scope tiny"):
        JudgementRequest.of("elections", scope="tiny", rules=UNREAD)
    assert JudgementRequest.of("elections", scope="tiny", rules="fixed+fenced-may-join-isr").chosen.rules is not None


@frozen
class Count:
    n: int


COUNTER = System(
    name="counter",
    summary="Counts up to a bound.",
    scopes={"default": {"top": 3, "unused": 0, "wide": 4}},
    bounds=(Bound("top", 1, 9, "counts so far"), Bound("unused", 0, 9, "nothing"), Bound("wide", 4, 9, "room")),
    initial=lambda setting: [Count(0)],
    layout=lambda setting: Count(ints(0, setting["wide"])),
    actions=lambda setting: [Action("count", lambda s: Count(s.n + 1), lambda s: s.n < setting["top"])],
    quiescent=lambda s: s.n > 0,
    properties=[sometimes("counted", "it counts", lambda s: s.n == 1)],
)
"""A system with a bound that no part of it reads."""


def test_a_bound_that_changes_nothing_is_refused() -> None:
    """A bound whose value makes no difference is refused; one that a guard or the layout reads is not."""
    name = f"{__name__}:COUNTER"
    told = kraftcheck("explore", name, "--unused", "2", "--top", "2").refusal()
    assert told == f"--unused 2 changes nothing in {name} --scope default: it is the same as with 0; leave it out"
    for bounds in (["--top", "2"], ["--wide", "5"], ["--unused", "0"]):
        assert kraftcheck("explore", name, *bounds, "--quiet").code == 0, bounds


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


QUESTIONS = {
    "min isr": {"min-isr.change-clears-elr", "elr.empty-at-min-isr", "min-isr.own-replicas"},
    "fenced": {"isr.join.unfenced", "fence.leaves-isr", "leader.unfenced"},
    "B4": {"elr.within-replicas"},
    "last known leader": {"election.last-known.alive", "last-known.is-a-broker"},
    "fenced-may-join-isr": {"isr.join.unfenced"},
    "KAFKA-19522": {"election.last-known.alive"},
    "invariant 33": {"election.unclean.marks-recovering"},
    "alive last known": {"election.last-known.alive"},
    "elr-within-replicas": {"elr.within-replicas"},
    "reasignment complets": {"reassignment.completion.every-build"},
}
"""What is asked, and rules that are among the answers."""


@pytest.mark.parametrize("words", QUESTIONS)
def test_one_call_finds_the_rule(words: str) -> None:
    """Words of an id or a sentence, a citation, a variant, a property, and a misspelt word lead to the rule."""
    ran = kraftcheck("where", *words.split(), "--json", "-")
    assert (ran.code, ran.err) == (0, "")
    told = json.loads(ran.out)
    assert (told["version"], told["command"], told["words"]) == (1, "where", words)
    assert QUESTIONS[words] <= {rule["id"] for rule in told["rules"]}


@pytest.mark.parametrize("words", ["min isr", "fenced", "B4", "last known leader"])
def test_the_places_exist(words: str) -> None:
    """File and line of each answer exist, and the line has the rule's id."""
    rules = json.loads(kraftcheck("where", *words.split(), "--json", "-").out)["rules"]
    assert rules
    for rule in rules:
        assert f'"{rule["id"]}"' in Path(rule["file"]).read_text(encoding="utf-8").splitlines()[rule["line"] - 1]
        assert rule["sources"]
        assert rule["properties"] or rule["uncovered"]


def test_people_see_all_that_belongs_to_a_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    """The best match comes first, with its place, sources, variants, properties and defects."""
    monkeypatch.chdir(Path(__file__).parents[3])
    ran = kraftcheck("where", "elr", "within", "replicas")
    assert ran.code == 0
    block = ran.out.split("\n\n")[0]
    assert block.startswith("elr.within-replicas\n  Every ELR member is a replica.\n")
    assert "\n  at        model/partition/election.py:" in block
    assert "  source    B4: docs/reference/invariants.md#b4\n" in block
    assert "  variant   removed-replicas-stay-in-elr: the ELR is not limited to the replicas after" in block
    assert "  property  elections elr-within-replicas: every ELR member is a replica (refuted by removed-" in block
    assert "  defect    removed-replicas-stay-in-elr (catalogue 1; X1): breaks quorum-superset" in block
    assert "  finding   ghost-elr-member: " in ran.out, "what released controllers make of the rule"


def test_a_rule_without_property_says_why() -> None:
    """Where no property checks a rule, its reason stands there."""
    assert "  property  none: placement is not explored" in kraftcheck("where", "placement", "striped").out


def test_many_answers_end_with_the_ids_of_the_others() -> None:
    """Eight rules are shown in full; the last line counts all and names the rest."""
    last = kraftcheck("where", "leader").last
    count, _, rest = last.partition("; also ")
    assert int(count.split()[0]) == 8 + len(rest.split(", "))


def test_each_finding_leads_to_its_rules_and_a_trace_to_its_findings() -> None:
    """The rules of a finding name it, and a trace of what it breaks names those that the rule set has, no others."""
    for finding in FINDINGS:
        told = [json.loads(kraftcheck("where", finding.id, "--json", "-").out)["rules"]]
        assert {row["id"] for row in told[0]} >= {*finding.rules}, finding.id
    ran = kraftcheck("where", "dead-last-known-leader").out
    assert "kraftcheck findings dead-last-known-leader" in ran
    for rules, expected in (("kafka-4.0.0", ["leader-shuts-down", "dead-last-known-leader"]), ("fixed", [])):
        assert found_in(subject("elections", "tiny", {}, rules), "leader-active") == expected


@pytest.mark.parametrize("words", ["xyzzy", "B99", "elr xyzzy", "---"])
def test_words_that_no_rule_is_about_are_refused(words: str) -> None:
    """No answer is one line with the nearest ids, and exit code 2; every word has to match."""
    ran = kraftcheck("where", "--", *words.split())
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("kraftcheck: no rule is about ")
    assert ran.err.count("\n") == 1


def test_a_misspelt_id_gets_the_nearest_ones() -> None:
    """The line names ids that are like what was asked."""
    assert "did you mean elr.within-replicas" in kraftcheck("where", "elrwithin", "replikant").err


def test_a_line_of_a_document_finds_its_statements() -> None:
    """The rows of the coverage table at that line are shown with what they name, and their rules in full."""
    ran = kraftcheck("where", "unclean-recovery", "KIP", "144")
    assert ran.out.startswith("unclean-recovery KIP 143-144: modelled and checked\n")
    seen = "unclean-recovery loses-least in 7 steps, unclean-recovery tiny --disks 0 --faults 0 --replacements 1\n"
    assert f"  variant   designated-election-without-broker-epoch: {seen}" in ran.out
    assert "\nrecovery.elected-as-it-answered\n" in ran.out
    told = json.loads(kraftcheck("where", "catalogue", "51", "--json", "-").out)
    (row,) = told["statements"]
    assert (row["id"], row["class"]) == ("catalogue 51", "b")
    (pair,) = row["shown"]
    assert (pair["property"], pair["scope"], pair["length"]) == ("unclean-recovery loses-least", "tiny", 7)
    assert pair["bounds"] == {"replacements": 1, "faults": 0, "disks": 0}


def test_a_line_without_a_statement_is_refused() -> None:
    """A document's name with a line that says nothing finds nothing."""
    assert "no rule is about" in kraftcheck("where", "unclean-recovery", "KIP", "7").refusal()


def test_a_changed_system_shows_its_changes(tmp_path: Path) -> None:
    """Each change is shown where it is written, with the rule that it replaces; a system without any is refused."""
    (tmp_path / "where_kip.py").write_text(
        "import kraftcheck as kc\n\n\ndef nobody(self, rules):\n    return self.isr.none()\n\n\n"
        'KIP = kc.kafka("elections").override("election.elr.only-when-isr-empty", nobody).scope("pair", brokers=2)\n'
        'PLAIN = kc.kafka("elections")\n'
    )
    shown = kraftcheck("where", f"{tmp_path}/where_kip.py:KIP").out
    assert "at        where_kip.py:4" in shown
    assert "model/partition/election.py:" in shown
    about = kraftcheck("where", f"{tmp_path}/where_kip.py:KIP", "only", "when", "isr", "empty").out
    assert "  instead   where_kip.py:4\n" in about
    assert about.count("  instead ") == 1 < about.count("  at ")
    assert "nothing is changed in" in kraftcheck("where", f"{tmp_path}/where_kip.py:PLAIN").refusal()


@pytest.mark.parametrize("bounds", [{"brokers": 3}, {"brokers": ANY}, {}], ids=["three", "any", "as they are"])
def test_the_command_names_the_bounds_as_a_user_does(bounds: dict[str, int]) -> None:
    """Its flags give the bounds again, a bound of any number among them, which no user would type as a number."""
    chosen = subject("elections", "tiny", bounds, "fixed", proof=True)
    words = shlex.split(chosen.command("prove"))[2:]
    flags = ["--scope", "--rules"]
    kept = [word for at, word in enumerate(words) if word not in flags and words[at - 1] not in flags]
    parsed = parse_words(kept, flags)
    assert parsed.bounds(["brokers"], flags) == bounds
    assert len(chosen.command("prove")) < 80
