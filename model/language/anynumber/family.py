"""Families: argument values that are too many to list, for proofs."""

from __future__ import annotations

from collections import abc
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from kraftcheck.model.language.layout import Counter, LayoutError
from kraftcheck.model.language.terms import Truth


class Family(abc.Sequence[Any]):
    """Argument values that are too many to list where rules are proven: a shape and a condition.

    Elsewhere it is the sequence of its values, listed when first asked for.

    Args:
        shape: a value whose leaves are domains (`kraftcheck.model.language.layout`).
        member: whether a value of that shape belongs to the family; a rule.
        values: lists the family; it must agree with `member`.
    """

    def __init__(
        self, shape: Any, member: Callable[[Any], Truth], values: Callable[[], Iterable[Any]]
    ) -> None:  # fmt: skip
        self.shape, self.member, self._values = shape, member, values
        self._cached: tuple[Any, ...] | None = None

    def _all(self) -> tuple[Any, ...]:
        if self._cached is None:
            self._cached = tuple(self._values())
        return self._cached

    def __len__(self) -> int:
        """How many values there are."""
        return len(self._all())

    def __getitem__(self, position: Any) -> Any:
        """The value at a position."""
        return self._all()[position]


def unlisted() -> NoReturn:
    """What lists a family that has no end.

    Raises:
        LayoutError: always; provers do not list.
    """
    raise LayoutError("arguments without bound cannot be listed; only `kraftcheck prove` takes them")


def numbers(least: int = 0, below: str | None = None) -> Family:
    """Every number from a least one on, as values of an argument; `below` as in `Counter`."""
    return Family(Counter(least, below=below), lambda _: True, unlisted)
