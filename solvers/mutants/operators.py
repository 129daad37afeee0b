"""Operator mutants of a system: which it meets, which change nothing, and those that do, traced.

Most are traced together, each chosen by its number, so that one kernel serves
many. Programs that are the same whatever the state are known by their meaning:
no exploration can tell them apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import evolve, frozen

from kraftcheck.model.language.layout import LayoutError
from kraftcheck.model.language.system import Action, Conjuncts, Outcome, Setting, System
from kraftcheck.model.language.terms import Graph
from kraftcheck.model.language.untraceable import UntraceableRule
from kraftcheck.solvers.mutants.mutate import (
    OPERATOR,
    Mutant,
    Mutated,
    MutatingGraph,
    Mutations,
    compared,
    numbered,
)
from kraftcheck.solvers.mutants.source.join import Joined
from kraftcheck.solvers.mutants.source.names import SourceMutant, applied
from kraftcheck.solvers.program.arguments import SystemFault
from kraftcheck.solvers.program.fingerprint import Meaning
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.trace import trace

FAULTS = (SystemFault, UntraceableRule, LayoutError)
"""What is raised where the rules of a mutant cannot be traced."""


@frozen
class Told:
    """What a mutant makes of a system, before anything is explored.

    Attributes:
        mutant: the mutant.
        meaning: of the system with it; None where its rules cannot be traced.
        refused: why they cannot; empty where they can.
    """

    mutant: SourceMutant
    meaning: Meaning | None
    refused: str = ""


def reached(system: System, setting: Setting, mutants: Sequence[SourceMutant]) -> list[SourceMutant]:
    """The mutants whose expressions are computed when a system is traced, among its properties too."""
    joined = Joined(dict(enumerate(mutants, start=1)))
    with joined.installed(), joined.none():
        trace(system, setting, graph=Graph())
    return [one for one in mutants if (one.module, one.place) in joined.reached]


def told(system: System, setting: Setting, mutant: SourceMutant) -> Told:
    """What a mutant makes of a system."""
    with applied(mutant):
        try:
            return Told(mutant, Meaning.of(trace(system, setting, graph=Graph())))
        except Exception as error:  # a changed rule may raise whatever there is; the outcome tells it
            return Told(mutant, None, f"{type(error).__name__}: {error}")


def join(
    system: System, setting: Setting, sources: Mapping[int, SourceMutant], limit: int
) -> tuple[Mutations, frozenset[int]]:
    """A system traced with operator mutants, each chosen by its number, and the numbers of those that are not in it.

    Args:
        system, setting: what to mutate.
        sources: the mutants by number.
        limit: the highest number of any mutant of the system, for which its states have room.

    Raises:
        SystemFault, UntraceableRule, LayoutError: where the mutants cannot be traced together.
    """
    joined = Joined(sources)
    with joined.installed():
        program = trace(_with_joined(system, limit, joined), setting, graph=MutatingGraph())
    left = frozenset(number for number, source in sources.items() if source in joined.apart)
    return _mutations(program, system, {n: one for n, one in sources.items() if n not in left}), left


def apart(system: System, setting: Setting, number: int, source: SourceMutant, limit: int) -> Mutations:
    """A system traced with one operator mutant, whatever the number in its state; arguments as of `join`."""
    with applied(source):
        program = trace(_with_joined(system, limit, Joined({})), setting, graph=MutatingGraph())
    return _mutations(program, system, {number: source})


def _mutations(program: Program, system: System, sources: Mapping[int, SourceMutant]) -> Mutations:
    mutants = tuple(
        Mutant(number, f"{one.module}:{one.function}", OPERATOR, one.before, one.after, one.name, one.line)
        for number, one in sources.items()
    )
    return Mutations(program, system, mutants, sources=sources)


def _with_joined(system: System, limit: int, joined: Joined) -> System:
    return numbered(system, limit, joined.state_of, lambda action: _joined(action, joined))


def _joined(action: Action, joined: Joined) -> Action:
    """An action whose rules are traced with operator mutants."""

    def guard(mutated: Mutated, **arguments: Any) -> Conjuncts:
        return action.guards(joined.state_of(mutated), arguments)

    def effect(mutated: Mutated, **arguments: Any) -> Outcome:
        state = joined.state_of(mutated)
        outcome = action.outcome(state, arguments)
        with joined.none():
            right, enabled = action.outcome(state, arguments), action.enabled(state, arguments)
        return compared(mutated.mutant, outcome, right, enabled)

    return evolve(action, guard=guard, effect=effect)
