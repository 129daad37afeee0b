"""The error of a benchmark that finds another space than it must."""

from __future__ import annotations


class WrongSpaceError(AssertionError):
    """An engine found another space than the others, or than there is: nothing is measured."""
