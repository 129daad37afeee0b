"""The error of a benchmark whose engines disagree."""

from __future__ import annotations


class WrongSpaceError(AssertionError):
    """The engines found different spaces: nothing is measured."""
