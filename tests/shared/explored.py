"""Systems traced, and explored by the native engine."""

from __future__ import annotations

import time
from typing import Any

from attrs import evolve

from kraftcheck.model.language.system import Property, System
from kraftcheck.solvers.exploration.explore import Exploration, SearchBudget, explore
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.trace import trace


def traced(system: System, scope: str | None = None, *claims: Property) -> Program:
    """A system traced in a scope, with other properties where some are given."""
    chosen = evolve(system, properties=lambda _: claims) if claims else system
    return trace(chosen, chosen.setting(scope))


def explored(subject: System | Program, scope: str | None = None, **budget: Any) -> Exploration:
    """What a search finds of a system in a scope, or of a program."""
    program = subject if isinstance(subject, Program) else traced(subject, scope)
    return explore(program, SearchBudget(**budget), clock=time.perf_counter)
