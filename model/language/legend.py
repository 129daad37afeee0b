"""Legends: how the traces of a system are drawn, with lanes, arrows between them, and fields always in view."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from attrs import field, frozen

PLACEHOLDER = re.compile(r"{([^{}]+)}")
"""A name in a lane that stands for a value."""


@frozen
class Arrow:
    """A request, an answer or a record on its way from one lane to another; in one lane, an event there.

    Attributes:
        source, target: lanes; `{name}` stands for an argument of the action, or else for what the state before the
            step has under this label of the legend's strip, or at this path.
        label: what is sent; empty for an event.
    """

    source: str
    target: str
    label: str = ""

    def placeholders(self) -> set[str]:
        """The names that stand for values in its lanes."""
        return set(re.findall(PLACEHOLDER, self.source + self.target))

    def ends(self, values: Mapping[str, Any]) -> tuple[str, str]:
        """Its lanes, with the values of the names in them."""

        def filled(lane: str) -> str:
            return re.sub(PLACEHOLDER, lambda match: str(values[match[1]]), lane)

        return filled(self.source), filled(self.target)


@frozen
class Legend:
    """How the traces of a system are drawn.

    Attributes:
        lanes: of the bounds of a setting, from the top; each a participant, such as `controller` or `broker 0`.
        arrows: by action, what it draws.
        strip: above the lanes, by label, the path of a field of the state, such as `controller.isr`.
    """

    lanes: Callable[[Mapping[str, int]], tuple[str, ...]]
    arrows: Mapping[str, tuple[Arrow, ...]]
    strip: Mapping[str, str] = field(factory=dict)


def event(lane: str) -> tuple[Arrow, ...]:
    """An action that happens in one lane."""
    return (Arrow(lane, lane),)


def sent(source: str, target: str, label: str) -> tuple[Arrow, ...]:
    """An action that is one request, answer or record."""
    return (Arrow(source, target, label),)


def numbered(name: str, count: int) -> tuple[str, ...]:
    """Lanes of one kind.

    >>> numbered("broker", 2)
    ('broker 0', 'broker 1')
    """
    return tuple(f"{name} {number}" for number in range(count))
