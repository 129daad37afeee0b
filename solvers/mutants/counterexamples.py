"""Counterexamples of mutants, confirmed on ints before they are reported.

A mutated graph is evaluated by `kraftcheck.solvers.reference.terms`. Where the mutant drops a
conjunct of a guard, the rules on ints, without that conjunct, must agree too.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from attrs import frozen

from kraftcheck.model.language.system import Property, Step
from kraftcheck.solvers.machine_code.compile import Kernel
from kraftcheck.solvers.machine_code.objectcode import address
from kraftcheck.solvers.machine_code.search_kernel import SHARDS
from kraftcheck.solvers.machine_code.transition import NO_ACTION
from kraftcheck.solvers.mutants.mutate import GUARD, OPERATOR, Mutant, Mutations
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.verdict import DEADLOCK
from kraftcheck.solvers.reference import terms as interpret
from kraftcheck.solvers.reference.confirm import EngineDisagreement
from kraftcheck.solvers.search.levels import Search
from kraftcheck.solvers.traces.render import call

Leaves = tuple[int, ...]


@frozen
class Disproof:
    """The refutation of a claim by a mutant."""

    claim: str  # the property, `deadlock`, or the field that leaves its domain
    steps: tuple[str, ...]  # the actions that lead there, as calls


def disproof(search: Search, mutations: Mutations, mutant: Mutant, number: int) -> Disproof:
    """The counterexample of a refuted claim; raises EngineDisagreement when ints do not agree with the engine."""
    program, plan = search.kernel.program, search.kernel.plan
    identity, last = search.claims[number] >> 16, search.claims[number] & NO_ACTION
    first, instances = search.store.path(identity)
    initial = search.store.state(first)
    states = run(program, initial, instances)
    if program.layout.join(states[-1]) != search.store.state(identity):
        raise EngineDisagreement(f"mutant {mutant.key}: the engine and ints reach different states")
    if last != NO_ACTION:
        _confirm_step(program, number - plan.first_step, last, states[-1])
        instances = [*instances, last]
        states.append(interpret.successor(program, last, states[-1]))
    elif number == plan.deadlock:
        _confirm_deadlock(program, states[-1])
    elif interpret.holds(program.always_terms[number], program, states[-1]):
        raise EngineDisagreement(f"mutant {mutant.key}: {program.always[number].id} holds on ints")
    claim = _claim(program, number, plan.deadlock, plan.first_step)
    confirm_on_rules(program, mutations, mutant, claim, states, instances)
    return Disproof(claim, calls(program, instances))


def _claim(program: Program, number: int, deadlock: int, first_step: int) -> str:
    if number == deadlock:
        return DEADLOCK
    return (program.always[number] if number < deadlock else program.steps[number - first_step]).id


def calls(program: Program, instances: Sequence[int]) -> tuple[str, ...]:
    """Action instances as calls."""
    pairs = (program.instance(instance) for instance in instances)
    return tuple(call(action.name, arguments) for action, arguments in pairs)


def run(program: Program, initial: Sequence[int], instances: Sequence[int]) -> list[Leaves]:
    """The leaves of every state of a run; raises EngineDisagreement when ints know no such run."""
    if tuple(initial) not in program.initial:
        raise EngineDisagreement("a mutant's trace starts in no initial state")
    states = [program.layout.split(initial)]
    for instance in instances:
        if not interpret.enabled(program, instance, states[-1]):
            raise EngineDisagreement(f"{calls(program, [instance])[0]} is not enabled on ints")
        states.append(interpret.successor(program, instance, states[-1]))
        if interpret.fields_outside(program, states[-1]):
            raise EngineDisagreement(f"{calls(program, [instance])[0]} leaves a domain on ints")
    return states


def _confirm_step(program: Program, claim: int, instance: int, state: Leaves) -> None:
    call_text = calls(program, [instance])[0]
    if not interpret.enabled(program, instance, state):
        raise EngineDisagreement(f"{call_text} is not enabled on ints")
    if interpret.step_holds(claim, program, instance, state):
        raise EngineDisagreement(f"{program.steps[claim].id} holds of {call_text} on ints")


def _confirm_deadlock(program: Program, state: Leaves) -> None:
    moving = [n for n in range(program.instances) if interpret.enabled(program, n, state)]
    if moving or interpret.holds(program.quiescent, program, state):
        raise EngineDisagreement(f"deadlock: on ints it is quiescent, or {calls(program, moving[:1])} is enabled")


def confirm_on_rules(
    program: Program, mutations: Mutations, mutant: Mutant, claim: str, states: Sequence[Leaves],
    instances: Sequence[int],
) -> None:  # fmt: skip
    """Ask the rules on ints: those of an operator mutant, else what is not mutated of them.

    That is the property, and for a guard its other conjuncts.

    Raises:
        EngineDisagreement: when they say otherwise.
    """
    with mutations.rules_of(mutant):
        setting = program.setting
        rule = next((p for p in mutations.original.properties(setting) if p.id == claim), None)
        plain = [program.layout.state(state).state for state in states]
        if rule is not None and rule.kind == "always" and rule.holds(plain[-1]):
            raise EngineDisagreement(f"mutant {mutant.key}: {claim} holds by the rules on ints")
        at_risk = rule is None or rule.kind != "recovers" or (rule.concerns(plain[-1]) and not rule.holds(plain[-1]))
        if not at_risk:
            raise EngineDisagreement(f"mutant {mutant.key}: {claim} asks for nothing by the rules on ints")
        if mutant.kind not in (GUARD, OPERATOR):
            return
        actions = {action.name: action for action in mutations.original.actions(setting)}
        step: Step | None = None
        for before, after, instance in zip(plain, plain[1:], instances, strict=False):
            name, arguments = program.instance(instance)[0].name, program.instance(instance)[1]
            parts = actions[name].guards(before, arguments)
            others = {part: truth for part, truth in parts.items() if (name, part) != (mutant.group, mutant.part)}
            outcome = actions[name].outcome(before, arguments)
            if not all(others.values()) or outcome.state != after:
                raise EngineDisagreement(f"mutant {mutant.key}: {call(name, arguments)} differs by the rules on ints")
            step = Step(before, after, name, arguments, outcome.event)
        _judge_step(mutant, rule, step)


def _judge_step(mutant: Mutant, rule: Property | None, step: Step | None) -> None:
    if rule is not None and rule.kind == "step" and step is not None and rule.holds(step):
        raise EngineDisagreement(f"mutant {mutant.key}: {rule.id} holds by the rules on ints")


def leave_domain(search: Search, slot: int) -> Disproof:
    """The shortest run to a step that takes a field out of its domain.

    Raises:
        EngineDisagreement: when ints know no such step.
    """
    program, path = search.kernel.program, search.kernel.program.layout.slots[slot].path
    runs = [search.store.path(identity) for identity in _pruning(search, search.kernel, slot)]
    first, instances = min(runs, key=lambda run_: len(run_[1]))
    state = run(program, search.store.state(first), instances)[-1]
    for number in range(program.instances):
        after = interpret.successor(program, number, state)
        if path in interpret.fields_outside(program, after) and interpret.enabled(program, number, state):
            return Disproof(path.removeprefix("state."), calls(program, [*instances, number]))
    raise EngineDisagreement(f"{path} stays in its domain on ints")


def _pruning(search: Search, kernel: Kernel, slot: int) -> list[int]:
    """The first state of each shard in which a step is cut because of a field."""
    successors = kernel.library.function("successors", 3)
    buffer = np.empty((kernel.geometry.instances + 1) * kernel.geometry.record, dtype=np.uint64)
    counters = np.zeros(kernel.plan.size, dtype=np.int64)
    identities = []
    for number, shard in enumerate(search.store.shards):
        for index in range(shard.count):
            successors(address(shard.states[index]), address(buffer), address(counters))
            if slot in kernel.plan.slots_left(counters):
                identities.append(index * SHARDS + number)
                counters[:] = 0
                break
    return identities
