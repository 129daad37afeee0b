"""Unexpected verdicts of a check."""

from __future__ import annotations

from attrs import frozen

from kraftcheck.properties.register.verdicts import Row


@frozen
class UnexpectedVerdict:
    """A verdict that is not the expected one.

    Attributes:
        row: system, scope, rule set.
        claim: property.
        expected, actual: verdicts in words.
        code: its exit code.
    """

    row: Row
    claim: str
    expected: str
    actual: str
    code: int
