"""`kraftcheck findings`: the table, all of one finding, the record of evidence, and observing again."""

import re
from pathlib import Path

import attrs
import pytest

from kraftcheck.ci.conformance.findings.command import ask, differences, observe
from kraftcheck.ci.conformance.findings.junit_tests import retraced
from kraftcheck.ci.conformance.findings.live import SCENARIOS, SHOWN, observations
from kraftcheck.ci.conformance.findings.report import (
    ASKED,
    BY_HAND,
    EVENTS,
    METHOD,
    ON_BY_DEFAULT,
    by_hand,
    in_words,
    recorded_of,
    releases,
    taken_by_release,
    told_in,
    words,
)
from kraftcheck.ci.conformance.findings.scenario import LOST
from kraftcheck.ci.conformance.findings.search import (
    ABSENT,
    CLASSES,
    IN_PART,
    LIVE,
    ONE_CLASS,
    RULES,
    Evidence,
    recorded,
    refuted,
    rules_of,
    search,
    subject_of,
    wanted,
    write_rows,
)
from kraftcheck.ci.conformance.kafka.build import Build
from kraftcheck.ci.conformance.kafka.cases import CASES
from kraftcheck.ci.conformance.kafka.jars import known_versions
from kraftcheck.ci.run.questions import run_to_end, search_budget
from kraftcheck.ci.systems.lookup import entries
from kraftcheck.ci.systems.subject import program, subject
from kraftcheck.ci.systems.where import findings_about
from kraftcheck.model.partition.registration import local_name
from kraftcheck.model.rules.ruleset import KNOWN, MENDED, PRESETS, parse, variants
from kraftcheck.model.rules.ruleset import NEWEST as NEWEST_RULES
from kraftcheck.properties.register.citations import ALIKE, references
from kraftcheck.properties.register.findings import BY_ID, FINDINGS, LIKELIHOODS, SEARCHED, SEVERITIES, Finding
from kraftcheck.properties.register.verdicts import EVERY
from tests.shared.captures import CAPTURED, ELR, batches
from tests.shared.commands import kraftcheck
from tests.shared.places import ROOT

NEWEST = known_versions()[-1]
BUDGET = search_budget(1, 2**31)
EVIDENCE = recorded()

AT_EACH_CHANGE = (
    "ghost-elr-member", "deleted-topic-stays-indexed", "min-isr-change-drops-candidates", "removed-last-known-leader",
    "move-never-ends",
)  # fmt: skip
"""Findings that are observed again at each change; all are by night."""


def test_the_table_names_every_finding_and_the_newest_releases() -> None:
    """Without a name every finding is a row, and the newest release a column."""
    ran = kraftcheck("findings")
    assert ran.code == 0, ran.err
    assert [finding.id for finding in FINDINGS if finding.id not in ran.out] == []
    assert NEWEST in ran.out.splitlines()[0]


def test_there_is_no_third_kind() -> None:
    """A choice of the newest release that `fixed` lacks is a finding's, or says why it is none, and not both."""
    newest, right = PRESETS[NEWEST_RULES], PRESETS["fixed"]
    own = {name: choice for name, choice in variants().items() if newest.value(choice.name) > right.value(choice.name)}
    found = {name for finding in FINDINGS for name in finding.switches} & own.keys()
    reasoned = {name for name, choice in variants().items() if choice.metadata["reason"]}
    assert (found | reasoned, found & reasoned) == (own.keys(), set())


def test_the_mended_release_has_every_mend() -> None:
    """The mended release is the newest without the choices of findings and known defects, and with all others."""
    newest, switches = PRESETS[NEWEST_RULES], {name for finding in FINDINGS for name in finding.switches}
    switches |= {name for name, choice in variants().items() if KNOWN in choice.metadata["reason"]}
    off = {choice.name: False for name, choice in variants().items() if name in switches}
    assert newest.switched(**off) == PRESETS[MENDED] != newest


def test_the_mended_release_breaks_on_purpose_only() -> None:
    """What the mended release refutes is named in the reason of a choice that it keeps, and refuted by the release."""
    kept = [choice.metadata["reason"] for choice in variants().values() if PRESETS[MENDED].value(choice.name)]
    judged = {row: broken for row, broken in EVERY.items() if row[2] == MENDED}
    assert {system for system, _, _ in judged} >= {"elections", "replication", "directories", "kraft", "sessions"}
    for (system, *_), broken in judged.items():
        assert [claim for claim in broken if not any(f"`{claim}`" in reason for reason in kept)] == []
        released = [found for row, found in EVERY.items() if (row[0], row[2]) == (system, NEWEST_RULES)]
        assert [claim for claim in broken if not any(claim in found for found in released)] == []


def test_a_lasso_says_what_is_for_ever() -> None:
    """After the steps of a lasso a finding says which of them are repeated."""
    last, text = EVIDENCE["move-never-ends", NEWEST].steps, kraftcheck("findings", "move-never-ends").out
    assert re.search(rf"\n{last}\. [^\n]+\n\nFor ever: steps 7 to 15 again\.\n", text)


@pytest.mark.parametrize(("answer", "word"), [(True, SHOWN), (False, "otherwise")], ids=str)
def test_each_case_of_a_broker_counts(monkeypatch: pytest.MonkeyPatch, answer: bool, word: str) -> None:
    """A finding of a broker is shown where its classes do what each case says; one case that is otherwise is enough."""
    finding = BY_ID["move-never-ends"]
    assert set(finding.broker_cases) <= set(CASES)
    answers = dict.fromkeys(finding.broker_cases, True) | {finding.broker_cases[-1]: answer}
    monkeypatch.setattr("kraftcheck.ci.conformance.findings.command.broker_answers", lambda release: answers)
    one = search(finding, NEWEST, BUDGET, True)
    assert (one.steps, one.for_ever) == (15, 9)
    assert ask(Build(NEWEST), [one]) == {finding.id: word}
    assert ask(Build("4.1.1"), [one]) == {}


@pytest.mark.parametrize("finding", FINDINGS, ids=lambda one: one.id)
def test_a_finding_is_found_by_what_it_tells(finding: Finding) -> None:
    """Its title finds it first; a message that it quotes finds all that quote it, in a line of a log too."""
    assert findings_about(finding.title)[0] == finding
    for quoted in (one for one in re.findall(r'"([^"]+)"', finding.effect) if len(one.split()) > 3):
        for text in (quoted, f"[2026-11-21 22:51:38,567] ERROR {quoted} at /var/a/orders-0 (kafka.log.LogManager)"):
            assert [*findings_about(text)] == [one for one in FINDINGS if quoted in one.effect]
    for number in re.findall(r"KAFKA-[0-9]+", f"{finding.source} {finding.reported}"):
        assert finding in findings_about(number), number


def test_a_symptom_finds_what_tells_of_it() -> None:
    """One finding that has the words is shown as a whole, several as rows; what rules alone tell of is found, too."""
    assert kraftcheck("findings", "Duplicate", "log", "directories").out == kraftcheck("findings", "torn-promotion").out
    assert kraftcheck("findings", "ERROR Duplicate log directories found: /d0/x-1").out.startswith("# torn-promotion")
    of_issue = kraftcheck("findings", "KAFKA-19522").out
    assert of_issue.splitlines()[1].split()[1] == "dead-last-known-leader"
    assert kraftcheck("findings", "dead-last-known-leader-electable").out.startswith("# dead-last-known-leader\n")
    assert kraftcheck("bugs", "KAFKA-19522").refusal() == (
        "no defect 'KAFKA-19522'; it is of dead-last-known-leader-electable"
    )


@pytest.mark.parametrize(
    ("words", "refusal"),
    [
        (
            ("ghost-elr-membr",),
            "no finding 'ghost-elr-membr'; did you mean ghost-elr-member, unregistered-elr-member, snapshot-drops-elr?",
        ),
        (
            ("Duplicate purple elephants",),
            "no finding tells of 'Duplicate purple elephants'; nearest by its words: slow-return, torn-promotion; "
            "`kraftcheck findings` shows all",
        ),
        (("--kafka", "9.9.9"), f"no evidence of Kafka 9.9.9; known: {', '.join(known_versions())}"),
        (("--out", "somewhere"), "--out needs --run; leave it out"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_other_questions_are_refused(words: tuple[str, ...], refusal: str) -> None:
    """An unknown finding or release, and an option that would do nothing, end in a line and exit code 2."""
    assert kraftcheck("findings", *words).refusal() == refusal


def test_every_finding_is_recorded_in_every_release() -> None:
    """The record has each finding that a system shows in each release, and no other rows; the others were seen live."""
    assert set(EVIDENCE) == {(finding.id, release) for finding in SEARCHED for release in known_versions()}
    live = {one.finding for one in observations() if one.outcome == SHOWN}
    assert {finding.scenario for finding in FINDINGS if finding not in SEARCHED} <= live
    assert {finding.scenario for finding in FINDINGS} - {""} <= set(SCENARIOS)


def test_every_finding_shows_in_a_release_and_its_mend_suffices() -> None:
    """Each has a trace by the rules of a release, which classes that are asked take; without its choices none has."""
    shown = [row for row in EVIDENCE.values() if row.steps is not None]
    assert {row.finding for row in shown} == {finding.id for finding in SEARCHED}
    assert [row for row in shown if not row.mend_suffices or len(row.events) != row.steps] == []
    assert len([row for row in shown if row.managers]) > 5 * len(SEARCHED)
    assert {row.managers for row in shown} <= {SHOWN, None}


def test_the_search_of_a_mended_release_finds_nothing() -> None:
    """With the finding's choices off the same search holds: what shows is that finding, and no other."""
    finding = BY_ID["unregistered-elr-member"]
    assert search(finding, NEWEST, BUDGET, True).steps == EVIDENCE[finding.id, NEWEST].steps
    place = wanted(finding)
    mended = attrs.evolve(finding, search=attrs.evolve(place, without=(*place.without, *finding.switches)))
    assert search(mended, NEWEST, BUDGET, True).trace is None
    assert rules_of(mended, NEWEST).endswith("-unregister-keeps-elr")


def test_a_mend_that_is_half_done_breaks_another_promise() -> None:
    """A marked election of a cancellation seats who is no replica, unless it is held among those that stay."""
    half = f"kafka-{NEWEST}-unclean-cancel-is-silent"
    chosen = subject("elections", "tiny", {}, half, only=("leader-is-replica",))
    (found, _) = run_to_end(program(chosen), BUDGET, True, half).verdicts
    assert (found.claim, found.depth) == ("leader-is-replica", 6)


def test_a_change_of_evidence_is_named() -> None:
    """Steps, events and answers that differ from the record are differences; the same row has none."""
    row = Evidence("f", NEWEST, 2, True, SHOWN, ("a()", "b()"))
    assert differences(row, row) == []
    other = attrs.evolve(row, steps=3, managers="otherwise", events=("a()", "c()", "b()"), for_ever=1)
    assert [fault.split(":")[0] for fault in differences(row, other)] == ["steps", "events", "for_ever", "managers"]


def test_a_record_is_read_as_it_was_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that are recorded are the rows that are read."""
    monkeypatch.setattr("kraftcheck.ci.conformance.findings.search.PLACE", tmp_path / "evidence.json")
    rows = [Evidence("f", "4.4.0", None, None, None, ()), Evidence("f", "4.1.2", 1, True, SHOWN, ("a()",), 0)]
    write_rows(tmp_path / "evidence.json", rows)
    assert recorded() == {(row.finding, row.release): row for row in rows}


@pytest.mark.slow
@pytest.mark.xdist_group("kafka")
def test_the_newest_release_is_as_recorded(tmp_path: Path) -> None:
    """On the newest release some traces are found again, its classes take the steps, and both are written."""
    ran = kraftcheck("findings", "--run", *AT_EACH_CHANGE, "--out", tmp_path / "out", "--quiet")
    assert ran.code == 0, ran.out
    assert ran.out.count("; classes: shown") == len(AT_EACH_CHANGE)
    traces = {f"{name}-{NEWEST}.itf.json" for name in AT_EACH_CHANGE}
    assert {path.name for path in (tmp_path / "out").glob("[!.]*")} == {NEWEST, *traces}
    assert (tmp_path / "out" / NEWEST / "GhostElrMemberTest.java").exists()


@pytest.mark.slow
@pytest.mark.xdist_group("kafka")
def test_classes_that_answer_otherwise_are_seen() -> None:
    """The trace of a defect that a release has mended does not go as it says on the classes of that release."""
    one = search(BY_ID["assignment-clears-elr"], "4.1.2", BUDGET, True)
    assert ask(Build(NEWEST), [one]) == {"assignment-clears-elr": "otherwise"}


@pytest.mark.slow
@pytest.mark.xdist_group("kafka")
@pytest.mark.parametrize("release", known_versions())
def test_releases_are_as_recorded(release: str) -> None:
    """On every release all observations are those of the record."""
    observed, _ = observe(SEARCHED, Build(release), BUDGET, True)
    assert [
        (row.finding, fault) for row in observed for fault in differences(EVIDENCE[row.finding, release], row)
    ] == []


def test_the_worst_stand_first() -> None:
    """Findings that a release has mended stand last; others by their cost, then likely ones, then by their proof."""
    strength, order = (LIVE, CLASSES, IN_PART, ONE_CLASS, RULES, ABSENT), list[tuple[bool, int, int, int]]()
    for one in FINDINGS:
        shown, cost = words(one)[NEWEST], list(SEVERITIES).index(one.severity)
        order.append((shown == ABSENT, cost, list(LIKELIHOODS).index(one.likely), strength.index(shown)))
    assert order == sorted(order)
    assert {cost for _, cost, *_ in order} == {*range(len(SEVERITIES))}


FAULTS = re.compile(
    r"crash|fail_|fence\(|lose\(|log_dir_timeout|directories_offline|clean=False|failed=\{\d|assign_late|faults"
)
"""Events of a trace that nobody asks for: what dies, fails, is lost, or arrives late."""


def newest_trace(finding: Finding) -> tuple[str, ...]:
    """The events of the trace of the newest release that has a finding."""
    return [row for release in known_versions() if (row := EVIDENCE[finding.id, release]).events][-1].events


@pytest.mark.parametrize("finding", SEARCHED, ids=lambda one: one.id)
def test_what_needs_no_fault_is_ordinary(finding: Finding) -> None:
    """Without a fault in its trace and its needs a finding is ordinary, or takes what no released broker does."""
    needed = re.search(r"\b(fails|dies|fenced|stalls|killed|time-out|in flight|while the ISR shrinks)", finding.needs)
    is_faulty = (
        needed or any(map(FAULTS.match, newest_trace(finding))) or FAULTS.search(" ".join(newest_trace(finding)))
    )
    assert is_faulty or finding.likely in ("ordinary", "other client")


BUDGETS = ("crashes", "failures", "fences", "unclean-stops", "copies")  # bounds that count what nobody asks for


@pytest.mark.slow
@pytest.mark.parametrize(
    "finding", [one for one in SEARCHED if one.likely in ("fault", "window")], ids=lambda one: one.id
)
def test_what_is_called_a_fault_takes_one(finding: Finding) -> None:
    """Without faults, and with clean stops, the newest release keeps the promise; or the page says what does harm."""
    place = wanted(finding)
    bounds = subject(place.system, place.scope, place.bounds, "fixed").setting.values()
    without = {name: 0 for name in BUDGETS if name in bounds}
    if not without or {"crashes", "fences"}.isdisjoint(without):
        return
    quiet = {**place.bounds, **without, **({"clean-stops": 1} if place.system != "kraft" else {})}
    chosen = subject(place.system, place.scope, quiet, rules_of(finding, NEWEST))
    if place.property in {claim.id for claim in chosen.system.properties(chosen.setting)}:
        still = refuted(program(chosen), finding.id, BUDGET, True, (place.property,))
        assert not still or re.search(r"\bfails\b|late\b|while the ISR shrinks|\bbefore\b", finding.needs)


@pytest.mark.parametrize("finding", SEARCHED, ids=lambda one: one.id)
def test_a_loss_that_an_operator_allows_is_told(finding: Finding) -> None:
    """Where a trace switches unclean elections on, the needs say so; a loss then deposes a leader of the ISR."""
    if any(event.startswith("set_unclean_election") for event in newest_trace(finding)):
        assert "unclean" in finding.needs.lower()
        if finding.severity == "loss":
            row = EVIDENCE[finding.id, NEWEST]
            *_, before, after = retraced(finding, row, subject_of(finding, rules_of(finding, NEWEST))).states
            assert before.leader in list(before.isr.minus(before.fenced).minus(before.shutting_down))
            assert after.leader not in (-1, before.leader)


@pytest.mark.parametrize(
    "finding", [one for one in FINDINGS if one.severity == "loss" and one.scenario], ids=lambda one: one.id
)
def test_a_live_loss_is_of_acknowledged_records(finding: Finding) -> None:
    """What a live cluster shows of a loss is that records are missing which were acknowledged, no two of them alike."""
    (shown,) = (one for one in observations() if (one.finding, one.release) == (finding.scenario, NEWEST))
    lost = shown.facts[LOST]
    assert isinstance(lost, int)
    assert (lost > 0) == (shown.outcome == SHOWN)


@pytest.mark.parametrize("finding", SEARCHED, ids=lambda one: one.id)
def test_no_command_undoes_its_step(finding: Finding) -> None:
    """A process that stands still for a fence goes on with the first step that its broker takes, and not before."""
    events, still = newest_trace(finding), set[str]()
    for number, event in enumerate(events, 1):
        command, brokers = by_hand(events[:number], "on"), {*re.findall(r"(?:broker|follower|leader)=(\d)", event)}
        assert ("STOP" in command) == event.startswith("fence(")
        assert "STOP" not in command or "CONT" not in command
        if not re.match(r"assign(_late)?\(broker=\d\)", event):
            assert ("CONT" in command) == (bool(brokers & still) and event.partition("(")[0] not in BY_HAND)
            still -= brokers
        still |= brokers if "STOP" in command else set()


@pytest.mark.parametrize("finding", SEARCHED, ids=lambda one: one.id)
def test_a_command_does_its_step(finding: Finding) -> None:
    """A reassignment beside another is asked for as one, a process ends as its step says, and no other one with it.

    None is told to stop twice.
    """
    rows, _ = recorded_of(finding)
    shown = [row for row in rows.values() if row is not None and row.steps is not None][-1]
    text = kraftcheck("findings", finding.id).out.partition("## Steps")[2]
    states = retraced(finding, shown, subject_of(finding, rules_of(finding, shown.release))).states
    for number, event in enumerate(shown.events, 1):
        (line,) = re.findall(rf"^{number}\. .*", text.partition("\nAt the end")[0], re.M)
        if event.startswith("reassign("):
            one = getattr(states[number - 1], "controller", states[number - 1])
            assert ("--additional" in line) == bool(tuple(one.adding) or tuple(one.removing)), line
        assert event.startswith("new_incarnation(") <= (("`kill -9`" in line) == ("clean=False" in event)), line
        told = re.findall(r"kafka-server-stop\.sh --node-id=(\d)", line)
        assert told == re.findall(r"broker=(\d)", event)[:1] or "kafka-server-stop" not in line
        assert (
            not told
            or event.replace("stop(", "shut_down(") == event
            or f"shut_down(broker={told[0]})" not in shown.events
        )


def test_a_release_that_takes_other_steps_is_shown_them() -> None:
    """Where a release has a finding, and its rules do not take the steps of its page, the page has its own too."""
    others = dict[str, int]()
    for finding in SEARCHED:
        rows = [row for row in recorded_of(finding)[0].values() if row is not None and row.steps is not None]
        page = (ROOT / f"docs/findings/{finding.id}.md").read_text("utf-8")
        told = {release for line in re.findall(r"^(.*) do not take these steps", page, re.M)
                for release in line.split(", ")}  # fmt: skip
        for row in rows:
            try:
                retraced(finding, rows[-1], subject_of(finding, rules_of(finding, row.release)))
            except LookupError:
                others[finding.id] = row.steps or 0
                assert row.release in told, (finding.id, row.release)
    assert {name: others[name] for name in ("removed-last-known-leader", "nobody-last-known")} == {
        "removed-last-known-leader": 8, "nobody-last-known": 3,
    }  # fmt: skip


def test_elr_is_on_where_a_page_says_so() -> None:
    """A cluster that 4.1.0 has formatted, asked for no feature, has ELR on from the start; one of 4.0.0 has not."""
    on = {
        folder.name: any(
            (one.data or {}).get("name") == "eligible.leader.replicas.version" and (one.data or {})["featureLevel"] == 1
            for batch in batches(folder)[:3] for one in batch.entries
        )
        for folder in (ELR, CAPTURED / "kafka-4.0.0")
    }  # fmt: skip
    assert on == {"elr": True, "kafka-4.0.0": False}
    pages = [finding for finding in FINDINGS if ON_BY_DEFAULT in (ROOT / f"docs/findings/{finding.id}.md").read_text()]
    assert pages == [finding for finding in FINDINGS if finding.title.startswith("ELR")]


@pytest.mark.parametrize("finding", FINDINGS, ids=lambda one: one.id)
def test_each_release_says_how_it_was_asked(finding: Finding) -> None:
    """A page names each release once: live where a run shows it, classes where they answered, a broker's as read."""
    told, shown = releases(finding), words(finding)
    asked, _, compiled = told.partition(". ")
    assert sorted(re.findall(r"\b\d\.\d\.\d\b", asked)) == sorted(known_versions())
    named = {name for name in ALIKE if name in finding.source}
    assert {*re.findall(r"(\S+) is compiled as", compiled)} == (named if RULES in shown.values() else set())
    live = {one.release for one in observations() if (one.finding, one.outcome) == (finding.scenario, SHOWN)}
    answered = {release for release in shown if (row := EVIDENCE.get((finding.id, release))) and row.managers == SHOWN}
    assert {release for release, one in shown.items() if one == LIVE} <= live
    assert {release for release, one in shown.items() if one in (CLASSES, IN_PART, ONE_CLASS)} <= answered
    groups = {variants()[name].metadata["group"] for name in finding.switches}
    by_rules = RULES in shown.values()
    assert ("with no class of theirs asked" in told) == (by_rules and not groups <= {*ASKED})


@pytest.mark.parametrize("finding", FINDINGS, ids=lambda one: one.id)
def test_each_link_says_what_it_has_to_do_with_it(finding: Finding) -> None:
    """Each issue or pull request that reports a finding, or is near it, has its own words; so has what is promised."""
    for text in (finding.reported, finding.near):
        for one in references(text) if text else ():
            assert re.match(r"(KAFKA-|PR )\d+ \w+( \w+)+", one.text), one.text
    assert not finding.promised or re.match(r"(KIP-\d+|ELR operations page): \w", finding.promised)


EMPTY_LOG = "empty-log-beside-failed-directory"
HARM = {r"\bcancel (a|the) reass": "silent-unclean-cancel", "switch elr off": "downgrade-drops-elr"}
"""What a workaround may advise, and the finding that needs just that."""


@pytest.mark.parametrize("finding", FINDINGS, ids=lambda one: one.id)
def test_no_workaround_is_what_another_finding_needs(finding: Finding) -> None:
    """A workaround that cancels, or switches ELR off, names what that costs; so does one that restarts a broker.

    The last where directories matter, by what loses records at such a restart.
    """
    for advised, harm in HARM.items():
        if re.search(advised, finding.workaround.lower()) and finding.id not in (harm, "snapshot-drops-elr"):
            assert harm in finding.workaround, advised
    restarts = re.search(r"restart (a|it|the|brokers?)\b", finding.workaround.lower())
    if restarts and finding.id != EMPTY_LOG and re.search("director(y|ies)", finding.needs):
        assert EMPTY_LOG in finding.workaround


def test_the_first_page_is_read_in_two_minutes() -> None:
    """The README links it first, and it begins with its twenty to forty rows: fewer than 600 words, a line each."""
    before = (ROOT / "docs/findings/README.md").read_text("utf-8").partition("\n## How they were found")[0]
    titles = [line.partition("](")[0] for line in before.splitlines() if line.startswith("| [")]
    assert [title.removeprefix("| [") for title in titles] == [finding.title for finding in FINDINGS]
    assert (20 <= len(titles) <= 40, sum(len(title.split()) - 1 for title in titles) < 600) == (True, True)
    assert re.findall(r"\]\(([^)]+)\)", (ROOT / "README.md").read_text("utf-8"))[0] == "docs/findings/README.md"


def test_every_event_of_a_trace_has_words() -> None:
    """A report has each step of its trace in Kafka's words, with the numbers of the event; and no words are idle.

    A directory has the name that states show.
    """
    systems = {finding.id: finding.search.system for finding in SEARCHED if finding.search}
    told = {(systems[one.finding], event): in_words(systems[one.finding], event)
            for one in EVIDENCE.values() for event in one.events}  # fmt: skip
    for (_, event), text in told.items():
        named = re.sub(r"directory=(\d+)", lambda match: local_name(int(match[1])), event)
        named = re.sub(
            r"received=\d+|(?<=apply_metadata\(broker=\d, )slot=\d+", "", named
        )  # the states say what came of it
        assert {*re.findall(r"\d+", named)} <= {*re.findall(r"\d+", text)}, event
    used = {(told_in(system, event.partition("(")[0]), event.partition("(")[0]) for system, event in told}
    assert used == {(system, name) for system, words in EVENTS.items() for name in words}
    assert BY_HAND.keys() - {"resume"} <= {name for _, name in used}


def test_a_step_of_an_operator_has_its_command() -> None:
    """A report has the command of each step whose words are an operator's, and none where a leader proposes."""
    acts = {name for name, text in EVENTS["every"].items() if text.startswith("An operator")}
    assert acts <= BY_HAND.keys()
    text = kraftcheck("findings", "removed-last-known-leader").out
    assert " on. By hand: `kafka-configs.sh --alter --add-config unclean.leader.election.enable=true`.\n" in text
    assert " to [1,0]. By hand: `kafka-reassign-partitions.sh --execute` with replicas [1,0].\n" in text
    assert not re.search(r"proposes by AlterPartition[^\n]*By hand", kraftcheck("findings", "ended-proposal").out)


def test_a_report_can_be_filed() -> None:
    """All of a finding is Markdown with what happens, the steps, what is expected, the mend and the source by line."""
    text = kraftcheck("findings", "ghost-elr-member").out
    wanted = [
        "# ghost-elr-member", "**Severity.** Acknowledged records may be lost.", "## Steps", "## Expected", "## Actual",
        "\n7. A heartbeat of broker 1 asks to be unfenced", f"**Fix.** {BY_ID['ghost-elr-member'].mend}",
        f"/blob/{NEWEST}/metadata/src/main/java/", "PartitionChangeBuilder.java#L", f"--kafka {NEWEST}",
    ]  # fmt: skip
    assert [part for part in wanted if part not in text] == []


@pytest.mark.parametrize("finding", FINDINGS, ids=lambda one: one.id)
def test_an_entry_is_whole(finding: Finding) -> None:
    """An entry names rules and choices that are, one of which a rule has, and none of which `fixed` has; a method.

    Issues that report it, or the words by which none was found; a live run that shows it, or what came of it. No rule
    that it names says what a release does. Up to the commands that show it again its page has no link that leads to a
    page of the project.
    """
    by_id, names = {entry.rule.id: entry.rule for entry in entries()}, variants()
    assert set(finding.switches) & {name for rule in finding.rules for name in by_id[rule].switches}
    assert {*finding.switches, *(finding.search.without if finding.search else ())} <= set(names)
    assert not any(parse("fixed").value(names[name].name) for name in finding.switches)
    assert any(METHOD.fullmatch(name) for name in re.split("; |, ", finding.source))
    assert bool(finding.reported) != bool(finding.searched)
    shown = {one.finding: one.outcome == SHOWN for one in observations() if one.release == NEWEST}
    assert shown.get(finding.scenario, True) or finding.not_live
    assert not any(re.search(r"\d\.\d\.\d", by_id[rule].says) for rule in finding.rules)
    page = (ROOT / f"docs/findings/{finding.id}.md").read_text("utf-8")
    text = page.partition("\n## Again")[0].partition("\nMore")[0]
    assert [target for target in re.findall(r"\]\(([^)]+)\)", text) if not target.startswith("https:")] == []


def test_a_state_says_what_is_on_disks_and_of_a_second_partition() -> None:
    """A report names directories, their logs and what they lack; what moves; each partition; how a switch is."""
    ends = {name: kraftcheck("findings", name).out.partition("\nAt the end ")[2].partition("\n")[0]
            for name in ("short-future-log", "torn-promotion", "min-isr-of-partition-0",
                         "retargeted-replicas-removed")}  # fmt: skip
    assert ends["short-future-log"].endswith("Broker 0 has a log in dir1, lacks records in dir1.")
    assert "Broker 0, which is down, has a log in dir0, dir1." in ends["torn-promotion"]
    assert "Of the second partition broker 1 leads; replicas [0,1], ISR {1}, ELR {}," in ends["min-isr-of-partition-0"]
    assert (
        "replicas [0,1], ISR {0}, ELR {}, last known [], removing {0}, adding {1},"
        in ends["retargeted-replicas-removed"]
    )
    text = kraftcheck("findings", "removed-last-known-leader").out
    assert {*re.findall(r"unclean.leader.election.enable of the topic (\w+)\.", text)} == {"on"}


def test_steps_say_where_they_begin_and_end() -> None:
    """A report says who leads at the start and at the end of its steps; that of a lasso what is for ever between."""
    states = re.findall(r"At the (?:start|end) (.*?);", kraftcheck("findings", "removed-last-known-leader").out)
    assert states == ["broker 0 leads", "nobody leads"] * 2  # of the newest release, and of those before 4.1.1
    text = kraftcheck("findings", "move-never-ends").out
    assert text.index("For ever: steps") < text.index("At the end broker 0 leads") < text.index("Broken for ever: ")


@pytest.mark.parametrize("name", ["ghost-elr-member", "removed-last-known-leader"])
def test_a_mend_is_a_table_of_decisions(name: str) -> None:
    """Beside each other a report has each choice that goes, and each rule that comes, below the method."""
    finding, says = BY_ID[name], {entry.rule.id: entry.rule.says for entry in entries()}
    text = kraftcheck("findings", name).out
    _, _, table = text.partition(f"| {finding.source.partition(';')[0]} decides | fixed |\n|---|---|\n")
    left, right = zip(*(row.strip("| ").split(" | ") for row in table.partition("\n\n")[0].splitlines()), strict=True)
    assert [*left] == [f"`{one}`: {variants()[one].metadata['text']}" for one in finding.switches]
    assert [*right] == [f"`{rule}`: {says[rule]}" for rule in finding.rules]


@pytest.mark.parametrize(
    "finding", [one for one in SEARCHED if one.search and one.search.without], ids=lambda one: one.id
)
def test_a_release_takes_the_steps_or_a_page_says_what_hides_them(finding: Finding) -> None:
    """Steps searched with other defects fixed are those of the release as it is, or their page says why not."""
    rows, _ = recorded_of(finding)
    shown = [row for row in rows.values() if row is not None and row.steps is not None][-1]
    told = taken_by_release(finding, shown)
    assert told.startswith("The rules of") != bool(finding.hidden) or not told
    page = (ROOT / "docs/findings" / f"{finding.id}.md").read_text(encoding="utf-8")
    assert told in page
    assert " ".join(finding.hidden.split()) in page


def test_a_fetch_that_truncates_is_told_as_one() -> None:
    """A follower whose record the leader lacks truncates its log, and a short future log replaces the longer one."""
    text = kraftcheck("findings", "trusted-log-ends").out
    assert "\n10. Broker 2 fetches from broker 1, and appends 1.\n" in text
    assert "\n12. Broker 2 fetches from broker 1, and appends nothing.\n" in text
    assert "\n17. Broker 1 applies the metadata of the partition, up to leader epoch 3. The record is committed" in text
    assert "\n15. Broker 2 fetches from broker 0, and truncates its log to 0.\n" in text
    assert "by the shorter future log in dir1.\n" in kraftcheck("findings", "short-future-log").out
