"""JUnit tests of findings, in docs/findings/tests, by `python -m kraftcheck.ci.conformance.findings.junit_tests`.

With builds it compiles them instead, as they stand, and runs them on each. A test takes the recorded steps of the
newest release on Kafka's own managers, or asks a broker's classes what they do. It passes where a release has the
defect, and fails where the defect is mended.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from kraftcheck.ci.conformance.findings.live import SHOWN
from kraftcheck.ci.conformance.findings.search import Evidence, recorded, rules_of, subject_of, wanted
from kraftcheck.ci.conformance.kafka.build import Build
from kraftcheck.ci.conformance.kafka.cases import CASES
from kraftcheck.ci.conformance.kafka.drivers import BROKER, BROKERS_PACKAGE, PASSES, TOUR, run_tests
from kraftcheck.ci.conformance.kafka.jars import known_versions
from kraftcheck.ci.conformance.kafka.junit import class_name, description, test_source
from kraftcheck.ci.systems.subject import Subject, program
from kraftcheck.model.language.system import Property
from kraftcheck.properties.register.findings import FINDINGS, Finding
from kraftcheck.solvers.program.verdict import Trace
from kraftcheck.solvers.reference.interpreter import BrokenProperty, Integers, Move, Transition, trace_of

PLACE = Path("docs/findings/tests")  # where the tests are in a checkout


def with_tests() -> tuple[Finding, ...]:
    """The findings that the newest release's own classes show."""
    rows, newest = recorded(), known_versions()[-1]
    there = {name for (name, release), row in rows.items() if release == newest and row.steps and row.managers == SHOWN}
    return tuple(one for one in FINDINGS if one.id in there)


def source(finding: Finding) -> str:
    """A finding's test, from broker cases or recorded steps; raises LookupError where the rules do not take these."""
    if finding.broker_cases:
        return _of_broker(finding)
    row = recorded()[finding.id, known_versions()[-1]]
    chosen = subject_of(finding, rules_of(finding, row.release))
    return test_source(retraced(finding, row, chosen), program(chosen), chosen.title(), class_name(finding.id))


def _of_broker(finding: Finding) -> str:
    name = class_name(finding.id)
    lines = [
        f"package {BROKERS_PACKAGE};", "", "import static org.junit.jupiter.api.Assertions.assertTrue;", "",
        "import org.junit.jupiter.api.Test;", "",
        f"/** Shows a defect: {finding.title} */", f"class {name} {{", "    @Test",
        f"    void {name[0].lower()}{name[1:].removesuffix('Test')}() throws Exception {{",
    ]  # fmt: skip
    for case in finding.broker_cases:
        lines += [f"        // {CASES[case].asked}: {CASES[case].says}",
                  f'        assertTrue(BrokerDriver.answers().get("{case}"));']  # fmt: skip
    return "\n".join([*lines, "    }", "}"]) + "\n"


def retraced(finding: Finding, row: Evidence, chosen: Subject) -> Trace:
    """The first trace by a finding's recorded steps that breaks its property; raises LookupError where none is."""
    engine, named = Integers(chosen.system, chosen.setting), wanted(finding).property
    claim = next(one for one in engine.properties if one.id == named)
    for first in engine.initial:
        for steps in ways(engine, first, row.events):
            broken = {one.claim: one for one in engine.broken(steps[-1].step.after, steps[-1].step)}
            if named in broken or (claim.kind not in ("always", "step") and _fails(claim, steps, row.for_ever or 0)):
                return trace_of(first, steps, broken.get(named, BrokenProperty(named, "fair", ())))
    raise LookupError(f"{finding.id}: the rules of {row.release} do not take the recorded steps")


def _fails(claim: Property, steps: Sequence[Transition], repeated: int) -> bool:
    """Whether what must come is missing in the last state of a run, or in one of those that are repeated for ever."""
    ends = [one.step.after for one in steps[-max(repeated, 1) :]]
    return any(claim.concerns(state) and not claim.holds(state) for state in ends)


def ways(engine: Integers, state: Any, events: tuple[str, ...]) -> Iterator[tuple[Transition, ...]]:
    """Every way to take events from a state."""
    if not events:
        yield ()
        return
    named = [number for number, one in enumerate(engine.actions) if one.name == events[0].partition("(")[0]]
    for move in (Move(action, row) for action in named for row in range(engine.rows(action))):
        if engine.is_enabled(state, move):
            taken = engine.take(state, move)
            if description(taken.trace_step()) == events[0]:
                yield from ((taken, *rest) for rest in ways(engine, taken.step.after, events[1:]))


def run(build: Build, driver: str, place: Path = PLACE) -> dict[str, str]:
    """What the tests that stand on a driver say on a build, as they stand, by class; raises as `run_tests` does."""
    names = [class_name(one.id) for one in with_tests() if (driver == BROKER) == bool(one.broker_cases)]
    return run_tests(build, {name: (place / f"{name}.java").read_text("utf-8") for name in names}, driver)


def main(builds: Sequence[str]) -> int:
    """Write every test anew; or run them on builds, where the exit code is 1 if one fails."""
    if builds:
        asked = [(n, *one) for n in builds for driver in (TOUR, BROKER) for one in run(Build(n), driver).items()]
        print(*(f"{build} {name}: {said or 'passes'}" for build, name, said in asked), sep="\n")
        return int(any(said != PASSES for _, _, said in asked))
    for finding in with_tests():
        (PLACE / f"{class_name(finding.id)}.java").write_text(source(finding), encoding="utf-8")
        print(finding.id)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
