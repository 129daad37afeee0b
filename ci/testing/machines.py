"""Hypothesis on a system that is named as everywhere else: a machine to run, and what its runs say of each property."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import evolve
from hypothesis import HealthCheck, seed, settings

from kraftcheck.ci.run.judged import RunsEvidence
from kraftcheck.ci.run.walks import WALKED
from kraftcheck.ci.systems.subject import Subject, bounds_of, subject
from kraftcheck.ci.systems.switches import check_switches
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.language.system import ScopeError, Setting, System
from kraftcheck.solvers.hypothesis.machine import LeavesDomainError, SystemMachine, Violation, run
from kraftcheck.solvers.hypothesis.machine import machine as machine_of
from kraftcheck.solvers.hypothesis.tally import Tally
from kraftcheck.solvers.program.premises import checks_nothing
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.verdict import DEADLOCK, Trace
from kraftcheck.solvers.reference.interpreter import Integers


def machine(
    system: str | System, *, scope: str | None = None, rules: str | None = None, starts: Sequence[Any] = (),
    weights: Mapping[str, int] | None = None, tally: Tally | None = None, name: str | None = None, **bounds: int,
) -> type[SystemMachine]:  # fmt: skip
    """A Hypothesis machine of a system: its `TestCase` is a test, and `run` runs it and sees that it shows something.

    Args:
        system: a name from `kraftcheck list`, `module:attribute`, or a system, which may be a changed one.
        scope, rules: as `kraftcheck.explore` takes them.
        starts: states to begin in; the initial states by default.
        weights: how often to prefer an action, by name; 1 where it is not named.
        tally: what has to occur; every action and every goal by default.
        name: of the class, as failures show it.
        bounds: single bounds by name, with `_` for `-`; they may be larger than a search takes them.

    Raises:
        Refusal: in one line, for what cannot be asked.
        ValueError: for liveness properties, which no finite run judges, and for a start outside its domains.
    """
    engine = integers(system, scope=scope, rules=rules, **bounds)
    return machine_of(engine, starts, weights, tally, name)


def integers(
    system: str | System, *, scope: str | None = None, rules: str | None = None, **bounds: int
) -> Integers:
    """A system that runs on plain ints, for strategies such as `moves` and `reachable`; arguments as of `machine`.

    Raises:
        Refusal: in one line, for what cannot be asked.
    """
    chosen = subject(system, scope, {}, rules)
    check_switches(chosen)
    try:
        setting = chosen.system.unlimited_setting(chosen.setting.scope, bounds_of(bounds), chosen.setting.rules)
    except ScopeError as error:
        raise Refusal(str(error)) from error
    return Integers(chosen.system, setting)


def evidence(
    chosen: Subject, traced: Program, number: int, runs: int | None, steps: int | None, strict: bool
) -> RunsEvidence:
    """What examples of a machine show; when a property is broken, they are drawn again without it.

    Args:
        chosen: the subject.
        traced: the subject, traced.
        number: the seed of the draws.
        runs, steps: examples, and steps of each; those of the profile of Hypothesis by default.
        strict: whether steps that a declared cap leaves out make a verdict incomplete.
    """
    plan = settings(deadline=None, database=None, suppress_health_check=tuple(HealthCheck))
    plan = settings(plan, max_examples=runs or plan.max_examples, stateful_step_count=steps or plan.stateful_step_count)
    tally, traces, reason, goes_on = Tally(), dict[str, Trace](), None, True
    while goes_on:
        goes_on, drawn = False, machine_of(Integers(_unrefuted(chosen, traces), chosen.setting), tally=tally)
        try:
            run(seed(number)(drawn), chosen=plan)
        except Violation as violation:
            goes_on, traces[violation.broken.claim] = True, violation.trace
        except LeavesDomainError as error:
            reason = str(error)
    if strict and tally.cut and reason is None:
        reason = "strict: " + ", ".join(f"bound on {path} cut {count:,} steps" for path, count in tally.cut.items())
    taken = sum(count for (kind, _), count in tally.counts.items() if kind == "action")
    size = f"{tally.examples:,} examples, {taken:,} steps"
    goals = {claim.id for claim in traced.claims if claim.kind in ("sometimes", "happens")}
    missed = {goal for goal in goals if not tally.counts["goal", goal]}
    return RunsEvidence(size, traces, missed, checks_nothing(traced), reason)


def _unrefuted(chosen: Subject, refuted: Mapping[str, Trace]) -> System:
    """The system with what runs judge, but for what is refuted."""
    system = chosen.system

    def left(setting: Setting) -> Sequence[Any]:
        return [one for one in system.properties(setting) if one.kind in WALKED and one.id not in refuted]

    return evolve(system, properties=left, quiescent=(lambda _: True) if DEADLOCK in refuted else system.quiescent)
