"""What a check did not expect."""

from __future__ import annotations

from attrs import frozen

from kraftcheck.properties.expected.verdicts import Row


@frozen
class Surprise:
    """A verdict that is not the expected one.

    Attributes:
        row: system, scope, rule set.
        claim: property.
        wanted, got: verdicts in words.
        code: its exit code.
    """

    row: Row
    claim: str
    wanted: str
    got: str
    code: int
