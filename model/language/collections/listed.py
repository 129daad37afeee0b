"""The parts of a system as it is given: lists, or functions of the setting."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from kraftcheck.model.language.symbolic import described


def listed(name: str, given: Any) -> Callable[[Any], Any]:
    """A function of the setting; a plain list answers the same at every setting.

    Raises:
        TypeError: naming the part, where it is neither.
    """
    if not callable(given) and not isinstance(given, Iterable):
        raise TypeError(f"{name} is {described(given)}; make it a list: [...]")
    answer: Callable[[Any], Any] = given if callable(given) else _same(tuple(given))
    return answer


def _same(answer: Any) -> Callable[[Any], Any]:
    return lambda setting: answer
