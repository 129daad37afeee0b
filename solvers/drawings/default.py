"""The legend of a system that declares none."""

from __future__ import annotations

from collections.abc import Sequence

from kraftcheck.model.language.legend import Arrow, Legend, event
from kraftcheck.model.language.system import Action


def default_legend(actions: Sequence[Action]) -> Legend:
    """The legend of a system that declares none: a lane for each value of each action's first argument.

    An action without arguments happens in the lane `system`.
    """
    lanes, arrows = ["system"], dict[str, tuple[Arrow, ...]]()
    for action in actions:
        first = next(iter(action.parameters), None)
        if first is None:
            arrows[action.name] = event("system")
            continue
        arrows[action.name] = event(f"{first} {{{first}}}")
        lanes += [f"{first} {value}" for value in action.parameters[first]]
    distinct = tuple(dict.fromkeys(lanes))
    return Legend(lambda bounds: distinct, arrows)
