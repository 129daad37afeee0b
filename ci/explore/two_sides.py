"""`kraftcheck diff`: two rule sets, changed systems, mends of findings, or a build of Kafka, side by side."""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click
from attrs import evolve, field, frozen

from kraftcheck.ci.conformance.kafka.build import Build
from kraftcheck.ci.conformance.kafka.jars import known_versions
from kraftcheck.ci.conformance.kafka.tour.explore import AnsweredPart, explore_classes
from kraftcheck.ci.conformance.kafka.tour.run import SYSTEMS
from kraftcheck.ci.explore import diff
from kraftcheck.ci.explore.diff import compared
from kraftcheck.ci.explore.trace import check_drawable, html
from kraftcheck.ci.run.questions import SearchQuestion, run, search_budget
from kraftcheck.ci.systems.lookup import find_system
from kraftcheck.ci.systems.subject import Subject, system_and_bounds
from kraftcheck.ci.systems.switches import check_changes
from kraftcheck.ci.terminal import options
from kraftcheck.ci.terminal.console import console
from kraftcheck.ci.terminal.files import check_apart, check_writable, write, write_json
from kraftcheck.ci.terminal.interrupts import time_limit
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.language.system import ScopeError, System
from kraftcheck.model.rules.ruleset import without
from kraftcheck.model.rules.vocabulary import KAFKA as USUAL
from kraftcheck.properties.register.findings import BY_ID
from kraftcheck.solvers.drawings.drawing import Drawing, drawing
from kraftcheck.solvers.exploration.explore import Exploration, SearchBudget
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.verdict import RUN, Holds, PackedRun, Refuted, Trace, TraceStep, Vacuous, Verdict

KAFKA = "kafka:"  # how a side begins that is a build; its version or path follows
_COMPLETED = re.compile(r"(?P<build>.+)@(?P<like>[\d.]+)")  # a build with the release that completes it


def build_of(side: str, beside: Subject) -> Build:
    """The build of `kafka:BUILD[@VERSION]`, which a release completes; raises Refusal where none, or no managers."""
    if beside.system.name not in SYSTEMS:
        raise Refusal(f"{side}: {beside.system.name} is not put to Kafka's managers; these are: {', '.join(SYSTEMS)}")
    text = side.removeprefix(KAFKA)
    if completed := _COMPLETED.fullmatch(text):
        return Build.of(completed["build"], completed["like"])
    version = (beside.rules or "").removeprefix("kafka-").partition("+")[0].partition("-")[0]
    return Build.of(text, version if version in known_versions() and text not in known_versions() else None)


@frozen(slots=False)
class SidesComparison(diff.SearchComparison):
    """What a search that Kafka's managers answer says of a rule set, and a search of that."""

    managed: int = field(kw_only=True)  # the number of the side that is the build
    # by action, the shortest run to a request that the rules grant and the managers refuse
    refusals: Mapping[str, Trace] = field(kw_only=True)

    def alike(self, side: int) -> dict[str, Verdict]:
        """See `SearchComparison.alike`; in runs of the rules alone nothing is asked."""
        found = super().alike(self.managed)
        if side == self.managed:
            return found
        if all(isinstance(one, Holds | Vacuous) for one in found.values()) and not self.refusals:
            return found
        return {name: Refuted(trace) for name, trace in self.refusals.items()}

    @property
    def within(self) -> tuple[bool, bool]:
        """See `SearchComparison.within`; the build is within the rules where it only refuses more."""
        build = all(isinstance(one, Holds | Vacuous) for one in self.alike(self.managed).values())
        both = (build and not self.refusals, build)
        return both if self.managed else both[::-1]

    def otherwise(self, trace: Trace, side: int) -> tuple[str, ...]:
        """See `SearchComparison.otherwise`."""
        if side == self.managed:
            return (f"{diff.NAMES[side]} does not take it: Kafka refuses the request",)
        return super().otherwise(trace, side)

    def drawn(self, first: diff.FirstDifference) -> Drawing:
        """See `SearchComparison.drawn`; the managers are not asked any more."""
        if first.side == self.managed:
            return super().drawn(first)
        of = self.results[first.side]
        title = f"{diff.NAMES[first.side]}: {of.subject.title()}"
        return evolve(drawing(first.trace, of.program, title), claim="decided otherwise", sentence=first.otherwise[0])


def compare_with_kafka(
    rules: Subject, side: str, managed: int, budget: SearchBudget, native: Callable[..., Exploration]
) -> SidesComparison:
    """Explore a rule set, and the system with a build's managers as side 0 or 1; raises as `explore_classes`."""
    build = build_of(side, rules)
    check_changes(rules)
    named = compared(evolve(rules, kafka=(str(build), build.like)), rules)
    asked, alone = SearchQuestion(named, budget), SearchQuestion(rules, budget)
    answers = functools.partial(native, search=functools.partial(explore_classes, build))
    programs = alone.traced(), asked.traced()
    found = [alone.result(programs[0], native), asked.result(programs[1], answers)]
    explored = found[1].exploration
    assert explored is not None
    assert isinstance(explored.answers, AnsweredPart)
    part = explored.answers
    runs = {name: _refused(found[0].program, *run) for name, run in part.refusals.items()}
    one, other = found if managed else found[::-1]
    return SidesComparison((one.subject, other.subject), (one, other), frozenset(), managed=managed,
                           refusals={name: run for name, run in runs.items() if run is not None})  # fmt: skip


def _refused(program: Program, run: PackedRun, instance: int) -> Trace | None:
    """The run of the rules to a request and what they do about it; None where they decide otherwise before."""
    initial = state = program.layout.unpack(run.initial)
    steps = list[TraceStep]()
    for number in (*run.instances, instance):
        action, arguments = program.instance(number)
        if len(steps) == len(run.instances) and program.layout.pack(state) != run.end:
            return None
        if not action.enabled(state, arguments):
            return None
        made: Any = action.outcome(state, arguments)
        state = program.layout.named(made.state)
        steps.append(TraceStep(action.name, arguments, state, made.event))
    return Trace(initial, tuple(steps), RUN, RUN)


@frozen
class Sides:
    """What is compared, as a user names it."""

    # a, b: rule sets, systems, `FINDING` or `kafka:BUILD[@VERSION]`
    a: str | System
    b: str | System
    system: str  # that of rule sets; empty: that of the other side, or else `elections`
    # scope, bounds: preset bounds, the first by default; single ones that override it
    scope: str | None
    bounds: Mapping[str, int]

    def compared(self, budget: SearchBudget, native: Callable[..., Exploration]) -> diff.SearchComparison:
        """The comparison; raises as `sides`, `compare` and `compare_with_kafka`."""
        given: list[str | System] = [self.a, self.b]
        typed = [one if isinstance(one, str) else "" for one in given]
        for side in (0, 1):
            if typed[side] in BY_ID:
                given[side] = mended(typed[side], given[1 - side])
            elif "/" in typed[side] and ":" not in typed[side] and Path(typed[side]).exists():
                raise Refusal(f"{typed[side]} is no rule set; did you mean {KAFKA}{typed[side]}, a build of Kafka?")
        builds = [side for side in (0, 1) if typed[side].startswith(KAFKA)]
        if len(builds) == 2:
            raise Refusal("one side is a build of Kafka; give the rules of a release as the other one")
        if not builds:
            return diff.compare(*diff.sides(given[0], given[1], self.system, self.scope, self.bounds), budget, native)
        rules, managed = given[1 - builds[0]], builds[0]
        both = diff.sides(rules, rules, self.system, self.scope, self.bounds)
        return compare_with_kafka(both[0], typed[managed], managed, budget, native)


def mended(finding: str, other: str | System) -> str:
    """The other side's rule set with one finding mended; raises Refusal where it is none, or does not have it."""
    if isinstance(other, str) and (other.startswith(KAFKA) or other in BY_ID):
        raise Refusal(f"{finding} stands for the rules of the other side with its mend; give rules there, not {other}")
    system, switches = diff.switched(other)
    named = find_system(system) if isinstance(system, str) and ":" in system else system
    base = named.base or USUAL if isinstance(named, System) else named
    try:
        made = without(base, BY_ID[finding].switches)
    except ScopeError as error:
        raise Refusal(str(error)) from error
    if made == base:
        raise Refusal(f"{base} does not have {finding}, or no rule of its controller is it")
    return made + switches


@click.command("diff", context_settings={"ignore_unknown_options": True})
@click.argument("a")
@click.argument("b")
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[SYSTEM] [--BOUND N]...")
@click.option("--scope", help="Preset bounds; `kraftcheck list SYSTEM` shows them.")
@options.workers
@options.memory
@click.option("--max-depth", type=click.IntRange(0), help="Stop after this many steps (verdict incomplete).")
@click.option("--max-states", type=click.IntRange(1), help="Stop after this many states (verdict incomplete).")
@options.path(
    "--html", "FILE", "Draw the first difference: one page to step through, what the other side does below.", "picture"
)
@options.verbose
@options.document
@time_limit
@options.quiet
def diff_command(
    a: str, b: str, words: tuple[str, ...], target: str | None, picture: Path | None, **flags: Any
) -> None:
    """Compare two rule sets, or a system of your own with one: promises that change, and the first other decision.

    A and B are rule sets of SYSTEM (default elections), or changed systems, FILE.py:SYSTEM, with +CHOICE after it where
    a change hangs on a choice. One of them may be the id
    of a finding, for the rules of the other side with its mend; or kafka:VERSION|PATH, for the managers of a release or
    of a build. The release of the other side completes a build; kafka:PATH@VERSION names another one.

    \b
    Exit codes: 0 both decide alike in every state that either reaches, 1 they do not, and
    B breaks no promise that A keeps; else of what B breaks: 12, 11 a deadlock, 13 only one
    that asks for recovery or is liveness, 21 only goals; 20 incomplete, 22 unknown, 2 bad input.

    \b
    Examples:
      kraftcheck diff kafka-4.3.1 kafka-4.4.0 elections --scope tiny
      kraftcheck diff fixed fixed+fenced-leader-acceptable
      kraftcheck diff fixed mykip.py:KIP --scope small --html kip.html
      kraftcheck diff kafka-4.4.0 ghost-elr-member
      kraftcheck diff kafka-4.4.0 kafka:metadata/build/libs directories --scope tiny
    """
    named = words and not words[0].startswith("-")
    own = [str(diff.switched(one)[0]) for one in (a, b) if ":" in one and not one.startswith(KAFKA)]
    _, bounds = system_and_bounds(words if named else ((own or [diff.DEFAULT])[0], *words))
    check_writable(target)
    check_drawable("--html", picture)
    check_apart(json=target, html=picture)
    asked = Sides(a, b, words[0] if named else "", flags["scope"], bounds)
    budget = search_budget(flags["workers"], flags["memory"], max_depth=flags["max_depth"],
                           max_states=flags["max_states"])  # fmt: skip
    found = asked.compared(budget, functools.partial(run, quiet=flags["quiet"]))
    screen = console(to_stderr=target == "-")
    found.show(screen, flags["verbose"])
    first = found.first
    if picture is not None:
        if first is not None:
            write(picture, html(found.drawn(first)))
        screen.plain("there is no difference to draw" if first is None else f"wrote {picture}")
    if target is not None:
        write_json(target, found.document())
    screen.plain(found.last_line)
    sys.exit(found.exit_code)
