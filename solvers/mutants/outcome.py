"""The outcomes of a mutant: killed, survived, and what lies between."""

from __future__ import annotations

from typing import TypeAlias

from attrs import frozen


@frozen
class Killed:
    """The mutant refutes properties.

    Attributes:
        by: the properties that break first, all with traces of one length.
        steps: the actions of the first one's trace, as calls.
        shortest: whether no shorter trace breaks anything; false where the exploration was cut within a level.
    """

    by: tuple[str, ...]
    steps: tuple[str, ...]
    shortest: bool


@frozen
class LeavesDomain:
    """The mutant takes fields out of the values that the system gives them; attributes as of `Killed`."""

    by: tuple[str, ...]
    steps: tuple[str, ...]
    shortest: bool


@frozen
class GoalLost:
    """The mutant refutes nothing, but the whole scope does not show something any more.

    Attributes:
        goals: the goals that it does not reach.
        idle: the `recovers` properties that no state has to recover for.
    """

    goals: tuple[str, ...]
    idle: tuple[str, ...] = ()


@frozen
class Survived:
    """Every property holds in the whole scope, and every goal is reached.

    Attributes:
        effect: `none` when states and transitions are those of the rules as they are (no step is another,
            and each action has as many); `transitions` when only the states are; else `states`.
    """

    effect: str


@frozen
class Undecided:
    """Nothing was found before the exploration was cut."""

    cut: str


@frozen
class Refused:
    """There is nothing to explore: the rules cannot be traced."""

    why: str


@frozen
class Same:
    """The traced program is that of the rules as they are, so that no question tells them apart."""


MutantOutcome: TypeAlias = Killed | LeavesDomain | GoalLost | Survived | Undecided | Refused | Same
