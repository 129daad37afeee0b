"""`kraftcheck branch`: what a build of one's own decides otherwise, which rules it has, which promises that breaks."""

from __future__ import annotations

import functools
import re
import shlex
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import Any

import click
from attrs import asdict, define, evolve, field, frozen

from kraftcheck.ci.conformance.kafka.build import Build
from kraftcheck.ci.conformance.kafka.change.checks import CheckRow, CheckSize, conform_with_kafka, row_lines
from kraftcheck.ci.conformance.kafka.coverage.noted import Noted, UnrunMethod
from kraftcheck.ci.conformance.kafka.drivers import DriverError
from kraftcheck.ci.conformance.kafka.fuzz.beside import BesideRow, beside_release
from kraftcheck.ci.conformance.kafka.fuzz.run import cause_lines, fuzz_with_kafka
from kraftcheck.ci.conformance.kafka.naming import (
    FullAnswer,
    Naming,
    Witness,
    agrees,
    case_witnesses,
    named,
    sequence_witnesses,
)
from kraftcheck.ci.conformance.kafka.places import METHODS
from kraftcheck.ci.conformance.kafka.tour.images import OF_DISKS, tour_of_images
from kraftcheck.ci.conformance.kafka.tour.report import TourRow, tour_lines
from kraftcheck.ci.conformance.kafka.tour.run import SYSTEMS
from kraftcheck.ci.conformance.vectors.run import NON_CONFORMANT
from kraftcheck.ci.explore.diff import ALIKE, BROKEN, MENDED, SearchComparison, compare, sides
from kraftcheck.ci.explore.two_sides import mended
from kraftcheck.ci.run.judged import HOLDS, NOT_JUDGED, JudgedProperty, JudgedRun, expecting
from kraftcheck.ci.run.questions import run, search_budget
from kraftcheck.ci.run.reports import ReportFiles, report_options, unwritten
from kraftcheck.ci.systems.lookup import entries
from kraftcheck.ci.systems.subject import program, subject
from kraftcheck.ci.terminal import options
from kraftcheck.ci.terminal.console import Screen, console
from kraftcheck.ci.terminal.files import check_results, check_writable, write_json
from kraftcheck.ci.terminal.interrupts import Interrupted, OutOfTime, passed, time_limit, within
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.ci.verdicts.breaches import located, place_at, written
from kraftcheck.model.nearest import nearest
from kraftcheck.model.rules.ruleset import RuleSet, parse, variant_name, without
from kraftcheck.model.systems.images.system import IMAGES
from kraftcheck.properties.kinds import always
from kraftcheck.properties.register.findings import BY_ID
from kraftcheck.solvers.exploration.explore import SearchBudget
from kraftcheck.solvers.program.fingerprint import fingerprint
from kraftcheck.solvers.program.verdict import EXIT_INCOMPLETE, EXIT_VACUOUS, Refuted, worst_exit_code
from kraftcheck.solvers.traces.render import lines

MOST_NAMED = 5  # how many methods or classes are named

DOCUMENT_VERSION = 1  # version of the JSON document

FIRST, MORE = 4_000, 40_000
"""Steps of the first fuzz, whose answer comes at once, and of the one that follows where it shows nothing."""

SIZE = CheckSize(exhaustive=2, samples=20_000, seed=0)
"""The cases of the change builder: every one of up to two replicas, some of others."""

ROUNDS = ("whole controllers", "single decisions", "more sequences of whole controllers")
"""The rounds of questions: a fuzz, single decisions, a longer fuzz."""

SCOPE = "tiny"  # the scope of the explored systems

EXPLORED = ("elections", "replication", "directories", "kraft")
"""The systems whose promises are asked, the least costly first."""

BOUNDS: Mapping[str, Mapping[str, int]] = {"replication": {"reassignments": 1}}
"""What a system needs besides its scope to ask for every choice of the controller's that it reads."""


UNASKED = ("padded-configs-stored", "min-isr-raise-is-silent")
"""Choices of the controller's that no question shows: the values drawn are read, and no leader is told of a min ISR."""

LAYERS = ("partition", "triggers", "controller", "records")  # the parts of the model that answer for the controller


def _asked() -> Set[str]:
    """The choices that rules of the controller ask."""
    rules = (entry.rule for entry in entries() if entry.file.parent.name in LAYERS)
    return {variant_name(name) for rule in rules for name in rule.switches}


def _silent(*progress: object) -> None:
    """Report no progress."""


@frozen
class _Asking:
    """The questions to a build: in rounds, of which the first is answered at once."""

    build: Build
    seed: int

    def rounds(self, rules: RuleSet) -> Iterator[tuple[FullAnswer, list[str]]]:
        """The questions with their lines, cheapest first, none begun once time is over; of a cut one what is known."""
        for asked in (self._first, self._checks, self._more):
            if not passed():
                try:
                    yield asked(rules)
                except OutOfTime as reason:
                    yield FullAnswer(0, 0, []), [str(reason)]

    def whole(self, name: str) -> FullAnswer | None:
        """The answer of all rounds to a rule set, up to the first that differs; None where the time was over before."""
        cases, rounds = 0, 0
        for answer, _ in self.rounds(parse(name)):
            cases, rounds = cases + answer.cases, rounds + (not passed())
            if answer.differing:
                return FullAnswer(cases, answer.differing, answer.witnesses)
        return FullAnswer(cases, 0, []) if rounds == len(ROUNDS) else None

    def beside(self, rules: RuleSet) -> BesideRow | None:
        """The answers that no rule is of, beside the release; None where the time is over."""
        return None if passed() else beside_release(self.build, rules, self.seed)

    def images(self, rules: RuleSet) -> TourRow | None:
        """The steps of `images` on the classes by which brokers apply records, without disks; None as of `beside`."""
        if passed():
            return None
        asked = rules.switched(**dict.fromkeys(OF_DISKS, False))
        try:
            return tour_of_images(self.build, IMAGES, IMAGES.setting(SCOPE, rules=asked), 0, self.seed, _silent)
        except OutOfTime:
            return None

    def _first(self, rules: RuleSet) -> tuple[FullAnswer, list[str]]:
        return self._fuzz(rules, FIRST, self.seed)

    def _more(self, rules: RuleSet) -> tuple[FullAnswer, list[str]]:
        return self._fuzz(rules, MORE, self.seed + 1)

    def _fuzz(self, rules: RuleSet, steps: int, seed: int) -> tuple[FullAnswer, list[str]]:
        row = fuzz_with_kafka(self.build, rules, steps, seed, _silent)
        answer = FullAnswer(row.steps, row.differing, sequence_witnesses(self.build.like, row.kept), row.ended)
        text = f"whole controllers: {row.steps:,} steps in {row.sequences:,} sequences, {row.differing:,} differ"
        text = text if row.sequences else "whole controllers: nothing was answered in the time"
        shortest = sorted(row.causes, key=lambda one: len(one.steps))[:1]
        return answer, [text, *cause_lines(evolve(row, causes=tuple(shortest))), *filter(None, [row.late])]

    def _checks(self, rules: RuleSet) -> tuple[FullAnswer, list[str]]:
        rows = list[CheckRow]()
        for row in conform_with_kafka(self.build, rules, SIZE, _silent):
            if isinstance(row, CheckRow):
                rows.append(row)
            elif not rows or not isinstance(row.error, OutOfTime):
                raise row.error
        cases, differing = sum(row.cases for row in rows), sum(row.differences for row in rows)
        text = [f"single decisions: {cases:,} cases, {differing:,} differ"]
        for row in [row for row in rows if row.differences][:1]:
            text += row_lines(evolve(row, shown=row.shown[:1]))[: 5 + row.died]
        return FullAnswer(cases, differing, case_witnesses(rows, rules)), text


@frozen
class _Outcome:
    """What is known of a build at the end."""

    # cases, differing: of the comparison with the rules of the release
    cases: int
    differing: int
    naming: Naming | None  # the rule set that it is, looked for where it differs
    compared: dict[str, SearchComparison]  # by system, the verdicts of the release's rules and of that rule set
    complete: bool  # whether every round was asked
    beside: BesideRow | None = None  # the answers that no rule is of; None where they were not asked
    images: TourRow | None = None  # the steps of a broker's image; None where they were not asked
    asked: tuple[str, ...] = ()  # the kinds of requests, and the checks, whose answers differ
    changed: Set[str] = frozenset()  # the classes that are not those of the release
    deciding: Set[str] = frozenset()  # those of them by which a controller decides, or a broker applies it
    differing_classes: Sequence[str] = ()  # those of them that do another thing
    unasked: Sequence[str] = ()  # the jars that are not as released, and of which nothing is asked
    unrun: tuple[UnrunMethod, ...] = ()  # of their changed methods those of which no question ran some changed line
    untold: str = ""  # what nothing asked tells from the mend that the build is said to be; empty where it is told
    stale: str = ""  # what to do about sources that are newer than what is built; empty where none are
    beyond: tuple[str, ...] = ()  # the classes that do another thing, and are not of the place of the mend
    left: tuple[str, ...] = ()  # the questions that the time did not suffice for
    unexplored: tuple[str, ...] = ()  # the systems of EXPLORED that it did not suffice for, or not to the end

    @property
    def differs_beside(self) -> bool:
        """Whether an answer that no rule is of, or a broker's image, is another than the release's."""
        return any(row is not None and row.differing > 0 for row in (self.beside, self.images))

    @property
    def exit_code(self) -> int:
        """EXIT_SAFETY and its like for a promise newly broken, NON_CONFORMANT for what has no name; see the command."""
        code = self._of_promises()
        if self.differs_beside and code in (0, EXIT_VACUOUS, EXIT_INCOMPLETE):
            return NON_CONFORMANT
        return code or (EXIT_VACUOUS if self.is_not_asked or self.stale or self.beyond else 0)

    @property
    def is_not_asked(self) -> bool:
        """Whether some of what it changes in how a controller decides has run in no question."""
        return any(one.owner in self.deciding for one in self.unrun)

    def _of_promises(self) -> int:
        if self.naming is None:
            return 0 if self.complete else EXIT_INCOMPLETE
        if self.naming.name is None:
            return NON_CONFORMANT
        changes = [one for found in self.compared.values() for one in found.changes]
        broken = [one.b.verdict for one in changes if one.kind == BROKEN and one.b is not None]
        undecided = [verdict for found in self.compared.values() for verdict in found.undecided]
        if not self.complete:
            return worst_exit_code(broken) or EXIT_INCOMPLETE
        return worst_exit_code(broken or undecided) if self.compared else EXIT_VACUOUS

    def document(self, build: Build, code: int) -> dict[str, Any]:
        """The outcome as plain values (docs/reference/file-formats.md)."""
        return {
            "version": DOCUMENT_VERSION, "command": "branch", "exit_code": code, "build": str(build),
            "like": build.like, "digests": dict(build.digests()), "cases": self.cases, "differing": self.differing,
            "naming": None if self.naming is None else asdict(self.naming),
            "beside": None if self.beside is None else asdict(self.beside),
            "images": None if self.images is None else {
                "executed": self.images.executed, "differing": self.images.differing},
            "compared": {name: found.document() for name, found in self.compared.items()},
            "changed": sorted(self.changed), "not_asked": [asdict(one) for one in self.unrun],
            "unasked": [*self.unasked], "stale": self.stale, "beyond": list(self.beyond),
            "left": [*self.all_left],
        }  # fmt: skip

    @property
    def all_left(self) -> tuple[str, ...]:
        """All that was not asked, or not to the end: questions, and systems with their scopes."""
        return *self.left, *map(_scope_text, self.unexplored)

    def following(self, build: Build, base: str) -> Iterator[str]:
        """The systems left to explore, and the commands that explore them; nothing where none is."""
        if self.naming is None:
            return
        if self.naming.name is None:
            yield f"which promises its classes break, in {', '.join(SYSTEMS)}, is asked by this, or at a larger scope:"
            yield f"  kraftcheck diff {base} {shlex.quote(f'kafka:{build}')} {EXPLORED[0]} --scope {SCOPE}"
        elif self.unexplored:
            yield f"not explored to the end: {', '.join(map(_scope_text, self.unexplored))}; these ask:"
        for system in self.unexplored:
            bounds = "".join(f" --{name} {value}" for name, value in BOUNDS.get(system, {}).items())
            yield f"  kraftcheck diff {base} {self.naming.name} {system} --scope {SCOPE}{bounds}"

    def changes(self, build: Build) -> Iterator[str]:
        """What it changes, and what of that no question ran."""
        like, foreign = build.like, build.foreign
        if foreign:
            yield f"classes that are not Kafka's are of {_first_of(foreign)}; what of them ran is not looked at"
        if not self.changed:
            yield f"no class of Kafka's that a controller stands on is another than that of {like}"
        else:
            unrun = sorted(self.unrun, key=lambda one: (one.owner not in self.deciding, one.owner, one.name))
            told = f"; no question ran all of {_first_of(unrun)}" if unrun else ", all of it run"
            if not unrun and not self.differing_classes:
                told = ", of which no code is another"
            yield f"classes that are not those of {like}: {len(self.changed)}{told}"

    def runs(self, build: Build, said: str, code: int) -> Iterator[JudgedRun]:
        """For the reports: what its rules promise; a promise that the release does not keep either is expected so.

        A promise that is broken is at the method that takes the last request of its run. What else differs is judged
        by the kind of the request, at the method that answers it, or in a class that is changed.
        """
        shown = list[JudgedProperty]()
        for a, b in (found.results for found in self.compared.values()):
            before = {one.id: one.verdict.split(" ")[0] for one in a.run().properties}
            rows = [one for one in b.run().properties if not one.id.startswith(ALIKE)]
            same = [one.verdict if one.verdict.split(" ")[0] == before.get(one.id) else HOLDS for one in rows]
            judged = tuple(located(build, expecting(*row)) for row in zip(rows, same, strict=True))
            yield evolve(b.run(), properties=judged)
            shown += judged
        names = [] if self.compared else [*self.asked]
        names += [] if self.beside is None else [name for name, *_ in self.beside.causes]
        names += [] if self.images is None else [one.action for one in self.images.shown]
        if not names and shown and (not code or not all(one.passed for one in shown)):
            return
        own = next(iter(sorted(self.deciding or self.changed)), "").rpartition(".")[2]
        rows = list[JudgedProperty]()
        for name in dict.fromkeys(names or [""]):
            of = f"what is answered to {name or 'all that is asked'} is what {build.like} answers"
            claim = always(f"answers{'-' * bool(name)}{name}", of, lambda _: True)
            passed, at = not names and not code, place_at(build, METHODS.get(name, own))
            word = HOLDS if passed else NOT_JUDGED
            rows.append(JudgedProperty(claim.id, claim.kind, word, said, passed, claim=claim, at=at))
        chosen, again = subject(EXPLORED[0], SCOPE, {}, f"kafka-{build.like}"), shlex.join(build.words)
        yield JudgedRun(chosen, "branch", tuple(rows), command=f"kraftcheck branch {again}")


@define
class _Told:
    """What was said on the screen, and when, in seconds since the start; what is driven comes first."""

    screen: Screen
    lines: list[str] = field(factory=list)
    _begun: float = field(factory=time.monotonic)
    _times: list[float] = field(factory=list)

    def say(self, lines: list[str]) -> None:
        """Say lines, and keep them."""
        self._times.append(time.monotonic() - self._begun)
        self.lines.extend(lines)
        self.screen.plain("\n".join(lines))

    def seconds(self) -> dict[str, float]:
        """After how many the first answer was said, and how many there are."""
        return {"first": self._times[min(1, len(self._times) - 1)], "all": time.monotonic() - self._begun}


@click.command("branch")
@click.argument("path", default=".")
@options.like
@click.option("--mends", metavar="FINDING", help="Ask whether it is the mend of this finding and nothing else.")
@click.option("--seed", type=click.IntRange(0, 2**63 - 2), default=0, show_default=True, help="Seed of what is drawn.")
@options.workers
@options.memory
@options.document
@options.path("--out", "FOLDER", "Write a page there, and a JUnit 5 test of each promise newly broken.")
@report_options
@time_limit
@options.quiet
def branch_command(
    path: str, like: str | None, mends: str | None, target: str | None, out: Path | None, reports: ReportFiles,
    **flags: Any,
) -> None:  # fmt: skip
    """Ask a build of your own what it decides otherwise than its release, and which promises that breaks.

    PATH is a checkout that Gradle has built, a folder of jars, one jar or several with commas between
    them, or a folder of classes; what it does not have is that of the release --like.

    Its classes are asked what `kraftcheck conform --kafka` asks. Where they differ from the rules of the
    release, the rule set that they are is looked for, and its promises are explored. What no rule is of, as
    policies, configurations and what is described, is held against the classes of the release.

    --out writes a page, index.html. A promise that is newly broken has a JUnit 5 test there, for Kafka's own build.

    \b
    Exit codes: 0 it decides as its release, or breaks no promise that the release keeps; else of
    what it breaks: 12, 11 a deadlock, 13 recovery or liveness; 23 it differs, and no rule set is it,
    or what no rule is of differs, or with --mends it is another than that mend; 21 no explored
    system asks for what differs, or no question ran a line that it changes, or with --mends it
    changes a class beside the place of the mend; 20 the time was over before all was asked; 2 bad input.

    \b
    Examples:
      kraftcheck branch ~/kafka --time-limit 10m --out answer
      kraftcheck branch metadata/build/libs --like 4.4.0 --mends ghost-elr-member
    """
    told = _Told(console(to_stderr=target == "-"))
    check_writable(target)
    check_results("--out", out, target, reports.junit, reports.sarif)
    reports.check(json=target)
    build = Build.of(path, like)
    base, wanted = f"kafka-{build.like}", None if mends is None else _Mend.of(mends, f"kafka-{build.like}")
    told.say(build.lines() or [f"Kafka {build}"])
    try:
        outcome = _answered(build, flags, base, wanted, told.say)
        code, last = _ended(outcome, base, wanted)
        last = "; ".join(filter(None, (last, outcome.stale)))
        for line in written(out, build, (*told.lines, f"{last} (exit {code})"), outcome.compared):
            told.screen.plain(line)
    except DriverError as reason:
        raise Refusal(str(reason)) from None
    with unwritten(lambda: code):
        if target is not None:
            write_json(target, {**outcome.document(build, code), "seconds": told.seconds()})
    if reports.wanted:
        reports.write(told.screen, list(outcome.runs(build, last, code)), code, last)
    told.screen.plain(f"{last} (exit {code})")
    sys.exit(code)


@frozen
class _Mend:
    """The mend that a build is said to be."""

    name: str  # the rule set of the release with it alone
    parts: tuple[str, ...]  # with all of it but one choice, for each choice of several
    place: str  # Kafka's classes and methods that are mended

    @classmethod
    def of(cls, finding: str, base: str) -> _Mend:
        """The mend of a finding; raises Refusal where there is none."""
        if finding not in BY_ID:
            raise Refusal(f"--mends: no finding {finding!r}; {nearest(finding, BY_ID, 'kraftcheck findings')}")
        switches = BY_ID[finding].switches
        if beyond := [one for one in switches if one in UNASKED or one not in _asked()]:
            raise Refusal(f"--mends: {finding} is mended by {', '.join(beyond)} too, of which no question to the "
                          f"controller's classes tells; kraftcheck findings {finding} shows what does")  # fmt: skip
        less = {without(base, [one for one in switches if one != left]) for left in switches}
        return cls(mended(finding, base), tuple(sorted(less - {base, mended(finding, base)})), BY_ID[finding].source)

    def beyond(self, classes: Iterable[str]) -> list[str]:
        """Those of some changed classes that are not of the place of the mend: what asks for them may not tell all."""
        outer = (name.rpartition(".")[2].partition("$")[0] for name in classes)
        return sorted({name for name in outer if not re.search(rf"\b{name}\b", self.place)})

    def untold(self, asking: _Asking, naming: Naming | None, witnesses: Sequence[Witness]) -> str | None:
        """A rule set that nothing asked tells from it: one without it, or with a part; None where the time was over."""
        if naming is None:
            answer = asking.whole(self.name)
            return None if answer is None else "" if answer.differing else "its release"
        for part in self.parts if naming.name == self.name else ():
            if not agrees(part, witnesses):
                continue
            answer = asking.whole(part)
            if answer is None or not answer.differing:
                return None if answer is None else part
        return ""


def _answered(
    build: Build, flags: Mapping[str, Any], base: str, wanted: _Mend | None, say: Callable[[list[str]], None]
) -> _Outcome:
    """What is known at the end, and what of the changes no question ran."""
    budget = search_budget(flags["workers"], flags["memory"])
    with tempfile.TemporaryDirectory(prefix="kraftcheck-classes-") as noted:
        changed = build.changed()
        asking = _Asking(evolve(build, noted=Noted.of(Path(noted), changed)), flags["seed"])
        differing = asking.build.differing()  # what cannot be read is refused before anything is asked
        outcome = _outcome(asking, base, wanted, say, budget, flags["quiet"])
        unrun, deciding = asking.build.unrun(), build.deciding(changed)
        if outcome.exit_code:  # the release was not asked all that would run what is not in the build any more
            unrun = tuple(one for one in unrun if not one.is_gone or not one.lines)
        elif any(one.is_gone and one.owner in deciding for one in unrun):
            released, rules = evolve(asking, build=Build(build.like, noted=asking.build.noted)), parse(base)
            released.images(rules)
            for _ in released.rounds(rules):  # what is not in the build any more runs there or nowhere
                pass
            unrun = asking.build.unrun()
        beyond = () if wanted is None else tuple(wanted.beyond(differing))
        outcome = evolve(
            outcome, changed=changed, unrun=unrun, stale=build.stale, beyond=beyond, deciding=deciding,
            differing_classes=differing, unasked=build.unasked,
        )  # fmt: skip
    for line in (*(outcome.changes(build) if build.first else ()), *outcome.following(build, base)):
        say([line])
    return outcome


def _outcome(
    asking: _Asking,
    base: str,
    wanted: _Mend | None,
    say: Callable[[list[str]], None],
    budget: SearchBudget,
    quiet: bool,
) -> _Outcome:
    """Ask, name and explore, and show each as it is known."""
    cases, witnesses, differing, rounds, beside, images, left = 0, list[Witness](), 0, 0, None, None, tuple[str, ...]()
    rules = parse(base)
    for number, (answer, text) in enumerate(asking.rounds(rules)):
        say(text)
        rounds, cases, differing = rounds + (not passed()), cases + answer.cases, differing + answer.differing
        witnesses += answer.witnesses
        if answer.ended:
            say(["its process ends or hangs again and again, so that it is asked no more"])
            break
        if number == 0 and asking.build.first:
            if (beside := asking.beside(rules)) is not None:
                say(beside.lines(base.removeprefix("kafka-")))
            left += ("what no rule is of",) * passed()
            if (images := asking.images(rules)) is not None:
                say(_image_lines(images))
            left += ("images of brokers",) * passed()
        if differing and number:
            break
    complete = bool(differing) or rounds == len(ROUNDS)
    left += () if complete else ROUNDS[rounds:]
    if not differing:
        untold = wanted.untold(asking, None, ()) if wanted is not None and complete else ""
        complete = complete and untold is not None
        return _Outcome(cases, 0, None, {}, complete, beside, images, untold=untold or "", left=left)
    naming = named(base, witnesses, asking.whole, None if wanted is None else wanted.name, within(120))
    say(naming.lines(asking.build))
    untold = "" if wanted is None else wanted.untold(asking, naming, witnesses)
    compared, unexplored = ({}, ()) if naming.name is None else _explored(base, naming.name, budget, quiet, say)
    asked = tuple(dict.fromkeys(one.asked for one in witnesses))
    complete = complete and untold is not None and not passed()
    return _Outcome(cases, differing, naming, compared, complete, beside, images, asked, untold=untold or "", left=left,
                    unexplored=unexplored)  # fmt: skip


def _explored(
    base: str, name: str, budget: SearchBudget, quiet: bool, say: Callable[[list[str]], None]
) -> tuple[dict[str, SearchComparison], tuple[str, ...]]:
    """By system the promises of both rule sets where a rule differs, and the systems not explored to the end."""
    compared, left = dict[str, SearchComparison](), list[str]()
    for system in EXPLORED:
        if passed():
            left.append(system)
            continue
        one, other = sides(base, name, system, SCOPE, BOUNDS.get(system, {}))
        try:
            if fingerprint(program(one)) == fingerprint(program(other)):
                continue
            compared[system] = compare(one, other, budget, functools.partial(run, quiet=quiet))
        except Interrupted:
            if not passed():
                raise
            left.append(system)
            continue
        left += [system] * bool(compared[system].undecided)
        say(list(promise_lines(system, compared[system])))
    return compared, tuple(left)


def _scope_text(system: str) -> str:
    return ", ".join((f"{system} {SCOPE}", *(f"{name} {value}" for name, value in BOUNDS.get(system, {}).items())))


def _image_lines(row: TourRow) -> list[str]:
    text = f"images of brokers: {row.executed:,} steps, {row.differing:,} differ"
    return [text, *tour_lines(evolve(row, shown=row.shown[:1]), "")[5:]] if row.differing else [text]


def promise_lines(system: str, found: SearchComparison) -> Iterator[str]:
    """The promises of a system that are newly broken or newly kept, the former with their shortest run."""
    changes = [one for one in found.changes if one.kind]
    cut = "; not explored to the end" if found.undecided else ""
    yield f"{_scope_text(system)}: {'' if changes else 'no promise is newly broken or kept'}".rstrip(": ") + cut
    for one in changes:
        kind = "newly broken" if one.kind == BROKEN else "newly kept"
        yield f"  {kind}: {one.claim} ({' -> '.join(one.words)}): {one.sentence}"
        if one.kind == BROKEN and one.b is not None and isinstance(one.b.verdict, Refuted):
            yield from (f"    {line}" for line in lines(one.b.verdict.trace))


def _ended(outcome: _Outcome, base: str, wanted: _Mend | None) -> tuple[int, str]:
    """The exit code, and the answer in a line."""
    code, naming = outcome.exit_code, outcome.naming
    if wanted is not None and outcome.untold:
        said = f"is {wanted.name} in all that is asked, which does not tell it from {outcome.untold}"
        return code or EXIT_INCOMPLETE, f"{said}{_beside_words(outcome)}"
    if naming is None:
        said = "answers otherwise than its release" if outcome.differs_beside else "decides as its release"
        said += "" if outcome.complete else " as far as it was asked"
        said = f"{said}: {outcome.cases:,} cases, 0 differ" if outcome.cases else "has given no answer in the time"
        said += _beside_words(outcome)
        return (NON_CONFORMANT if wanted is not None and outcome.complete else code), said
    if naming.name is None:
        said = f"differs from {base} in {outcome.differing:,} cases, and is "
        if naming.whole:
            return code, f"{said}no rule set that is known"
        late = wanted is not None and not outcome.complete  # it may be the mend
        return EXIT_INCOMPLETE if late else code, f"{said}none of the rule sets that were tried"
    kinds = [one.kind for found in outcome.compared.values() for one in found.changes]
    broken = kinds.count(BROKEN)
    said = f"is {naming.name}: {broken} promise{'s' * (broken != 1)} newly broken, {kinds.count(MENDED)} newly kept"
    said += "" if outcome.complete else " as far as it was asked"
    said += _beside_words(outcome)
    if wanted is not None and parse(naming.name) != parse(wanted.name):
        return NON_CONFORMANT, f"{said}; the mend is {wanted.name}"
    return code, said


def _beside_words(outcome: _Outcome) -> str:
    """The end of the last line where answers differ that no rule is of, or not all that has changed has run."""
    said = "; some of what it changes has run in no question" if outcome.is_not_asked else ""
    if outcome.beside is not None and outcome.beside.differing:
        said += f"; {outcome.beside.differing:,} answers beside the rules are not its release's"
    if outcome.images is not None and outcome.images.differing:
        said += f"; {outcome.images.differing:,} steps of images are not its release's"
    if outcome.all_left and (outcome.cases or outcome.naming is not None):
        said += f"; not asked to the end: {', '.join(outcome.all_left)}"
    if outcome.unasked:
        said += f"; not asked: {_first_of(outcome.unasked)}, which a controller does not stand on"
    if outcome.beyond:
        said += f"; beside the place of the mend it changes {_first_of(outcome.beyond)}"
    return said


def _first_of(those: Sequence[object]) -> str:
    more = f" and {len(those) - MOST_NAMED} more" * (len(those) > MOST_NAMED)
    return f"{', '.join(map(str, those[:MOST_NAMED]))}{more}"
