"""`kraftcheck findings`: what is wrong with released controllers, with its evidence; run again on request."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import click

from kraftcheck.ci.conformance.findings.live import SHOWN
from kraftcheck.ci.conformance.findings.report import LEGEND, report, words
from kraftcheck.ci.conformance.findings.search import (
    PLACE,
    Evidence,
    ReleaseSearch,
    UndecidedFinding,
    newest_of_lines,
    recorded,
    search,
    write_rows,
)
from kraftcheck.ci.conformance.kafka.build import Build
from kraftcheck.ci.conformance.kafka.cases import OLDER, broker_answers
from kraftcheck.ci.conformance.kafka.cases import RELEASES as BROKER_RELEASES
from kraftcheck.ci.conformance.kafka.drivers import PASSES, DriverError, run_tests
from kraftcheck.ci.conformance.kafka.jars import known_versions
from kraftcheck.ci.conformance.kafka.junit import DRIVERS, class_name, description, test_source
from kraftcheck.ci.run.questions import search_budget
from kraftcheck.ci.systems.lookup import entries
from kraftcheck.ci.systems.where import findings_about
from kraftcheck.ci.terminal import options
from kraftcheck.ci.terminal.commands import check_idle
from kraftcheck.ci.terminal.console import Column, Screen, Table, console
from kraftcheck.ci.terminal.files import check_results, check_writable, folder, results, write, write_json
from kraftcheck.ci.terminal.machine import default_memory
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.nearest import nearest
from kraftcheck.properties.register.citations import Reference
from kraftcheck.properties.register.findings import BY_ID, FINDINGS, SEARCHED, SEVERITIES, Finding
from kraftcheck.solvers.exploration.explore import SearchBudget
from kraftcheck.solvers.program.verdict import EXIT_INCOMPLETE
from kraftcheck.solvers.traces import itf

OTHERWISE = "otherwise"  # how a release answers the steps of a trace in another way; else they are shown
OLDEST = 4  # the first major release whose managers the tests are written for


def test_of(search: ReleaseSearch) -> str | None:
    """The test of a finding's trace on the managers; None without a trace, and for a defect that is not theirs."""
    if search.trace is None or search.finding.broker_cases or search.finding.untested:
        return None
    return test_source(search.trace, search.program, search.subject.title(), class_name(search.finding.id))


def ask(build: Build, searches: Sequence[ReleaseSearch]) -> Mapping[str, str]:
    """A build's answers to the traces by finding, those with tests; raises Refusal, DriverError where not run."""
    if int(build.like.split(".")[0]) < OLDEST:
        return {}
    tests = {search.finding.id: text for search in searches if (text := test_of(search)) is not None}
    outcomes = run_tests(build, {class_name(name): text for name, text in tests.items()})
    taken = {name: outcomes[class_name(name)] == PASSES for name in tests}
    return {name: SHOWN if shown else OTHERWISE for name, shown in (taken | _of_brokers(build, searches)).items()}


def _of_brokers(build: Build, searches: Sequence[ReleaseSearch]) -> dict[str, bool]:
    """Whether a broker's classes do what every case of a finding says, by finding; of releases that the driver fits."""
    cases = {search.finding.id: search.finding.broker_cases for search in searches if search.finding.broker_cases}
    if not cases or build.first or build.like not in (*BROKER_RELEASES, *OLDER):
        return {}
    answers = broker_answers(build.like)
    return {name: all(map(answers.get, named)) for name, named in cases.items() if answers.keys() >= {*named}}


def observe(
    findings: Sequence[Finding], build: Build, budget: SearchBudget, quiet: bool
) -> tuple[list[Evidence], list[ReleaseSearch]]:
    """The evidence of findings in a build, and the searches by its release's rules; raises where one is not decided."""
    searches = [search(finding, build.like, budget, quiet) for finding in findings]
    return evidence_of(build, searches, searches), searches


def evidence_of(build: Build, searches: Sequence[ReleaseSearch], asked: Sequence[ReleaseSearch]) -> list[Evidence]:
    """The evidence of searches in a build; `asked` are those whose traces are put to its classes."""
    answers = ask(build, asked) if searches else {}
    return [_evidence(one, answers.get(one.finding.id)) for one in searches]


def _evidence(one: ReleaseSearch, answer: str | None) -> Evidence:
    events = () if one.trace is None else tuple(description(step) for step in one.trace.steps)
    return Evidence(one.finding.id, one.release, one.steps, one.mend_suffices, answer, events, one.for_ever)


EVERY = "all"  # stands for every release
OTHERWISE_THAN_RECORDED = 23  # exit code: a release answers otherwise than recorded


@click.command("findings")
@click.argument("names", nargs=-1, metavar="[FINDING|WORDS]...")
@click.option(
    "--kafka",
    "version",
    metavar="BUILD|all",
    help="The release in question, with --run a build of your own too; default the newest of each line, with --run "
    "the newest.",
)
@options.like
@click.option("--run", "is_run", is_flag=True, help="Search again, and ask the classes of the release again.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="--run: write each trace as ITF JSON, and as a JUnit test, there.",
)
@options.workers
@options.memory
@options.document
@options.quiet
def findings_command(
    names: tuple[str, ...], version: str | None, is_run: bool, out: Path | None, target: str | None, **flags: Any
) -> None:
    """What is wrong with released controllers: which release has it, how it shows, what mends it.

    Without FINDING the table of all; with one a report that can be filed as it is. Words that are
    no name, such as a number of an issue or a line of a broker's log, find what tells of them.
    --run searches again with the rules of the release, and takes the steps of each trace on the release's own
    classes; what differs from the recorded evidence is named.

    \b
    Exit codes: 0 as recorded, 20 a search did not decide, 23 a release answers otherwise than
    recorded, 2 bad input.

    \b
    Examples:
      kraftcheck findings
      kraftcheck findings ghost-elr-member
      kraftcheck findings Duplicate log directories
      kraftcheck findings --run --kafka 4.4.0 --out findings
    """
    chosen = _findings(names)
    check_writable(target)
    screen = console(to_stderr=target == "-")
    if is_run:
        check_results("--out", out, target)
        budget = search_budget(flags["workers"], flags["memory"])
        code, rows = _again(screen, chosen, _builds(version, flags["like"]), budget, flags["quiet"], out)
    else:
        check_idle("needs --run", "like", "out", "workers", "memory", "quiet")
        evidence, releases = recorded(), _releases(version)
        pairs = [(finding.id, release) for finding in chosen for release in releases]
        code, rows = 0, [evidence[pair] for pair in pairs if pair in evidence]
        _show(screen, chosen, releases, named=len(chosen) == 1 or not BY_ID.keys().isdisjoint(names))
    if target is not None:
        write_json(target, document(rows, code))
    sys.exit(code)


def _findings(names: Sequence[str]) -> tuple[Finding, ...]:
    """The findings of these names, or those that the words are about, where none of them is a name; without any all."""
    if names and not BY_ID.keys() & {*names}:
        return tuple(findings_about(" ".join(names)))
    for name in names:
        if name not in BY_ID:
            raise Refusal(f"no finding {name!r}; {nearest(name, BY_ID, 'kraftcheck findings')}")
    return tuple(BY_ID[name] for name in names) or FINDINGS


def _builds(text: str | None, like: str | None) -> list[Build]:
    if text is None or text == EVERY:
        releases = known_versions() if text == EVERY else known_versions()[-1:]
        return [Build(release) for release in releases]
    return [Build.of(text, like)]


def _releases(version: str | None) -> tuple[str, ...]:
    versions = known_versions()
    if version is None:
        return newest_of_lines(versions)
    if version != EVERY and version not in versions:
        raise Refusal(f"no evidence of Kafka {version}; known: {', '.join(versions)}")
    return versions if version == EVERY else (version,)


def _show(screen: Screen, chosen: Sequence[Finding], releases: Sequence[str], named: bool) -> None:
    if named:
        rules = {entry.rule.id: entry.rule.says for entry in entries()}
        for finding in chosen:
            screen.plain(report(finding, rules, _linked))
        return
    columns = (Column("severity"), Column("finding"), Column("what goes wrong", is_prose=True))
    table = Table((*columns, *map(Column, releases)))
    for finding in chosen:
        shown = words(finding)
        table.add(finding.severity, finding.id, finding.title, *(shown[release] for release in releases))
    screen.table(table)
    screen.plain("; ".join(f"{name}: {text}" for name, text in LEGEND.items()))
    screen.plain("; ".join(f"{name}: {text}" for name, text in SEVERITIES.items()))
    screen.plain("all of one: kraftcheck findings FINDING; again: kraftcheck findings --run")


def _linked(reference: Reference) -> str:
    """A citation; its link, where that is no page of the project."""
    return f"[{reference.text}]({reference.target})" if reference.target.startswith("https") else reference.text


def _again(
    screen: Screen, chosen: Sequence[Finding], builds: Sequence[Build], budget: SearchBudget, quiet: bool,
    out: Path | None,
) -> tuple[int, list[Evidence]]:  # fmt: skip
    searched = [finding for finding in chosen if finding.search is not None]
    if not searched:
        raise Refusal(f"no explored system shows {chosen[0].id}; its scenario {chosen[0].scenario} is run by itself")
    evidence, rows, differing = recorded(), list[Evidence](), 0
    written: list[ReleaseSearch] = []
    for build in builds:
        if build.first:
            screen.plain("\n".join(build.lines()))
        try:
            observed, searches = observe(searched, build, budget, quiet)
        except UndecidedFinding as reason:
            screen.plain(f"undecided: {reason}")
            return EXIT_INCOMPLETE, rows
        except DriverError as reason:
            raise Refusal(str(reason)) from reason
        rows, written = [*rows, *observed], [*written, *searches]
        for row in observed:
            faults = differences(evidence[row.finding, build.like], row)
            differing += bool(faults)
            steps = "holds" if row.steps is None else f"refuted in {row.steps} steps"
            head = f"{row.finding}: {steps} by the rules of {build.like}; the classes of {build}" if build.first else (
                f"{build} {row.finding}: {steps}; classes")  # fmt: skip
            screen.plain(f"{head}: {row.managers or 'not asked'}")
            for fault in faults:
                screen.plain(f"    UNEXPECTED {fault}")
    if out is not None:
        _write(screen, out, written)
    code = OTHERWISE_THAN_RECORDED if differing else 0
    screen.plain(f"{len(rows)} observations, {differing} otherwise than recorded (exit {code})")
    return code, rows


def differences(before: Evidence, now: Evidence) -> list[str]:
    """What is observed otherwise than recorded; the classes count only where the release's own trace asked them."""
    fields = ["steps", "mend_suffices", "events", "for_ever", *(["managers"] if now.steps is not None else [])]
    pairs = ((name, getattr(before, name), getattr(now, name)) for name in fields)
    return [f"{name}: recorded {old!r}, now {new!r}" for name, old, new in pairs if old != new]


def _write(screen: Screen, out: Path, searches: Sequence[ReleaseSearch]) -> None:
    with results("--out", out) as place:
        for one in searches:
            if one.trace is None:
                continue
            name = f"{one.finding.id}-{one.release}"
            text = itf.text(itf.document(one.trace, one.program, one.subject.name, one.subject.rules, True))
            write(place / f"{name}.itf.json", text)
            test = test_of(one)
            if test is not None:
                beside = folder(place / one.release)
                write(beside / f"{class_name(one.finding.id)}.java", test)
                for driver in DRIVERS:
                    write(beside / driver.name, driver.read_text(encoding="utf-8"))
    count = sum(one.trace is not None for one in searches)
    screen.plain(f"wrote {count} traces to {out}, by the rules of the releases that they are named after")


def document(rows: Sequence[Evidence], code: int) -> dict[str, Any]:
    """The evidence as plain values."""
    return {"version": 1, "command": "findings", "exit_code": code, "rows": [attrs.asdict(row) for row in rows]}


def write_evidence(names: Sequence[str]) -> None:
    """Write the evidence of findings in every release, for `python -m kraftcheck.ci.conformance.findings.command`.

    Names of findings limit it to them; others keep their rows. The trace of a finding that a release does not have is
    that of the newest release that has it.
    """
    chosen = [one for one in SEARCHED if not names or one.id in names]
    budget = search_budget(1, default_memory())
    searches = {release: [search(one, release, budget, True) for one in chosen] for release in known_versions()}
    newest: dict[str, ReleaseSearch] = {}
    for of_release in searches.values():
        newest |= {one.finding.id: one for one in of_release if one.trace is not None}
    rows = recorded() if names else {}
    for release, of_release in searches.items():
        asked = [one if one.trace else newest[one.finding.id] for one in of_release]
        observed = evidence_of(Build(release), of_release, asked)
        rows |= {(row.finding, release): row for row in observed}
        print(f"{release}: {sum(one.trace is not None for one in of_release)} of {len(of_release)} findings")
    write_rows(PLACE, (rows[one.id, release] for release in known_versions() for one in SEARCHED))


if __name__ == "__main__":
    write_evidence(sys.argv[1:])
