"""The answer of a solver to one query."""

from __future__ import annotations

from attrs import frozen


@frozen
class SolverAnswer:
    """A solver's answer.

    Attributes:
        result: PROVEN, REFUTED or UNDECIDED of `kraftcheck.solvers.smt.queries`.
        core: premises of the proof, by their names.
        values: of a countermodel, in the order of the premises' symbols; None unless refuted.
        reason: why it is undecided.
    """

    result: str
    core: tuple[str, ...] = ()
    values: tuple[int, ...] | None = None
    reason: str = ""
