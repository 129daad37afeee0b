"""Suggestions for an unknown name: the nearest known names."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

FEW = 6  # names that an error message lists at most


def nearest(name: object, choices: Iterable[str], listing: str = "") -> str:
    """A suggestion for an error message: the nearest names; where none is near, all, or some and how to list all.

    Args:
        choices: the valid names.
        listing: the command that shows all there is; empty where none does.
    """
    names = sorted(choices)
    close = difflib.get_close_matches(str(name), names, n=3, cutoff=0.4)
    if not names:
        return "there are none"
    if close or len(names) <= FEW:
        return f"did you mean {', '.join(close or names)}?"
    some = f"there are {len(names)}, such as {', '.join(names[: FEW // 2])}"
    return f"{some}; `{listing}` shows all" if listing else some
