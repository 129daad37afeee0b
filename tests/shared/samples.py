"""Which of many like cases run at every change; the rest run in the profile `nightly`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def one_in(step: int, cases: Iterable[Any]) -> list[Any]:
    """The cases, all but every `step`-th marked slow.

    >>> [type(case).__name__ for case in one_in(2, "abc")]
    ['str', 'ParameterSet', 'str']
    """
    return [case if n % step == 0 else pytest.param(case, marks=pytest.mark.slow) for n, case in enumerate(cases)]
