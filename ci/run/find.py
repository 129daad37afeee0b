"""`kraftcheck explore --find`: the shortest way to a state that satisfies an expression."""

from __future__ import annotations

import shlex

from attrs import evolve

from kraftcheck.ci.systems import report
from kraftcheck.ci.systems.subject import Subject
from kraftcheck.ci.terminal.refusal import Refusal
from kraftcheck.model.language.layout import LayoutError
from kraftcheck.solvers.expressions.added import search_for
from kraftcheck.solvers.expressions.source import ExpressionError
from kraftcheck.solvers.program.arguments import SystemFault
from kraftcheck.solvers.program.parts import ask
from kraftcheck.solvers.program.premises.content import is_valid
from kraftcheck.solvers.program.premises.hidden_goals import NO_CONTENT_OF_GOALS
from kraftcheck.solvers.program.verdict import Holds, PropertyVerdict, Refuted, Vacuous
from kraftcheck.solvers.search.explore import Exploration
from kraftcheck.solvers.search.levels import FIRST_VIOLATION

FOUND = "the search ended where it was found"
"""Why a search for a state is not complete."""


def searched(chosen: Subject, text: str) -> Subject:
    """The subject whose search ends at the first state that satisfies an expression.

    Raises:
        Refusal: for an expression that does not fit the state.
    """
    listing = f"kraftcheck step {shlex.quote(chosen.name)}"
    try:
        shape = ask("layout", lambda: chosen.system.layout(chosen.setting))
        return evolve(chosen, system=search_for(chosen.system, text, shape, listing))
    except (ExpressionError, SystemFault, LayoutError) as error:
        raise Refusal(f"{chosen.name}: {error}") from error


def located(result: Exploration) -> Exploration:
    """The search for a state, with its one verdict said of the goal: shown, not reachable (vacuous), or incomplete."""
    (claim,) = result.program.always
    one = result.verdict(claim.id)
    verdict = one.verdict
    if is_valid(result.program.graph.lift(result.program.graph.negate(result.program.always_terms[0]))):
        verdict = Vacuous(claim.id, NO_CONTENT_OF_GOALS)
    elif isinstance(verdict, Refuted):
        trace = evolve(verdict.trace, kind="sometimes", failing=())
        verdict = Holds("a state that satisfies it is reachable", trace)
    elif isinstance(verdict, Holds):
        verdict = Vacuous(claim.id, f"not reachable: none of {verdict.bound} satisfies it")
    elif isinstance(verdict, Vacuous):  # the domains exclude it already
        verdict = Vacuous(claim.id, f"not reachable: none of all {result.distinct:,} states satisfies it")
    ended = FOUND if result.cut == FIRST_VIOLATION else result.cut
    return evolve(result, verdicts=(PropertyVerdict(claim.id, "sometimes", verdict, one.depth),), cut=ended)


def last_line(result: Exploration, code: int) -> str:
    """What came of it, with the exit code."""
    (verdict,) = result.verdicts
    words = {Holds: f"found in {report.steps_text(verdict.depth or 0)}", Vacuous: "not reachable"}
    if isinstance(verdict.verdict, Vacuous) and verdict.verdict.reason == NO_CONTENT_OF_GOALS:
        return f"nothing is shown (exit {code})"
    return f"{words.get(type(verdict.verdict), 'incomplete')} (exit {code})"
