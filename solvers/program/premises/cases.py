"""Claims about some states only: where no state is a case of one, it is vacuous and does not hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from attrs import evolve

from kraftcheck.model.language.system import Property, Setting
from kraftcheck.solvers.program.premises.hidden_goals import EMPTY, NO_STEPS
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.verdict import DEADLOCK, Holds, PropertyVerdict, Unknown, Vacuous, Verdict

NO_PROPERTIES = "the system has no properties, so nothing else is checked"


def deadlock_alone(setting: Setting) -> tuple[Property, ...]:
    """No properties, on purpose: what a system is given of which only deadlock is to be judged."""
    return ()


def checks_nothing(program: Program) -> dict[str, str]:
    """The properties that no state and no step could break, by id, with the reason; deadlock where there are none."""
    if not program.claims and program.system.properties is not deadlock_alone:
        return {DEADLOCK: NO_PROPERTIES}
    strict = {id_: one.reason for id_, one in program.premises.items() if id_ not in program.lenient}
    return {id_: reason for id_, reason in strict.items() if reason in EMPTY}


def vacuous_without_case(
    verdicts: Sequence[PropertyVerdict], program: Program, stepped: bool
) -> list[PropertyVerdict]:
    """The verdicts without those of hidden goals, where what would hold is vacuous if nothing shows a case of it.

    A case is the goal that a claim names (`Property.case`), or a state or step that satisfies a premise of it
    (`Program.premises`), or any step at all, of which there is one where it has `stepped`. A claim whose goal was not
    judged is unknown.
    """
    goals = {one.claim: one.verdict for one in verdicts if one.kind in ("sometimes", "happens")}
    cases = {claim.id: claim.case for claim in program.claims if claim.case}
    hidden = {premise.goal for premise in program.premises.values()}
    starts = program.starts

    def judged(one: PropertyVerdict) -> PropertyVerdict:
        if not isinstance(one.verdict, Holds):
            return one
        if one.claim in cases:
            verdict = _of_case(one.verdict, cases[one.claim], goals)
            if verdict is not one.verdict:
                return evolve(one, verdict=verdict)
        if one.kind == "step" and not stepped and one.claim not in starts:
            return evolve(one, verdict=Vacuous("", NO_STEPS))
        premise = program.premises.get(one.claim)
        if premise is None or one.claim in program.lenient or isinstance(goals.get(premise.goal), Holds):
            return one
        return evolve(one, verdict=Vacuous(premise.goal, premise.reason))

    return [judged(one) for one in verdicts if one.claim not in hidden]


def premises_shown(verdicts: Sequence[PropertyVerdict], program: Program) -> frozenset[str]:
    """Ids of the properties of whose premises a state or step was reached, also by a search that was cut.

    Args:
        verdicts: of all goals, the hidden ones too.
        program: what was explored.
    """
    shown = {one.claim for one in verdicts if isinstance(one.verdict, Holds)}
    return frozenset(claim for claim, premise in program.premises.items() if premise.goal in shown)


def lenient_warnings(verdicts: Sequence[PropertyVerdict], program: Program) -> Iterator[str]:
    """A warning for each property that holds by leniency (`Program.lenient`).

    Args:
        verdicts: of the claims and of all goals, the hidden ones too.
        program: what was explored.
    """
    holding = {one.claim for one in verdicts if isinstance(one.verdict, Holds)}
    shown = premises_shown(verdicts, program)
    for claim, premise in program.premises.items():
        if claim in program.lenient and claim in holding and claim not in shown:
            yield f"{claim} holds of nothing here: {premise.reason}"


def _of_case(holds: Verdict, case: str, goals: Mapping[str, Verdict]) -> Verdict:
    if isinstance(goals.get(case), Holds):
        return holds
    if isinstance(goals.get(case), Vacuous):
        return Vacuous(case, f"nothing reachable shows {case}")
    return Unknown(f"no goal {case!r} was judged, so nothing shows a case of it")
