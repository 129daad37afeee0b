"""CoffeeCan of the TLA+ Examples: a graph as long as there are beans, whose states are all initial ones."""

from __future__ import annotations

from attrs import evolve, frozen

from kraftcheck.model.language.layout import Range
from kraftcheck.model.language.system import Action, System
from kraftcheck.model.language.terms import Word
from kraftcheck.model.language.words import all_of
from kraftcheck.properties.kinds import eventually, recovers, weak_fairness
from kraftcheck.solvers.program.program import Program
from kraftcheck.solvers.program.trace import trace


@frozen
class Can:
    """Beans of two colours."""

    black: Word
    white: Word


def coffee_can(beans: int, *, fair: bool = False) -> Program:
    """Two beans are taken out and one is put in; from everywhere one bean can be reached, and is if steps are fair."""
    actions = [
        Action("same_black", lambda s: evolve(s, black=s.black - 1), lambda s: s.black >= 2),
        Action("same_white", lambda s: Can(s.black + 1, s.white - 2), lambda s: s.white >= 2),
        Action("different", lambda s: evolve(s, black=s.black - 1), lambda s: all_of(s.black >= 1, s.white >= 1)),
    ]
    claim = eventually if fair else recovers
    system = System(
        name="coffee-can", summary="Beans in a can.",
        initial=[Can(b, w) for b in range(beans + 1) for w in range(beans + 1) if 1 <= b + w <= beans],
        layout=Can(Range(0, beans), Range(0, beans)), actions=actions,  # type: ignore[arg-type]
        properties=[claim("one-is-left", "One bean is left.", lambda s: s.black + s.white == 1)],
        fairness=[weak_fairness(*(action.name for action in actions))] if fair else [],
        quiescent=lambda s: s.black + s.white == 1,
    )  # fmt: skip
    return trace(system, system.setting())
