"""A build of Kafka as a side of a comparison: its own managers are asked for each decision, and followed."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from typing import Any

from attrs import evolve, field, frozen

from kraftcheck.ci.conformance.kafka.build import Build
from kraftcheck.ci.conformance.kafka.jars import known_versions
from kraftcheck.ci.conformance.kafka.tour.explore import AnsweredPart, explore_classes
from kraftcheck.ci.conformance.kafka.tour.run import SYSTEMS
from kraftcheck.ci.explore.diff import NAMES, Comparison, FirstDifference, compared
from kraftcheck.ci.run.questions import SearchQuestion
from kraftcheck.ci.systems.subject import Subject
from kraftcheck.ci.systems.switches import check_changes
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.solvers.drawings.drawing import Drawing, drawing
from kraftcheck.solvers.exploration.explore import Exploration, SearchBudget
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.verdict import RUN, Holds, Refuted, Trace, TraceStep, Vacuous, Verdict
from kraftcheck.solvers.traces.path import PackedRun

KAFKA = "kafka:"
"""How a side begins that is a build; its version or path follows."""

_COMPLETED = re.compile(r"(?P<build>.+)@(?P<like>[\d.]+)")
"""A build with the release that completes it."""


def build_of(side: str, beside: Subject) -> Build:
    """The build of a side, `kafka:BUILD[@VERSION]`; a release completes it, by default that of the rule set beside it.

    Raises:
        Refusal: for what is none, and for a system of which Kafka has no managers.
    """
    if beside.system.name not in SYSTEMS:
        raise Refusal(f"{side}: {beside.system.name} is not put to Kafka's managers; these are: {', '.join(SYSTEMS)}")
    text = side.removeprefix(KAFKA)
    if completed := _COMPLETED.fullmatch(text):
        return Build.of(completed["build"], completed["like"])
    version = (beside.rules or "").removeprefix("kafka-").partition("+")[0].partition("-")[0]
    return Build.of(text, version if version in known_versions() and text not in known_versions() else None)


@frozen(slots=False)
class KafkaComparison(Comparison):
    """What a search that Kafka's managers answer says of a rule set, and a search of that.

    Attributes:
        managed: the number of the side that is the build.
        refusals: by action, the shortest run to a request that the rules grant and the managers refuse.
    """

    managed: int = field(kw_only=True)
    refusals: Mapping[str, Trace] = field(kw_only=True)

    def alike(self, side: int) -> dict[str, Verdict]:
        """See `Comparison.alike`; in runs of the rules alone nothing is asked."""
        found = super().alike(self.managed)
        if side == self.managed:
            return found
        if all(isinstance(one, Holds | Vacuous) for one in found.values()) and not self.refusals:
            return found
        return {name: Refuted(trace) for name, trace in self.refusals.items()}

    @property
    def within(self) -> tuple[bool, bool]:
        """See `Comparison.within`; the build is within the rules where it only refuses more."""
        build = all(isinstance(one, Holds | Vacuous) for one in self.alike(self.managed).values())
        both = (build and not self.refusals, build)
        return both if self.managed else both[::-1]

    def otherwise(self, trace: Trace, side: int) -> tuple[str, ...]:
        """See `Comparison.otherwise`."""
        if side == self.managed:
            return (f"{NAMES[side]} does not take it: Kafka refuses the request",)
        return super().otherwise(trace, side)

    def drawn(self, first: FirstDifference) -> Drawing:
        """See `Comparison.drawn`; the managers are not asked any more."""
        if first.side == self.managed:
            return super().drawn(first)
        of = self.results[first.side]
        title = f"{NAMES[first.side]}: {of.subject.title()}"
        return evolve(drawing(first.trace, of.program, title), claim="decided otherwise", sentence=first.otherwise[0])


def compare_with_kafka(
    rules: Subject, side: str, managed: int, budget: SearchBudget, native: Callable[..., Exploration]
) -> KafkaComparison:  # fmt: skip
    """Explore a rule set, and the same system whose controller is a build's own managers.

    Args:
        rules: the rule set.
        side: the build, as the user has written it.
        managed: which side it is, 0 or 1.
        budget: of each search.
        native: the search; it takes what explores as `search`.

    Raises:
        Refusal: as `explore_classes` and `build_of`, and for what the search refuses.
        EngineDisagreement: when ints do not confirm a verdict.
    """
    build = build_of(side, rules)
    check_changes(rules)
    named = compared(evolve(rules, kafka=(str(build), build.like)), rules)
    asked, alone = SearchQuestion(named, budget), SearchQuestion(rules, budget)
    answers = functools.partial(native, search=functools.partial(explore_classes, build))
    found = [alone.result(alone.traced(), native), asked.result(asked.traced(), answers)]
    explored = found[1].exploration
    assert explored is not None
    assert isinstance(explored.answers, AnsweredPart)
    part = explored.answers
    runs = {name: _refused(found[0].program, *run) for name, run in part.refusals.items()}
    one, other = found if managed else found[::-1]
    return KafkaComparison((one, other), False, frozenset(), managed=managed,
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
        state = made.state
        steps.append(TraceStep(action.name, arguments, state, made.event))
    return Trace(initial, tuple(steps), RUN, RUN)
