"""Which of many like cases run at every change; the rest run in the profile `nightly`."""

import os
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import pytest

Case = TypeVar("Case")

FEW = 60


def is_nightly() -> bool:
    """Whether the profile `nightly` is chosen."""
    return os.environ.get("KRAFTCHECK_PROFILE") == "nightly"


def one_in(step: int, cases: Iterable[Any]) -> list[Any]:
    """The cases, all but every `step`-th marked slow.

    >>> [type(case).__name__ for case in one_in(2, "abc")]
    ['str', 'ParameterSet', 'str']
    """
    return [case if n % step == 0 else pytest.param(case, marks=pytest.mark.slow) for n, case in enumerate(cases)]


def few(cases: Sequence[Case]) -> Sequence[Case]:
    """So many of the cases, evenly spread; all of them in the profile `nightly`."""
    return cases if is_nightly() else cases[:: len(cases) // FEW + 1]
