"""What `kraftcheck branch` writes: a page, and a picture and a test of each promise newly broken."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path

from attrs import evolve, frozen

from kraftcheck.ci.conformance.kafka.build import Build
from kraftcheck.ci.conformance.kafka.drivers import PASSES, TOUR, run_tests, sources
from kraftcheck.ci.conformance.kafka.junit import class_name, test_source
from kraftcheck.ci.conformance.kafka.places import METHODS, place_in
from kraftcheck.ci.explore.diff import BROKEN, PromiseChange, SearchComparison
from kraftcheck.ci.explore.trace import html, page
from kraftcheck.ci.run.formats import REPOSITORY
from kraftcheck.ci.run.judged import JudgedProperty, SourceLine
from kraftcheck.ci.terminal.files import results, write
from kraftcheck.ci.terminal.interrupts import OutOfTime
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.solvers.drawings.drawing import drawing, with_other_rules
from kraftcheck.solvers.program.verdict import Refuted
from kraftcheck.solvers.traces.render import lines

TESTS, PAGE = "tests", "index.html"  # the folder of the tests, and the page, in the folder of `--out`
IN_KAFKA = "metadata/src/test/java/org/apache/kafka/controller/"  # where the tests belong in a checkout of Kafka


@frozen
class Breach:
    """A promise that a build newly breaks by a run of states and steps."""

    name: str  # system and promise, as files are named
    change: PromiseChange  # of the promise
    trace: tuple[str, ...]  # in lines
    picture: str  # the page of the run, with the release's rules beside it
    test: str  # the source of its test; empty where it has none
    said: str  # how the test ends on the build; why there is none

    @property
    def shown(self) -> bool:
        """Whether the run was taken on the classes of the build."""
        return bool(self.test) and self.said == PASSES


def breaches(build: Build, compared: Mapping[str, SearchComparison]) -> list[Breach]:
    """The breaches of a build; the test of each is run on its classes; raises DriverError or Refusal where none can."""
    changes = [(system, found, one) for system, found in compared.items() for one in found.changes]
    drawn = [_breach(*change) for change in changes if _refuted(change[2])]
    try:
        said = run_tests(build, {class_name(one.name): one.test for one in drawn if one.test})
    except OutOfTime as reason:
        return [evolve(one, test="", said=one.said or str(reason)) for one in drawn]
    return [evolve(one, said=said.get(class_name(one.name), one.said)) for one in drawn]


def _refuted(change: PromiseChange) -> bool:
    return change.kind == BROKEN and change.b is not None and isinstance(change.b.verdict, Refuted)


def _breach(system: str, found: SearchComparison, change: PromiseChange) -> Breach:
    assert change.b is not None
    assert isinstance(change.b.verdict, Refuted)
    before, after = found.results
    trace, name, title = change.b.verdict.trace, f"{system}-{change.claim}", after.subject.title()
    release = before.subject.rules or ""
    seen = with_other_rules(drawing(trace, after.program, title), trace, before.program, release)
    seen = evolve(seen, sentence=f"{seen.sentence} ({release}: {change.words[0]})")
    try:
        if trace.loop is not None:
            raise Refusal("a run that never ends has no test")
        test, said = test_source(trace, after.program, title, class_name(name)), ""
    except Refusal as reason:
        test, said = "", reason.message
    return Breach(name, change, tuple(lines(trace)), html(seen), test, said)


def place_at(build: Build, name: str) -> SourceLine | None:
    """Where the source of a build has a class, or a method as `Class.method`; None where it has none."""
    path, _, line = (place_in(build, name) or "").partition("#L")
    return SourceLine(path, int(line or 1), REPOSITORY) if path else None


def located(build: Build, one: JudgedProperty) -> JudgedProperty:
    """A promise, where it is broken at the method that takes the last request of its run."""
    steps = () if one.passed or one.trace is None else one.trace.steps
    asked = [step.action for step in steps if step.action in METHODS]
    return evolve(one, at=place_at(build, METHODS[asked[-1]])) if asked else one


def written(
    place: Path | None, build: Build, told: tuple[str, ...], compared: Mapping[str, SearchComparison]
) -> Iterator[str]:
    """Write page, pictures and tests where a place is named, and say what; the answer last; raises as `breaches`."""
    if place is None:
        return
    found = breaches(build, compared)
    with results("--out", place) as folder:
        write(folder / PAGE, page(f"kraftcheck branch: {build}", _body(build, told, found), "{}", ("page.css",), ()))
        for one in found:
            write(folder / f"{one.name}.html", one.picture)
        tests = {class_name(one.name): one.test for one in found if one.test}
        if tests:
            (folder / TESTS).mkdir()
            for driver in sources(build, TOUR):
                write(folder / TESTS / driver.name, driver.read_text("utf-8"))
            for name, text in tests.items():
                write(folder / TESTS / f"{name}.java", text)
    yield f"wrote {place / PAGE}"
    yield from (f"no test of {one.name} has passed: {one.said}" for one in found if not one.shown)
    yield from (f"wrote {place / TESTS / f'{name}.java'}" for name in tests)


def _body(build: Build, told: tuple[str, ...], found: list[Breach]) -> str:
    digests = "".join(f"<tr><td>{escape(part.path.name)}</td><td>{part.digest}</td></tr>" for part in build.first)
    parts = [f"<h1>{escape(str(build))}</h1>", f"<p>{escape(told[-1])}</p>", *map(_section, found)]
    parts += ["<h2>All that was said</h2>", f"<pre>{escape(chr(10).join(told))}</pre>"]
    if digests:
        parts.append(f"<h2>What was driven, before the jars of {escape(build.like)}</h2><table>{digests}</table>")
    return "\n".join((*parts, ""))


def _section(one: Breach) -> str:
    file = f"{class_name(one.name)}.java"
    if one.shown:
        test = (f'<p>The test <a href="{TESTS}/{file}">{file}</a> takes these steps on the classes of the build, and '
                f"passes there: it fails once the promise is kept. Copy the files of <code>{TESTS}</code> to "
                f"<code>{IN_KAFKA}</code>, and run <code>./gradlew :metadata:test --tests "
                f"{class_name(one.name)}</code>.</p>")  # fmt: skip
    elif one.test:
        test = f'<p class="fails">The test {file} does not pass on the classes of the build: {escape(one.said)}</p>'
    else:
        test = f"<p>There is no test: {escape(one.said)}</p>"
    return (f'<section id="{one.name}"><h2>Newly broken: {escape(one.change.sentence)}</h2>\n'
            f'<p><a href="{one.name}.html">{one.name}</a>, step by step, with the release beside it</p>\n'
            f"<pre>{escape(chr(10).join(one.trace))}</pre>\n{test}</section>")  # fmt: skip
