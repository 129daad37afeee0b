"""The exploration of Kafka's own managers: the verdicts of a system whose controller they are."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from attrs import asdict, evolve, frozen

from kraftcheck.ci.conformance.kafka.build import Build
from kraftcheck.ci.conformance.kafka.drivers import TOUR, DriverError, compile_driver
from kraftcheck.ci.conformance.kafka.tour.answers import AnsweredSystem
from kraftcheck.ci.conformance.kafka.tour.liveness import search_answered
from kraftcheck.ci.conformance.kafka.tour.model import TourModel
from kraftcheck.ci.conformance.kafka.tour.requests import TourError, check_one_partition, managed_name, request_of
from kraftcheck.ci.conformance.kafka.tour.run import RECORDS, SYSTEMS, managers
from kraftcheck.ci.conformance.kafka.tour.search import AnsweredSearch, Managers
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.language.system import Property, Step
from kraftcheck.model.rules.ruleset import RELEASES
from kraftcheck.solvers.audit.audit import Audit
from kraftcheck.solvers.exploration.explore import Exploration, SearchBudget, SearchProgress, conclude
from kraftcheck.solvers.liveness.backward import NOT_SEARCHED, Recoverability
from kraftcheck.solvers.machine_code.transition import FramePlan
from kraftcheck.solvers.program.evaluation import evaluator
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.stop import is_stop
from kraftcheck.solvers.program.trace import trace
from kraftcheck.solvers.program.verdict import Holds, PackedRun, PropertyVerdict, Unknown, Vacuous
from kraftcheck.solvers.search.levels import FIRST_VIOLATION

NOT_TOLD = "Kafka's answer to {steps} is not that of the rules, and none tells whether it holds of them"


@frozen
class _Planned:
    """See `kraftcheck.solvers.exploration.explore.Planned`."""

    program: Program
    plan: FramePlan
    cached: bool = False
    warnings: tuple[str, ...] = ()


@frozen
class AnsweredPart:
    """The part of a report that only an exploration of Kafka's classes has."""

    build: str  # of Kafka
    # name and SHA-256 of all that is on its class path; none of a release, whose digests are known
    digests: Sequence[tuple[str, str]]
    # processes, asked, remembered: how many processes answered how many questions, and the memo how many more
    processes: int
    asked: int
    remembered: int
    # compared, differing: answers that were compared with those of the rules; those that differ, by action
    compared: int
    differing: Mapping[str, int]
    impossible: int  # steps of the model that cannot be put to the managers, and were left out
    # refused, beyond: requests that the rules grant and the managers refuse, and that the rules refuse and do something
    # to the managers
    refused: int
    beyond: int
    # by action, the run to the first that the managers alone refuse, and the action instance
    refusals: Mapping[str, tuple[PackedRun, int]]

    def lines(self) -> list[str]:
        """For people."""
        count, processes = sum(self.differing.values()), f"{self.processes} process{'es' * (self.processes != 1)}"
        which = ", ".join(f"{name} {number:,}" for name, number in sorted(self.differing.items()))
        alone = f"{self.refused:,} refused by Kafka alone, {self.beyond:,} by the rules alone"
        differ = f"{count:,} differ ({which}): {alone}" if count else "none differs"
        return [
            f"managers of Kafka {self.build} in {processes}: {self.asked:,} requests answered, {self.remembered:,} "
            f"more by the memo; {self.impossible:,} steps of the model cannot be put to them, and are left out",
            f"compared with the rules: {self.compared:,} answers, {differ}",
        ]

    def document(self) -> dict[str, Any]:
        """For machines."""
        return asdict(self, filter=lambda one, _: one.name != "refusals")


def rules_of(build: Build, named: str | None) -> str:
    """The rule set that answers are compared with: as named, or of the release; raises Refusal where it has none."""
    name = named or f"kafka-{build.like}"
    if named is None and name not in RELEASES:
        raise Refusal(f"there is no preset {name}; name a rule set with --rules")
    return name


def explore_classes(
    build: Build, traced: Program, budget: SearchBudget, stop: threading.Event,
    progress: Callable[[SearchProgress], None] | None = None, on_compile: Callable[[], None] | None = None,
) -> Exploration:  # fmt: skip
    """Explore a system, traced with rules to compare with, on a build's managers; raises EngineDisagreement."""
    start = time.monotonic()
    try:
        name = managed_name(traced.system.name)
        if name not in SYSTEMS:
            raise TourError(f"{traced.system.name} is not put to Kafka's managers; these are: {', '.join(SYSTEMS)}")
        check_one_partition(name, traced.setting)
        for action in traced.system.actions(traced.setting):
            request_of(name, action, traced.setting.rules)
        if on_compile is not None:
            on_compile()
        model = TourModel(traced)
        compile_driver(build, TOUR)
        return _explored(build, model, budget, stop, progress, start)
    except TourError as reason:
        raise Refusal(str(reason)) from reason
    except DriverError as reason:
        raise Refusal(f"the process with Kafka's classes ended, no verdict: {reason}") from reason


def _explored(
    build: Build, model: TourModel, budget: SearchBudget, stop: threading.Event,
    progress: Callable[[SearchProgress], None] | None, start: float,
) -> Exploration:  # fmt: skip
    traced = model.program
    with ExitStack() as stack:
        processes = [stack.enter_context(managers(build, model, RECORDS)) for _ in range(budget.threads)]
        asked = Managers(processes, model.managed_width < model.width)
        answered = AnsweredSystem(model, asked.ask)
        program = with_answers(answered, trace(answered.system, traced.setting))
        begin = time.monotonic()

        def report(search: AnsweredSearch) -> None:
            if progress is not None:
                depth, seconds = max(0, len(search.levels) - 1), time.monotonic() - begin
                progress(SearchProgress(depth, search.generated, search.distinct, search.queue, seconds))

        search = AnsweredSearch(answered, program, asked, budget, stop, report)
        begin = time.monotonic()
        with asked.ended_by(stop):
            search.run()
        seconds = time.monotonic() - begin
        digests = build.digests() if build.first else ()
        refusals = {name: search.store.occurrence(mark) for name, mark in search.refusals.items()}
        part = AnsweredPart(str(build), digests, len(processes), asked.asked, asked.remembered, search.compared,
                            search.differing, search.impossible, search.refused, search.beyond, refusals)  # fmt: skip
        audit = Audit(search.distinct, search.compared, search.refused, 0, True, "")
        backward, fair = _recoverability(search), search_answered(search, budget.threads)
        found = conclude(search, _Planned(program, search.plan), seconds, begin - start, audit, backward, fair,
                         strict=budget.strict)  # fmt: skip
    return evolve(_told(found, search), answers=part)


def _recoverability(search: AnsweredSearch) -> Recoverability:
    if not search.program.recovers or is_stop(search.cut) or search.cut == FIRST_VIOLATION:
        return NOT_SEARCHED
    start = time.monotonic()
    return Recoverability(search.recoverability(), 1, time.monotonic() - start)


def _told(found: Exploration, search: AnsweredSearch) -> Exploration:
    """The verdicts without those that no answer tells."""
    claims = (*search.program.steps, *search.program.happens)
    open_ = {claims[number].id for number in search.undecided if search.plan.first_step + number not in search.claims}
    differing = sum(search.differing.values())
    reason = NOT_TOLD.format(steps=f"{differing:,} step{'s' * (differing != 1)}")

    def judged(one: PropertyVerdict) -> PropertyVerdict:
        is_open = one.claim in open_ and isinstance(one.verdict, Holds | Vacuous)
        return evolve(one, verdict=Unknown(reason)) if is_open else one

    return evolve(found, verdicts=tuple(map(judged, found.verdicts)))


def with_answers(answered: AnsweredSystem, program: Program) -> Program:
    """The program whose hidden goals about steps know the answers that a step on ints has."""
    numbers = {claim.id: number for number, claim in enumerate(program.steps)}
    of_goals = {premise.goal: numbers[id_] for id_, premise in program.premises.items() if id_ in numbers}
    kinds = {kind.action.name: kind for kind in program.kinds}

    def shown(goal: Property) -> Property:
        if goal.id not in of_goals:
            return goal

        def shows(step: Step) -> bool:
            kind = kinds[step.action]
            arguments = kind.table[kind.instances.index(step.arguments)]
            leaves = (*program.layout.values(step.before), *arguments)
            known = {t.index: int(v) for t, v in zip((*program.state, *kind.variables), leaves, strict=True)}
            given = answered.values(program, step.before, step.action, step.arguments)
            return bool(evaluator(kind.says[of_goals[goal.id]])(known | given))

        return evolve(goal, predicate=shows)

    return evolve(program, happens=tuple(map(shown, program.happens)))
